//! `TRIGGERS`, those that wait: which are due, and which are so late that they are the misfire
//! handler's.

use super::recurrences::{HEEDS_MISFIRES, IGNORES_MISFIRES};
use super::trigger_row::KNOWN_KIND;
use crate::store::sql::backend::Backend;
use crate::store::sql::statement::Value;
use crate::trigger::TriggerOrder;

/// A search among the triggers that are due and not left to the misfire handler, which has what was
/// due before some time.
#[derive(Clone, Copy)]
pub(super) enum DueSearch {
    /// All due triggers.
    Whole,
    /// Due triggers that are not late enough for the handler.
    InTime,
    /// Late triggers that ignore misfires.
    Ignoring,
}

impl DueSearch {
    /// The searches that together find all that is due in the whole table.
    ///
    /// The triggers that the handler has still to see to may be a great many, and the index of due
    /// triggers begins with them. One search begins behind them, the other has an index of
    /// triggers that ignore misfires. A search for either of two conditions would sort all that is
    /// due. MySQL has no index of some rows only; the search there goes through what is misfired.
    pub(super) fn of_table(backend: Backend) -> &'static [Self] {
        match backend {
            Backend::Mysql => &[Self::Whole],
            Backend::Postgres | Backend::Sqlite => &[Self::InTime, Self::Ignoring],
        }
    }

    /// The condition on a trigger `t`; its values are [`values`](Self::values). A trigger without a
    /// time left is due nowhere.
    pub(super) fn condition(self, no_later_than: &str, misfired_before: &str) -> String {
        let is_due = match self {
            // A planner that sees an alternative of two conditions looks for both by indexes.
            Self::Whole => format!(
                "t.next_fire_time > 0 \
                 AND CASE WHEN {IGNORES_MISFIRES} THEN 1 WHEN t.next_fire_time >= {misfired_before} THEN 1 ELSE 0 END <> 0"
            ),
            Self::InTime => format!("t.next_fire_time >= {misfired_before}"),
            Self::Ignoring => {
                format!("t.next_fire_time < {misfired_before} AND t.next_fire_time > 0 AND {IGNORES_MISFIRES}")
            }
        };
        format!(
            "t.sched_name = ? AND t.trigger_state = 'WAITING' AND t.next_fire_time <= {no_later_than} AND {is_due} \
             AND {KNOWN_KIND}"
        )
    }

    /// The values of a condition, of which `no_later_than` and `misfired_before` are given.
    pub(super) fn values(name: &Value, no_later_than: &[Value], misfired_before: &[Value]) -> Vec<Value> {
        [std::slice::from_ref(name), no_later_than, misfired_before].concat()
    }
}

/// The condition that a trigger is the misfire handler's: due before, and not one that ignores
/// misfires.
pub(super) fn misfired(before: &str) -> String {
    format!(
        "t.sched_name = ? AND t.trigger_state = 'WAITING' AND t.next_fire_time < {before} AND t.next_fire_time > 0 \
         AND {HEEDS_MISFIRES} AND {KNOWN_KIND}"
    )
}

pub(super) fn order_of_misfired(order: TriggerOrder) -> &'static str {
    match order {
        TriggerOrder::TimeThenPriority => "t.next_fire_time ASC, t.priority DESC",
        TriggerOrder::PriorityThenTime => "t.priority DESC, t.next_fire_time ASC",
    }
}
