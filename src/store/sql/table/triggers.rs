//! `TRIGGERS`; what belongs to the kind of a trigger is in `schedules.rs`.

use super::executing::{job_executes, trigger_executes};
use super::options::OPTION_COLUMNS;
use super::recurrences::{RECURRENCE_COLUMNS, type_and_misfire};
use super::row_beside::{OF_TRIGGER, left_join};
use super::trigger_row::{COLUMNS, Interval, KeyRow, WholeRow, kinds, quoted};
use super::waiting::misfired;
use super::{BARE_KEY, NO_TIME, converted, job_keys, texts, trigger_keys};
use crate::error::Result;
use crate::key::{JobKey, TriggerKey};
use crate::rules::strategy::is_rerun;
use crate::store::database::{EndingTrigger, TriggerRows};
use crate::store::row::{
    Advance, Candidate, CandidateSelection, FastPathWork, Selection, TriggerRow, TriggerSelection,
};
use crate::store::sql::backend::Backend;
use crate::store::sql::bulk::{and_guard, by_job, by_primary_key, transpose};
use crate::store::sql::by_place::{Columns, by_place};
use crate::store::sql::dialect;
use crate::store::sql::session::SqlSession;
use crate::store::sql::statement::{Count, Value};
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

fn is_in(state: TriggerState) -> String {
    format!("trigger_state = '{}'", state.name())
}

impl SqlSession<'_, '_> {
    /// Deletes triggers that end in this state with a fire of this time. Another trigger that a
    /// caller's transaction has put in the place of one does not fit, but the rows beside it go.
    pub(super) fn delete_ending_triggers(&mut self, ending: &[EndingTrigger], state: TriggerState) -> Result<usize> {
        let keys: Vec<TriggerKey> = ending.iter().map(|one| one.key.clone()).collect();
        self.delete_beside(&keys, true)?;
        if self.backend() == Backend::Postgres {
            // Here the row that was put in the place of another is not found.
            return self.delete_rows("TRIGGERS", &BARE_KEY, &trigger_keys(&keys), &is_in(state));
        }
        let row = |one: &EndingTrigger| vec![one.key.name().into(), one.key.group().into(), one.scheduled_ms.into()];
        let rows: Vec<Vec<Value>> = ending.iter().map(row).collect();
        self.delete_rows("TRIGGERS", &["trigger_name", "trigger_group", "next_fire_time"], &rows, &is_in(state))
    }

    /// Deletes the rows beside these triggers; see
    /// [`delete_schedules`](SqlSession::delete_schedules).
    fn delete_beside(&mut self, keys: &[TriggerKey], just_read: bool) -> Result<()> {
        self.delete_schedules(&trigger_keys(keys), just_read)?;
        // Of other groups only one that was revived has a row, and such a one is in no state that
        // is asked for when triggers go by themselves.
        let recoveries: Vec<_> = keys.iter().filter(|key| !just_read || is_rerun(key)).cloned().collect();
        self.delete_rows("CN_RECOVERIES", &BARE_KEY, &trigger_keys(&recoveries), "").map(drop)
    }

    pub(super) fn load_triggers(&mut self, condition: &str, values: &[Value]) -> Result<Vec<TriggerRow>> {
        let text = format!("{} {condition}", whole_rows(self.backend()));
        Ok(converted(self.load::<WholeRow>(&text, values)?))
    }
}

impl TriggerRows for SqlSession<'_, '_> {
    fn triggers(&mut self, which: TriggerSelection<'_>) -> Result<Vec<TriggerRow>> {
        Ok(converted(self.load_selected::<WholeRow>(&whole_rows(self.backend()), which)?))
    }

    fn trigger_keys(&mut self, which: TriggerSelection<'_>) -> Result<Vec<TriggerKey>> {
        match which {
            TriggerSelection::FreeWaiting(triggers) => return self.hold_free_rows(triggers),
            TriggerSelection::Due(query) => return self.due_keys(query),
            _ => {}
        }
        let head = "SELECT t.trigger_name AS trigger_name, t.trigger_group AS trigger_group FROM {p}TRIGGERS t WHERE";
        Ok(converted(self.load_selected::<KeyRow>(head, which)?))
    }

