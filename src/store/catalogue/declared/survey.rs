//! `Survey`: compares the definitions of a program with the store before anything is changed.

use super::form;
use super::report::DefinitionReport;
use crate::error::{Error, Result};
use crate::job::{JobDefinition, JobDetail, OnChange};
use crate::key::{JobKey, TriggerKey};
use crate::rules::declared::{Decision, Stored, WhyLeft, decide};
use crate::store::row::{DefinitionRow, JobRow, TriggerRow, TriggerSelection};
use crate::store::{Catalogue, Session};
use crate::trigger::{START_WHEN_STORED, Trigger, TriggerState};
use std::collections::BTreeMap;

/// The definitions of one program.
pub(super) struct Survey<'a> {
    pub source: &'a str,
    pub definitions: &'a [JobDefinition],
    /// True if a definition is to be stored now.
    pub meant: &'a dyn Fn(&JobDefinition) -> bool,
}

/// The result of a survey.
pub(super) struct Found<'a> {
    pub judged: Vec<Judged<'a>>,
    pub orphaned: Vec<JobKey>,
    /// Jobs that are noted, but neither declared nor stored any more.
    pub forgotten: Vec<JobKey>,
}

/// A definition with its decision.
pub(super) struct Judged<'a> {
    pub definition: &'a JobDefinition,
    pub decision: Decision,
    pub before: Option<DefinitionRow>,
    pub is_job_same: bool,
    /// Triggers of the definition that are stored otherwise, or not at all.
    pub differing: Vec<&'a Trigger>,
}

impl<'a> Survey<'a> {
    pub(super) fn run(&self, catalogue: Catalogue<'_>, s: &mut dyn Session) -> Result<Found<'a>> {
        let noted: BTreeMap<JobKey, DefinitionRow> =
            s.definitions()?.into_iter().map(|row| (row.job.clone(), row)).collect();
        let keys: Vec<JobKey> =
            self.definitions.iter().map(|d| d.job.key.clone()).chain(noted.keys().cloned()).collect();
        let existing = s.existing_jobs(&crate::key::distinct(keys.iter()))?;
        let wanted = self.definitions.iter().flat_map(|d| &d.triggers).map(|trigger| trigger.key.clone());
        let undefined = noted.values().flat_map(|row| row.triggers.iter().cloned());
        let triggers: Vec<TriggerKey> = wanted.chain(undefined).collect();
        let triggers: BTreeMap<TriggerKey, TriggerRow> = s
            .triggers(TriggerSelection::Keys(&crate::key::distinct(triggers.iter())))?
            .into_iter()
            .map(|row| (row.key.clone(), row))
            .collect();
        let mut judged = Vec::with_capacity(self.definitions.len());
        for definition in self.definitions.iter().filter(|definition| (self.meant)(definition)) {
            // A note of another program about a job that is gone binds nobody.
            let is_bound = |row: &&DefinitionRow| row.source == self.source || existing.contains(&row.job);
            let before = noted.get(&definition.job.key).filter(is_bound).cloned();
            self.check_source(before.as_ref())?;
            judged.push(judge(catalogue, s, definition, before, &existing, &triggers)?);
        }
        let is_defined = |job: &JobKey| self.definitions.iter().any(|definition| definition.job.key == *job);
        let own = noted.into_values().filter(|row| row.source == self.source && !is_defined(&row.job));
        let (orphaned, forgotten) = own.map(|row| row.job).partition(|job| existing.contains(job));
        Ok(Found { judged, orphaned, forgotten })
    }

    fn check_source(&self, before: Option<&DefinitionRow>) -> Result<()> {
        match before.filter(|row| row.source != self.source) {
            None => Ok(()),
            Some(row) => Err(Error::Refused(format!(
                "job `{}` is defined by `{}` already, and now by `{}`: choose another key, or one source \
                 (carnelian.definitions.source), or forget the first (`carnelian definitions --forget {}`)",
                row.job, row.source, self.source, row.job
            ))),
        }
    }
}

impl Found<'_> {
    pub(super) fn report(&self) -> DefinitionReport {
        let mut report = DefinitionReport { orphaned: self.orphaned.clone(), ..DefinitionReport::default() };
        for judged in &self.judged {
            report.add(&judged.definition.job.key, judged.decision);
        }
        report
    }

    /// True if all decisions are noted already.
    pub(super) fn is_noted(&self) -> bool {
        self.forgotten.is_empty() && self.judged.iter().all(Judged::is_noted)
    }
}

