//! Recovery: the work of a failed instance goes back to the living, in one transaction.

use super::Recovered;
use crate::epoch::moment;
use crate::error::Result;
use crate::key::{JobKey, TriggerKey, distinct};
use crate::store::firing::{EndedRuns, delete_idle, gone_rows};
use crate::store::history::LostReason;
use crate::store::row::{FiredRow, FiredSelection, FiredState, Notification, Selection, TriggerSelection};
use crate::store::stop_orders::StopOrders;
use crate::store::transaction::fenced;
use crate::store::{Lock, Owner, Session, TxMode, Upkeep};
use crate::trigger::Transition;
use std::collections::BTreeSet;

/// The holder of the fires that are recovered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FireHolder {
    /// A dead node, which can begin no more of its prefetched fires.
    Dead,
    /// This node, which has forgotten them.
    Own,
    /// A node that lives, and has begun them.
    Running,
}

impl FireHolder {
    fn reason(self) -> LostReason {
        match self {
            Self::Dead => LostReason::Dead,
            Self::Own => LostReason::Forgotten,
            Self::Running => LostReason::GivenUp,
        }
    }
}

impl Upkeep<'_> {
    /// Recovers those fires of a living node that it does not know: it asked for them and the
    /// answer was lost.
    ///
    /// # Errors
    /// [`Error::Fenced`](crate::Error::Fenced) if `owner` is not registered; what the database
    /// reports after the bounded retries.
    pub fn recover_forgotten(&self, owner: &Owner, known: &BTreeSet<String>) -> Result<Recovered> {
        self.recover_own(owner, |fire| !known.contains(&fire.fire_id))
    }

    /// The fired rows of a living node that it does not know, by their ids.
    ///
    /// # Errors
    /// The error of the database that is left after the bounded retries.
    pub fn unknown_fires(&self, owner: &Owner, known: &BTreeSet<String>) -> Result<BTreeSet<String>> {
        let fires =
            self.store.glance("compare fires with memory", |s| s.fired(FiredSelection::OfInstance(&owner.instance)))?;
        Ok(fires.into_iter().map(|fire| fire.fire_id).filter(|id| !known.contains(id)).collect())
    }

    /// Recovers these fires of a living node that does not run them: its store has lost their ends.
    ///
    /// # Errors
    /// As [`Upkeep::recover_forgotten`].
    pub fn recover_unknown(&self, owner: &Owner, unknown: &BTreeSet<String>) -> Result<Recovered> {
        self.recover_own(owner, |fire| unknown.contains(&fire.fire_id))
    }

    fn recover_own(&self, owner: &Owner, is_meant: impl Fn(&FiredRow) -> bool) -> Result<Recovered> {
        // Fires that were recovered are not found again.
        self.store.at_least_once("recover forgotten fires", TxMode::Exclusive(Lock::TriggerAccess), |s| {
            s.draw_fences(Some(owner), 0)?.ok_or_else(|| fenced(owner))?;
            let mut fires = s.fired(FiredSelection::OfInstance(&owner.instance))?;
            fires.retain(&is_meant);
            self.recover_free(s, &owner.instance, fires, FireHolder::Own)
        })
    }

    /// Gives each of these fires of the instance its due, but for those whose rows somebody holds:
    /// they stay as they are, for the next look.
    pub(super) fn recover_free(
        &self,
        s: &mut dyn Session,
        name: &str,
        fires: Vec<FiredRow>,
        holder: FireHolder,
    ) -> Result<Recovered> {
        let ids: Vec<_> = fires.iter().map(|f| f.fire_id.clone()).collect();
        let free = s.fired_ids(FiredSelection::FreeIds(&ids))?;
        let fires = fires.into_iter().filter(|fire| free.contains(&fire.fire_id)).collect();
        self.recover_fires(s, name, fires, holder)
    }

    /// Gives each of these fires of the instance its due (QZ-60…77). This transaction holds their
    /// rows.
    pub(super) fn recover_fires(
        &self,
        s: &mut dyn Session,
        name: &str,
        fires: Vec<FiredRow>,
        holder: FireHolder,
    ) -> Result<Recovered> {
        let now_ms = s.now_ms()?;
        let ids: Vec<_> = fires.iter().map(|f| f.fire_id.clone()).collect();
        let (acquired, executing): (Vec<_>, Vec<_>) = fires.into_iter().partition(|f| f.state == FiredState::Acquired);
        let mut done =
            Recovered { instance: name.to_owned(), now: moment(now_ms), freed: acquired.len(), ..Recovered::default() };
        if ids.is_empty() {
            return Ok(done);
        }

        // The rows first: from here on the failed node's writes find nothing.
        s.delete_fired(&ids, Vec::new())?;
        s.delete_heartbeats(&ids)?;
        let orders = StopOrders::take(s, &ids)?;
        let acquired: Vec<_> = acquired.into_iter().map(|f| f.trigger).collect();
        if !acquired.is_empty() {
            s.change_states(Selection::Triggers(&acquired), Transition::Release.moves(), false)?;
        }

        let taken = executing.len();
        let left = self.store.firing().prefetched_by(s, name, &executing)?;
        let (mut executing, going_on) = match holder {
            FireHolder::Running => (executing, Vec::new()),
            FireHolder::Dead | FireHolder::Own => {
                self.store.firing().take_back_dead(s, name, executing, &left, &orders, holder == FireHolder::Dead)?
            }
        };
        let gone = gone_rows(&executing, &left);
        let traces = self.store.traces_of(s, &executing, &gone)?;
        self.store.history().record_lost(s, &executing, holder.reason(), &traces, &orders, now_ms)?;
        executing.extend(going_on);
        done.freed += taken - executing.len();
        let gone = gone_rows(&executing, &left);
        let have_options = self.schedule_recoveries(s, name, &executing, gone, &orders, &mut done)?;
        self.store.firing().follow_lost(s, &executing, &done.lost, &traces, &orders)?;

        let blocked: Vec<JobKey> =
            distinct(executing.iter().filter(|f| f.nonconcurrent).filter_map(|f| f.job.as_ref()));
        if !blocked.is_empty() {
            s.change_states(Selection::Jobs(&blocked), Transition::Unblock.moves(), true)?;
        }
        if !have_options.is_empty() {
            let rows = s.triggers(TriggerSelection::Keys(&have_options))?;
            let ended = EndedRuns { one_at_a_time: &blocked, failed: &BTreeSet::new() };
            done.skipped = self.store.firing().apply_policies(s, &rows, &ended)?.skipped;
        }
        let triggers: Vec<TriggerKey> = distinct(executing.iter().map(|f| &f.trigger));
        s.delete_finished_triggers(&triggers)?;
        let jobs: Vec<JobKey> = distinct(executing.iter().filter_map(|f| f.job.as_ref()));
        delete_idle(s, &jobs)?;
        s.notify(Notification::Change)?;
        Ok(done)
    }
}
