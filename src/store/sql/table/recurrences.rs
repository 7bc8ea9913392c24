//! `CN_RECURRENCES`: triggers that recur by a rule, a kind that Quartz does not have.
//!
//! A node of Quartz stops at a row of a kind it does not know, and takes nothing any more. Quartz
//! takes and handles triggers by their misfire instruction only; recurrences have none in
//! `TRIGGERS`, so that for Quartz they are never due. The instruction of a recurrence stands here.
//! The type of a recurrence tells whether it ignores misfires, so that the search for due triggers
//! needs no other table.

use super::{BARE_KEY, trigger_keys};
use crate::error::Result;
use crate::store::row::{Candidate, ScheduleRow, TriggerRow};
use crate::store::sql::by_place::by_place;
use crate::store::sql::session::SqlSession;
use diesel::sql_types::{Nullable, SmallInt, Text};

/// The kind, and the value of `TRIGGER_TYPE` for those that do not ignore misfires.
const KIND: &str = "RRULE";

/// The value of `TRIGGER_TYPE` for those that do.
const IGNORING: &str = "RRULE_IG";

pub(super) const RECURRENCE_COLUMNS: &str =
    "u.rule AS recurrence_rule, u.time_zone_id AS recurrence_zone, u.misfire_instr AS recurrence_misfire";

pub(super) const RECURRENCES: &str = " LEFT JOIN {p}CN_RECURRENCES u ON u.sched_name = t.sched_name \
     AND u.trigger_name = t.trigger_name AND u.trigger_group = t.trigger_group";

/// Triggers that ignore misfires, and those that do not: also those whose instruction another
/// program left out.
pub(super) const IGNORES_MISFIRES: &str = "(t.misfire_instr = -1 OR t.trigger_type = 'RRULE_IG')";
pub(super) const HEEDS_MISFIRES: &str =
    "(t.misfire_instr <> -1 OR (t.misfire_instr IS NULL AND t.trigger_type <> 'RRULE_IG'))";

by_place! {
    /// The columns of the table for a trigger; all null if it has no row.
    pub(super) struct Recurrence {
        recurrence_rule: Option<String> as Nullable<Text>,
        recurrence_zone: Option<String> as Nullable<Text>,
        recurrence_misfire: Option<i16> as Nullable<SmallInt>,
    }
}

by_place! {
    /// A row by itself.
    struct RecurrenceRow {
        trigger_name: String as Text,
        trigger_group: String as Text,
        recurrence: Recurrence,
    }
}

impl Recurrence {
    /// Fills in the row of the kind of a trigger of this kind, and its misfire instruction.
    pub(super) fn fill_in(self, trigger: &mut TriggerRow) {
        if let (KIND, Some(rule), Some(zone)) = (trigger.kind.as_str(), self.recurrence_rule, self.recurrence_zone) {
            trigger.schedule = ScheduleRow::Recurrence { rule, zone };
            trigger.misfire = self.recurrence_misfire.map_or(trigger.misfire, i32::from);
        }
    }
}

/// `TRIGGER_TYPE` and `MISFIRE_INSTR` in `TRIGGERS`.
pub(super) fn type_and_misfire(trigger: &TriggerRow) -> (&str, Option<i64>) {
    match (trigger.kind.as_str(), trigger.misfire) {
        (KIND, -1) => (IGNORING, None),
        (KIND, _) => (KIND, None),
        (kind, misfire) => (kind, Some(i64::from(misfire))),
    }
}

/// The kind that a `TRIGGER_TYPE` stands for.
pub(super) fn kind_of(trigger_type: String) -> String {
    if trigger_type == IGNORING { KIND.to_owned() } else { trigger_type }
}

impl SqlSession<'_, '_> {
    /// Writes the rules of new triggers.
    pub(super) fn insert_recurrences(&mut self, triggers: &[TriggerRow]) -> Result<()> {
        // Another program may have deleted a trigger of the same key and left its rule.
        let old: Vec<_> = triggers.iter().filter(|t| t.kind == KIND).map(|t| t.key.clone()).collect();
        self.delete_rows("CN_RECURRENCES", &BARE_KEY, &trigger_keys(&old), "")?;
        let row = |t: &TriggerRow| match &t.schedule {
            ScheduleRow::Recurrence { rule, zone } => {
                let misfire = i64::from(t.misfire);
                Some(vec![t.key.name().into(), t.key.group().into(), rule.into(), zone.into(), misfire.into()])
            }
            _ => None,
        };
        let columns = ["trigger_name", "trigger_group", "rule", "time_zone_id", "misfire_instr"];
        self.insert_rows("CN_RECURRENCES", &columns, triggers.iter().filter_map(row).collect())
    }

    /// Fills in the rules of those candidates that have one; only then their table is asked.
    pub(super) fn with_recurrences(&mut self, mut candidates: Vec<Candidate>) -> Result<Vec<Candidate>> {
        let recurrences = candidates.iter().map(|c| &c.trigger).filter(|t| t.kind == KIND);
        let keys: Vec<_> = recurrences.map(|t| t.key.clone()).collect();
        let head = format!(
            "SELECT u.trigger_name AS trigger_name, u.trigger_group AS trigger_group, {RECURRENCE_COLUMNS} \
             FROM {{p}}CN_RECURRENCES u WHERE u.sched_name = ? AND"
        );
        let key = ["u.trigger_name", "u.trigger_group"];
        let rows: Vec<RecurrenceRow> = self.load_for_keys(&head, &[self.name()], &key, &trigger_keys(&keys))?;
        for row in rows {
            let its = |c: &&mut Candidate| {
                c.trigger.key.name() == row.trigger_name && c.trigger.key.group() == row.trigger_group
            };
            if let Some(candidate) = candidates.iter_mut().find(its) {
                row.recurrence.fill_in(&mut candidate.trigger);
            }
        }
        Ok(candidates)
    }
}
