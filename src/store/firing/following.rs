//! Following: children run after a run of their parent; their triggers are stored in the
//! transaction that ends it.

use super::Completion;
use super::ended_part::EndedPart;
use super::fire_ids::fence_of;
use super::released::Released;
use crate::error::Result;
use crate::hash::HashMap;
use crate::job::{FireOutcome, On, Parent};
use crate::key::{JobKey, SUBMITTED_GROUP, TriggerKey, distinct};
use crate::rules::continuation::{follows, is_for, read};
use crate::rules::strategy::{PartId, is_rerun, part_id};
use crate::store::row::{ContinuationRow, ContinuationSelection, FiredRow, JobRow, JobSelection, TriggerSelection};
use crate::store::stop_orders::StopOrders;
use crate::store::{Firing, Session};
use std::collections::BTreeSet;

/// The number of characters of its parent's result a child sees: they are part of a trigger's data.
const MOST_PASSED_ON: usize = 1_000;

impl Firing<'_> {
    /// Stores the triggers of the children that follow these ends, whose rows are gone by now;
    /// returns their keys. Work that goes on in another fire has not ended.
    pub(super) fn follow_ends(&self, s: &mut dyn Session, recorded: &[&Completion]) -> Result<Vec<TriggerKey>> {
        let ended = recorded.iter().filter(|c| c.followed && c.rerun.is_none());
        let end = |c: &&Completion| {
            let result = c.ending.result.as_deref().map(|result| crate::error::storable(result, MOST_PASSED_ON));
            let (fire_id, job, outcome) = (c.fire_id.clone(), c.job.clone(), c.ending.outcome);
            let parent = Parent { fire_id, job, outcome, result, traceparent: c.traceparent.clone() };
            End { parent, part: c.part.clone() }
        };
        self.let_follow(s, ended.map(end).collect())
    }

    /// Stores the same for those of these dead fires that are among `lost`: nobody runs their work
    /// again. The traces of the fires are by their ids. A fire that has an order was cancelled.
    pub(in crate::store) fn follow_lost(
        &self,
        s: &mut dyn Session,
        fires: &[FiredRow],
        lost: &[String],
        traces: &HashMap<String, String>,
        orders: &StopOrders,
    ) -> Result<()> {
        let lost: BTreeSet<&String> = lost.iter().collect();
        let lost = fires.iter().filter(|fire| lost.contains(&fire.fire_id));
        self.follow_given_up(s, lost.map(|fire| (fire, orders.outcome_of_lost(&fire.fire_id))).collect(), traces)
    }

    /// Stores the same for work that nobody goes on with, by the outcomes of its last fires.
    pub(super) fn follow_given_up(
        &self,
        s: &mut dyn Session,
        fires: Vec<(&FiredRow, FireOutcome)>,
        traces: &HashMap<String, String>,
    ) -> Result<()> {
        // The data of a rerun say which part it ran.
        let reruns: Vec<TriggerKey> = distinct(fires.iter().map(|(fire, _)| &fire.trigger).filter(|key| is_rerun(key)));
        let rows = if reruns.is_empty() { Vec::new() } else { s.triggers(TriggerSelection::Keys(&reruns))? };
        let data = |key: &TriggerKey| {
            let row = rows.iter().find(|row| row.key == *key)?;
            self.store.decode_data(row.data.as_deref()).ok()
        };
        let end = |(fire, outcome): (&FiredRow, FireOutcome)| {
            let (fire_id, job) = (fire.fire_id.clone(), fire.job.clone()?);
            let traceparent = traces.get(&fire.fire_id).cloned();
            let parent = Parent { fire_id, job, outcome, result: None, traceparent };
            Some(End { parent, part: part_id(&fire.trigger, data(&fire.trigger).as_ref()) })
        };
        self.let_follow(s, fires.into_iter().filter_map(end).collect()).map(drop)
    }

    fn let_follow(&self, s: &mut dyn Session, ended: Vec<End>) -> Result<Vec<TriggerKey>> {
        let parents: Vec<JobKey> = distinct(ended.iter().map(|end| &end.parent.job));
        if parents.is_empty() {
            return Ok(Vec::new());
        }
        let rows = s.continuations(ContinuationSelection::ChildrenOf(&parents))?;
        let mut children: HashMap<&JobKey, Vec<(&ContinuationRow, On, bool)>> = HashMap::default();
        for row in &rows {
            match read(&row.on) {
                Ok((on, per_tick)) => children.entry(&row.parent).or_default().push((row, on, per_tick)),
                Err(why) => {
                    log::warn!("nobody knows when to follow parent={} child={} why={why}", row.parent, row.child);
                }
            }
        }
        let (mut released, mut parts) = (Vec::new(), Vec::new());
        for End { parent, part } in &ended {
            let its = children.get(&parent.job).map_or(&[][..], Vec::as_slice);
            let part = part.as_ref().filter(|_| its.iter().any(|(.., per_tick)| *per_tick));
            parts.extend(part.map(|part| EndedPart { part: part.clone(), end: Some(parent.clone()) }));
            let fence = fence_of(&parent.fire_id);
            // A run that is no part is a whole tick.
            let here =
                its.iter().filter(|(_, on, per_tick)| follows(*on, parent.outcome) && !(*per_tick && part.is_some()));
            let here = here.filter(|(row, ..)| is_for(row.since_fence, fence));
            released.extend(here.map(|(row, ..)| Released { parent, origin: &parent.fire_id, row }));
        }
        let submitted = |row: &&ContinuationRow| row.child.group() == SUBMITTED_GROUP;
        let (begun, dropped): (Vec<_>, Vec<_>) =
            rows.iter().filter(submitted).partition(|row| released.iter().any(|one| one.row.child == row.child));
        begin_submitted(s, &distinct(begun.iter().map(|row| &row.child)))?;
        drop_submitted(s, distinct(dropped.iter().map(|row| &row.child)))?;
        let mut triggers = self.store_released(s, &released)?;
        triggers.extend(self.end_parts(s, parts)?);
        Ok(triggers)
    }
}

