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

/// The URL by which a try ends with the wait of the one who asked for it, also where the host is
/// silent, and by which a host that falls silent is noticed.
pub(super) fn answering_within(url: &DataSourceUrl, time: Duration) -> DataSourceUrl {
    #[cfg(feature = "postgres")]
    if matches!(url, DataSourceUrl::Postgres { .. }) {
        // libpq takes one second for two.
        let url = url.with_parameters(&[("connect_timeout", &time.as_secs().max(2).to_string())]);
        return url.with_parameters(&NOTICE_SILENCE);
    }
    let _ = time;
    url.clone()
}
