//! Whole ticks: a child that follows all parts of a tick runs once, after the last of them.

use super::ended_part::EndedPart;
use super::fire_ids::fence_of;
use super::released::Released;
use crate::error::Result;
use crate::job::{FireOutcome, Parent};
use crate::key::{JobKey, TriggerKey, distinct};
use crate::rules::continuation::{deciding, follows, is_for, read};
use crate::store::row::{ContinuationSelection, Notification, TickPartRow};
use crate::store::{Firing, Lock, Session, TxMode};
use std::collections::BTreeMap;

/// The longest trace context that is kept; those of today's version have 55 characters.
const MAX_TRACE: usize = 200;

/// The most parts that one statement reads in the search for ticks that are over.
const PAGE: usize = 1_000;

impl Firing<'_> {
    /// Notes that these parts are over, and stores the triggers of the children of ticks that have
    /// no part left; returns their keys.
    ///
    /// A job that ends its fire in a transaction of its own takes no lock, and does not see the
    /// part that another such transaction is just ending. The tick of the two is found when their
    /// ends are tidied up, or by an audit if their nodes have died before that.
    pub(super) fn end_parts(&self, s: &mut dyn Session, ended: Vec<EndedPart>) -> Result<Vec<TriggerKey>> {
        let ticks: Vec<String> = distinct(ended.iter().map(|one| &one.part.tick));
        if ticks.is_empty() {
            return Ok(Vec::new());
        }
        for EndedPart { part, end } in ended {
            let rows = s.rows::<TickPartRow>().with("tick", &part.tick).with("part", &part.part);
            match end {
                Some(Parent { fire_id, job, outcome, result, traceparent }) => {
                    let (outcome, fire_id) = (Some(outcome.name().to_owned()), Some(fire_id));
                    let traceparent = traceparent.filter(|trace| trace.len() <= MAX_TRACE);
                    let (tick, part) = (part.tick.clone(), part.part.clone());
                    rows.write(&TickPartRow { tick, part, job, outcome, fire_id, result, traceparent })?
                }
                None => rows.delete()?,
            };
        }
        self.follow_whole_ticks(s, &ticks)
    }

    /// Stores the triggers of the children of every tick that has no part left; returns their keys.
    pub(in crate::store) fn settle_ticks(&self) -> Result<Vec<TriggerKey>> {
        let over = self.store.glance("look for ticks that are over", |s| ticks_over(s))?;
        if over.is_empty() {
            return Ok(Vec::new());
        }
        // A tick that was followed is not found again.
        self.store.at_least_once("follow ticks that are over", TxMode::Exclusive(Lock::TriggerAccess), |s| {
            let following = self.follow_whole_ticks(s, &over)?;
            if !following.is_empty() {
                s.notify(Notification::Change)?;
            }
            Ok(following)
        })
    }

    /// Stores the triggers of the children of those of these ticks that have no part left.
    pub(super) fn follow_whole_ticks(&self, s: &mut dyn Session, ticks: &[String]) -> Result<Vec<TriggerKey>> {
        let mut parts: BTreeMap<String, Vec<TickPartRow>> = BTreeMap::new();
        for row in s.rows::<TickPartRow>().any_of(&["tick"], ticks).list()? {
            parts.entry(row.tick.clone()).or_default().push(row);
        }
        let whole: BTreeMap<String, Parent> =
            parts.into_iter().filter_map(|(tick, parts)| Some((tick, end_of(&parts)?))).collect();
        if whole.is_empty() {
            return Ok(Vec::new());
        }
        let over: Vec<String> = whole.keys().cloned().collect();
        s.rows::<TickPartRow>().any_of(&["tick"], &over).delete()?;
        let jobs: Vec<JobKey> = distinct(whole.values().map(|parent| &parent.job));
        let rows = s.continuations(ContinuationSelection::ChildrenOf(&jobs))?;
        let mut released = Vec::new();
        for (tick, parent) in &whole {
            let fence = fence_of(&parent.fire_id);
            let its = rows.iter().filter(|row| row.parent == parent.job && is_for(row.since_fence, fence));
            let its =
                its.filter(|row| read(&row.on).is_ok_and(|(on, per_tick)| per_tick && follows(on, parent.outcome)));
            released.extend(its.map(|row| Released { parent, origin: tick, row }));
        }
        self.store_released(s, &released)
    }
}

/// The ticks of which every part has an outcome, without a lock: a part may be seen too late.
fn ticks_over(s: &mut dyn Session) -> Result<Vec<String>> {
    let mut ticks: BTreeMap<String, bool> = BTreeMap::new();
    let (mut tick, mut part) = (String::new(), String::new());
    loop {
        let parts = s.rows::<TickPartRow>().behind(&["tick", "part"], &[&tick, &part]);
        let parts = parts.by(&["tick", "part"]).limit(PAGE).list()?;
        for row in &parts {
            *ticks.entry(row.tick.clone()).or_insert(true) &= row.outcome.is_some();
        }
        match parts.last() {
            Some(last) if parts.len() == PAGE => (tick, part) = (last.tick.clone(), last.part.clone()),
            _ => return Ok(ticks.into_iter().filter_map(|(tick, is_over)| is_over.then_some(tick)).collect()),
        }
    }
}

/// The end of a tick, if all its parts are over: that of the part that decides.
fn end_of(parts: &[TickPartRow]) -> Option<Parent> {
    let outcome = |row: &TickPartRow| FireOutcome::from_name(row.outcome.as_deref()?);
    let outcomes = parts.iter().map(outcome).collect::<Option<Vec<FireOutcome>>>()?;
    let place = deciding(&outcomes)?;
    let (row, outcome) = (parts.get(place)?, *outcomes.get(place)?);
    let fire_id = row.fire_id.clone().unwrap_or_default();
    let (result, traceparent) = (row.result.clone(), row.traceparent.clone());
    Some(Parent { fire_id, job: row.job.clone(), outcome, result, traceparent })
}
