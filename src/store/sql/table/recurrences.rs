//! `CN_RECURRENCES`: triggers that recur by a rule, a kind that Quartz does not have.
//!
//! A node of Quartz stops at a row of a kind it does not know, and takes nothing any more. Quartz
//! takes and handles triggers by their misfire instruction only; recurrences have none in
//! `TRIGGERS`, so that for Quartz they are never due. The instruction of a recurrence stands here.
//! The type of a recurrence tells whether it ignores misfires, so that the search for due triggers
//! needs no other table.

use crate::error::Result;
use crate::store::database::Session;
use crate::store::row::{Candidate, RecurrenceRow, ScheduleRow, TriggerRow};
use crate::store::sql::by_place::by_place;
use crate::store::sql::session::SqlSession;
use diesel::sql_types::{Nullable, SmallInt, Text};
use std::sync::Arc;

/// The kind, and the value of `TRIGGER_TYPE` for those that do not ignore misfires.
const KIND: &str = "RRULE";

/// The value of `TRIGGER_TYPE` for those that do.
const IGNORING: &str = "RRULE_IG";

pub(super) const RECURRENCE_COLUMNS: &str =
    "u.rule AS recurrence_rule, u.time_zone_id AS recurrence_zone, u.misfire_instr AS recurrence_misfire";

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
    /// Writes the rules of new triggers. Another program may have deleted a trigger of the same key
    /// and left its rule.
    pub(super) fn put_recurrences(&mut self, triggers: &[TriggerRow]) -> Result<()> {
        let row = |t: &TriggerRow| match &t.schedule {
            ScheduleRow::Recurrence { rule, zone } => Some(RecurrenceRow {
                trigger: t.key.clone(),
                rule: rule.clone(),
                zone: zone.clone(),
                misfire: i64::from(t.misfire),
            }),
            _ => None,
        };
        let session: &mut dyn Session = self;
        session.put_all(&triggers.iter().filter_map(row).collect::<Vec<_>>())
    }

    /// Fills in the rules of those candidates that have one; only then their table is asked.
    pub(super) fn with_recurrences(&mut self, mut candidates: Vec<Candidate>) -> Result<Vec<Candidate>> {
        let recurrences = candidates.iter().map(|c| &c.trigger).filter(|t| t.kind == KIND);
        let keys: Vec<_> = recurrences.map(|t| t.key.clone()).collect();
        let session: &mut dyn Session = self;
        for row in session.rows::<RecurrenceRow>().any_of(&["trigger"], &keys).list()? {
            if let Some(Candidate { trigger, .. }) = candidates.iter_mut().find(|c| c.trigger.key == row.trigger) {
                let trigger = Arc::make_mut(trigger);
                trigger.schedule = ScheduleRow::Recurrence { rule: row.rule, zone: row.zone };
                trigger.misfire = i32::try_from(row.misfire).unwrap_or(trigger.misfire);
            }
        }
        Ok(candidates)
    }
}
