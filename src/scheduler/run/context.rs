//! `JobContext`: what a running job sees and may set.

use super::heartbeat_entry::heartbeat_entry;
use super::job_error::JobError;
use super::run_handle::RunHandle;
use super::stop_reason::StopReason;
use crate::calendar::Calendar;
use crate::data_map::JobDataMap;
use crate::debug_fields::debug_fields;
use crate::epoch::moment;
use crate::error::{Error, Result};
use crate::job::JobDetail;
use crate::listener::{FireEvent, FireValues};
use crate::scheduler::node::Node;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
use crate::store::CallersConnection;
use crate::store::row::Progress;
use crate::store::{Completion, CompletionInstruction, Ending, FireBundle, Recovering, Rerun};
use crate::trigger::Trigger;
use chrono::{DateTime, Utc};
use std::sync::Arc;
use std::time::Duration;

/// One run of a job: why it runs, with what data, and whether it should go on.
#[doc(alias = "JobExecutionContext")]
pub struct JobContext {
    pub(crate) node: Arc<Node>,
    pub(crate) handle: Arc<RunHandle>,
    pub(crate) bundle: Arc<FireBundle>,
    merged: JobDataMap,
    job_data: JobDataMap,
    refire_count: u32,
    result: Option<String>,
    /// That of the last checkpoint; none if nobody has looked.
    pub(super) checkpoint_version: Option<i64>,
    /// The version that the job's data were brought to for this run; none if they were of it
    /// before.
    upgraded: Option<u32>,
}

impl JobContext {
    pub(crate) fn new(node: Arc<Node>, handle: Arc<RunHandle>, bundle: Arc<FireBundle>, upgraded: Option<u32>) -> Self {
        let merged = bundle.job.data().merged_with(bundle.trigger.data());
        let job_data = bundle.job.data().clone();
        Self {
            node,
            handle,
            bundle,
            merged,
            job_data,
            refire_count: 0,
            result: None,
            checkpoint_version: None,
            upgraded,
        }
    }

    /// The job.
    pub fn job(&self) -> &JobDetail {
        &self.bundle.job
    }

    /// The trigger, already moved on to its next fire time.
    pub fn trigger(&self) -> &Trigger {
        &self.bundle.trigger
    }

    /// The calendar that the trigger names, as it was when the fire began.
    #[doc(alias = "getCalendar")]
    pub fn calendar(&self) -> Option<&Calendar> {
        self.bundle.calendar.as_deref()
    }

    /// The job's data overlaid by the trigger's, as they were when the fire began.
    #[doc(alias = "getMergedJobDataMap")]
    pub fn data(&self) -> &JobDataMap {
        &self.merged
    }

    /// The job's own data.
    pub fn job_data(&self) -> &JobDataMap {
        &self.job_data
    }

    /// The job's own data, to be changed; stored after the run if the job persists its data and
    /// this was changed.
    pub fn job_data_mut(&mut self) -> &mut JobDataMap {
        &mut self.job_data
    }

    /// The id of this fire, never used twice.
    #[doc(alias = "getFireInstanceId")]
    pub fn fire_id(&self) -> &str {
        &self.bundle.fire_id
    }

    /// Larger than that of any earlier fire: a resource that keeps the largest can refuse one that
    /// comes late.
    pub fn fence(&self) -> i64 {
        self.bundle.fence
    }

    /// The trace context of this run: the entry `traceparent` of its data, if that is valid. See
    /// [`Submission::traceparent`](crate::Submission::traceparent).
    pub fn traceparent(&self) -> Option<&str> {
        self.bundle.traceparent()
    }

    /// The number of runs of this work that were lost or failed before: 0 first. Runs that ended
    /// because their node did do not count.
    pub fn attempt(&self) -> i64 {
        self.bundle.rerun.as_ref().map_or(0, |rerun| rerun.attempt)
    }

    /// The number of times that this run asked to be run again at once, so far.
    pub fn refire_count(&self) -> u32 {
        self.refire_count
    }

    /// The time at which it was fired.
    pub fn fire_time(&self) -> DateTime<Utc> {
        moment(self.bundle.fired_ms)
    }

    /// The time this fire stands for. A retry, an [`Outcome::Again`](crate::Outcome::Again), a
    /// revival and a delayed recovery have a time of their own: what is the same in all runs of a
    /// work is [`JobContext::work_id`].
    pub fn scheduled_fire_time(&self) -> DateTime<Utc> {
        moment(self.bundle.scheduled_ms)
    }

