//! `explain`: why a trigger is not running right now, or when it will.

use crate::failure::Outcome;
use crate::follow;
use crate::output::{Output, fields, span, time};
use crate::strategy;
use crate::trigger::missing;
use crate::value::{epoch_ms, millis};
use crate::when;
use carnelian::definitions::Orphan;
use carnelian::monitoring::InstanceStatus;
use carnelian::placement::MayRun;
use carnelian::store::row::FiredState;
use carnelian::store::{ALL_GROUPS_PAUSED, JobStore};
use carnelian::trigger::TriggerOption;
use carnelian::{
    Continuation, Error, GroupMatcher, JobDetail, MisfireInstruction, Overlap, Parent, Trigger, TriggerKey,
    TriggerState,
};
use carnelian::{FiredTrigger, TriggerSummary};
use serde_json::json;

/// The known facts of one trigger at one moment.
struct Facts {
    trigger: TriggerSummary,
    job: Option<JobDetail>,
    /// Why the row of the trigger or of its job cannot be read.
    unreadable: Option<String>,
    /// The calendar that the trigger names and nobody has stored.
    missing_calendar: Option<String>,
    /// Present if no living node can run its job.
    orphan: Option<Orphan>,
    /// True if each living node may take it.
    may_run: Vec<MayRun>,
    fires: Vec<FiredTrigger>,
    /// The schedule in words, with its zone.
    schedule: Option<String>,
    paused_groups: Vec<String>,
    nodes: Vec<InstanceStatus>,
    misfire_threshold_ms: i64,
    now_ms: i64,
    overlap: Overlap,
    /// True if the end of a run sets its next time.
    has_fixed_delay: bool,
    catch_up_ms: Option<i64>,
    pauses_on_failure: bool,
    /// The run that it follows.
    parent: Option<Parent>,
    /// The jobs that follow its own.
    children: Vec<Continuation>,
}

/// Says what holds the trigger back, or when it fires.
pub fn run(store: &JobStore, output: Output, key: &TriggerKey) -> Outcome {
    let facts = gather(store, key)?;
    let reasons = facts.reasons();
    let next_ms = facts.trigger.next_fire_time.map(epoch_ms);
    let running = facts.running().count() > 0;
    let zone = &store.settings().scheduler;
    let document = json!({
        "trigger": key.to_string(),
        "job": facts.trigger.job.to_string(),
        "state": facts.trigger.state,
        "running": running,
        "schedule": facts.schedule,
        "scheduler_zone": zone.time_zone.name(),
        "scheduler_zone_from": zone.time_zone_source.name(),
        "next_fire_ms": next_ms,
        "prev_fire_ms": facts.trigger.previous_fire_time.map(epoch_ms),
        "follows": facts.parent.as_ref().map(|parent| json!({
            "fire_id": parent.fire_id, "job": parent.job.to_string(), "outcome": parent.outcome.name(),
        })),
        "children": follow::as_json(facts.children.iter(), Continuation::child),
        "reasons": reasons,
        "nodes": facts.may_run.iter().map(|node| json!({
            "instance": node.instance,
            "may_run": node.refusal.is_none(),
            "is_guess": node.is_guess,
            "why_not": node.refusal.as_ref().map(ToString::to_string),
        })).collect::<Vec<_>>(),
    });
    output.answer(document, || {
        let mut text = fields(&[
            ("trigger", Some(key.to_string())),
            ("job", Some(facts.trigger.job.to_string())),
            ("type", facts.job.as_ref().map(|job| job.job_type().to_owned())),
            ("state", Some(facts.trigger.state.clone())),
            ("schedule", facts.schedule.clone()),
            ("default zone", Some(format!("{}, from {}", zone.time_zone, zone.time_zone_source.name()))),
            ("next fire", Some(time(next_ms))),
            ("previous fire", Some(time(facts.trigger.previous_fire_time.map(epoch_ms)))),
        ]);
        if let Some(Parent { fire_id, job, outcome, .. }) = &facts.parent {
            text.push_str(&fields(&[("follows", Some(format!("{job}, whose fire {fire_id} has {outcome}")))]));
        }
        for one in &facts.children {
            text.push_str(&fields(&[("followed by", Some(format!("{} on {}", one.child(), one.follows_on())))]));
        }
        reasons.iter().for_each(|reason| text.push_str(&format!("- {reason}\n")));
        text
    })
}

