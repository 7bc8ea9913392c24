//! `TRIGGERS`; what belongs to the kind of a trigger is in `schedules.rs`.

use super::continuations::FOLLOWED;
use super::executing::{job_executes, trigger_executes};
use super::job_versions::is_read_here;
use super::options::{OPTION_COLUMNS, of_trigger_with_options, options};
use super::policies::POLICY;
use super::recurrences::{RECURRENCE_COLUMNS, RECURRENCES, type_and_misfire};
use super::trigger_row::{
    COLUMNS, CandidateRow, INTERVAL_COLUMNS, INTERVALS, IntervalRow, JOB, KINDS, KeyRow, WholeRow, is_of_interval,
    is_rerun, quoted,
};
use super::{BARE_KEY, NO_TIME, job_keys, texts, trigger_keys};
use crate::error::Result;
use crate::key::{JobKey, TriggerKey};
use crate::store::database::TriggerRows;
use crate::store::row::{
    Advance, Candidate, DueQuery, FastPathWork, FiredRow, Selection, TriggerRow, TriggerSelection, TypeVersions,
};
use crate::store::sql::backend::Backend;
use crate::store::sql::bulk::{and_guard, by_primary_key, transpose};
use crate::store::sql::by_place::by_place;
use crate::store::sql::session::SqlSession;
use crate::store::sql::statement::Value;
use crate::trigger::TriggerState;
use diesel::sql_types::{BigInt, Text};
use std::fmt::Write as _;

by_place! {
    struct FinishedRow {
        trigger_name: String as Text,
        trigger_group: String as Text,
        options: i64 as BigInt,
    }
}

by_place! {
    struct GroupRow {
        trigger_group: String as Text,
    }
}

/// The type of a trigger's job, looked up for each trigger in turn.
const JOB_TYPE: &str = "SELECT j.job_class_name FROM {p}JOB_DETAILS j WHERE j.sched_name = t.sched_name \
     AND j.job_name = t.job_name AND j.job_group = t.job_group";

/// The columns of `TRIGGERS`.
pub(super) const TRIGGER_COLUMNS: [&str; 15] = [
    "trigger_name",
    "trigger_group",
    "job_name",
    "job_group",
    "description",
    "next_fire_time",
    "prev_fire_time",
    "priority",
    "trigger_state",
    "trigger_type",
    "start_time",
    "end_time",
    "calendar_name",
    "misfire_instr",
    "job_data",
];

/// The values of these columns for a trigger.
pub(super) fn trigger_values(t: &TriggerRow) -> Vec<Value> {
    let (trigger_type, misfire) = type_and_misfire(t);
    vec![
        t.key.name().into(),
        t.key.group().into(),
        t.job.name().into(),
        t.job.group().into(),
        t.description.as_deref().into(),
        t.next_ms.unwrap_or(NO_TIME).into(),
        t.previous_ms.unwrap_or(NO_TIME).into(),
        i64::from(t.priority).into(),
        (&t.state).into(),
        trigger_type.into(),
        t.start_ms.into(),
        t.end_ms.unwrap_or(0).into(),
        t.calendar.as_deref().into(),
        misfire.into(),
        t.data.as_ref().into(),
    ]
}

pub(super) const KEY: [&str; 2] = ["t.trigger_name", "t.trigger_group"];

