//! Servers that fall silent: how soon a connection notices.

use crate::settings::DataSourceUrl;
use std::time::Duration;

/// The parameters by which a server that is gone without a word, as a machine without power is, is
/// noticed within half a minute; the system alone waits for many minutes. A parameter that
/// the URL names stays as the URL says.
#[cfg(feature = "postgres")]
pub(super) const NOTICE_SILENCE: [(&str, &str); 5] = [
    ("keepalives", "1"),
    ("keepalives_idle", "10"),
    ("keepalives_interval", "5"),
    ("keepalives_count", "3"),
    ("tcp_user_timeout", "25000"),
];

/// The longest wait for one of several hosts, of which the first may be the silent one: a node
/// would wait for it with each connection that it opens, and never come to the others.
const ONE_OF_SEVERAL: Duration = Duration::from_secs(5);

/// The shortest wait for a host: libpq takes one second for two.
const SHORTEST: Duration = Duration::from_secs(2);

/// The URL by which a try ends with the wait of the one who asked for it, also where the host is
/// silent, and by which a host that falls silent is noticed.
pub(super) fn answering_within(url: &DataSourceUrl, time: Duration) -> DataSourceUrl {
    #[cfg(feature = "postgres")]
    if matches!(url, DataSourceUrl::Postgres { .. }) {
        let seconds = wait_for_one(url, time).as_secs().to_string();
        return url.with_parameters(&[("connect_timeout", &seconds)]).with_parameters(&NOTICE_SILENCE);
    }
    let _ = time;
    url.clone()
}

/// The wait for a connection that is long enough to pass over silent hosts, twice where the first
/// connection looks for a pooler; else it is `time`.
pub(super) fn longest_wait(url: &DataSourceUrl, time: Duration) -> Duration {
    match hosts(url) {
        1 => time,
        hosts => time.max(2 * hosts * wait_for_one(url, time)),
    }
}

fn wait_for_one(url: &DataSourceUrl, time: Duration) -> Duration {
    match hosts(url) {
        1 => time.max(SHORTEST),
        hosts => (time / hosts).clamp(SHORTEST, ONE_OF_SEVERAL),
    }
}

/// The number of hosts that a URL names.
fn hosts(url: &DataSourceUrl) -> u32 {
    let after_login = url.reveal().split_once("://").map_or("", |(_, rest)| rest);
    let authority = after_login.split(['/', '?']).next().unwrap_or_default();
    let commas = authority.rsplit('@').next().map_or(0, |hosts| hosts.matches(',').count());
    u32::try_from(commas).map_or(1, |commas| commas.saturating_add(1))
}

#[cfg(all(test, feature = "postgres"))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use super::*;

    #[test]
    fn one_of_several_hosts_is_waited_for_less_long() {
        for (url, time, connect_timeout, longest) in [
            ("postgres://me:a,b@one/db?application_name=a,b", 30, "connect_timeout=30", 30),
            ("postgres://me@one/db", 1, "connect_timeout=2", 1),
            ("postgres://me@one,two:5433/db", 30, "connect_timeout=5", 30),
            ("postgres://me@one,two,three/db", 3, "connect_timeout=2", 12),
            ("postgres://one,two/db?connect_timeout=9", 30, "connect_timeout=9", 30),
        ] {
            let (parsed, time) = (url.parse().unwrap(), Duration::from_secs(time));
            let with = answering_within(&parsed, time);
            assert_eq!(with.reveal().matches("connect_timeout").count(), 1, "{url}");
            assert!(
                with.reveal().contains(connect_timeout) && with.reveal().contains("tcp_user_timeout=25000"),
                "{url}"
            );
            assert_eq!(longest_wait(&parsed, time), Duration::from_secs(longest), "{url}");
        }
    }
}
