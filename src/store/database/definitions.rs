//! The definitions in code in a session.

use super::session::Session;
use crate::error::Result;
use crate::key::{JobKey, TriggerKey};
use crate::store::row::{DefinedTriggerRow, DefinitionRow};
use std::collections::BTreeMap;

impl dyn Session + '_ {
    /// Every definition that was noted, in order of the jobs.
    pub fn definitions(&mut self) -> Result<Vec<DefinitionRow>> {
        let mut rows: Vec<DefinitionRow> = self.rows().list()?;
        let triggers = self.rows::<DefinedTriggerRow>().list()?;
        fill_in(&mut rows, triggers);
        rows.sort_by(|a, b| (a.job.group(), a.job.name()).cmp(&(b.job.group(), b.job.name())));
        Ok(rows)
    }

    /// At most so many definitions behind that of a job, in order of the groups and names of the
    /// jobs, as the database compares texts.
    pub fn definitions_behind(&mut self, job: &JobKey, limit: usize) -> Result<Vec<DefinitionRow>> {
        let order = ["job_group", "job_name"];
        let rows = self.rows::<DefinitionRow>().behind(&order, &[&job.group().to_owned(), &job.name().to_owned()]);
        let mut rows = rows.by(&order).limit(limit).list()?;
        let jobs: Vec<JobKey> = rows.iter().map(|row| row.job.clone()).collect();
        if !jobs.is_empty() {
            let triggers = self.rows::<DefinedTriggerRow>().any_of(&["job"], &jobs).list()?;
            fill_in(&mut rows, triggers);
        }
        Ok(rows)
    }

    /// The definition of a job.
    pub fn definition(&mut self, job: &JobKey) -> Result<Option<DefinitionRow>> {
        let mut rows: Vec<DefinitionRow> = self.row(job)?.into_iter().collect();
        let triggers = self.rows::<DefinedTriggerRow>().with("job", job).list()?;
        fill_in(&mut rows, triggers);
        Ok(rows.pop())
    }

    /// Notes definitions in the place of those that were noted for the same jobs.
    pub fn put_definitions(&mut self, rows: &[DefinitionRow]) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let jobs: Vec<JobKey> = rows.iter().map(|row| row.job.clone()).collect();
        self.delete_definitions(&jobs)?;
        self.insert_all(rows)?;
        let of = |row: &DefinitionRow| {
            let job = row.job.clone();
            let trigger = move |trigger| DefinedTriggerRow { trigger, job: job.clone() };
            row.triggers.clone().into_iter().map(trigger)
        };
        let triggers: Vec<DefinedTriggerRow> = rows.iter().flat_map(of).collect();
        // A trigger may have been another definition's.
        if triggers.is_empty() { Ok(()) } else { self.put_all(&triggers) }
    }

    /// Forgets the definitions of these jobs.
    pub fn delete_definitions(&mut self, jobs: &[JobKey]) -> Result<()> {
        if jobs.is_empty() {
            return Ok(());
        }
        self.rows::<DefinedTriggerRow>().any_of(&["job"], jobs).delete()?;
        self.rows::<DefinitionRow>().any_of(&["job"], jobs).delete().map(drop)
    }
}

/// Gives definitions their triggers, in order.
fn fill_in(rows: &mut [DefinitionRow], triggers: Vec<DefinedTriggerRow>) {
    let mut of_job: BTreeMap<JobKey, Vec<TriggerKey>> = BTreeMap::new();
    for row in triggers {
        of_job.entry(row.job).or_default().push(row.trigger);
    }
    for row in rows {
        row.triggers = of_job.remove(&row.job).unwrap_or_default();
        row.triggers.sort_by(|a, b| (a.group(), a.name()).cmp(&(b.group(), b.name())));
    }
}