    fn store_fast_path(&mut self, work: &FastPathWork, token: &str) -> Result<Option<i64>> {
        self.call_fast_path(work, token)
    }

    fn insert_triggers(&mut self, triggers: &[TriggerRow]) -> Result<()> {
        self.assert_trigger_access();
        self.insert_rows("TRIGGERS", &TRIGGER_COLUMNS, triggers.iter().map(trigger_values).collect())?;
        self.insert_schedules(triggers)?;
        self.insert_options(triggers)?;
        self.put_recurrences(triggers)
    }

    fn delete_triggers(&mut self, keys: &[TriggerKey], only_in: Option<TriggerState>) -> Result<usize> {
        self.assert_trigger_access();
        if only_in.is_none() && self.is_joined {
            // In the order of those who delete finished triggers: the trigger first.
            let head = "SELECT trigger_name AS trigger_name, trigger_group AS trigger_group \
                 FROM {p}TRIGGERS WHERE sched_name = ? AND";
            let hold = dialect::hold(self.backend());
            self.load_for_keys::<KeyRow>(head, &[self.name()], &BARE_KEY, &trigger_keys(keys), hold)?;
        }
        self.delete_beside(keys, only_in.is_some())?;
        let state = only_in.map_or(String::new(), is_in);
        self.delete_rows("TRIGGERS", &BARE_KEY, &trigger_keys(keys), &state)
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
        // A transaction that holds one puts another in its place.
        let tail = self.hold_free()?;
        let rows: Vec<FinishedRow> = self.load_for_keys(&head, &[self.name()], &KEY, &trigger_keys(keys), tail)?;
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
        let batch = match &which {
            Selection::Triggers(keys) => Some((by_primary_key(&BARE_KEY, 2), trigger_keys(keys))),
            Selection::Jobs(keys) => Some((by_job(), job_keys(keys))),
            Selection::Groups(_) => None,
        };
        if let (Backend::Postgres, Some((found, keys))) = (self.backend(), batch) {
            if keys.is_empty() {
                return Ok(0);
            }
            let guard = and_guard(&format!("t.trigger_state IN ({from})"));
            let mut values = vec![self.name()];
            values.extend(transpose(keys, 2));
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

    fn give_triggers(&mut self, from: &JobKey, to: &JobKey) -> Result<usize> {
        self.assert_trigger_access();
        let text = "UPDATE {p}TRIGGERS SET job_name = ?, job_group = ? \
             WHERE sched_name = ? AND job_name = ? AND job_group = ?";
        let values = [to.name().into(), to.group().into(), self.name(), from.name().into(), from.group().into()];
        self.execute(text, &values)
    }

    fn candidates(&mut self, which: CandidateSelection<'_>) -> Result<Vec<Candidate>> {
        let rows = match which {
            CandidateSelection::Due(query) => self.due(&query)?,
            CandidateSelection::Keys(keys) => self.candidates_of(keys)?,
        };
        self.with_kinds(rows)
    }

    fn is_any_misfired(&mut self, threshold_ms: i64) -> Result<bool> {
        let now = self.now_in_statement()?;
        let text = format!(
            "SELECT COUNT(*) AS n FROM (SELECT t.next_fire_time AS next_fire_time FROM {{p}}TRIGGERS t WHERE {} \
             ORDER BY t.next_fire_time LIMIT 1) f",
            misfired(&format!("{} - ?", now.text))
        );
        let mut values = vec![self.name()];
        values.extend(now.value);
        values.push(threshold_ms.into());
        Ok(self.load::<Count>(&text, &values)?.iter().any(|row| row.n > 0))
    }
}

/// Triggers with whatever their kinds have, up to the condition.
fn whole_rows(backend: Backend) -> String {
    format!(
        "SELECT {COLUMNS}, {OPTION_COLUMNS}, {}, {RECURRENCE_COLUMNS} \
         FROM {{p}}TRIGGERS t{}{}{}{} WHERE",
        Interval::select("p."),
        kinds(backend),
        left_join(backend, "SIMPROP_TRIGGERS", "p", "t", OF_TRIGGER),
        left_join(backend, "CN_RECURRENCES", "u", "t", OF_TRIGGER),
        left_join(backend, "CN_TRIGGER_OPTIONS", "o", "t", OF_TRIGGER)
    )
}