/// The end of work, with the part of a tick that it was.
struct End {
    parent: Parent,
    part: Option<PartId>,
}

/// Lets submitted work that has waited for a run go with its own last run: its job was durable as
/// long as it had no trigger.
fn begin_submitted(s: &mut dyn Session, jobs: &[JobKey]) -> Result<()> {
    jobs.iter().try_for_each(|key| match s.job(key)? {
        Some(job) => s.update_job(&JobRow { durable: false, ..job }),
        None => Ok(()),
    })
}

/// Deletes those of these jobs that nothing keeps, and submitted work that waits for their runs;
/// returns the former.
pub(in crate::store) fn delete_idle(s: &mut dyn Session, jobs: &[JobKey]) -> Result<Vec<JobKey>> {
    let submitted: Vec<JobKey> = jobs.iter().filter(|job| job.group() == SUBMITTED_GROUP).cloned().collect();
    // The children of a job are known as long as the job is stored.
    let followed = match submitted.is_empty() {
        true => Vec::new(),
        false => s.continuations(ContinuationSelection::ChildrenOf(&submitted))?,
    };
    let gone = s.delete_idle_jobs(jobs)?;
    let forsaken = followed.iter().filter(|row| row.child.group() == SUBMITTED_GROUP && gone.contains(&row.parent));
    drop_submitted(s, distinct(forsaken.map(|row| &row.child)))?;
    Ok(gone)
}

/// Deletes those of these jobs that wait for a run that will not come, with all that follows them.
pub(in crate::store) fn drop_submitted(s: &mut dyn Session, jobs: Vec<JobKey>) -> Result<()> {
    let waiting = waiting(s, &jobs)?;
    if waiting.is_empty() {
        return Ok(());
    }
    let all = submitted_after(s, &waiting)?.into_iter().chain(waiting).collect::<Vec<_>>();
    s.delete_jobs(&all).map(drop)
}

/// The submitted work that waits for runs of these jobs, or for runs of work that waits for them.
pub(in crate::store) fn submitted_after(s: &mut dyn Session, jobs: &[JobKey]) -> Result<BTreeSet<JobKey>> {
    let mut found = BTreeSet::new();
    let mut next: Vec<JobKey> = jobs.iter().filter(|job| job.group() == SUBMITTED_GROUP).cloned().collect();
    while !next.is_empty() {
        let rows = s.continuations(ContinuationSelection::ChildrenOf(&next))?;
        let new = rows.iter().map(|row| &row.child).filter(|key| key.group() == SUBMITTED_GROUP);
        next = waiting(s, &distinct(new.filter(|key| !found.contains(*key))))?;
        found.extend(next.iter().cloned());
    }
    Ok(found)
}

/// The submitted jobs among these that wait. A job that has begun is no longer durable: it goes
/// with its own last run, which the work after it waits for.
fn waiting(s: &mut dyn Session, jobs: &[JobKey]) -> Result<Vec<JobKey>> {
    if jobs.is_empty() {
        return Ok(Vec::new());
    }
    let stored = s.jobs(JobSelection::Keys(jobs))?.into_iter();
    Ok(stored.filter(|job| job.durable).map(|job| job.key).collect())
}
