//! `JobPolicy`: what is done about a run of a job that takes too long, falls silent or dies with
//! its node.

use super::actions::{OnDead, StuckAction};
use super::placement::Placement;
use super::retry::RetryPolicy;
use super::strategy::Strategy;
use super::whole_millis::{self, optional as millis};
use crate::error::{Error, Result};
use crate::setters::setters;
use log::LevelFilter;
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;
use std::time::Duration;

/// The longest policy as it is stored, in bytes.
const MAX_POLICY_BYTES: usize = 4000;

/// The allowed number of bytes of a run's log.
const LOG_BYTES: std::ops::RangeInclusive<u32> = 1_000..=262_144;

/// A job's policy about runs that take too long, fall silent or die. The default is the behaviour
/// of Quartz.
///
/// A policy is stored with the job, in a side table, and holds on every node of ours that runs the
/// job. A node of Quartz knows nothing of policies: it neither watches its runs nor judges ours by
/// anything but check-ins.
///
/// ```
/// use carnelian::{JobDetail, JobKey, JobPolicy, OnDead, StuckAction};
/// use std::time::Duration;
///
/// let policy = JobPolicy::new()
///     .timeout(Duration::from_secs(30 * 60))
///     .stuck_after(Duration::from_secs(5 * 60), StuckAction::FailOver)
///     .on_dead(OnDead::Revive);
/// let job = JobDetail::builder(JobKey::named("nightly"), "billing.close_day")
///     .requests_recovery(true)
///     .policy(policy)
///     .build()?;
/// assert_eq!(job.policy().on_dead_policy(), Some(OnDead::Revive));
/// # Ok::<(), carnelian::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[must_use = "it does nothing until a job is given it"]
pub struct JobPolicy {
    #[serde(skip_serializing_if = "Option::is_none", with = "millis")]
    timeout: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stuck: Option<Stuck>,
    #[serde(skip_serializing_if = "Option::is_none", with = "millis")]
    max_silence: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    missed_heartbeats: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    on_dead: Option<OnDead>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_takeovers: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry: Option<RetryPolicy>,
    #[serde(skip_serializing_if = "Option::is_none", with = "level")]
    capture_log: Option<LevelFilter>,
    #[serde(skip_serializing_if = "Option::is_none")]
    log_max_bytes: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    keep_history: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    placement: Option<Placement>,
    #[serde(skip_serializing_if = "Option::is_none")]
    strategy: Option<Strategy>,
}

/// The policy of a job that has none.
pub(super) static NO_POLICY: LazyLock<JobPolicy> = LazyLock::new(JobPolicy::default);

/// The time after which a run counts as stuck, and the action then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stuck {
    #[serde(with = "whole_millis")]
    pub(crate) after: Duration,
    pub(crate) action: StuckAction,
}

impl JobPolicy {
    /// The policy of Quartz: none of this.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// The longest time that a run may take. A run over the limit is asked to stop
        /// (`ctx.should_stop()`). If the run has not ended after the grace
        /// (`carnelian.job.stopAttempts` × `carnelian.job.stopWait`), its worker is abandoned and
        /// the run is recorded as timed out. Default: no limit.
        ///
        /// The thread of a job that never ends cannot be killed: it stays behind, its fire is no
        /// longer its own, and another thread takes its place in the pool.
        pub fn timeout(time: Duration) { self.timeout = Some(time) }

        /// After how long without progress a run counts as stuck, and what is done then. Default:
        /// five minutes after the last report of a job that reports its progress, and it is logged;
        /// never for others.
        pub fn stuck_after(time: Duration, action: StuckAction) { self.stuck = Some(Stuck { after: time, action }) }

        /// Binds the heartbeat of a run to its progress: if the job has made none for so long, its
        /// heartbeat ends, and it dies by the ordinary rule. Progress is
        /// [`progress`](crate::JobContext::progress), [`checkpoint`](crate::JobContext::checkpoint)
        /// and [`heartbeat`](crate::JobContext::heartbeat), and nothing else: a job that only asks
        /// whether it should stop, or waits, makes none. Half the time is warned of
        /// (`SchedulerListener::fire_silent`). Default: the heartbeat goes on as long as the
        /// worker's thread lives.
        pub fn heartbeat_only_within(max_silence: Duration) { self.max_silence = Some(max_silence) }

