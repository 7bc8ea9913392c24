//! Declared jobs: the definitions of a program are stored, updated, and remembered by their source.

mod form;
mod report;
mod survey;

pub use report::{DefinitionReport, OrphanedDefinitions};

use self::survey::{Found, Judged, Survey};
use super::if_stored::IfStored;
use crate::error::{Error, Result};
use crate::job::{JobDefinition, JobDetail};
use crate::key::{JobKey, TriggerKey, check_name};
use crate::rules::declared::{Decision, WhyLeft};
use crate::store::Catalogue;
use crate::store::Session;
use crate::store::calendars::Calendars;
use crate::store::row::{DefinitionRow, Selection, TriggerRow, TriggerSelection};
use crate::trigger::{Trigger, TriggerState};
use std::collections::BTreeSet;

impl Catalogue<'_> {
    /// Stores what is missing of the definitions of a program, and what has changed, all or
    /// nothing; `source` names the program, so that what it no longer defines can be told from what
    /// others do. Definitions that are not `meant` are left alone. With `plan_only` nothing is
    /// stored: the report says what would be.
    ///
    /// A definition that is the same as when it was stored costs no lock.
    ///
    /// # Errors
    /// [`Error::Refused`] for a job that another source defines, for a trigger that belongs to
    /// another job, and for keys that are given twice; what [`Catalogue::schedule`] refuses.
    /// Nothing is stored then.
    pub fn sync_definitions(
        &self,
        source: &str,
        definitions: &[JobDefinition],
        meant: impl Fn(&JobDefinition) -> bool,
        orphaned: OrphanedDefinitions,
        plan_only: bool,
    ) -> Result<DefinitionReport> {
        check_name("source of definitions", source)?;
        check(definitions)?;
        let definitions = self.in_default_zone(definitions);
        let survey = Survey { source, definitions: &definitions, meant: &meant };
        let (planned, is_noted) = self.store.read("look at definitions", |s| {
            let found = survey.run(*self, s)?;
            Ok((found.report(), found.is_noted()))
        })?;
        let deletes = orphaned == OrphanedDefinitions::Delete && !planned.orphaned.is_empty();
        if plan_only || (planned.changed_nothing() && is_noted && !deletes) {
            return Ok(planned);
        }
        self.store.write("store definitions", |s| {
            // Another node may have been faster.
            let found = survey.run(*self, s)?;
            let mut report = found.report();
            self.put_definitions_found(s, source, &found, &mut report)?;
            if orphaned == OrphanedDefinitions::Delete {
                self.delete_jobs_in(s, &report.orphaned)?;
                s.delete_definitions(&report.orphaned)?;
                report.deleted = report.orphaned.clone();
            }
            Ok(report)
        })
    }

    /// The definitions as the scheduler reads them, by which a start with another default zone is
    /// seen.
    fn in_default_zone(&self, definitions: &[JobDefinition]) -> Vec<JobDefinition> {
        let mut definitions = definitions.to_vec();
        for trigger in definitions.iter_mut().flat_map(|definition| &mut definition.triggers) {
            trigger.schedule.set_default_zone(self.store.settings.scheduler.time_zone);
        }
        definitions
    }

    /// The declared jobs of all programs, in order of the jobs.
    ///
    /// # Errors
    /// Failures of the database after the bounded retries.
    pub fn definitions(&self) -> Result<Vec<DefinitionRow>> {
        self.store.read("read definitions", |s| s.definitions())
    }

    /// Forgets the definitions of these jobs, so that another program may declare them; the jobs
    /// stay. Returns how many of them were declared.
    ///
    /// # Errors
    /// Failures of the database after the bounded retries.
    pub fn forget_definitions(&self, jobs: &[JobKey]) -> Result<usize> {
        self.store.write("forget definitions", |s| {
            if jobs.is_empty() {
                return Ok(0);
            }
            let known = s.rows::<DefinitionRow>().any_of(&["job"], jobs).list()?.len();
            s.delete_definitions(jobs)?;
            self.note(s, "forget", "definition", if known > 0 { jobs } else { &[] })?;
            Ok(known)
        })
    }

    fn put_definitions_found(
        &self,
        s: &mut dyn Session,
        source: &str,
        found: &Found<'_>,
        report: &mut DefinitionReport,
    ) -> Result<()> {
        let now_ms = s.now_ms()?;
        let mut noted = Vec::new();
        // Deletions come first: a trigger may move from one definition to another, in whatever
        // order the two stand.
        for judged in
            found.judged.iter().filter(|judged| matches!(judged.decision, Decision::Insert | Decision::Update))
        {
            self.remove_undefined_triggers(s, judged.definition, judged.before.as_ref())?;
        }
        for judged in &found.judged {
            let Judged { definition, decision, is_job_same, differing, .. } = judged;
            match decision {
                Decision::Leave(WhyLeft::NewerStored | WhyLeft::ChangedByHand) => continue,
                Decision::Leave(_) if judged.is_noted() => continue,
                Decision::Leave(_) => {}
                Decision::Insert | Decision::Update => {
                    if !is_job_same {
                        let job = self.with_data_of_runs(s, &definition.job)?;
                        self.put_jobs(s, std::iter::once(&job), IfStored::Replace)?;
                    }
                    for trigger in differing {
                        self.put_defined_trigger(s, definition, trigger, report)?;
                    }
                }
            }
            // A definition that was kept out has neither form nor triggers in the store.
            let (hash, triggers) = match judged.is_kept_out() {
                true => (String::new(), Vec::new()),
                false => (form::hash(definition), definition.triggers.iter().map(|one| one.key.clone()).collect()),
            };
            noted.push(DefinitionRow {
                job: definition.job.key.clone(),
                source: source.to_owned(),
                revision: i64::from(definition.revision),
                hash,
                made_ms: now_ms,
                triggers,
            });
        }
        s.delete_definitions(&found.forgotten)?;
        s.put_definitions(&noted)
    }

    /// The job of a definition as it takes the place of a stored one. Data that belong to its runs
    /// stay as they are, of the version that they are of: only the first form has them of the code.
    fn with_data_of_runs(&self, s: &mut dyn Session, job: &JobDetail) -> Result<JobDetail> {
        let stored = if job.persist_job_data_after_execution { s.job(&job.key)? } else { None };
        let Some(stored) = stored.filter(|stored| stored.update_data && stored.job_type == job.job_type) else {
            return Ok(job.clone());
        };
        let data = self.store.decode_data(stored.data.as_deref());
        let data = data.map_err(|why| Error::unreadable("JOB_DETAILS", &job.key, format!("JOB_DATA: {why}")))?;
        let noted = s.job_versions(std::slice::from_ref(&job.key))?;
        let version = noted.first().filter(|row| row.job_type == *job.job_type).map_or(1, |row| row.version);
        Ok(JobDetail { data, version: Some(u32::try_from(version).unwrap_or(u32::MAX)), ..job.clone() })
    }

    /// Stores a trigger in the place of its old form. A paused trigger stays paused; a trigger
    /// without a fire time left is a remark.
    fn put_defined_trigger(
        &self,
        s: &mut dyn Session,
        definition: &JobDefinition,
        trigger: &Trigger,
        report: &mut DefinitionReport,
    ) -> Result<()> {
        let keys = std::slice::from_ref(&trigger.key);
        let before = s.triggers(TriggerSelection::Keys(keys))?.pop();
        if let Some(other) = before.as_ref().filter(|row| row.job != definition.job.key) {
            return Err(Error::Refused(format!(
                "the definition of job `{}` has trigger `{}`, which is stored for job `{}`: choose another name",
                definition.job.key, trigger.key, other.job
            )));
        }
        let mut calendars = Calendars::default();
        self.store.read_calendars(s, &mut calendars, trigger.calendar_name.as_deref().into_iter())?;
        let calendar = trigger.calendar_name.as_deref().map(|name| calendars.named(name)).transpose()?.flatten();
        let now_ms = s.now_ms()?;
        // The check comes before any deletion, so that the stored trigger goes on.
        match self.set_first_fire_time(&mut trigger.clone(), calendar.as_deref(), now_ms) {
            Err(error @ Error::NeverFires { .. }) => {
                report.remarks.push(format!("left out: {error}"));
                return Ok(());
            }
            other => other?,
        }
        self.put_trigger(s, trigger.clone(), IfStored::Replace)?;
        if before.is_some_and(|row| is_paused(&row)) {
            let moves =
                [(TriggerState::Waiting, TriggerState::Paused), (TriggerState::Blocked, TriggerState::PausedBlocked)];
            s.change_states(Selection::Triggers(keys), &moves, false)?;
        }
        Ok(())
    }

    fn remove_undefined_triggers(
        &self,
        s: &mut dyn Session,
        definition: &JobDefinition,
        before: Option<&DefinitionRow>,
    ) -> Result<()> {
        let is_defined = |key: &TriggerKey| definition.triggers.iter().any(|trigger| trigger.key == *key);
        let gone: Vec<TriggerKey> =
            before.into_iter().flat_map(|row| &row.triggers).filter(|key| !is_defined(key)).cloned().collect();
        if gone.is_empty() {
            return Ok(());
        }
        let own = s.triggers(TriggerSelection::Keys(&gone))?.into_iter().filter(|row| row.job == definition.job.key);
        let own: Vec<TriggerKey> = own.map(|row| row.key).collect();
        self.note(s, "delete", "trigger", &own)?;
        s.delete_reservations(&own)?;
        s.delete_triggers(&own, None).map(drop)
    }
}

/// Checks what can be checked without the store.
fn check(definitions: &[JobDefinition]) -> Result<()> {
    let (mut jobs, mut triggers) = (BTreeSet::new(), BTreeSet::new());
    for definition in definitions {
        definition.check()?;
        let twice = |what: &str, key: &dyn std::fmt::Display| {
            Err(Error::Refused(format!("{what} `{key}` is defined twice: give each key once")))
        };
        if !jobs.insert(&definition.job.key) {
            return twice("job", &definition.job.key);
        }
        if let Some(again) = definition.triggers.iter().find(|trigger| !triggers.insert(&trigger.key)) {
            return twice("trigger", &again.key);
        }
    }
    Ok(())
}

fn is_paused(row: &TriggerRow) -> bool {
    [TriggerState::Paused.name(), TriggerState::PausedBlocked.name()].contains(&row.state.as_str())
}
