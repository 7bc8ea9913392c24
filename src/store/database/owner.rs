//! `Owner`: who writes.

/// The node that writes, and the incarnation under which the node registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The instance's name.
    pub instance: String,
    /// Drawn at random at each registration, never from a clock.
    pub incarnation: String,
}