impl SqlSession<'_, '_> {
    /// Candidates from `triggers`, which is a table or a query in brackets.
    pub(super) fn candidates_from(&self, triggers: &str) -> String {
        // MySQL plans a statement whenever it runs: it is not to think about the order, and least
        // of all to begin with the jobs.
        let job = match self.backend() {
            Backend::Mysql => JOB.replacen(" JOIN", " STRAIGHT_JOIN", 1),
            _ => JOB.to_owned(),
        };
        format!(
            "SELECT {COLUMNS}, {OPTION_COLUMNS}, j.description AS job_description, j.job_class_name AS job_class_name, \
             j.is_durable AS is_durable, j.is_nonconcurrent AS is_nonconcurrent, j.is_update_data AS is_update_data, \
             j.requests_recovery AS requests_recovery, j.job_data AS job_data, y.policy AS policy, \
             CASE WHEN j.is_nonconcurrent = {} THEN {} ELSE 0 END AS executing, {FOLLOWED}, {}, \
             r.origin_fire_id AS origin_fire_id, r.root_fire_id AS root_fire_id, \
             r.original_sched_ms AS original_sched_ms, r.attempt AS attempt \
             FROM {triggers} t{job}{POLICY}{KINDS}{} LEFT JOIN {{p}}CN_RECOVERIES r ON r.sched_name = t.sched_name \
             AND r.trigger_name = t.trigger_name AND r.trigger_group = t.trigger_group",
            self.true_literal(),
            job_executes(self.backend(), "t"),
            of_trigger_with_options(self.backend()),
            // By its primary key, and the table is small: few triggers have options.
            options("t")
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

    pub(super) fn load_triggers(&mut self, condition: &str, values: &[Value]) -> Result<Vec<TriggerRow>> {
        let rows: Vec<WholeRow> = self.load(&format!("{} {condition}", whole_rows()), values)?;
        Ok(rows.into_iter().map(TriggerRow::from).collect())
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

impl TriggerRows for SqlSession<'_, '_> {
    fn triggers(&mut self, which: TriggerSelection<'_>) -> Result<Vec<TriggerRow>> {
        let rows: Vec<WholeRow> = self.load_selected(&whole_rows(), which)?;
        Ok(rows.into_iter().map(TriggerRow::from).collect())
    }

    fn trigger_keys(&mut self, which: TriggerSelection<'_>) -> Result<Vec<TriggerKey>> {
        if let TriggerSelection::FreeWaiting(triggers) = which {
            return self.hold_free_rows(triggers);
        }
        let head = "SELECT t.trigger_name AS trigger_name, t.trigger_group AS trigger_group FROM {p}TRIGGERS t WHERE";
        let rows: Vec<KeyRow> = self.load_selected(head, which)?;
        Ok(rows.into_iter().map(TriggerKey::from).collect())
    }

    fn trigger_groups(&mut self) -> Result<Vec<String>> {
        let text = "SELECT DISTINCT trigger_group AS trigger_group FROM {p}TRIGGERS WHERE sched_name = ? ORDER BY trigger_group";
        let rows: Vec<GroupRow> = self.load(text, &[self.name()])?;
        Ok(rows.into_iter().map(|row| row.trigger_group).collect())
    }

    fn insert_triggers(&mut self, triggers: &[TriggerRow]) -> Result<()> {
        self.assert_trigger_access();
        self.insert_rows("TRIGGERS", &TRIGGER_COLUMNS, triggers.iter().map(trigger_values).collect())?;
        self.insert_schedules(triggers)?;
        self.insert_options(triggers)?;
        self.insert_recurrences(triggers)
    }

    fn delete_triggers(&mut self, keys: &[TriggerKey], only_in: Option<TriggerState>) -> Result<usize> {
        self.assert_trigger_access();
        let rows = trigger_keys(keys);
        self.delete_schedules(&rows, only_in.is_some())?;
        // Of other groups only one that was revived has a row, and such a one is in no state that
        // is asked for here when triggers go by themselves.
        let recoveries: Vec<_> = keys.iter().filter(|key| only_in.is_none() || is_rerun(key)).cloned().collect();
        self.delete_rows("CN_RECOVERIES", &BARE_KEY, &trigger_keys(&recoveries), "")?;
        let state = only_in.map_or(String::new(), |state| format!("trigger_state = '{}'", state.name()));
        self.delete_rows("TRIGGERS", &BARE_KEY, &rows, &state)
    }

    fn begin_last_fires(&mut self, keys: &[TriggerKey], in_state: TriggerState, fired: Vec<FiredRow>) -> Result<usize> {
        self.begin_in_place_of(keys, in_state, fired)
    }

    fn delete_finished_triggers(&mut self, keys: &[TriggerKey]) -> Result<Vec<TriggerKey>> {
        self.assert_trigger_access();
        let head = format!(
            "SELECT t.trigger_name AS trigger_name, t.trigger_group AS trigger_group, \
             (SELECT COUNT(*) FROM {{p}}CN_TRIGGER_OPTIONS o WHERE o.sched_name = t.sched_name \
             AND o.trigger_name = t.trigger_name AND o.trigger_group = t.trigger_group) AS options \
             FROM {{p}}TRIGGERS t WHERE t.trigger_state = 'COMPLETE' AND {} = 0 AND t.sched_name = ? AND",
            trigger_executes(self.backend(), "t")
        );
        let rows: Vec<FinishedRow> = self.load_for_keys(&head, &[self.name()], &KEY, &trigger_keys(keys))?;
        let with_options = rows.iter().any(|row| row.options > 0);
        let finished: Vec<_> =
            rows.into_iter().map(|row| TriggerKey::new(row.trigger_group, row.trigger_name)).collect();
        if with_options {
            self.delete_option_rows(&trigger_keys(&finished))?;
        }
        if !finished.is_empty() {
            self.delete_triggers(&finished, Some(TriggerState::Complete))?;
        }
        Ok(finished)
    }

    fn change_states(
        &mut self,
        which: Selection<'_>,
        moves: &[(TriggerState, TriggerState)],
        unless_executing: bool,
    ) -> Result<usize> {
        self.assert_trigger_access();
        let mut head = "UPDATE {p}TRIGGERS AS t SET trigger_state = CASE t.trigger_state".to_owned();
        for (from, to) in moves {
            let _ = write!(head, " WHEN '{}' THEN '{}'", from.name(), to.name());
        }
        let from = quoted(moves.iter().map(|(from, _)| *from));
        head.push_str(" ELSE t.trigger_state END");
        let tail = match unless_executing {
            true => format!(" AND {} = 0", job_executes(self.backend(), "t")),
            false => String::new(),
        };
        let tail = &tail;
        if let (Backend::Postgres, Selection::Triggers(keys)) = (self.backend(), &which) {
            if keys.is_empty() {
                return Ok(0);
            }
            let found = by_primary_key(&BARE_KEY, 2);
            let guard = and_guard(&format!("t.trigger_state IN ({from})"));
            let mut values = vec![self.name()];
            values.extend(transpose(trigger_keys(keys), 2));
            return self.execute(&format!("{head} FROM {found}{guard}{tail}"), &values);
        }
        let _ = write!(head, " WHERE t.sched_name = ? AND t.trigger_state IN ({from}) AND");
        let name = [self.name()];
        match which {
            Selection::Triggers(keys) => self.execute_for_keys(&head, &name, &KEY, &trigger_keys(keys), tail),
            Selection::Jobs(keys) => {
                self.execute_for_keys(&head, &name, &["t.job_name", "t.job_group"], &job_keys(keys), tail)
            }
            Selection::Groups(groups) => {
                self.execute_for_keys(&head, &name, &["t.trigger_group"], &texts(groups), tail)
            }
        }
    }

    fn advance(&mut self, advances: &[Advance]) -> Result<usize> {
        self.assert_trigger_access();
        let row = |a: &Advance| {
            vec![
                a.key.name().into(),
                a.key.group().into(),
                a.expected_state.name().into(),
                a.expected_next_ms.unwrap_or(NO_TIME).into(),
                a.state.name().into(),
                a.next_ms.unwrap_or(NO_TIME).into(),
                a.previous_ms.unwrap_or(NO_TIME).into(),
                a.start_ms.into(),
            ]
        };
        let guards = ["trigger_state", "next_fire_time"];
        let sets = ["trigger_state", "next_fire_time", "prev_fire_time", "start_time"];
        let rows: Vec<_> = advances.iter().map(row).collect();
        let matched = self.update_rows("TRIGGERS", &BARE_KEY, &guards, &sets, &rows)?;
        self.write_counts(advances)?;
        let moved: Vec<_> = advances.iter().filter(|a| a.moves_options).map(|a| (&a.key, a.start_ms)).collect();
        if !moved.is_empty() {
            self.update_option_starts(&moved)?;
        }
        Ok(matched)
    }

    fn reset_triggers(&mut self, triggers: &[(TriggerKey, TriggerState, Option<i64>)]) -> Result<()> {
        self.assert_trigger_access();
        let row = |(key, state, next_ms): &(TriggerKey, TriggerState, Option<i64>)| {
            vec![key.name().into(), key.group().into(), state.name().into(), next_ms.unwrap_or(NO_TIME).into()]
        };
        let rows: Vec<_> = triggers.iter().map(row).collect();
        self.update_rows("TRIGGERS", &BARE_KEY, &[], &["trigger_state", "next_fire_time"], &rows).map(drop)
    }

    fn due(&mut self, query: &DueQuery<'_>) -> Result<Vec<Candidate>> {
        self.due_candidates(query)
    }

    fn give_triggers(&mut self, from: &JobKey, to: &JobKey) -> Result<usize> {
        self.assert_trigger_access();
        let text = "UPDATE {p}TRIGGERS SET job_name = ?, job_group = ? \
             WHERE sched_name = ? AND job_name = ? AND job_group = ?";
        let values = [to.name().into(), to.group().into(), self.name(), from.name().into(), from.group().into()];
        self.execute(text, &values)
    }

    fn candidates(&mut self, keys: &[TriggerKey]) -> Result<Vec<Candidate>> {
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
        self.with_kinds(rows)
    }

    fn is_any_misfired(&mut self, threshold_ms: i64) -> Result<bool> {
        self.look_for_misfired(threshold_ms)
    }

    fn store_fast_path(&mut self, work: &FastPathWork, token: &str) -> Result<Option<i64>> {
        self.call_fast_path(work, token)
    }
}

/// Triggers with whatever their kinds have, up to the condition.
fn whole_rows() -> String {
    format!(
        "SELECT {COLUMNS}, {OPTION_COLUMNS}, {INTERVAL_COLUMNS}, {RECURRENCE_COLUMNS} \
         FROM {{p}}TRIGGERS t{KINDS}{INTERVALS}{RECURRENCES}{} WHERE",
        options("t")
    )
}
