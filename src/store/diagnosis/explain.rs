//! The explanation of a trigger: what holds it back, or when and where it runs.

use super::checklist::checklist;
use super::explanation::Explanation;
use super::facts::Facts;
use crate::epoch::millis;
use crate::error::{Error, Result};
use crate::job::Parent;
use crate::key::TriggerKey;
use crate::store::{ClusterNow, Diagnosis, FiredTrigger, JobStore, TriggerSummary};
use crate::trigger::{DEFAULT_PRIORITY, MisfireInstruction, Overlap, Trigger, TriggerOption, TriggerState};

impl Diagnosis<'_> {
    /// Says what holds a trigger back, or when and where it fires.
    ///
    /// # Errors
    /// [`Error::NotFound`] without the trigger; what the database reports after the bounded
    /// retries.
    pub fn explain(&self, key: &TriggerKey) -> Result<Explanation> {
        let facts = gather(self.store, key)?;
        let scheduler = &self.store.settings.scheduler;
        let (reasons, is_running) = (facts.reasons(), facts.running().count() > 0);
        Ok(Explanation {
            checks: checklist(&facts),
            reasons,
            is_running,
            job_type: facts.job.as_ref().map(|job| job.job_type().to_owned()),
            schedule: facts.schedule,
            default_zone: scheduler.time_zone,
            default_zone_source: scheduler.time_zone_source,
            follows: facts.parent,
            children: facts.children,
            nodes: facts.may_run,
            trigger: facts.trigger,
        })
    }
}

fn gather(store: &JobStore, key: &TriggerKey) -> Result<Facts> {
    let row = store.read("read a trigger", |s| s.trigger(key))?;
    let ClusterNow { now_ms, nodes, fires } = store.upkeep().cluster_now()?;
    let stored = row.clone().map(TriggerSummary::from);
    let trigger = stored.or_else(|| gone_with_its_fire(key, &fires)).ok_or_else(|| Error::not_found("trigger", key))?;
    let mut unreadable = None;
    let mut note = |error: Error| match error {
        Error::Unreadable { .. } => {
            unreadable.get_or_insert(error.to_string());
            Ok(())
        }
        other => Err(other),
    };
    let mut missing_calendar = None;
    let mut look_at_calendar = |name: &str| {
        missing_calendar = store.catalogue().calendar(name)?.is_none().then(|| name.to_owned());
        Ok(())
    };
    let mut read = None;
    row.as_ref()
        .map(|row| store.trigger_value(row))
        .transpose()
        .and_then(|trigger| {
            let name = trigger.as_ref().and_then(Trigger::calendar_name).map(str::to_owned);
            read = trigger;
            name.map_or(Ok(()), |name| look_at_calendar(&name))
        })
        .or_else(&mut note)?;
    let job = match store.catalogue().job(&trigger.job) {
        Ok(job) => job,
        Err(error) => {
            note(error)?;
            None
        }
    };
    let due_ms = trigger.next_fire_time.map_or(now_ms, |time| time.timestamp_millis());
    Ok(Facts {
        may_run: job.as_ref().map_or_else(|| Ok(Vec::new()), |job| store.placement().who_may_run(job, due_ms))?,
        job,
        missing_calendar,
        unreadable,
        parked: store.catalogue().parked_work(key)?.map(|work| work.reason),
        orphan: store.job_types().orphan(&trigger.job)?,
        fires,
        schedule: read.as_ref().map(|trigger| trigger.schedule().in_words()),
        paused_groups: store.catalogue().paused_groups()?,
        nodes,
        misfire_threshold_ms: millis(store.settings().job_store.misfire_threshold),
        now_ms,
        overlap: read.as_ref().map_or(Overlap::AllowAll, Trigger::overlap),
        has_fixed_delay: read
            .as_ref()
            .is_some_and(|trigger| trigger.schedule().options().contains(&TriggerOption::FixedDelay)),
        catch_up_ms: read.as_ref().and_then(Trigger::catch_up_window).map(millis),
        pauses_on_failure: read.as_ref().is_some_and(Trigger::pauses_on_failure),
        parent: read.as_ref().and_then(|trigger| Parent::of(trigger.data())),
        children: store.catalogue().children_of(&trigger.job).or_else(unreadable_means_none)?,
        trigger,
    })
}

/// A trigger without another fire time may be gone while its last fire runs.
fn gone_with_its_fire(key: &TriggerKey, fires: &[FiredTrigger]) -> Option<TriggerSummary> {
    let fire = fires.iter().find(|fire| fire.trigger == *key)?;
    Some(TriggerSummary {
        key: key.clone(),
        job: fire.job.clone()?,
        kind: "SIMPLE".to_owned(),
        state: TriggerState::Complete.name().to_owned(),
        next_fire_time: None,
        previous_fire_time: Some(fire.scheduled_fire_time),
        priority: DEFAULT_PRIORITY,
        misfire: MisfireInstruction::Smart.code(),
    })
}

/// Continuations that cannot be read are no reason not to explain the rest: `doctor` names them.
fn unreadable_means_none<T>(error: Error) -> Result<Vec<T>> {
    match error {
        Error::Unreadable { .. } => Ok(Vec::new()),
        error => Err(error),
    }
}
