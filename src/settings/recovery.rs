//! Recovery settings: how a backlog is drained.

use super::reader::Reader;

/// Draining of a backlog, after an outage above all (`carnelian.recovery.*`).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecoverySettings {
    /// The number of overdue triggers from which on the recovery mode begins by itself at the end
    /// of a total outage; 1000. At 0 it never does.
    /// Property `carnelian.recovery.threshold`.
    pub threshold: u32,
    /// The largest number of triggers that one transaction acquires in the recovery mode, as far as
    /// there are free workers; 100. The number of misfires that one transaction handles is the
    /// larger of this and `jobStore.maxMisfiresToHandleAtATime`.
    /// Property `carnelian.recovery.batch`.
    pub batch: u32,
    /// Most fires that this node begins in a second of the recovery mode; 0 for no limit. 0.
    /// Property `carnelian.recovery.rate`.
    pub rate: u32,
    /// Times in a row that the work of runs that died is taken over before it is parked, where its
    /// job does not say; 0 for as often as it dies. 10. Property `carnelian.recovery.maxTakeovers`.
    pub max_takeovers: u32,
    /// True if the last fire of a trigger is done again when its node dies, though its job does not
    /// request recovery; no, in profile `db-scheduler` yes. All nodes
    /// should have the same value.
    /// Property `carnelian.recovery.reviveOneShots`.
    pub revive_one_shots: bool,
}

impl RecoverySettings {
    pub(crate) fn read(reader: &Reader) -> Self {
        Self {
            threshold: reader.count("carnelian.recovery.threshold"),
            batch: reader.count("carnelian.recovery.batch"),
            rate: reader.count("carnelian.recovery.rate"),
            max_takeovers: reader.count("carnelian.recovery.maxTakeovers"),
            revive_one_shots: reader.flag("carnelian.recovery.reviveOneShots"),
        }
    }
}
