//! `TriggerOrder`: which of the due triggers fires first.

/// The order in which due triggers fire, if there are more than free workers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TriggerOrder {
    /// The earliest; of those of one millisecond the most important (`time-then-priority`).
    /// Quartz's order.
    #[default]
    TimeThenPriority,
    /// The most important; of those of one priority the earliest (`priority-then-time`).
    /// db-scheduler's order. Under a backlog the unimportant waits until there is nothing else, and
    /// is then dealt with by its misfire instruction; a node sorts the backlog again and again.
    PriorityThenTime,
}
