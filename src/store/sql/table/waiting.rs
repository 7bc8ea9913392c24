//! `TRIGGERS`, those that wait: which are due, and which are so late that they are the misfire handler's.

use super::recurrences::{HEEDS_MISFIRES, IGNORES_MISFIRES};
use super::trigger_row::KNOWN_KIND;
use crate::error::Result;
use crate::key::TriggerKey;
use crate::store::sql::connection::Backend;
use crate::store::sql::session::SqlSession;
use crate::store::sql::statement::Value;
use crate::trigger::TriggerOrder;
use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Text};

#[derive(QueryableByName)]
struct KeyRow {
    #[diesel(sql_type = Text)]
    trigger_name: String,
    #[diesel(sql_type = Text)]
    trigger_group: String,
}

#[derive(QueryableByName)]
struct CountRow {
    #[diesel(sql_type = BigInt)]
    n: i64,
}

/// What is due by `no_later_than` and whose turn it is: waiting and not left to the misfire handler, which has what was due
/// before `misfired_before`. Its values are [`waiting_values`].
///
/// What the handler has still to do may be a great deal, and it is where the index of due triggers begins. So the search
/// begins behind it, or at the first trigger that ignores misfires, of which there is an index. MySQL has no index of some
/// rows only; there the search goes through what is misfired.
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
    // A planner that sees an alternative of two conditions looks for both by indexes, and sorts all that is due.
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

/// What is the misfire handler's: due before, and not to ignore it.
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

impl SqlSession<'_, '_> {
    /// See [`TriggerRows::misfired_keys`](crate::store::TriggerRows::misfired_keys).
    pub(super) fn keys_of_misfired(
        &mut self,
        before_ms: i64,
        order: TriggerOrder,
        limit: usize,
    ) -> Result<Vec<TriggerKey>> {
        let text = format!(
            "SELECT t.trigger_name AS trigger_name, t.trigger_group AS trigger_group FROM {{p}}TRIGGERS t WHERE {} \
             ORDER BY {} LIMIT ?",
            misfired("?"),
            order_of_misfired(order)
        );
        let values = [self.name(), before_ms.into(), i64::try_from(limit).unwrap_or(i64::MAX).into()];
        let rows: Vec<KeyRow> = self.load(&text, &values)?;
        Ok(rows.into_iter().map(|row| TriggerKey::new(row.trigger_group, row.trigger_name)).collect())
    }

    /// See [`TriggerRows::count_waiting`](crate::store::TriggerRows::count_waiting).
    pub(super) fn count_between(&mut self, from_ms: i64, until_ms: i64, limit: usize) -> Result<usize> {
        let text = "SELECT COUNT(*) AS n FROM (SELECT t.next_fire_time AS next_fire_time FROM {p}TRIGGERS t \
             WHERE t.sched_name = ? AND t.trigger_state = 'WAITING' AND t.next_fire_time >= ? AND t.next_fire_time <= ? \
             ORDER BY t.next_fire_time LIMIT ?) f";
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows: Vec<CountRow> = self.load(text, &[self.name(), from_ms.into(), until_ms.into(), limit.into()])?;
        Ok(rows.first().map_or(0, |row| usize::try_from(row.n).unwrap_or(0)))
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
