//! The name that a node makes for itself where the settings say `AUTO`.

use crate::error::Result;
use crate::key::MAX_INSTANCE_CHARS;
use crate::machine::{Machine as _, MachineFiles};
use crate::random;

/// Host name, start in milliseconds as in Quartz, and a random part, so that two nodes of one host,
/// started in the same millisecond, differ.
pub(crate) fn automatic(now_ms: i64) -> Result<String> {
    let random = random::hex()?;
    let rest = format!("-{now_ms}-{random}");
    let room = MAX_INSTANCE_CHARS.saturating_sub(rest.len());
    let host: String = MachineFiles::default().host().unwrap_or_default().chars().take(room).collect();
    let host = if host.is_empty() { "node" } else { &host };
    Ok(format!("{host}{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// H24: host and start millisecond are not enough for two nodes of one host.
    #[test]
    fn automatic_names_differ_and_can_be_stored() {
        let names: std::collections::BTreeSet<_> =
            (0..100).map(|_| automatic(1_700_000_000_000).expect("a name")).collect();
        assert_eq!(names.len(), 100);
        assert!(names.iter().all(|name| crate::key::check_instance_id(name).is_ok()));
    }

    /// QZ-32: people read from a name where its node ran and since when.
    #[test]
    fn an_automatic_name_has_host_time_and_a_random_part() {
        let name = automatic(1_700_000_000_000).expect("a name");
        let mut parts = name.rsplitn(3, '-');
        let random = parts.next().expect("a random part");
        assert!(random.len() == 16 && random.chars().all(|c| c.is_ascii_hexdigit()), "{name}");
        assert_eq!(parts.next(), Some("1700000000000"), "{name}");
        let host: String = MachineFiles::default().host().unwrap_or("node".to_owned()).chars().take(137).collect();
        assert_eq!(parts.next(), Some(host.as_str()));
    }
}