        /// The number of heartbeats that a run may miss before it counts as dead. Default:
        /// `carnelian.scheduler.missedHeartbeatLimit`.
        pub fn missed_heartbeat_limit(limit: u32) { self.missed_heartbeats = Some(limit) }

        /// The fate of the work of a dead fire. Default: [`OnDead::RecoveryTrigger`] if the job
        /// requests recovery, else [`OnDead::NextFire`].
        pub fn on_dead(policy: OnDead) { self.on_dead = Some(policy) }

        /// The number of times in a row that its work is taken over from a run that died before the
        /// work is parked: set aside until somebody has looked at it; 0 for no limit. Default:
        /// `carnelian.recovery.maxTakeovers`.
        pub fn max_takeovers(limit: u32) { self.max_takeovers = Some(limit) }

        /// The policy by which the work of a failed run is tried again. Default: no retry, unless
        /// the job asks for one by [`JobError::retry_after`](crate::JobError::retry_after).
        pub fn retry(policy: RetryPolicy) { self.retry = Some(policy) }

        /// The lowest level of the log lines of a run that are kept with its row of the history;
        /// [`LevelFilter::Off`] for none. Lines of the program are seen if it has installed
        /// [`CaptureLog`](crate::history::CaptureLog); lines of `ctx.log(…)` are seen in any case.
        /// Default: `carnelian.history.log`.
        pub fn capture_log(level: LevelFilter) { self.capture_log = Some(level) }

        /// The number of bytes of such lines that are kept of a run, from 1000 to 262144; beyond
        /// that the lines in the middle are left out. Default: `carnelian.history.logMaxBytes`.
        pub fn log_max_bytes(bytes: u32) { self.log_max_bytes = Some(bytes) }

        /// The number of rows of the history that are kept of this job, the newest. Default:
        /// `carnelian.history.maxRowsPerJob`.
        pub fn keep_history(rows: u32) { self.keep_history = Some(rows) }

        /// On which nodes the job may run, and on which it would rather. Default: anywhere.
        pub fn placement(placement: Placement) {
            self.placement = Some(placement).filter(|placement| *placement != Placement::new())
        }