    /// The time for which this fire has been running by now, with its listeners and repetitions.
    ///
    /// Quartz's `getJobRunTime` is −1 while the job runs; how long a run took in the end is in
    /// [`FireEnd::run_time`](crate::listener::FireEnd::run_time).
    #[doc(alias = "getJobRunTime")]
    pub fn running_for(&self) -> Duration {
        self.handle.running_for(self.node.clock.ticks()).unwrap_or_default()
    }

    /// The fire time of the trigger before this one.
    pub fn previous_fire_time(&self) -> Option<DateTime<Utc>> {
        self.bundle.previous_ms.map(moment)
    }

    /// The fire time of the trigger after this one.
    pub fn next_fire_time(&self) -> Option<DateTime<Utc>> {
        self.bundle.trigger.next_fire_time()
    }

    /// Present if this runs the work of a failed instance again.
    #[doc(alias = "isRecovering")]
    pub fn recovering(&self) -> Option<&Recovering> {
        self.bundle.recovering.as_ref()
    }

    /// Present if this runs work again: because the run before died, failed, or was interrupted by
    /// the end of its node.
    pub fn rerun(&self) -> Option<&Rerun> {
        self.bundle.rerun.as_ref()
    }

    /// The id of this work: the id of its first fire, and the same in each recovery, retry and
    /// repetition of it. An effect on a system that forgets what it was told twice takes this id
    /// as its key.
    ///
    /// The id is this fire's own if a node of Quartz made the recovery: such a node does not tell
    /// the first fire.
    ///
    /// ```
    /// use carnelian::{JobContext, JobError};
    ///
    /// # fn post(_: &str, _: &str) -> Result<(), JobError> { Ok(()) }
    /// fn pay(ctx: &mut JobContext) -> Result<(), JobError> {
    ///     post("https://bank.example/payments", ctx.work_id())
    /// }
    /// # let _ = carnelian::Scheduler::builder().job_fn("pay", pay);
    /// ```
    pub fn work_id(&self) -> &str {
        let root = self.bundle.rerun.as_ref().and_then(|rerun| rerun.root_fire_id.as_deref());
        root.unwrap_or(&self.bundle.fire_id)
    }

    /// True if this run still owns its fire.
    ///
    /// False as soon as this node knows that the fire belongs to another. False also while another
    /// node may be taking it over, since neither a check-in of this node nor a beat of the fire has
    /// reached the store for so long. In the latter case it can become true again.
    pub fn holds_fire(&self) -> bool {
        !self.handle.is_lost()
            && self.node.lease.is_held_by(&self.handle.owner)
            && self.handle.held_until().is_none_or(|until| self.node.clock.ticks() < until)
    }

    /// True if somebody asked this run to stop.
    pub fn is_interrupted(&self) -> bool {
        self.handle.is_interrupted()
    }

    /// True if the job had better end: it was interrupted, the node ends and waits no longer, or
    /// the fire is not (surely) its own.
    pub fn should_stop(&self) -> bool {
        self.stop_reason().is_some()
    }

    /// Why the job had better end; none while it may go on.
    pub fn stop_reason(&self) -> Option<StopReason> {
        // A mere doubt takes the place of no reason: it may pass.
        let asked = self.handle.stop_reason().filter(|_| !self.handle.is_lost());
        asked
            .or_else(|| (!self.holds_fire()).then_some(StopReason::OwnershipLost))
            .or_else(|| self.node.running_fires.telling.is_set().then_some(StopReason::Shutdown))
    }

    /// The error to end with if the job had better end: `ctx.check()?` at every step is all a job
    /// needs that can stop at any of them.
    ///
    /// # Errors
    /// Why the job had better end.
    pub fn check(&self) -> std::result::Result<(), JobError> {
        match self.stop_reason() {
            Some(reason) => Err(JobError::stopped().with_message(format!("stopped: {reason}"))),
            None => Ok(()),
        }
    }

