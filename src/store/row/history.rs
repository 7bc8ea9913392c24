//! The rows of the history, and of last runs.

use super::FiredRow;
use super::table::{Cell, Column, Kind, NotStored, ToCells, columns, table};
use crate::epoch::{length, moment};
use crate::job::{FireOutcome, RunMarks};
use crate::key::{BACKFILL_GROUP, JobKey, RERUN_GROUPS, TriggerKey};
use chrono::{DateTime, Utc};
use std::time::Duration;
use std::vec::IntoIter;

table! {
    /// A row of `CN_HISTORY`: what became of a fire.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct HistoryRow in "CN_HISTORY" by [fire_id] {
        /// The fire; for a misfire, which is none, an id of its own.
        pub fire_id: String,
        /// The trigger.
        pub trigger: TriggerKey = [trigger_name, trigger_group],
        /// The job.
        pub job: Option<JobKey> = [job_name, job_group],
        /// The instance it belonged to; none for a misfire.
        pub instance: Option<String> = [instance_name],
        /// The time it stood for.
        #[doc(hidden)]
        pub scheduled_ms: i64 = [sched_ms],
        /// The time at which it was fired; none for a misfire.
        #[doc(hidden)]
        pub fired_ms: Option<i64>,
        /// The type of the job; none if the node that ran it could not say.
        pub job_type: Option<String>,
        /// The time at which it ended, or was found lost.
        #[doc(hidden)]
        pub ended_ms: i64,
        /// The duration of the job's run, in milliseconds; none if nobody could say.
        #[doc(hidden)]
        pub run_ms: Option<i64>,
        /// The outcome of the fire.
        pub outcome: FireOutcome,
        /// The number of earlier runs of the same work.
        pub attempt: i64,
        /// The first fire of the chain; none if this fire is the first.
        pub root_fire_id: Option<String>,
        /// The error that the job gave when it failed.
        pub error: Option<String>,
        /// The result that the job left.
        pub result: Option<String>,
        /// The marks of its job when it ran, and its trace.
        pub marks: RunMarks = [biz_key, job_owner, display_name, job_description, trace_id],
        /// The address of its node when it ran; none if the node did not say.
        pub address: Option<String> as NotStored = [],
    }
}

/// The part of a row of the history that the fired row of the fire does not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndRow {
    /// The fire.
    pub fire_id: String,
    /// The type of the job.
    pub job_type: Option<String>,
    /// The time at which it ended.
    pub ended_ms: i64,
    /// The duration of the job's run, in milliseconds; none if nobody could say.
    pub run_ms: Option<i64>,
    /// The outcome of the fire.
    pub outcome: FireOutcome,
    /// The number of earlier runs of the same work.
    pub attempt: i64,
    /// The first fire of the chain; none if this fire is the first.
    pub root_fire_id: Option<String>,
    /// The error that the job gave when it failed.
    pub error: Option<String>,
    /// The result that the job left.
    pub result: Option<String>,
    /// The marks of its job, and its trace.
    pub marks: RunMarks,
}

table! {
    /// A fire in `CN_HISTORY`, and when it ended.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct EndedFire in "CN_HISTORY" by [fire_id] {
        /// The fire.
        pub fire_id: String,
        /// The job.
        pub job: Option<JobKey> = [job_name, job_group],
        /// The time at which it ended.
        pub ended_ms: i64,
    }
}

columns! {
    FireOutcome, Text: |outcome| outcome.name().to_owned(), |name| FireOutcome::from_name(&name);
}

impl ToCells for RunMarks {
    fn write(&self, row: &mut Vec<Cell>) {
        for text in [&self.biz_key, &self.owner, &self.name, &self.description, &self.trace_id] {
            text.write(row);
        }
    }
}

impl Column for RunMarks {
    const KINDS: &'static [Kind] = &[Kind::Text; 5];
    fn read(row: &mut IntoIter<Cell>) -> Option<Self> {
        let mut text = || Column::read(row);
        Some(Self { biz_key: text()?, owner: text()?, name: text()?, description: text()?, trace_id: text()? })
    }
}

impl HistoryRow {
    /// The row of a fire that has ended.
    pub(in crate::store) fn of(fired: FiredRow, end: EndRow) -> Self {
        Self {
            fire_id: fired.fire_id,
            trigger: fired.trigger,
            job: fired.job,
            instance: Some(fired.instance),
            scheduled_ms: fired.scheduled_ms,
            fired_ms: Some(fired.fired_ms),
            job_type: end.job_type,
            ended_ms: end.ended_ms,
            run_ms: end.run_ms,
            outcome: end.outcome,
            attempt: end.attempt,
            root_fire_id: end.root_fire_id,
            error: end.error,
            result: end.result,
            marks: end.marks,
            address: None,
        }
    }

