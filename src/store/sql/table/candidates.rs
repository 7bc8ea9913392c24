//! Candidates: triggers with all that a fire of them needs, the rows of their kinds and jobs.

use super::continuations::FOLLOWED;
use super::executing::job_executes;
use super::job_versions::is_read_here;
use super::marks::marks;
use super::options::{OPTION_COLUMNS, of_trigger_with_options};
use super::policies::policy;
use super::row_beside::{OF_JOB, OF_TRIGGER, join, left_join};
use super::trigger_row::{COLUMNS, CandidateRow, Interval, IntervalRow, KeyRow, is_of_interval, kinds};
use super::waiting::DueSearch;
use super::{converted, trigger_keys};
use crate::error::Result;
use crate::key::TriggerKey;
use crate::store::row::{Candidate, DueQuery, TypeVersions};
use crate::store::sql::backend::Backend;
use crate::store::sql::by_place::Columns;
use crate::store::sql::session::SqlSession;
use crate::store::sql::statement::Value;
use crate::trigger::TriggerOrder;

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

    /// The triggers that are due, in the order of the query.
    pub(super) fn due(&mut self, query: &DueQuery<'_>) -> Result<Vec<CandidateRow>> {
        // The few rows at the head of the due index come first, then the rows that belong to them:
        // a planner that sees both at once may begin with the jobs and sort the whole backlog.
        let (order, ordered_by) = order_of_due(query);
        let is_ordered = self.backend() != Backend::Mysql;
        // MySQL gets keys only: a table with data in it would be gathered on disk, once for the
        // query and once for its order.
        let columns = if is_ordered { "t.*" } else { "t.sched_name, t.trigger_name, t.trigger_group" };
        let mut rows: Vec<CandidateRow> = Vec::new();
        for (head, mut values) in self.due_heads(query, columns) {
            let text = if is_ordered {
                values.extend(ordered_by.clone());
                format!("{} ORDER BY {order}", self.candidates_from(&head))
            } else {
                let found = self.candidates_from(&format!("{head} k STRAIGHT_JOIN {{p}}TRIGGERS"));
                let same = "t.sched_name = k.sched_name AND t.trigger_name = k.trigger_name AND t.trigger_group = k.trigger_group";
                format!("{found} WHERE {same}")
            };
            rows.extend(self.load::<CandidateRow>(&text, &values)?.into_iter().take(query.limit));
        }
        Ok(rows)
    }

    /// The keys of the triggers that are due, in the order of the query.
    pub(super) fn due_keys(&mut self, query: &DueQuery<'_>) -> Result<Vec<TriggerKey>> {
        let (order, ordered_by) = order_of_due(query);
        let mut keys: Vec<TriggerKey> = Vec::new();
        for (head, mut values) in self.due_heads(query, "t.trigger_name, t.trigger_group, t.next_fire_time, t.priority")
        {
            values.extend(ordered_by.clone());
            let text = format!(
                "SELECT t.trigger_name AS trigger_name, t.trigger_group AS trigger_group FROM {head} t ORDER BY {order}"
            );
            keys.extend(converted::<_, TriggerKey>(self.load::<KeyRow>(&text, &values)?).into_iter().take(query.limit));
        }
        Ok(keys)
    }

    /// The queries in brackets, with their values, that find the triggers of a search.
    fn due_heads(&self, query: &DueQuery<'_>, columns: &str) -> Vec<(String, Vec<Value>)> {
        let (of_types, types) = self.of_types(query.job_types, query.versions);
        let (not_excluded, excluded) = self.not_excluded(query.excluded);
        let (order, ordered_by) = order_of_due(query);
        let searches = match query.among {
            Some(_) => &[DueSearch::Whole],
            None => DueSearch::of_table(self.backend()),
        };
        // MySQL plans each time anyway, and gives its rows in no order: it is told how many
        // exactly, by a value, since it keeps each text that it has prepared.
        let is_told = self.backend() == Backend::Mysql;
        let page = if is_told { "?".to_owned() } else { page_size(query.limit).to_string() };
        let offset = if query.offset > 0 { " OFFSET ?" } else { "" };
        let mut heads = Vec::new();
        for (triggers, among, (before, after)) in self.searched(query.among) {
            let mut values = Vec::new();
            let mut found = Vec::new();
            for search in searches {
                values.extend(before.iter().cloned());
                let (last, first) = (query.no_later_than_ms.into(), query.misfired_before_ms.into());
                values.extend(DueSearch::values(&self.name(), &[last], &[first]));
                values.extend(types.iter().chain(&excluded).chain(&after).chain(&ordered_by).cloned());
                found.push(format!(
                    "SELECT {columns} FROM {triggers} WHERE {} AND {of_types}{not_excluded}{among} ORDER BY {order} LIMIT",
                    search.condition("?", "?")
                ));
            }
            let head = match &found[..] {
                [search] => format!("({search} {page}{offset})"),
                several => {
                    values.extend(ordered_by.clone());
                    let reach = page_size(query.limit.saturating_add(query.offset));
                    let all: Vec<String> =
                        several.iter().map(|search| format!("SELECT * FROM ({search} {reach}) AS w")).collect();
                    format!("(SELECT * FROM ({}) AS t ORDER BY {order} LIMIT {page}{offset})", all.join(" UNION ALL "))
                }
            };
            values.extend(is_told.then(|| query.limit.into()));
            values.extend((query.offset > 0).then(|| query.offset.into()));
            heads.push((head, values));
        }
        heads
    }

    /// These triggers, whatever their state, in no order.
    pub(super) fn candidates_of(&mut self, keys: &[TriggerKey]) -> Result<Vec<CandidateRow>> {
        let mut rows: Vec<CandidateRow> = Vec::new();
        for (table, among, (before, after)) in self.searched(Some(keys)) {
            let (text, values) = match self.backend() {
                // The triggers first, and no word of the scheduler beside them: a planner that sees
                // it may begin with all of its jobs.
                Backend::Postgres => (self.candidates_from(&format!("(SELECT t.* FROM {table} OFFSET 0)")), before),
                _ => {
                    let text = format!("{} WHERE t.sched_name = ?{among}", self.candidates_from("{p}TRIGGERS"));
                    (text, before.into_iter().chain([self.name()]).chain(after).collect())
                }
            };
            rows.extend(self.load::<CandidateRow>(&text, &values)?);
        }
        Ok(rows)
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
        let mut candidates: Vec<Candidate> = converted(rows);
        let intervals = candidates.iter().map(|c| &c.trigger).filter(|t| is_of_interval(t));
        let keys: Vec<_> = intervals.map(|t| t.key.clone()).collect();
        let head = format!(
            "SELECT {}, {} FROM {{p}}SIMPROP_TRIGGERS p WHERE p.sched_name = ? AND",
            KeyRow::select("p."),
            Interval::select("p.")
        );
        let key = ["p.trigger_name", "p.trigger_group"];
        let rows: Vec<IntervalRow> = self.load_for_keys(&head, &[self.name()], &key, &trigger_keys(&keys), "")?;
        rows.into_iter().for_each(|row| row.fill_in(&mut candidates));
        self.with_recurrences(candidates)
    }
}

/// The order of due triggers, with its values.
fn order_of_due(query: &DueQuery<'_>) -> (&'static str, Vec<Value>) {
    match query.order {
        TriggerOrder::TimeThenPriority => ("t.next_fire_time ASC, t.priority DESC", Vec::new()),
        TriggerOrder::PriorityThenTime => (
            "CASE WHEN t.next_fire_time <= ? THEN 0 ELSE 1 END, t.priority DESC, t.next_fire_time ASC",
            vec![query.now_ms.into()],
        ),
    }
}

/// At least so many rows, as a literal of which there are few: a planner that does not see how few
/// rows are wanted may sort the whole backlog, and one that is told anew each time plans anew each
/// time.
fn page_size(limit: usize) -> usize {
    const SIZES: [usize; 10] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
    SIZES.into_iter().find(|size| *size >= limit).unwrap_or_else(|| limit.next_multiple_of(1000))
}