    /// Says how far the run has come, in a unit that the job chooses. The progress travels with the
    /// heartbeat, and `carnelian running` shows it. A run that has reported progress once, by this,
    /// a checkpoint or [`heartbeat`](Self::heartbeat), and then does not for longer than
    /// `carnelian.job.stuckAfter` or its [policy](crate::JobPolicy::stuck_after) allows, counts as
    /// stuck.
    ///
    /// A call with the number of the last call is progress too: only the job can judge if a number
    /// moves.
    ///
    /// A call costs nothing but memory until the next heartbeat. The first 250 characters of the
    /// note are kept.
    ///
    /// ```
    /// use carnelian::{JobContext, JobError};
    ///
    /// fn send_all(ctx: &mut JobContext) -> Result<(), JobError> {
    ///     for sent in 0..1000 {
    ///         ctx.check()?;
    ///         // … send one …
    ///         ctx.progress(sent + 1, Some(1000), "");
    ///     }
    ///     Ok(())
    /// }
    /// # let _ = carnelian::Scheduler::builder().job_fn("send all", send_all);
    /// ```
    pub fn progress(&self, done: i64, total: Option<i64>, note: impl AsRef<str>) {
        let note = Some(note.as_ref()).filter(|note| !note.is_empty()).map(|note| crate::error::storable(note, 250));
        self.handle.set_progress(Some(Progress { done, total, note }), self.node.clock.ticks());
    }

    /// Says that the job makes progress: beats at once, with what it has reported so far, and asks
    /// the store whether the fire is still this node's: what a job does before a step that it
    /// cannot take back. The node does the same for all its running fires every
    /// `carnelian.scheduler.heartbeatInterval`.
    ///
    /// # Errors
    /// [`Error::Fenced`] if the fire belongs to another node by now; what can go wrong with the
    /// store.
    #[doc(alias = "updateHeartbeat")]
    pub fn heartbeat(&self) -> Result<()> {
        self.handle.set_progress(None, self.node.clock.ticks());
        let entry = heartbeat_entry(&self.node, &self.handle);
        let held_until = self.node.lease.holds_until(entry.limit);
        self.handle.begin_heartbeat(held_until);
        let sent = self.node.store.upkeep().heartbeat_one(&self.handle.owner, &entry);
        if sent.is_ok() {
            self.handle.confirm_heartbeat(held_until);
        }
        if sent.as_ref().is_err_and(Error::is_fenced) {
            self.handle.revoke();
        }
        sent
    }

    /// Sleeps; false, and early, when [`JobContext::should_stop`] becomes true. Several threads of
    /// the job may wait at the same time.
    pub fn wait(&self, time: Duration) -> bool {
        let end = self.node.clock.ticks().saturating_add(time);
        loop {
            if self.should_stop() {
                // Another thread of the job may wait, and one wait takes a raise.
                self.handle.signal.raise();
                return false;
            }
            if self.node.clock.ticks() >= end {
                return true;
            }
            let suspicion = self.node.lease.suspicion_at().into_iter().chain(self.handle.held_until()).min();
            let until = suspicion.map_or(end, |suspicion| suspicion.min(end));
            self.node.clock.wait(&self.handle.signal, Some(until));
        }
    }

    /// The node this runs on.
    pub fn instance_id(&self) -> &str {
        &self.node.instance
    }

    /// The scheduler's name.
    pub fn scheduler_name(&self) -> &str {
        &self.node.name
    }

    /// A text of the scheduler's context. Properties `context.key.NAME`.
    #[doc(alias = "SchedulerContext")]
    pub fn context_text(&self, name: &str) -> Option<&str> {
        self.node.settings.scheduler.context.get(name).map(String::as_str)
    }

    /// Leaves a text for listeners and the history, at most 65,535 bytes of it; a continuation sees
    /// 1000 characters.
    pub fn set_result(&mut self, result: impl Into<String>) {
        self.result = Some(crate::error::storable_result(&result.into()));
    }

    /// The values that the job and its listeners leave for each other during this fire.
    pub fn values(&self) -> &FireValues {
        &self.handle.values
    }

    /// Keeps a line with this run's row of the history, if lines of this level are kept of its job
    /// ([`JobPolicy::capture_log`](crate::JobPolicy::capture_log), `carnelian.history.log`). The
    /// line needs no logger, and no logger sees it.
    ///
    /// ```
    /// use carnelian::{JobContext, JobError};
    ///
    /// fn print(ctx: &mut JobContext) -> Result<(), JobError> {
    ///     ctx.log(log::Level::Info, "12 pages");
    ///     Ok(())
    /// }
    /// # let _ = carnelian::Scheduler::builder().job_fn("print", print);
    /// ```
    pub fn log(&self, level: ::log::Level, message: impl AsRef<str>) {
        if let Some(lines) = self.handle.lines() {
            lines.push(level, self.job().job_type(), message.as_ref());
        }
    }