    /// The time that the fire stood for.
    pub fn scheduled_fire_time(&self) -> DateTime<Utc> {
        moment(self.scheduled_ms)
    }

    /// The time at which it was fired; none for a misfire.
    pub fn fire_time(&self) -> Option<DateTime<Utc>> {
        self.fired_ms.map(moment)
    }

    /// The time at which its job began on its worker; none if nobody could say, or it never did.
    pub fn start_time(&self) -> Option<DateTime<Utc>> {
        self.run_ms.map(|run_ms| moment(self.ended_ms.saturating_sub(run_ms)))
    }

    /// The time at which it ended, or was found lost.
    pub fn end_time(&self) -> DateTime<Utc> {
        moment(self.ended_ms)
    }

    /// The duration of the job's run; none if nobody could say.
    pub fn run_time(&self) -> Option<Duration> {
        self.run_ms.map(length)
    }

    /// Tells whether the fire has not ended; its end time is the moment of the question then.
    pub fn is_running(&self) -> bool {
        self.outcome == FireOutcome::Running
    }
}

table! {
    /// A row of `CN_HISTORY_LOG`: what a run has logged.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct LogRow in "CN_HISTORY_LOG" by [fire_id] {
        /// The fire.
        pub fire_id: String,
        /// The lines, as JSON.
        pub lines: String = [log_lines],
    }
}

table! {
    /// The columns that a summary needs of a row of the history.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct RunSample in "CN_HISTORY" by [] {
        /// The job.
        pub job: Option<JobKey> = [job_name, job_group],
        /// The outcome of the fire.
        pub outcome: FireOutcome,
        /// The duration of the job's run, in milliseconds; none if nobody could say.
        pub run_ms: Option<i64>,
    }
}

table! {
    /// The columns that trends need of a row of the history.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct TrendSample in "CN_HISTORY" by [] {
        /// The group of its trigger.
        pub trigger_group: String,
        /// The time the fire stood for.
        pub scheduled_ms: i64 = [sched_ms],
        /// The time at which it was fired; none for a misfire.
        pub fired_ms: Option<i64>,
        /// The time at which it ended.
        pub ended_ms: i64,
        /// The outcome of the fire.
        pub outcome: FireOutcome,
    }
}

/// The jobs whose rows of the history are counted.
#[derive(Clone, Copy, Debug)]
pub enum HistoryOf<'a> {
    /// These jobs; one without rows may be left out.
    Jobs(&'a [JobKey]),
    /// The jobs with more rows than this, those with most first.
    MoreThan {
        /// The number of rows.
        rows: u64,
        /// The most jobs.
        limit: usize,
    },
}

impl TrendSample {
    /// The delay with which the fire began, in milliseconds; none for a misfire, and for a fire
    /// that was late by intention: its time was over when its trigger was made.
    pub fn late_ms(&self) -> Option<i64> {
        let is_late_by_intention =
            self.trigger_group == BACKFILL_GROUP || RERUN_GROUPS.contains(&self.trigger_group.as_str());
        self.fired_ms.filter(|_| !is_late_by_intention).map(|fired_ms| (fired_ms - self.scheduled_ms).max(0))
    }
}

table! {
    /// A row of `CN_LAST_RUNS`: the last run of a job on a node, of a job that several nodes run.
    #[derive(Clone, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct LastRunRow in "CN_LAST_RUNS" by [job, instance] {
        /// The job.
        pub job: JobKey = [job_name, job_group],
        /// The instance.
        pub instance: String = [instance_name],
        /// The fire.
        pub fire_id: String,
        /// The time at which it ended.
        #[doc(hidden)]
        pub ended_ms: i64,
        /// The duration of the run, in milliseconds; none if nobody could say.
        #[doc(hidden)]
        pub run_ms: Option<i64>,
        /// The outcome of the fire.
        pub outcome: FireOutcome,
        /// The error that the job gave when it failed.
        pub error: Option<String>,
    }
}

impl LastRunRow {
    /// The time at which the run ended.
    pub fn end_time(&self) -> DateTime<Utc> {
        moment(self.ended_ms)
    }

    /// The duration of the run; none if nobody could say.
    pub fn run_time(&self) -> Option<Duration> {
        self.run_ms.map(length)
    }
}
