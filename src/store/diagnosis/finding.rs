//! `Finding`: one thing that is not as it should be; `Repair`: one thing that was mended.

/// One thing that is not as it should be; see [`Scheduler::doctor`](crate::Scheduler::doctor).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The kind of the finding in one word, such as `stuck` or `missing_index`; the page on
    /// operations lists all kinds.
    pub kind: &'static str,
    /// The trigger, job, node, table or whatever else is meant.
    pub subject: String,
    /// The finding in words, with the remedy of what is not repairable.
    pub detail: String,
    /// True exactly if [`Scheduler::repair`](crate::Scheduler::repair) mends it.
    pub is_repairable: bool,
}

impl Finding {
    pub(super) fn new(kind: &'static str, subject: impl ToString, detail: impl Into<String>) -> Self {
        Self { kind, subject: subject.to_string(), detail: detail.into(), is_repairable: false }
    }

    pub(super) fn repairable(mut self) -> Self {
        self.is_repairable = true;
        self
    }
}

/// One thing that was mended; see [`Scheduler::repair`](crate::Scheduler::repair).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repair {
    /// The kind of the finding that was mended.
    pub kind: &'static str,
    /// The subject of that finding.
    pub subject: String,
    /// The repair in words.
    pub detail: String,
}

impl Repair {
    pub(super) fn new(kind: &'static str, subject: impl ToString, detail: impl Into<String>) -> Self {
        Self { kind, subject: subject.to_string(), detail: detail.into() }
    }
}