        /// The strategy that chooses the nodes of each tick, also by the name of a strategy.
        /// Default: [`Strategy::Preempt`], one node.
        pub fn strategy(strategy: impl Into<Strategy>) {
            self.strategy = Some(strategy.into()).filter(|strategy| *strategy != Strategy::Preempt)
        }
    }

    /// The longest time that a run may take.
    pub fn timeout_limit(&self) -> Option<Duration> {
        self.timeout
    }

    /// After how long without progress a run counts as stuck, and what is done then.
    pub fn stuck_limit(&self) -> Option<(Duration, StuckAction)> {
        self.stuck.map(|stuck| (stuck.after, stuck.action))
    }

    /// The time without progress after which a run's heartbeat ends.
    pub fn max_silence(&self) -> Option<Duration> {
        self.max_silence
    }

    /// The number of heartbeats that a run may miss.
    pub fn missed_heartbeats(&self) -> Option<u32> {
        self.missed_heartbeats
    }

    /// The fate of the work of a dead fire.
    pub fn on_dead_policy(&self) -> Option<OnDead> {
        self.on_dead
    }

    /// The number of times in a row that its work is taken over before it is parked.
    pub fn takeover_limit(&self) -> Option<u32> {
        self.max_takeovers
    }

    /// The policy by which the work of a failed run is tried again.
    pub fn retry_policy(&self) -> Option<&RetryPolicy> {
        self.retry.as_ref()
    }

    /// Down to which level the lines of a run are kept.
    pub fn captured_level(&self) -> Option<LevelFilter> {
        self.capture_log
    }

    /// The number of bytes of log lines that are kept.
    pub fn captured_bytes(&self) -> Option<u32> {
        self.log_max_bytes
    }

    /// The number of rows of the history that are kept.
    pub fn kept_history(&self) -> Option<u32> {
        self.keep_history
    }

    /// On which nodes the job may run; anywhere if none.
    pub fn placed(&self) -> Option<&Placement> {
        self.placement.as_ref()
    }

    /// The strategy that chooses the nodes of each tick.
    pub fn execution_strategy(&self) -> &Strategy {
        self.strategy.as_ref().unwrap_or(&Strategy::Preempt)
    }

    /// True if several nodes run each tick of the job.
    pub(crate) fn is_spread(&self) -> bool {
        *self.execution_strategy() != Strategy::Preempt
    }

    /// True if the policy is the default.
    pub fn is_default(&self) -> bool {
        *self == *NO_POLICY
    }

    /// The policy with what it leaves open as another has it.
    pub(crate) fn or(self, other: &Self) -> Self {
        let other = other.clone();
        Self {
            timeout: self.timeout.or(other.timeout),
            stuck: self.stuck.or(other.stuck),
            max_silence: self.max_silence.or(other.max_silence),
            missed_heartbeats: self.missed_heartbeats.or(other.missed_heartbeats),
            on_dead: self.on_dead.or(other.on_dead),
            max_takeovers: self.max_takeovers.or(other.max_takeovers),
            retry: self.retry.or(other.retry),
            capture_log: self.capture_log.or(other.capture_log),
            log_max_bytes: self.log_max_bytes.or(other.log_max_bytes),
            keep_history: self.keep_history.or(other.keep_history),
            placement: self.placement.or(other.placement),
            strategy: self.strategy.or(other.strategy),
        }
    }

    /// Checks that it makes sense for a job type.
    pub(crate) fn check_for_type(&self) -> Result<()> {
        let of_jobs = [
            ("placement", self.placement.is_some()),
            ("strategy", self.strategy.is_some()),
            ("keep history", self.keep_history.is_some()),
        ];
        if let Some((what, _)) = of_jobs.into_iter().find(|(_, is_given)| *is_given) {
            let expected = "expected no such thing: give it to the jobs of the type, each its own";
            return Err(Error::invalid("policy of a job type", what, expected));
        }
        self.check(true, false)
    }

    /// As a job keeps it: none if it says nothing.
    pub(crate) fn boxed(self) -> Option<Box<Self>> {
        (!self.is_default()).then(|| Box::new(self))
    }

    /// Checks that it makes sense for a job that requests recovery, and is not concurrent, or
    /// otherwise.
    pub(crate) fn check(&self, requests_recovery: bool, nonconcurrent: bool) -> Result<()> {
        self.execution_strategy().check(self, requests_recovery, nonconcurrent)?;
        let least = [("timeout", self.timeout), ("stuck after", self.stuck_limit().map(|(after, _)| after))];
        for (what, time) in least.into_iter().chain([("heartbeat only within", self.max_silence)]) {
            if let Some(time) = time.filter(|time| time.as_millis() == 0) {
                return Err(Error::invalid(what, format!("{time:?}"), "expected at least a millisecond"));
            }
        }
        if self.missed_heartbeats == Some(0) {
            return Err(Error::invalid("missed heartbeat limit", "0", "expected at least 1"));
        }
        if self.on_dead.is_some_and(|policy| policy != OnDead::NextFire) && !requests_recovery {
            let policy = self.on_dead.map_or("", OnDead::name);
            return Err(Error::invalid("on dead", policy, "expected a job that requests recovery, or next-fire"));
        }
        if let Some(bytes) = self.log_max_bytes.filter(|bytes| !LOG_BYTES.contains(bytes)) {
            let expected = format!("expected {} to {}", LOG_BYTES.start(), LOG_BYTES.end());
            return Err(Error::invalid("log max bytes", bytes.to_string(), expected));
        }
        if self.keep_history == Some(0) {
            return Err(Error::invalid("keep history", "0", "expected at least 1 row"));
        }
        self.placement.as_ref().map_or(Ok(()), Placement::check)?;
        self.retry.as_ref().map_or(Ok(()), RetryPolicy::check)
    }

    /// As it is stored; none if it says nothing.
    pub(crate) fn encode(&self) -> Result<Option<String>> {
        if self.is_default() {
            return Ok(None);
        }
        let text = serde_json::to_string(self).map_err(|why| Error::invalid("job policy", "", why.to_string()))?;
        if text.len() > MAX_POLICY_BYTES {
            let found = format!("{} bytes", text.len());
            return Err(Error::invalid("job policy", found, format!("expected at most {MAX_POLICY_BYTES}")));
        }
        Ok(Some(text))
    }

    /// As it was stored, perhaps by a later version: what is not known here is passed over, but for
    /// constraints of the placement.
    pub(crate) fn decode(text: &str) -> std::result::Result<Self, String> {
        serde_json::from_str(text).map_err(|why| format!("POLICY: {why}"))
    }
}