    /// Ends this fire inside a transaction of the job's own: what the job wrote there
    /// and the end of the fire are committed together, or neither is. The effect of a fire thus
    /// happens exactly once if its job asks for recovery, else at most once.
    ///
    /// Call it as the last step of the transaction, and return from the job soon after the commit.
    /// If the transaction is rolled back the fire goes on; a job that then returns an error fails
    /// as usual. After the commit return `Ok`: an error or a panic then is told to listeners, log
    /// and metrics as a failure, while the history has the end that was committed.
    ///
    /// ```
    /// use carnelian::{JobContext, JobError};
    /// use diesel::connection::SimpleConnection;
    /// use diesel::{Connection, SqliteConnection};
    ///
    /// fn transfer(ctx: &mut JobContext) -> Result<(), JobError> {
    ///     let mut db = SqliteConnection::establish("jobs.db")?;
    ///     db.immediate_transaction(|db| {
    ///         db.batch_execute("UPDATE account SET balance = balance - 5 WHERE id = 1")?;
    ///         ctx.complete_in(db)?;
    ///         Ok(())
    ///     })
    /// }
    /// # let _ = carnelian::Scheduler::builder().job_fn("transfer", transfer);
    /// ```
    ///
    /// # Errors
    /// [`Error::Fenced`] if the fire belongs to another node by now: return it, and the transaction
    /// is rolled back. [`Error::Refused`] without an open transaction, or for a connection to
    /// another kind of database than the jobs are in.
    #[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
    pub fn complete_in<'c>(&mut self, connection: impl Into<CallersConnection<'c>>) -> Result<()> {
        let (run_time, at) = (self.running_for(), self.node.clock.ticks());
        let ending =
            Ending { result: self.result.clone(), run_time: Some(run_time), at: Some(at), ..Ending::default() };
        let completion = self.completion(CompletionInstruction::NoInstruction, ending);
        // A session whose answer is lost may hold the row of the fire.
        self.handle.guarded.set(true);
        self.node.store.firing().complete_within(connection, &completion)?;
        self.handle.ended_by_job.set(true);
        Ok(())
    }

    /// Makes a transaction of the job's own depend on this fire: it cannot be committed once the
    /// fire belongs to another node, and until it ends nobody can take the fire away.
    ///
    /// For a job that writes in several transactions: each that begins with this is refused to a
    /// node that was declared dead. Keep them short: a peer that recovers this node comes back to
    /// the fire when they have ended.
    ///
    /// # Errors
    /// As [`JobContext::complete_in`].
    #[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
    pub fn guard<'c>(&self, connection: impl Into<CallersConnection<'c>>) -> Result<()> {
        self.handle.guarded.set(true);
        self.node.store.firing().guard_within(connection, self.fire_id())
    }

    /// This end of the fire, with the data and the lines that the run has left by now.
    pub(crate) fn completion(&self, instruction: CompletionInstruction, ending: Ending) -> Completion {
        let differs = self.upgraded.is_some() || self.job_data != *self.bundle.job.data();
        let changed = self.bundle.job.persists_job_data_after_execution() && differs;
        let mut completion = self.bundle.completion(instruction, changed.then(|| self.job_data.clone()));
        completion.by_job = self.handle.ended_by_job.is_set();
        completion.ending = ending;
        // Work that runs again may have a checkpoint that it did not look at.
        let may_have_one = self.checkpoint_version.map_or(self.bundle.rerun.is_some(), |version| version > 0);
        (completion.has_heartbeat, completion.guarded) = (self.handle.has_heartbeats(), self.handle.guarded.is_set());
        completion.has_stop_order = self.handle.has_stop_order();
        completion.log = self.handle.lines().map(|lines| lines.lines()).unwrap_or_default();
        completion.data_version = self.upgraded.filter(|_| changed);
        completion.checkpoint = may_have_one.then(|| self.work_id().to_owned());
        completion
    }

    pub(crate) fn event(&self) -> FireEvent<'_> {
        FireEvent::new(&self.bundle, &self.node.instance, self.refire_count, &self.handle.values)
    }

    pub(crate) fn result(&self) -> Option<&str> {
        self.result.as_deref()
    }

    pub(crate) fn count_refire(&mut self) -> u32 {
        self.refire_count += 1;
        self.refire_count
    }
}

debug_fields! {
    JobContext {
        fire_id = me.fire_id(),
        job = me.job().key().to_string(),
        trigger = me.trigger().key().to_string(),
        refire_count,
    } finish_non_exhaustive |me|
}
