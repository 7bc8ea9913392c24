//! Fences that are smaller than they can be: the store has lost commits, or was put back.

use super::{Checkin, Membership};
use crate::error::Result;
use crate::rules::fence::own_fence;
use crate::store::row::{FiredSelection, HistoryQuery, HistoryRow, LockRow};
use crate::store::{Fences, LostCommits, Session, Upkeep};

/// The number of the newest runs that are looked at.
const RUNS: usize = 1000;

impl Upkeep<'_> {
    /// The largest fence that this node knows of.
    pub(super) fn largest_fence(&self) -> i64 {
        self.store.database.fences().map_or(0, Fences::largest)
    }

    /// Raises the stored fence if it is smaller than the largest that this node knew of before it
    /// was read, or takes note of it.
    pub(super) fn compare_fence(&self, s: &mut dyn Session, stored: Option<i64>, largest: i64) -> Result<()> {
        let Some(fences) = self.store.database.fences() else { return Ok(()) };
        match stored {
            Some(stored) if fences.are_behind(stored, largest) => s.raise_fence(fences.largest()),
            Some(stored) => {
                fences.note(stored);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Ends the incarnation if the store has lost commits: what this node holds and what the rows
    /// say of it are two stories. The node's rows are recovered as those of a dead node, and the
    /// next check-in registers the node anew.
    pub(super) fn end_incarnation(&self, me: &mut Membership, seen_ms: i64, checkin: &mut Checkin) -> Result<bool> {
        let Some(lost) = self.store.database.fences().and_then(Fences::take_found) else { return Ok(false) };
        me.incarnation = None;
        checkin.failed_out = true;
        checkin.lost_commits = Some(lost);
        match self.recover_instance(&me.instance, Some(seen_ms), None) {
            Ok(recovered) => checkin.recovered.extend(recovered),
            // The registration that follows recovers what is left under the name.
            Err(error) => log::warn!("not recovered yet instance={} error={error}", me.instance),
        }
        Ok(true)
    }

    /// The last fence and the largest that a fire, a run of the history or a lock carries, if that
    /// is larger: the tables were put back from a backup, or those of a replica took their place.
    ///
    /// # Errors
    /// The error of the database that is left after the bounded retries.
    pub fn fence_behind(&self) -> Result<Option<LostCommits>> {
        self.store.read("compare fences", |s| {
            let fires = s.fired(FiredSelection::All)?.into_iter().map(|fire| fire.fire_id);
            let runs: Vec<HistoryRow> = s.history(&HistoryQuery::new().limit(RUNS))?;
            let ids = fires.chain(runs.into_iter().map(|run| run.fire_id));
            let locks = s.rows().list()?.into_iter().map(|lock: LockRow| lock.fence);
            let largest = ids.filter_map(|id| own_fence(&id)).chain(locks).max().unwrap_or(0);
            // The stored fence is read last: a fire that is acquired meanwhile is no loss.
            Ok(s.draw_fences(None, 0)?.and_then(|stored| LostCommits::between(stored, largest)))
        })
    }
}
