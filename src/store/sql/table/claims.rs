//! `TRIGGERS`, some of them by their keys: looked at again, or held until they are taken.

use super::triggers::KEY;
use super::{time, trigger_keys};
use crate::error::Result;
use crate::key::TriggerKey;
use crate::store::sql::backend::Backend;
use crate::store::sql::bulk::transpose;
use crate::store::sql::by_place::by_place;
use crate::store::sql::dialect;
use crate::store::sql::session::SqlSession;
use crate::store::sql::statement::Value;
use diesel::sql_types::{BigInt, Nullable, Text};

/// The place where triggers are looked for: the table with the alias `t`, a condition, and the
/// values before and after those of other conditions.
pub(super) type Searched = (String, String, (Vec<Value>, Vec<Value>));

by_place! {
    struct WaitingRow {
        trigger_name: String as Text,
        trigger_group: String as Text,
        next_fire_time: Option<i64> as Nullable<BigInt>,
    }
}

impl SqlSession<'_, '_> {
    /// The whole table, or these of its rows, each looked up by the primary key: a planner that
    /// sees the condition of what is due as well may go through the whole backlog for a few rows.
    pub(super) fn searched(&self, among: Option<&[TriggerKey]>) -> Vec<Searched> {
        let Some(keys) = among else {
            return vec![("{p}TRIGGERS t".to_owned(), String::new(), (Vec::new(), Vec::new()))];
        };
        let rows = trigger_keys(keys);
        match self.backend() {
            _ if rows.is_empty() => Vec::new(),
            Backend::Postgres => {
                let mut before = transpose(rows.clone(), 2);
                before.push(self.name());
                vec![(by_key("", ""), String::new(), (before, Vec::new()))]
            }
            backend => {
                let table =
                    if backend == Backend::Mysql { "{p}TRIGGERS t FORCE INDEX (PRIMARY)" } else { "{p}TRIGGERS t" };
                let piece =
                    |(condition, values)| (table.to_owned(), format!(" AND ({condition})"), (Vec::new(), values));
                self.conditions(&KEY, &rows).into_iter().map(piece).collect()
            }
        }
    }

    /// The keys of
    /// [`TriggerSelection::FreeWaiting`](crate::store::row::TriggerSelection::FreeWaiting).
    pub(super) fn hold_free_rows(&mut self, triggers: &[(TriggerKey, i64)]) -> Result<Vec<TriggerKey>> {
        let keys: Vec<TriggerKey> = triggers.iter().map(|(key, _)| key.clone()).collect();
        let columns = "SELECT t.trigger_name AS trigger_name, t.trigger_group AS trigger_group, \
             t.next_fire_time AS next_fire_time FROM";
        let waiting = "t.sched_name = ? AND t.trigger_state = 'WAITING'";
        let hold = dialect::hold_free(self.backend());
        let mut held = Vec::new();
        for (table, among, (before, after)) in self.searched(Some(&keys)) {
            let text = match self.backend() {
                Backend::Postgres => {
                    // Not the column itself: the planner could take the index of due triggers for
                    // the state.
                    format!("{columns} {} WHERE {waiting}", by_key(" AND k.trigger_state || '' = 'WAITING'", hold))
                }
                _ => format!("{columns} {table} WHERE {waiting}{among}{hold}"),
            };
            let values: Vec<Value> = before.into_iter().chain([self.name()]).chain(after).collect();
            held.extend(self.load::<WaitingRow>(&text, &values)?);
        }
        let held = held.into_iter().map(|row| {
            let WaitingRow { trigger_name, trigger_group, next_fire_time } = row;
            (TriggerKey::new(trigger_group, trigger_name), time(next_fire_time))
        });
        let held: crate::hash::HashMap<TriggerKey, Option<i64>> = held.collect();
        let is_as_seen = |(key, next_ms): &&(TriggerKey, i64)| held.get(key) == Some(&Some(*next_ms));
        Ok(triggers.iter().filter(is_as_seen).map(|(key, _)| key.clone()).collect())
    }
}

/// PostgreSQL: rows of the table by keys that come as arrays, then the scheduler's name; with the
/// alias `t`.
fn by_key(guard: &str, hold: &str) -> String {
    format!(
        "unnest(?, ?) AS v(c0, c1) CROSS JOIN LATERAL (SELECT k.* FROM {{p}}TRIGGERS k WHERE k.sched_name = ? \
         AND k.trigger_name = v.c0 AND k.trigger_group = v.c1{guard} OFFSET 0{hold}) AS t"
    )
}
