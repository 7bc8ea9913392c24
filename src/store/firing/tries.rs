//! Tries: what each try of a transaction that ends fires records.

use super::Completion;

/// The ends of fires, for one try after the other.
pub(super) struct Tries<'c> {
    ended: &'c [Completion],
    later: Option<Vec<Completion>>,
    is_first: bool,
}

impl<'c> Tries<'c> {
    pub(super) fn of(ended: &'c [Completion]) -> Self {
        Self { ended, later: None, is_first: true }
    }

    /// The ends as the next try records them.
    ///
    /// Since the first try others may have declared the node dead, and have put triggers back for
    /// fires whose rows were held: as if each job held its own.
    pub(super) fn next(&mut self) -> &[Completion] {
        if std::mem::replace(&mut self.is_first, false) {
            return self.ended;
        }
        let guarded = |ended: &Completion| Completion { guarded: true, ..ended.clone() };
        self.later.get_or_insert_with(|| self.ended.iter().map(guarded).collect())
    }
}
