//! `IfExists`: the fate of a job, trigger or calendar that is stored under the same key already.

/// The fate of what is stored under the same key already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfExists {
    /// Store nothing: the call fails with [`Error::AlreadyExists`](crate::Error::AlreadyExists).
    Refuse,
    /// Store the new in the place of the old.
    Replace,
}

impl IfExists {
    pub(crate) fn replaces(self) -> bool {
        self == Self::Replace
    }
}
