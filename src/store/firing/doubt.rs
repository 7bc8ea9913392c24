//! `Doubt`: what was taken by a transaction whose commit's answer was lost, kept until the store
//! can be asked for it.

use super::overlap::is_written;
use super::{Acquisition, Completion, Recorded, fenced};
use crate::error::{Error, Result};
use crate::store::transaction::Told;
use crate::store::{JobStore, Lock, Owner, Session, TxMode};
use std::collections::BTreeSet;

/// What a transaction brought if it was committed, which is not known: its answer was lost, and the
/// store could not be asked.
///
/// Nobody else has a right to it while its owner lives: the fires in it have not begun, and must if
/// their rows are there.
#[derive(Debug)]
pub struct Doubt {
    /// What was taken.
    pub brought: Acquisition,
    /// The ends that the same transaction was to record.
    pub ended: Vec<Completion>,
    /// What those came to.
    pub recorded: Recorded,
    /// Whether what was fired waits for its time.
    pub leads: bool,
    /// What became of the last question.
    pub error: Error,
}

impl Acquisition {
    /// The ids of what was taken.
    pub(super) fn ids(&self) -> Vec<String> {
        let fired = self.fired.iter().map(|fire| &fire.fire_id);
        fired.chain(self.reserved.iter().map(|held| &held.fire_id)).cloned().collect()
    }

    /// The answer of a transaction, or nothing yet and what it may have brought.
    pub(super) fn told(told: Told<Acquisition>, leads: bool) -> Self {
        match told {
            Told::Done(brought) => brought,
            Told::InDoubt(brought, error) => {
                let doubt = Doubt { brought, ended: Vec::new(), recorded: Recorded::default(), leads, error };
                doubt.into_acquisition()
            }
        }
    }
}

impl Doubt {
    /// An acquisition that has brought nothing yet but this.
    pub(super) fn into_acquisition(self) -> Acquisition {
        Acquisition { now_ms: self.brought.now_ms, doubt: Some(Box::new(self)), ..Acquisition::default() }
    }
}

/// Whether something of this is there: reservations may have been taken back one by one since. None
/// if nothing tells.
pub(super) fn is_there(s: &mut dyn Session, brought: &Acquisition) -> Result<Option<bool>> {
    let ids = brought.ids();
    if ids.is_empty() {
        return is_written(s, brought);
    }
    Ok(Some(!s.existing_fired(&ids)?.is_empty()))
}

impl JobStore {
    /// Whether these ends are recorded, where nobody could say so when they were to be.
    ///
    /// # Errors
    /// What the database reports after the bounded retries.
    pub fn ends_are_recorded(&self, owner: &Owner, ended: &[Completion]) -> Result<bool> {
        let begin = TxMode::Exclusive(Lock::TriggerAccess);
        self.retrying("settle ends in doubt", begin, |s| self.is_recorded(s, owner, ended), &mut |_, _| Ok(true))
    }

    /// Asks what became of what is in doubt; leaves in it what is there. False if the transaction
    /// was not committed: then nothing of it is true.
    ///
    /// The question waits for the lost session's transaction to end, one way or the other.
    ///
    /// # Errors
    /// [`Error::Fenced`] if `owner` is not registered any longer: then others have taken it over.
    /// What the database reports after the bounded retries; then it is in doubt still.
    pub fn settle_doubt(&self, owner: &Owner, doubt: &mut Doubt) -> Result<bool> {
        let Doubt { brought, ended, .. } = &*doubt;
        let (happened, there) = self.retrying(
            "settle what is in doubt",
            TxMode::Exclusive(Lock::TriggerAccess),
            |s| {
                s.draw_fences(Some(owner), 0)?.ok_or_else(|| fenced(owner))?;
                let ids = brought.ids();
                let there: BTreeSet<String> = match ids.is_empty() {
                    true => BTreeSet::new(),
                    false => s.existing_fired(&ids)?.into_iter().map(|(id, _)| id).collect(),
                };
                // What was reserved may have been taken back since: what has ended tells too.
                let happened = match is_there(s, brought)? {
                    Some(is_there) if is_there || ended.is_empty() => is_there,
                    _ => self.is_recorded(s, owner, ended)?,
                };
                Ok((happened, there))
            },
            &mut |_, _| Ok(true),
        )?;
        doubt.brought.fired.retain(|fire| there.contains(&fire.fire_id));
        doubt.brought.reserved.retain(|held| there.contains(&held.fire_id));
        Ok(happened)
    }
}
