//! Between rows and values: a row that does not make sense becomes a reason, never a panic.

use super::JobStore;
use super::row::{JobRow, TriggerRow};
use super::schedule_row::{options_row, policies, schedule, schedule_row, unreadable};
use crate::data_map::DataFormat;
use crate::error::{Error, Result};
use crate::job::{JobDetail, JobMarks, JobPolicy};
use crate::trigger::{MisfireInstruction, Trigger, TriggerState};

impl JobStore {
    fn format(&self) -> DataFormat {
        if self.settings.job_store.use_properties { DataFormat::Properties } else { DataFormat::Java }
    }

    pub(super) fn job_row(&self, job: &JobDetail) -> Result<JobRow> {
        Ok(JobRow {
            key: job.key.clone(),
            description: job.description.clone(),
            job_type: job.job_type.clone(),
            durable: job.durable,
            nonconcurrent: job.disallow_concurrent_execution,
            update_data: job.persist_job_data_after_execution,
            requests_recovery: job.requests_recovery,
            data: Some(self.format().encode_job(&job.data)?),
            policy: job.policy().encode()?,
            marks: job.marks().encode()?,
        })
    }

    pub(super) fn job_detail(&self, row: &JobRow) -> Result<JobDetail> {
        let data = self
            .format()
            .decode(row.data.as_deref())
            .map_err(|reason| Error::unreadable("JOB_DETAILS", &row.key, format!("JOB_DATA: {reason}")))?;
        let policy = row.policy.as_deref().map(JobPolicy::decode).transpose();
        let policy = policy.map_err(|reason| Error::unreadable("CN_JOB_POLICIES", &row.key, reason))?;
        let marks = row.marks.as_deref().map(JobMarks::decode).transpose();
        let marks = marks.map_err(|reason| Error::unreadable("CN_JOB_MARKS", &row.key, reason))?;
        Ok(JobDetail {
            key: row.key.clone(),
            job_type: row.job_type.clone(),
            description: row.description.clone(),
            durable: row.durable,
            requests_recovery: row.requests_recovery,
            disallow_concurrent_execution: row.nonconcurrent,
            persist_job_data_after_execution: row.update_data,
            data,
            policy: policy.and_then(JobPolicy::boxed),
            marks: marks.map(Box::new),
            version: None,
            even_if_deprecated: false,
            even_beside_quartz: false,
        })
    }

    pub(super) fn encode_job_data(&self, data: &crate::JobDataMap) -> Result<Vec<u8>> {
        self.format().encode_job(data)
    }

    pub(super) fn encode_trigger_data(&self, data: &crate::JobDataMap) -> Result<Vec<u8>> {
        self.format().encode_trigger(data)
    }

    /// # Errors
    /// The reason why the data cannot be read.
    pub(super) fn decode_data(&self, bytes: Option<&[u8]>) -> std::result::Result<crate::JobDataMap, String> {
        self.format().decode(bytes)
    }

    pub(super) fn trigger_row(&self, trigger: &Trigger, state: TriggerState) -> Result<TriggerRow> {
        Ok(TriggerRow {
            key: trigger.key.clone(),
            job: trigger.job_key.clone(),
            description: trigger.description.clone(),
            next_ms: trigger.next_ms,
            previous_ms: trigger.previous_ms,
            priority: trigger.priority,
            state: state.name().to_owned(),
            kind: trigger.schedule.kind().to_owned(),
            start_ms: trigger.start_ms,
            end_ms: trigger.end_ms,
            calendar: trigger.calendar_name.clone(),
            misfire: trigger.misfire.code(),
            data: Some(self.format().encode_trigger(&trigger.data)?),
            schedule: schedule_row(&trigger.schedule),
            options: options_row(trigger),
        })
    }

    /// The trigger of a row.
    ///
    /// # Errors
    /// [`Error::Unreadable`], naming the column and what is wrong with it.
    pub(super) fn trigger_value(&self, row: &TriggerRow) -> Result<Trigger> {
        let data = self.format().decode(row.data.as_deref()).map_err(|r| unreadable(row, format!("JOB_DATA: {r}")))?;
        Ok(Trigger {
            key: row.key.clone(),
            job_key: row.job.clone(),
            description: row.description.clone(),
            calendar_name: row.calendar.clone(),
            data,
            priority: row.priority,
            misfire: MisfireInstruction::from_code(&row.kind, row.misfire)
                .ok_or_else(|| unreadable(row, format!("MISFIRE_INSTR = {} means nothing here", row.misfire)))?,
            start_ms: row.start_ms,
            end_ms: row.end_ms,
            next_ms: row.next_ms,
            previous_ms: row.previous_ms,
            schedule: schedule(row, self.settings.scheduler.time_zone)?,
            policies: policies(row)?,
        })
    }
}
