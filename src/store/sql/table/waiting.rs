//! `TRIGGERS`, those that wait: which are due, and which are so late that they are the misfire
//! handler's.

use super::recurrences::{HEEDS_MISFIRES, IGNORES_MISFIRES};
use super::trigger_row::KNOWN_KIND;
use crate::store::sql::backend::Backend;
use crate::store::sql::statement::Value;
use crate::trigger::TriggerOrder;

/// The condition that a trigger is due by `no_later_than` and its turn has come: it waits, and is
/// not left to the misfire handler, which has what was due before `misfired_before`. The values of
/// the condition are [`waiting_values`].
///
/// The triggers that the handler has still to see to may be a great many, and the index of due
/// triggers begins with them. The search therefore begins behind them, or at the first trigger that
/// ignores misfires, of which there is an index. MySQL has no index of some rows only; there the
/// search goes through what is misfired. A trigger without a time left is due nowhere.
pub(super) fn waiting(backend: Backend, no_later_than: &str, misfired_before: &str) -> String {
    let from = match backend {
        Backend::Mysql => " AND t.next_fire_time > 0".to_owned(),
        Backend::Postgres | Backend::Sqlite => format!(
            " AND t.next_fire_time >= COALESCE((SELECT i.next_fire_time FROM {{p}}TRIGGERS i WHERE i.sched_name = ? \
             AND i.trigger_state = 'WAITING' AND (i.misfire_instr = -1 OR i.trigger_type = 'RRULE_IG') \
             AND i.next_fire_time > 0 AND i.next_fire_time < {misfired_before} ORDER BY i.next_fire_time LIMIT 1), \
             {misfired_before})"
        ),
    };
    // A planner that sees an alternative of two conditions looks for both by indexes, and sorts all
    // that is due.
    format!(
        "t.sched_name = ? AND t.trigger_state = 'WAITING' AND t.next_fire_time <= {no_later_than}{from} \
         AND CASE WHEN {IGNORES_MISFIRES} THEN 1 WHEN t.next_fire_time >= {misfired_before} THEN 1 ELSE 0 END <> 0 \
         AND {KNOWN_KIND}"
    )
}

/// The values of [`waiting`], of which `no_later_than` and `misfired_before` are given.
pub(super) fn waiting_values(
    backend: Backend,
    name: &Value,
    no_later_than: &[Value],
    misfired_before: &[Value],
) -> Vec<Value> {
    let mut values = vec![name.clone()];
    values.extend_from_slice(no_later_than);
    if backend != Backend::Mysql {
        values.push(name.clone());
        values.extend_from_slice(misfired_before);
        values.extend_from_slice(misfired_before);
    }
    values.extend_from_slice(misfired_before);
    values
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
