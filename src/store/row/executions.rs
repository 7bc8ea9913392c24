//! The rows of running fires: heartbeats and orders to stop.

/// A row of `CN_BEATS`: the last sign of life of a running fire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeartbeatRow {
    /// The fire.
    pub fire_id: String,
    /// The instance it runs on.
    pub instance: String,
    /// When it was last known to be alive, epoch milliseconds by the store's clock.
    pub beat_ms: i64,
    /// How long it may be silent, in milliseconds.
    pub limit_ms: i64,
    /// How far its job has come.
    pub progress: Option<Progress>,
    /// When its job last made progress, epoch milliseconds by the store's clock.
    pub progress_ms: Option<i64>,
    /// How long it may go without progress, in milliseconds; none if that does not matter.
    pub progress_limit_ms: Option<i64>,
}

/// How far a run has come, in whatever its job counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// What is done.
    pub done: i64,
    /// Of how much, if that is known.
    pub total: Option<i64>,
    /// A word on it, at most 250 characters.
    pub note: Option<String>,
}

/// A row of `CN_CANCELS`: somebody wants a run to stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CancelRow {
    /// The fire.
    pub fire_id: String,
    /// Who wants it.
    pub who: String,
}
