//! `TRIGGERS`, those that wait: which are due, and which are so late that they are the misfire
//! handler's.

use super::recurrences::{HEEDS_MISFIRES, IGNORES_MISFIRES};
use super::trigger_row::{CandidateRow, KNOWN_KIND};
use crate::error::Result;
use crate::store::row::{Candidate, DueQuery};
use crate::store::sql::backend::Backend;
use crate::store::sql::by_place::by_place;
use crate::store::sql::session::SqlSession;
use crate::store::sql::statement::Value;
use crate::trigger::TriggerOrder;
use diesel::sql_types::BigInt;

by_place! {
    struct CountRow {
        n: i64 as BigInt,
    }
}

/// The condition that a trigger is due by `no_later_than` and its turn has come: it waits, and is
/// not left to the misfire handler, which has what was due before `misfired_before`. The values of
/// the condition are [`waiting_values`].
///
/// The triggers that the handler has still to see to may be a great many, and the index of due
/// triggers begins with them. The search therefore begins behind them, or at the first trigger that
/// ignores misfires, of which there is an index. MySQL has no index of some rows only; there the
/// search goes through what is misfired.
pub(super) fn waiting(backend: Backend, no_later_than: &str, misfired_before: &str) -> String {
    let from = match backend {
        Backend::Mysql => String::new(),
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

/// At least so many rows, as a literal of which there are few: a planner that does not see how few
/// rows are wanted may sort the whole backlog, and one that is told anew each time plans anew each
/// time.
fn page_size(limit: usize) -> usize {
    const SIZES: [usize; 10] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
    SIZES.into_iter().find(|size| *size >= limit).unwrap_or_else(|| limit.next_multiple_of(1000))
}

impl SqlSession<'_, '_> {
    /// See [`TriggerRows::due`](crate::store::TriggerRows::due).
    pub(super) fn due_candidates(&mut self, query: &DueQuery<'_>) -> Result<Vec<Candidate>> {
        let (of_types, types) = self.of_types(query.job_types, query.versions);
        let (not_excluded, excluded) = self.not_excluded(query.excluded);
        // The few rows at the head of the due index come first, then the rows that belong to them:
        // a planner that sees both at once may begin with the jobs and sort the whole backlog.
        let (order, ordered_by): (_, &[i64]) = match query.order {
            TriggerOrder::TimeThenPriority => ("t.next_fire_time ASC, t.priority DESC", &[]),
            TriggerOrder::PriorityThenTime => (
                "CASE WHEN t.next_fire_time <= ? THEN 0 ELSE 1 END, t.priority DESC, t.next_fire_time ASC",
                &[query.now_ms],
            ),
        };
        let mut rows: Vec<CandidateRow> = Vec::new();
        for (triggers, among, keys) in self.searched(query.among) {
            // MySQL plans each time anyway, and gives its rows in no order: it is told how many
            // exactly.
            let is_ordered = self.backend() != Backend::Mysql;
            let page = if is_ordered { page_size(query.limit) } else { query.limit };
            let offset = if query.offset > 0 { " OFFSET ?" } else { "" };
            let head = |columns: &str| {
                format!(
                    "(SELECT {columns} FROM {triggers} WHERE {} AND {of_types}{not_excluded}{among} \
                     ORDER BY {order} LIMIT {page}{offset})",
                    waiting(self.backend(), "?", "?")
                )
            };
            let text = if is_ordered {
                format!("{} ORDER BY {order}", self.candidates_from(&head("t.*")))
            } else {
                // Keys only: a table with data in it would be gathered on disk, once for the query
                // and once for its order.
                let keys = head("t.sched_name, t.trigger_name, t.trigger_group");
                let found = self.candidates_from(&format!("{keys} k STRAIGHT_JOIN {{p}}TRIGGERS"));
                let same = "t.sched_name = k.sched_name AND t.trigger_name = k.trigger_name AND t.trigger_group = k.trigger_group";
                format!("{found} WHERE {same}")
            };
            let (before, after) = keys;
            let mut values = before;
            let (last, first) = ([query.no_later_than_ms.into()], [query.misfired_before_ms.into()]);
            values.extend(waiting_values(self.backend(), &self.name(), &last, &first));
            values.extend(types.iter().cloned());
            values.extend(excluded.iter().cloned());
            values.extend(after);
            values.extend(ordered_by.iter().map(|ms| Value::from(*ms)));
            if query.offset > 0 {
                values.push(i64::try_from(query.offset).unwrap_or(i64::MAX).into());
            }
            values.extend(ordered_by.iter().filter(|_| is_ordered).map(|ms| Value::from(*ms)));
            rows.extend(self.load::<CandidateRow>(&text, &values)?.into_iter().take(query.limit));
        }
        self.with_kinds(rows)
    }

    /// See [`TriggerRows::is_any_misfired`](crate::store::TriggerRows::is_any_misfired).
    pub(super) fn look_for_misfired(&mut self, threshold_ms: i64) -> Result<bool> {
        let now = self.now_in_statement()?;
        let text = format!(
            "SELECT COUNT(*) AS n FROM (SELECT t.next_fire_time AS next_fire_time FROM {{p}}TRIGGERS t WHERE {} \
             ORDER BY t.next_fire_time LIMIT 1) f",
            misfired(&format!("{} - ?", now.text))
        );
        let mut values = vec![self.name()];
        values.extend(now.value);
        values.push(threshold_ms.into());
        Ok(self.load::<CountRow>(&text, &values)?.iter().any(|row| row.n > 0))
    }
}
