//! `TriggerRows`: triggers, and the rows of their kinds.

use crate::error::Result;
use crate::key::{JobKey, TriggerKey};
use crate::store::row::{
    Advance, Candidate, CandidateSelection, FastPathWork, Selection, TriggerRow, TriggerSelection,
};
use crate::trigger::TriggerState;

/// Rows of `TRIGGERS`, of the tables of the kinds and of `PAUSED_TRIGGER_GRPS`.
pub trait TriggerRows {
    /// Triggers, in the order that the selection names.
    fn triggers(&mut self, which: TriggerSelection<'_>) -> Result<Vec<TriggerRow>>;
    /// The keys of the same.
    fn trigger_keys(&mut self, which: TriggerSelection<'_>) -> Result<Vec<TriggerKey>>;
    /// Stores all of this work by one statement and returns when, or declines and stores nothing.
    /// The work is stored if each job is new, or is stored where it should be, and no trigger has
    /// the key. The change is announced, and `token` noted with it.
    ///
    /// Asked in a session begun [at once](super::TxMode::SingleStatement). A database that begins
    /// none stores none.
    fn store_fast_path(&mut self, work: &FastPathWork, token: &str) -> Result<Option<i64>> {
        let _ = (work, token);
        Ok(None)
    }
    /// Stores new triggers, each with the row of its kind and that of its options.
    fn insert_triggers(&mut self, triggers: &[TriggerRow]) -> Result<()>;
    /// Deletes triggers with the rows of their kind, their options and their recovery rows; returns
    /// how many there were.
    ///
    /// With `only_in`, a trigger in another state does not count and the caller must roll back: the
    /// rows of its kind are gone by then.
    fn delete_triggers(&mut self, keys: &[TriggerKey], only_in: Option<TriggerState>) -> Result<usize>;
    /// Deletes those of these triggers that are `COMPLETE` and have no fired row left; returns
    /// them.
    fn delete_finished_triggers(&mut self, keys: &[TriggerKey]) -> Result<Vec<TriggerKey>>;
    /// Moves triggers from state to state; `unless_executing` leaves out those whose job has an
    /// executing fire.
    fn change_states(
        &mut self,
        which: Selection<'_>,
        moves: &[(TriggerState, TriggerState)],
        unless_executing: bool,
    ) -> Result<usize>;
    /// Writes what a fire or a misfire changed; returns how many triggers were as expected.
    fn advance(&mut self, advances: &[Advance]) -> Result<usize>;
    /// Triggers with their jobs, in the order that the selection names.
    fn candidates(&mut self, which: CandidateSelection<'_>) -> Result<Vec<Candidate>>;
    /// Gives all triggers of a job to another that is stored as well.
    fn give_triggers(&mut self, from: &JobKey, to: &JobKey) -> Result<usize>;
    /// Tells whether a trigger is misfired that was due more than `threshold_ms` ago; in one
    /// statement.
    fn is_any_misfired(&mut self, threshold_ms: i64) -> Result<bool>;
}
