//! The name that a node makes for itself where the settings say `AUTO`.

use crate::error::{Error, Result};
use crate::machine::{Machine as _, MachineFiles};

/// Host name and a random part, so that two nodes of one host, started in the same millisecond, differ.
pub(crate) fn automatic() -> Result<String> {
    let mut random = [0_u8; 8];
    getrandom::fill(&mut random)
        .map_err(|why| Error::Refused(format!("no random numbers for the node's name: {why}")))?;
    let host: String = MachineFiles::default().host().unwrap_or_default().chars().take(150).collect();
    let host = if host.is_empty() { "node" } else { &host };
    Ok(format!("{host}-{:016x}", u64::from_be_bytes(random)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// H24: host and start millisecond are not enough for two nodes of one host.
    #[test]
    fn automatic_names_differ_and_can_be_stored() {
        let names: std::collections::BTreeSet<_> = (0..100).map(|_| automatic().expect("a name")).collect();
        assert_eq!(names.len(), 100);
        assert!(names.iter().all(|name| crate::key::check_name("instance id", name).is_ok()));
    }
}
