//! Candidates: triggers with all that a fire of them needs, the rows of their kinds and jobs.

use super::continuations::FOLLOWED;
use super::executing::job_executes;
use super::job_versions::is_read_here;
use super::marks::marks;
use super::options::{OPTION_COLUMNS, of_trigger_with_options};
use super::policies::policy;
use super::row_beside::{OF_JOB, OF_TRIGGER, join, left_join};
use super::trigger_keys;
use super::trigger_row::{COLUMNS, CandidateRow, INTERVAL_COLUMNS, IntervalRow, is_of_interval, kinds};
use crate::error::Result;
use crate::store::row::{Candidate, TypeVersions};
use crate::store::sql::backend::Backend;
use crate::store::sql::session::SqlSession;
use crate::store::sql::statement::Value;

/// The type of a trigger's job, looked up for each trigger in turn.
const JOB_TYPE: &str = "SELECT j.job_class_name FROM {p}JOB_DETAILS j WHERE j.sched_name = t.sched_name \
     AND j.job_name = t.job_name AND j.job_group = t.job_group";

impl SqlSession<'_, '_> {
    /// Candidates from `triggers`, which is a table or a query in brackets.
    pub(super) fn candidates_from(&self, triggers: &str) -> String {
        // MySQL plans a statement whenever it runs: it is not to think about the order, and least
        // of all to begin with the jobs.
        let backend = self.backend();
        let job = join(backend, "JOB_DETAILS", "j", "t", OF_JOB);
        let job = if backend == Backend::Mysql { job.replacen(" JOIN", " STRAIGHT_JOIN", 1) } else { job };
        format!(
            "SELECT {COLUMNS}, {OPTION_COLUMNS}, j.description AS job_description, j.job_class_name AS job_class_name, \
             j.is_durable AS is_durable, j.is_nonconcurrent AS is_nonconcurrent, j.is_update_data AS is_update_data, \
             j.requests_recovery AS requests_recovery, j.job_data AS job_data, y.policy AS policy, m.marks AS marks, \
             CASE WHEN j.is_nonconcurrent = {} THEN {} ELSE 0 END AS executing, {FOLLOWED}, {}, \
             r.origin_fire_id AS origin_fire_id, r.root_fire_id AS root_fire_id, \
             r.original_sched_ms AS original_sched_ms, r.attempt AS attempt \
             FROM {triggers} t{job}{}{}{}{}{}",
            self.true_literal(),
            job_executes(backend, "t"),
            of_trigger_with_options(backend),
            policy(backend),
            marks(backend),
            kinds(backend),
            left_join(backend, "CN_TRIGGER_OPTIONS", "o", "t", OF_TRIGGER),
            left_join(backend, "CN_RECOVERIES", "r", "t", OF_TRIGGER)
        )
    }

    /// The condition on job types and versions of data with its values.
    pub(super) fn of_types(&self, types: &[String], versions: &TypeVersions) -> (String, Vec<Value>) {
        let (of_types, mut values) = self.of_any_version(types);
        let (is_read_here, more) = is_read_here(self.name(), versions);
        values.extend(more);
        (format!("{of_types} AND {is_read_here}"), values)
    }

    fn of_any_version(&self, types: &[String]) -> (String, Vec<Value>) {
        match self.backend() {
            Backend::Postgres => {
                (format!("({JOB_TYPE}) = ANY(?)"), vec![Value::Texts(types.iter().cloned().map(Some).collect())])
            }
            _ if types.is_empty() => ("1 = 0".to_owned(), Vec::new()),
            _ => {
                let marks = vec!["?"; types.len()].join(", ");
                (format!("({JOB_TYPE}) IN ({marks})"), types.iter().map(Value::from).collect())
            }
        }
    }

    /// Candidates with the rows of their kinds. Few triggers are intervals, so the due ones are
    /// read without them, and only where there is one is their table asked: nothing can have
    /// changed in between, under the lock.
    pub(super) fn with_kinds(&mut self, rows: Vec<CandidateRow>) -> Result<Vec<Candidate>> {
        let mut candidates: Vec<_> = rows.into_iter().map(Candidate::from).collect();
        let intervals = candidates.iter().map(|c| &c.trigger).filter(|t| is_of_interval(t));
        let keys: Vec<_> = intervals.map(|t| t.key.clone()).collect();
        let head = format!(
            "SELECT p.trigger_name AS trigger_name, p.trigger_group AS trigger_group, {INTERVAL_COLUMNS} \
             FROM {{p}}SIMPROP_TRIGGERS p WHERE p.sched_name = ? AND"
        );
        let key = ["p.trigger_name", "p.trigger_group"];
        let rows: Vec<IntervalRow> = self.load_for_keys(&head, &[self.name()], &key, &trigger_keys(&keys))?;
        rows.into_iter().for_each(|row| row.fill_in(&mut candidates));
        self.with_recurrences(candidates)
    }
}
