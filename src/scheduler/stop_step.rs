//! `StopStep`: how far a node has come that is ending.

use crate::words::words;

/// The steps of a shutdown; they follow each other in this order (LT-87…90).
///
/// ```
/// use carnelian::monitoring::StopStep;
///
/// assert!(StopStep::Acquisition < StopStep::Jobs && StopStep::Jobs < StopStep::Deregistration);
/// assert_eq!(StopStep::Release.to_string(), "release");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum StopStep {
    /// The node stops looking for work (`acquisition`).
    Acquisition,
    /// The node gives back the triggers that it has reserved and not fired (`release`).
    Release,
    /// The node waits for its running jobs, or tells them to stop, as it was asked to (`jobs`).
    Jobs,
    /// The node records the last ends of its fires (`records`).
    Records,
    /// The node ends its other services: misfires, clean-up, and the check-in as the last
    /// (`services`).
    Services,
    /// The node deletes its rows, so that nobody waits for it (`deregistration`).
    Deregistration,
}

words! {
    /// The word for it in logs.
    StopStep {
        Acquisition = "acquisition",
        Release = "release",
        Jobs = "jobs",
        Records = "records",
        Services = "services",
        Deregistration = "deregistration",
    }
}