fn gather(store: &JobStore, key: &TriggerKey) -> Outcome<Facts> {
    let summaries = store.catalogue().trigger_summaries(&GroupMatcher::equals(key.group()))?;
    let fires = store.upkeep().fired_triggers()?;
    let stored = summaries.into_iter().find(|trigger| trigger.key == *key);
    let trigger = stored.or_else(|| gone_with_its_fire(key, &fires)).ok_or_else(|| missing(key))?;
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
    store
        .catalogue()
        .trigger(key)
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
    let now_ms = store.now_ms()?;
    let due_ms = trigger.next_fire_time.map_or(now_ms, epoch_ms);
    Ok(Facts {
        may_run: job.as_ref().map_or_else(|| Ok(Vec::new()), |job| store.placement().who_may_run(job, due_ms))?,
        job,
        missing_calendar,
        unreadable,
        orphan: store.job_types().orphans()?.jobs.into_iter().find(|orphan| orphan.job == trigger.job),
        fires,
        schedule: read.as_ref().map(|trigger| when::words(trigger.schedule())),
        paused_groups: store.catalogue().paused_groups()?,
        nodes: store.upkeep().instances()?,
        misfire_threshold_ms: millis(store.settings().job_store.misfire_threshold),
        now_ms,
        overlap: read.as_ref().map_or(Overlap::AllowAll, Trigger::overlap),
        has_fixed_delay: read
            .as_ref()
            .is_some_and(|trigger| trigger.schedule().options().contains(&TriggerOption::FixedDelay)),
        catch_up_ms: read.as_ref().and_then(Trigger::catch_up_window).map(millis),
        pauses_on_failure: read.as_ref().is_some_and(Trigger::pauses_on_failure),
        parent: read.as_ref().and_then(|trigger| Parent::of(trigger.data())),
        children: follow::children(store, &trigger.job)?,
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
        priority: carnelian::trigger::DEFAULT_PRIORITY,
        misfire: MisfireInstruction::Smart.code(),
    })
}

impl Facts {
    fn running(&self) -> impl Iterator<Item = &FiredTrigger> {
        self.fires.iter().filter(|fire| fire.state == FiredState::Executing && fire.trigger == self.trigger.key)
    }

    /// The executing fires of the same job.
    fn of_the_job(&self) -> impl Iterator<Item = &FiredTrigger> {
        self.fires
            .iter()
            .filter(|fire| fire.state == FiredState::Executing && fire.job.as_ref() == Some(&self.trigger.job))
    }

    fn is_alive(&self, instance: &str) -> bool {
        self.nodes.iter().any(|node| node.alive && node.instance == instance)
    }

    fn reasons(&self) -> Vec<String> {
        let mut reasons: Vec<String> = self.running().map(|fire| self.running_on(fire)).collect();
        if let Some(reason) = &self.unreadable {
            reasons.push(format!("nodes leave it alone: {reason}"));
        } else if self.job.is_none() {
            reasons.push(format!("its job `{}` does not exist", self.trigger.job));
        } else if let Some(name) = &self.missing_calendar {
            reasons.push(format!("nodes leave it alone: its calendar `{name}` does not exist"));
        }
        match TriggerState::from_name(&self.trigger.state) {
            Some(TriggerState::Waiting) => self.waiting(&mut reasons),
            Some(TriggerState::Acquired) => reasons.push(self.acquired()),
            Some(TriggerState::Blocked) => self.blocked(&mut reasons),
            Some(TriggerState::Paused) => reasons.push(self.paused()),
            Some(TriggerState::PausedBlocked) => {
                reasons.push(self.paused());
                self.blocked(&mut reasons);
            }
            Some(TriggerState::Complete) => reasons.push("it has no fire time left".to_owned()),
            Some(TriggerState::Error) => reasons.push(
                "it is in the error state: its last fire asked for that, or a node could not make its job; \
                 `carnelian trigger reset` lets it go on"
                    .to_owned(),
            ),
            None => reasons.push(format!("nobody knows the state `{}`", self.trigger.state)),
        }
        reasons
    }

    fn running_on(&self, fire: &FiredTrigger) -> String {
        let since = span(self.now_ms - epoch_ms(fire.fire_time));
        let node = &fire.instance;
        let fate = if self.is_alive(node) { "" } else { ", a node that has stopped checking in" };
        format!(
            "it is running: fire {} on {node}{fate}, for {since}, due {}",
            fire.fire_id,
            time(Some(epoch_ms(fire.scheduled_fire_time)))
        )
    }

    fn waiting(&self, reasons: &mut Vec<String>) {
        let Some(next_ms) = self.trigger.next_fire_time.map(epoch_ms) else {
            return reasons.push("it has no fire time left".to_owned());
        };
        let late_ms = self.now_ms.saturating_sub(next_ms);
        if late_ms < 0 {
            reasons.push(format!("its time has not come: it fires in {}", span(late_ms)));
            if self.overlap == Overlap::Skip && self.running().next().is_some() {
                reasons.push("if it still runs then, that time is skipped: its overlap is `skip`".to_owned());
            }
        } else {
            reasons.push(format!("it has been due for {}", span(late_ms)));
            self.late(late_ms, reasons);
        }
        if !self.nodes.iter().any(|node| node.alive) {
            reasons.push("no node is alive to run it".to_owned());
        }
        if let Some(orphan) = &self.orphan {
            reasons.push(format!("nobody will take it: {}", orphan.reason()));
        }
        self.placement(reasons);
        reasons.extend(self.job.as_ref().and_then(|job| strategy::reason(job.policy().execution_strategy())));
    }

