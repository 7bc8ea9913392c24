//! Whether the fences are smaller than what the tables themselves show to be given out: after a
//! restore.

use crate::error::Result;
use crate::store::row::HistoryFilter;
use crate::store::{JobStore, LostCommits};

/// So many of the newest runs are looked at.
const RUNS: usize = 1000;

impl JobStore {
    /// The last fence and the largest that a fire, a run of the history or a lock carries, if that
    /// is larger: the tables were put back from a backup, or those of a replica took their place.
    ///
    /// # Errors
    /// What the database reports after the bounded retries.
    pub fn fence_behind(&self) -> Result<Option<LostCommits>> {
        self.read("compare fences", |s| {
            let Some(stored) = s.draw_fences(None, 0)? else { return Ok(None) };
            let fires = s.all_fired()?.into_iter().map(|fire| fire.fire_id);
            let runs = s.history(&HistoryFilter { limit: RUNS, ..HistoryFilter::default() })?;
            let ids = fires.chain(runs.into_iter().map(|run| run.fire_id));
            let locks = s.locks()?.into_iter().map(|lock| lock.fence);
            let largest = ids.filter_map(|id| own_fence(&id)).chain(locks).max().unwrap_or(0);
            Ok((largest > stored).then_some(LostCommits { stored, largest }))
        })
    }
}

/// The fence in an id that one of our nodes made, `<hash>-<incarnation>-<fence>`: those of Quartz
/// end with numbers too.
fn own_fence(fire_id: &str) -> Option<i64> {
    let mut parts = fire_id.split('-');
    let (hash, incarnation, fence) = (parts.next()?, parts.next()?, parts.next()?);
    let is_hex = |text: &str, length| text.len() == length && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_ours = parts.next().is_none() && is_hex(hash, 8) && is_hex(incarnation, 16);
    fence.parse().ok().filter(|_| is_ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_quartz_carry_no_fence() {
        assert_eq!(own_fence("00c0ffee-0123456789abcdef-42"), Some(42));
        for id in ["node-11700000000000", "a-b-3", "host1700000000001", "00c0ffee-0123456789abcdef-42-7", ""] {
            assert_eq!(own_fence(id), None, "{id}");
        }
    }
}
