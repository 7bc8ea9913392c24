//! `Doubt`: what was taken by a transaction whose commit's answer was lost, kept until the store
//! can be asked for it.

use super::completion::of_outcome;
use super::overlap::is_written;
use super::{Acquisition, Completion, CompletionOutcome, CompletionReport, Doubt};
use crate::error::Result;
use crate::rules::fence::own_fence;
use crate::store::row::FiredSelection;
use crate::store::transaction::{TxOutcome, fenced};
use crate::store::{Firing, Lock, Owner, Session, TxMode};
use std::collections::BTreeSet;

impl Acquisition {
    /// The ids of what was taken.
    pub(super) fn ids(&self) -> Vec<String> {
        let fired = self.fired.iter().map(|fire| &fire.fire_id);
        fired.chain(self.reserved.iter().map(|held| &held.fire_id)).cloned().collect()
    }

    /// The answer of a transaction, or nothing yet and the doubt.
    pub(super) fn of(outcome: TxOutcome<Acquisition>, precommits: bool) -> Self {
        match outcome {
            TxOutcome::Done(acquisition) => acquisition,
            TxOutcome::InDoubt(acquisition, error) => {
                let doubt =
                    Doubt { acquisition, ended: Vec::new(), recorded: CompletionReport::default(), precommits, error };
                doubt.into_acquisition()
            }
        }
    }
}

impl Doubt {
    /// An acquisition that has taken nothing yet, with this doubt.
    pub(super) fn into_acquisition(self) -> Acquisition {
        Acquisition { now_ms: self.acquisition.now_ms, doubt: Some(Box::new(self)), ..Acquisition::default() }
    }
}

impl Firing<'_> {
    /// True if something of the acquisition is there: reservations may have been taken back one by
    /// one since. None if nothing tells.
    pub(super) fn is_there(&self, s: &mut dyn Session, acquisition: &Acquisition) -> Result<Option<bool>> {
        match acquisition.ids().as_slice() {
            [] => is_written(s, acquisition),
            ids => self.is_any_there(s, ids).map(Some),
        }
    }

    /// The fences of what is there are known from then on: the answer that would have told of them
    /// was lost, and a store that loses the commit too must not give them out again.
    fn is_any_there(&self, s: &mut dyn Session, ids: &[String]) -> Result<bool> {
        let there = s.fired_ids(FiredSelection::Ids(ids))?;
        if let (Some(fences), Some(largest)) =
            (self.store.database.fences(), there.iter().filter_map(|id| own_fence(id)).max())
        {
            fences.note(largest);
        }
        Ok(!there.is_empty())
    }

    /// True if the transaction was committed that has recorded ends, as told, and taken this.
    ///
    /// Triggers that were passed over tell only where nothing has ended: others may have passed
    /// over the same triggers since.
    pub(super) fn is_committed(
        &self,
        s: &mut dyn Session,
        owner: &Owner,
        ended: &[Completion],
        recorded: &CompletionReport,
        acquisition: &Acquisition,
    ) -> Result<bool> {
        let ended = of_outcome(ended, &recorded.outcomes, CompletionOutcome::Recorded);
        if ended.is_empty() {
            return Ok(self.is_there(s, acquisition)?.unwrap_or(true));
        }
        // A reservation may have been taken back since.
        let ids = acquisition.ids();
        Ok(!ids.is_empty() && self.is_any_there(s, &ids)? || self.are_completed(s, owner, &ended)?)
    }

    /// These ends are recorded, where nobody could say so when they were to be.
    ///
    /// # Errors
    /// The error of the database that is left after the bounded retries.
    pub fn ask_whether_completed(&self, owner: &Owner, ended: &[Completion]) -> Result<bool> {
        let begin = TxMode::Exclusive(Lock::TriggerAccess);
        self.store.at_most_once("settle ends in doubt", begin, |s| self.are_completed(s, owner, ended))
    }

    /// Asks what became of what is in doubt; leaves in it what is there. False if the transaction
    /// was not committed: then nothing of it is true.
    ///
    /// The question waits for the lost session's transaction to end, one way or the other.
    ///
    /// # Errors
    /// [`Error::Fenced`](crate::Error::Fenced) if `owner` is not registered any longer: then others
    /// have taken it over. The error of the database that is left after the bounded retries; then
    /// it is in doubt still.
    pub fn settle_doubt(&self, owner: &Owner, doubt: &mut Doubt) -> Result<bool> {
        let Doubt { acquisition, ended, recorded, .. } = &*doubt;
        let (happened, there) =
            self.store.at_most_once("settle what is in doubt", TxMode::Exclusive(Lock::TriggerAccess), |s| {
                s.draw_fences(Some(owner), 0)?.ok_or_else(|| fenced(owner))?;
                let ids = acquisition.ids();
                let there: BTreeSet<String> = match ids.is_empty() {
                    true => BTreeSet::new(),
                    false => s.fired_ids(FiredSelection::Ids(&ids))?,
                };
                Ok((self.is_committed(s, owner, ended, recorded, acquisition)?, there))
            })?;
        doubt.acquisition.fired.retain(|fire| there.contains(&fire.fire_id));
        doubt.acquisition.reserved.retain(|held| there.contains(&held.fire_id));
        Ok(happened)
    }
}
