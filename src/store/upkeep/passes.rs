//! Passes: what the misfire handler, the audit and the clean-up have done.

use crate::key::TriggerKey;
use crate::store::SkippedFires;
use crate::trigger::Trigger;

/// The result of a pass of the misfire handler.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MisfirePass {
    /// Triggers whose misfire instruction was applied, as they were before.
    pub handled: Vec<Trigger>,
    /// The triggers among them that will not fire again.
    pub finalized: Vec<TriggerKey>,
    /// There are more.
    pub more: bool,
    /// Triggers that could not be read, with the reason.
    pub unreadable: Vec<(TriggerKey, String)>,
    /// Times older than the catch-up windows of their triggers, which were left out before the
    /// instruction was applied.
    pub skipped: Vec<SkippedFires>,
}

/// The result of an audit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditPass {
    /// Triggers that were acquired by nobody.
    pub released: Vec<TriggerKey>,
    /// Triggers that were blocked by nobody.
    pub unblocked: Vec<TriggerKey>,
    /// Complete triggers with no fire left.
    pub finished: Vec<TriggerKey>,
    /// Rows of our side tables whose rows in Quartz's tables a node of Quartz has deleted.
    pub swept: usize,
    /// Triggers of the children of ticks whose last parts ended in transactions of their jobs.
    pub following: Vec<TriggerKey>,
}

/// The result of a clean-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CleanUpPass {
    /// Rows of the history.
    pub history: usize,
    /// Requests that were taken long ago.
    pub requests: usize,
}
