//! The facts about one trigger, and what they say of its next run.

use crate::job::{Continuation, JobDetail, Parent, Strategy};
use crate::rules::new_trigger::ALL_GROUPS_PAUSED;
use crate::span::span;
use crate::store::row::FiredState;
use crate::store::{FiredTrigger, InstanceStatus, MayRun, Orphan, TriggerSummary};
use crate::trigger::{MisfireInstruction, Overlap, TriggerState, show};

/// The known facts of one trigger at one moment.
pub(super) struct Facts {
    pub(super) trigger: TriggerSummary,
    pub(super) job: Option<JobDetail>,
    /// Why the row of the trigger or of its job cannot be read.
    pub(super) unreadable: Option<String>,
    /// The calendar that the trigger names and nobody has stored.
    pub(super) missing_calendar: Option<String>,
    /// The reason for which its work is parked, if it is.
    pub(super) parked: Option<String>,
    /// Present if no living node can run its job.
    pub(super) orphan: Option<Orphan>,
    /// The living nodes, each with why its placement keeps the job from it.
    pub(super) may_run: Vec<MayRun>,
    pub(super) fires: Vec<FiredTrigger>,
    /// The schedule in words, with its zone.
    pub(super) schedule: Option<String>,
    pub(super) paused_groups: Vec<String>,
    pub(super) nodes: Vec<InstanceStatus>,
    pub(super) misfire_threshold_ms: i64,
    pub(super) now_ms: i64,
    pub(super) overlap: Overlap,
    /// True if the end of a run sets its next time.
    pub(super) has_fixed_delay: bool,
    pub(super) catch_up_ms: Option<i64>,
    pub(super) pauses_on_failure: bool,
    /// The run that it follows.
    pub(super) parent: Option<Parent>,
    /// The jobs that follow its own.
    pub(super) children: Vec<Continuation>,
}

impl Facts {
    pub(super) fn running(&self) -> impl Iterator<Item = &FiredTrigger> {
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

    pub(super) fn reasons(&self) -> Vec<String> {
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
            Some(TriggerState::Error) => reasons.push(match &self.parked {
                Some(why) => format!("it is parked: {why}; `carnelian parked retry` lets it go on"),
                None => "it is in the error state: its last fire asked for that, or a node could not make its job; \
                         `carnelian trigger reset` lets it go on"
                    .to_owned(),
            }),
            None => reasons.push(format!("nobody knows the state `{}`", self.trigger.state)),
        }
        reasons
    }

    fn running_on(&self, fire: &FiredTrigger) -> String {
        let since = span(self.now_ms - fire.fire_time.timestamp_millis());
        let node = &fire.instance;
        let fate = if self.is_alive(node) { "" } else { ", a node that has stopped checking in" };
        format!(
            "it is running: fire {} on {node}{fate}, for {since}, due {}",
            fire.fire_id,
            show(Some(fire.scheduled_fire_time.timestamp_millis()))
        )
    }

    fn waiting(&self, reasons: &mut Vec<String>) {
        let Some(next_ms) = self.trigger.next_fire_time.map(|time| time.timestamp_millis()) else {
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
        reasons.extend(self.job.as_ref().and_then(|job| strategy_reason(job.policy().execution_strategy())));
    }

    /// The nodes that may take it, and those that may not.
    fn placement(&self, reasons: &mut Vec<String>) {
        let (may, may_not): (Vec<_>, Vec<_>) = self.may_run.iter().partition(|node| node.refusal.is_none());
        if may_not.is_empty() {
            return self.allowed(reasons);
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

    /// The nodes that take work, where its placement allows all; a few by name.
    fn allowed(&self, reasons: &mut Vec<String>) {
        const NAMED: usize = 5;
        let allows = |node: &&InstanceStatus| self.may_run.iter().any(|may| may.instance == node.instance);
        let working = self.nodes.iter().filter(|node| node.is_working()).filter(allows);
        let names: Vec<&str> = working.map(|node| node.instance.as_str()).collect();
        if names.is_empty() || self.orphan.is_some() || self.unreadable.is_some() || self.missing_calendar.is_some() {
            return;
        }
        let more = match names.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let named: Vec<&str> = names.into_iter().take(NAMED).collect();
        reasons.push(format!("its placement allows it on {}{more}", named.join(", ")));
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
            reasons.push(match self.nodes.iter().any(InstanceStatus::is_working) {
                true => format!(
                    "living nodes leave it: either no one has job type `{job_type}`, or all their workers are busy"
                ),
                false => "no living node takes work: each is drained, in standby or an observer".to_owned(),
            });
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
                let due = show(Some(fire.scheduled_fire_time.timestamp_millis()));
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
        let since = span(self.now_ms - fire.fire_time.timestamp_millis());
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

/// The reason that an execution strategy is; none for the usual one.
fn strategy_reason(strategy: &Strategy) -> Option<String> {
    match strategy {
        Strategy::Broadcast => Some("each tick runs on every node that may run the job, once (broadcast)".to_owned()),
        Strategy::Sharded => {
            Some("each tick is shared by all nodes that may run the job, a part each (sharded)".to_owned())
        }
        Strategy::Named(name) => Some(format!(
            "each tick runs on the nodes that the strategy `{name}` chooses; nodes that do not have that leave it alone"
        )),
        _ => None,
    }
}