/// A level that may be missing, by its name in small letters.
mod level {
    use log::LevelFilter;
    use serde::{Deserialize, Deserializer, Serializer};

    #[expect(clippy::ref_option, reason = "serde calls it so")]
    pub(super) fn serialize<S: Serializer>(level: &Option<LevelFilter>, out: S) -> Result<S::Ok, S::Error> {
        match level {
            Some(level) => out.serialize_str(&level.as_str().to_ascii_lowercase()),
            None => out.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Option<LevelFilter>, D::Error> {
        match Option::<String>::deserialize(input)? {
            Some(name) => name.parse().map(Some).map_err(serde::de::Error::custom),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_stored_as_text_and_read_again() {
        let policy = JobPolicy::new()
            .timeout(Duration::from_secs(90))
            .stuck_after(Duration::from_secs(5), StuckAction::FailOver)
            .heartbeat_only_within(Duration::from_millis(1500))
            .missed_heartbeat_limit(6)
            .on_dead(OnDead::NextFire);
        let text = policy.encode().unwrap().unwrap();
        assert_eq!(
            text,
            r#"{"timeout":90000,"stuck":{"after":5000,"action":"fail-over"},"maxSilence":1500,"missedHeartbeats":6,"onDead":"next-fire"}"#
        );
        assert_eq!(JobPolicy::decode(&text), Ok(policy));
        assert_eq!(JobPolicy::new().encode().unwrap(), None);
    }

    #[test]
    fn what_is_kept_of_runs_is_stored_with_the_rest() {
        let policy = JobPolicy::new().capture_log(LevelFilter::Info).log_max_bytes(2_000).keep_history(5);
        let text = policy.encode().unwrap().unwrap();
        assert_eq!(text, r#"{"captureLog":"info","logMaxBytes":2000,"keepHistory":5}"#);
        assert_eq!(JobPolicy::decode(&text), Ok(policy));
    }

    #[test]
    fn what_a_later_version_adds_is_passed_over() {
        let policy = JobPolicy::decode(r#"{"timeout":5,"colour":"red"}"#).unwrap();
        assert_eq!(policy, JobPolicy::new().timeout(Duration::from_millis(5)));
        assert!(JobPolicy::decode("{").unwrap_err().starts_with("POLICY: "));
    }

    #[test]
    fn a_policy_that_makes_no_sense_is_refused() {
        for (policy, what) in [
            (JobPolicy::new().timeout(Duration::ZERO), "timeout"),
            (JobPolicy::new().stuck_after(Duration::ZERO, StuckAction::Log), "stuck after"),
            (JobPolicy::new().heartbeat_only_within(Duration::ZERO), "heartbeat only within"),
            (JobPolicy::new().missed_heartbeat_limit(0), "missed heartbeat limit"),
            (JobPolicy::new().log_max_bytes(999), "log max bytes"),
            (JobPolicy::new().keep_history(0), "keep history"),
        ] {
            let error = policy.check(true, false).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
        assert!(JobPolicy::new().on_dead(OnDead::Revive).check(false, false).is_err());
        assert!(JobPolicy::new().on_dead(OnDead::NextFire).check(false, false).is_ok());
    }
}