    /// The nodes that may take it, and those that may not; nothing if all may.
    fn placement(&self, reasons: &mut Vec<String>) {
        let (may, may_not): (Vec<_>, Vec<_>) = self.may_run.iter().partition(|node| node.refusal.is_none());
        if may_not.is_empty() {
            return;
        }
        for node in &may_not {
            let why = node.refusal.as_ref().map_or_else(String::new, ToString::to_string);
            let guess = if node.is_guess { ", as far as is known of it here" } else { "" };
            reasons.push(format!("{} may not run it{guess}: {why}", node.instance));
        }
        let names: Vec<&str> = may.iter().map(|node| node.instance.as_str()).collect();
        reasons.push(match names.is_empty() {
            true => "so no living node may run it now".to_owned(),
            false => format!("may run it: {}", names.join(", ")),
        });
    }

    fn late(&self, late_ms: i64, reasons: &mut Vec<String>) {
        if self.catch_up_ms.is_some_and(|window_ms| late_ms > window_ms) {
            reasons.push("it is older than its catch-up window: a node's next pass leaves it out".to_owned());
            return;
        }
        let instruction = MisfireInstruction::from_code(&self.trigger.kind, self.trigger.misfire);
        if late_ms > self.misfire_threshold_ms && instruction != Some(MisfireInstruction::Ignore) {
            let name = instruction.map_or("unknown", MisfireInstruction::name);
            reasons.push(format!("it is a misfire: a node's next pass applies its instruction `{name}`"));
        }
        if self.orphan.is_none() && self.nodes.iter().any(|node| node.alive) {
            let job_type = self.job.as_ref().map_or("?", JobDetail::job_type);
            reasons.push(format!(
                "living nodes leave it: either no one has job type `{job_type}`, or all their workers are busy"
            ));
        }
        if self.job.as_ref().is_some_and(JobDetail::disallows_concurrent_execution) {
            reasons.extend(self.of_the_job().map(|fire| self.held_by(fire)));
        }
    }

    fn acquired(&self) -> String {
        let holder =
            self.fires.iter().find(|fire| fire.trigger == self.trigger.key && fire.state == FiredState::Acquired);
        match holder {
            Some(fire) if self.is_alive(&fire.instance) => {
                let due = time(Some(epoch_ms(fire.scheduled_fire_time)));
                format!("{} has reserved it and fires it at {due}", fire.instance)
            }
            Some(fire) => format!(
                "{} had reserved it and has stopped checking in: another node frees it when it is declared dead",
                fire.instance
            ),
            None => "it is reserved by nobody: the audit of a running node frees it".to_owned(),
        }
    }

    fn held_by(&self, fire: &FiredTrigger) -> String {
        let since = span(self.now_ms - epoch_ms(fire.fire_time));
        format!(
            "its job runs once at a time, and fire {} of trigger {} is running on {} for {since}",
            fire.fire_id, fire.trigger, fire.instance
        )
    }

    fn blocked(&self, reasons: &mut Vec<String>) {
        if self.has_fixed_delay && self.running().next().is_some() {
            reasons.push("its delay begins when its run ends".to_owned());
            return;
        }
        let is_lone = self.job.as_ref().is_some_and(JobDetail::disallows_concurrent_execution);
        if !is_lone && self.overlap != Overlap::AllowAll && self.running().next().is_some() {
            let overlap = self.overlap.name();
            reasons.push(format!("it is due and waits until its run has ended: its overlap is `{overlap}`"));
            return;
        }
        let before = reasons.len();
        reasons.extend(self.of_the_job().map(|fire| self.held_by(fire)));
        if reasons.len() == before {
            reasons.push(
                "it is blocked, but no fire of its job is running: the audit of a running node frees it".to_owned(),
            );
        }
    }

    fn paused(&self) -> String {
        let group = self.trigger.key.group();
        let remembered = |name: &str| self.paused_groups.iter().any(|paused| paused == name);
        if remembered(ALL_GROUPS_PAUSED) {
            "everything is paused: `carnelian all resume`".to_owned()
        } else if remembered(group) {
            format!("its group is paused: `carnelian group resume {group}`")
        } else {
            let failure = if self.pauses_on_failure {
                "a person, or a failed run of it, has paused it"
            } else {
                "it or its job is paused"
            };
            format!("{failure}: `carnelian trigger resume {}`", self.trigger.key)
        }
    }
}