impl Judged<'_> {
    /// True if this form of the definition is noted already, or a later revision is. A form that is
    /// kept out is not noted: it was never stored.
    pub(super) fn is_noted(&self) -> bool {
        let revision = i64::from(self.definition.revision);
        self.before.as_ref().is_some_and(|row| {
            row.revision > revision
                || self.is_kept_out()
                || (row.revision == revision && form::is_of(&row.hash, &form::hash(self.definition)))
        })
    }

    /// True if something else is stored, and stays.
    pub(super) fn is_kept_out(&self) -> bool {
        self.decision == Decision::Leave(WhyLeft::Kept)
    }
}

fn judge<'a>(
    catalogue: Catalogue<'_>,
    s: &mut dyn Session,
    definition: &'a JobDefinition,
    before: Option<DefinitionRow>,
    existing: &[JobKey],
    triggers: &BTreeMap<TriggerKey, TriggerRow>,
) -> Result<Judged<'a>> {
    let key = &definition.job.key;
    let is_job_same = catalogue.is_stored_as(s.job(&definition.job.key)?.as_ref(), &definition.job)?;
    let is_same = |trigger: &&Trigger| {
        let row = triggers.get(&trigger.key).filter(|row| row.job == *key);
        row.is_some_and(|row| is_stored_so(catalogue, row, trigger))
    };
    let mut differing: Vec<&Trigger> = definition.triggers.iter().filter(|trigger| !is_same(trigger)).collect();
    let is_defined = |key: &TriggerKey| definition.triggers.iter().any(|trigger| trigger.key == *key);
    let superfluous = before.iter().flat_map(|row| &row.triggers).filter(|key| !is_defined(key));
    let is_bare = superfluous.filter_map(|key| triggers.get(key)).all(|row| row.job != *key);
    let revision = |row: &DefinitionRow| u32::try_from(row.revision).unwrap_or(u32::MAX);
    let hash = form::hash(definition);
    let noted = before.as_ref().map(|row| if form::is_of(&row.hash, &hash) { &*hash } else { &*row.hash });
    let stored = Stored {
        exists: existing.contains(key),
        is_same: is_job_same && differing.is_empty() && is_bare,
        noted: noted.zip(before.as_ref().map(revision)),
    };
    let decision = decide(definition.on_change, &hash, definition.revision, stored);
    // The triggers are what their fires, or somebody, have made of them.
    if decision == Decision::Update
        && definition.on_change == OnChange::Update
        && before.as_ref().is_some_and(|row| form::has_same_triggers(&row.hash, &hash))
    {
        differing.clear();
    }
    Ok(Judged { definition, decision, before, is_job_same, differing })
}

fn is_stored_so(catalogue: Catalogue<'_>, row: &TriggerRow, trigger: &Trigger) -> bool {
    let is_start_given = trigger.start_ms != START_WHEN_STORED;
    catalogue.store.trigger_value(row).is_ok_and(|stored| catalogue.is_same(&stored, trigger, is_start_given))
}

impl Catalogue<'_> {
    /// True if a stored trigger is what a file or a program says, seen through the table. The
    /// trigger's progress so far does not count, nor does a start that is not given.
    pub(in crate::store::catalogue) fn is_same(&self, stored: &Trigger, fresh: &Trigger, is_start_given: bool) -> bool {
        let mut like = fresh.clone();
        (like.next_ms, like.previous_ms) = (stored.next_ms, stored.previous_ms);
        if !is_start_given {
            like.start_ms = stored.start_ms;
        }
        if let (Some(count), Some(stored)) = (like.schedule.times_triggered_mut(), stored.schedule.times_triggered()) {
            *count = stored;
        }
        let like = self.store.trigger_row(&like, TriggerState::Waiting).and_then(|row| self.store.trigger_value(&row));
        like.is_ok_and(|like| like == *stored)
    }

    /// True if a job is stored just so, by its row and seen through the table; data that belongs to
    /// its runs does not count.
    pub(in crate::store::catalogue) fn is_stored_as(
        &self,
        stored: Option<&JobRow>,
        detail: &JobDetail,
    ) -> Result<bool> {
        let Some(mut stored) = stored.and_then(|row| self.store.job_detail(row).ok()) else {
            return Ok(false);
        };
        if detail.persist_job_data_after_execution {
            stored.data = detail.data.clone();
        }
        Ok(self.store.job_detail(&self.store.job_row(detail)?).is_ok_and(|detail| detail == stored))
    }
}
