//! History: what Quartz's logging plugins say of runs and fires, in the words of their patterns.
//!
//! The arguments have Quartz's places; lines go to the log target `carnelian::history`.

use super::message_format::{Argument, MessageFormat};
use crate::clock::Clock;
use crate::error::{Error, Result, storable};
use crate::job::FireOutcome;
use crate::listener::{FireEnd, FireEvent, JobListener, TriggerListener};
use crate::settings::{JobHistoryPlugin, TriggerHistoryPlugin};
use crate::store::CompletionInstruction;
use crate::trigger::Trigger;
use chrono_tz::Tz;
use std::sync::Arc;

const TARGET: &str = "carnelian::history";

/// The clock and the zone by which both fill in a time.
#[derive(Clone)]
pub(super) struct HistoryClock {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) zone: Tz,
}

impl HistoryClock {
    fn now(&self) -> Argument<'static> {
        Argument::Moment(self.clock.wall_time().timestamp_millis())
    }
}

fn pattern(text: &str) -> Result<MessageFormat> {
    let refused = |why| Error::Settings(format!("the message `{}`: {why}", crate::error::shorten(text, 80)));
    MessageFormat::parse(text).map_err(refused)
}

/// `LoggingJobHistoryPlugin`.
pub(super) struct JobHistory {
    name: String,
    time: HistoryClock,
    to_be_fired: MessageFormat,
    success: MessageFormat,
    failed: MessageFormat,
    was_vetoed: MessageFormat,
}

impl JobHistory {
    pub(super) fn new(plugin: &JobHistoryPlugin, time: HistoryClock) -> Result<Self> {
        Ok(Self {
            name: plugin.name.clone(),
            time,
            to_be_fired: pattern(&plugin.to_be_fired)?,
            success: pattern(&plugin.success)?,
            failed: pattern(&plugin.failed)?,
            was_vetoed: pattern(&plugin.was_vetoed)?,
        })
    }

    /// Job, now, trigger, its last and its next time, how often run again; and what the run came
    /// to.
    fn message(&self, pattern: &MessageFormat, fire: &FireEvent<'_>, report: Option<Argument<'_>>) -> String {
        let (job, trigger) = (fire.job().key(), fire.trigger());
        let mut arguments = vec![
            Argument::Text(job.name()),
            Argument::Text(job.group()),
            self.time.now(),
            Argument::Text(trigger.key().name()),
            Argument::Text(trigger.key().group()),
            trigger.previous_ms.into(),
            trigger.next_ms.into(),
            Argument::Number(fire.refire_count().into()),
        ];
        arguments.extend(report);
        pattern.format(&arguments, self.time.zone)
    }
}

/// The number of characters of a result a line shows.
const MOST_SHOWN: usize = 1_000;

impl JobListener for JobHistory {
    fn name(&self) -> &str {
        &self.name
    }

    fn job_to_be_executed(&self, fire: &FireEvent<'_>) {
        log::info!(target: TARGET, "{}", self.message(&self.to_be_fired, fire, None));
    }

    fn job_execution_vetoed(&self, fire: &FireEvent<'_>) {
        log::info!(target: TARGET, "{}", self.message(&self.was_vetoed, fire, None));
    }

    fn job_was_executed(&self, fire: &FireEvent<'_>, end: &FireEnd) {
        if end.outcome == FireOutcome::Succeeded {
            let result = end.result.as_deref().map(|result| storable(result, MOST_SHOWN));
            let result = Argument::from(result.as_deref());
            log::info!(target: TARGET, "{}", self.message(&self.success, fire, Some(result)));
        } else {
            let error = Argument::from(end.error.as_deref());
            log::warn!(target: TARGET, "{}", self.message(&self.failed, fire, Some(error)));
        }
    }
}

/// `LoggingTriggerHistoryPlugin`.
pub(super) struct TriggerHistory {
    name: String,
    time: HistoryClock,
    fired: MessageFormat,
    misfired: MessageFormat,
    complete: MessageFormat,
}

impl TriggerHistory {
    pub(super) fn new(plugin: &TriggerHistoryPlugin, time: HistoryClock) -> Result<Self> {
        Ok(Self {
            name: plugin.name.clone(),
            time,
            fired: pattern(&plugin.fired)?,
            misfired: pattern(&plugin.misfired)?,
            complete: pattern(&plugin.complete)?,
        })
    }

    /// Trigger, its last and its next time, now, job; and more.
    fn message(&self, pattern: &MessageFormat, trigger: &Trigger, more: &[Argument<'_>]) -> String {
        let (key, job) = (trigger.key(), trigger.job_key());
        let mut arguments = vec![
            Argument::Text(key.name()),
            Argument::Text(key.group()),
            trigger.previous_ms.into(),
            trigger.next_ms.into(),
            self.time.now(),
            Argument::Text(job.name()),
            Argument::Text(job.group()),
        ];
        arguments.extend_from_slice(more);
        pattern.format(&arguments, self.time.zone)
    }
}

impl TriggerListener for TriggerHistory {
    fn name(&self) -> &str {
        &self.name
    }

    fn trigger_fired(&self, fire: &FireEvent<'_>) {
        let refires = Argument::Number(fire.refire_count().into());
        log::info!(target: TARGET, "{}", self.message(&self.fired, fire.trigger(), &[refires]));
    }

    fn trigger_misfired(&self, trigger: &Trigger) {
        log::info!(target: TARGET, "{}", self.message(&self.misfired, trigger, &[]));
    }

    fn trigger_complete(&self, fire: &FireEvent<'_>, instruction: CompletionInstruction) {
        let (code, words) = in_words(instruction);
        let more = [Argument::Number(fire.refire_count().into()), Argument::Text(code), Argument::Text(words)];
        log::info!(target: TARGET, "{}", self.message(&self.complete, fire.trigger(), &more));
    }
}

/// The constant of Java's `CompletedExecutionInstruction`, and the words that Quartz logs for it.
fn in_words(instruction: CompletionInstruction) -> (&'static str, &'static str) {
    match instruction {
        CompletionInstruction::NoInstruction => ("NOOP", "DO NOTHING"),
        CompletionInstruction::SetTriggerComplete => ("SET_TRIGGER_COMPLETE", "SET THIS TRIGGER COMPLETE"),
        CompletionInstruction::SetAllJobTriggersComplete => {
            ("SET_ALL_JOB_TRIGGERS_COMPLETE", "SET ALL OF JOB'S TRIGGERS COMPLETE")
        }
        CompletionInstruction::SetTriggerError => ("SET_TRIGGER_ERROR", "UNKNOWN"),
        CompletionInstruction::SetAllJobTriggersError => ("SET_ALL_JOB_TRIGGERS_ERROR", "UNKNOWN"),
    }
}
