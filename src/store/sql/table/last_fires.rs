//! Fires that begin in the place of triggers which end with them: `FIRED_TRIGGERS` for `TRIGGERS`.

use super::{BARE_KEY, fired_row, trigger_keys};
use crate::error::Result;
use crate::key::TriggerKey;
use crate::store::database::{FiredRows, TriggerRows};
use crate::store::row::FiredRow;
use crate::store::sql::backend::Backend;
use crate::store::sql::bulk::{and_guard, by_primary_key, transpose};
use crate::store::sql::by_place::by_place;
use crate::store::sql::session::SqlSession;
use crate::store::sql::table::trigger_row::is_rerun;
use crate::trigger::TriggerState;
use diesel::sql_types::BigInt;

by_place! {
    struct Begun {
        triggers: i64 as BigInt,
        simple: i64 as BigInt,
    }
}

impl SqlSession<'_, '_> {
    /// Deletes triggers that were just read in this state, and writes the rows of their fires;
    /// returns how many triggers there were. One statement where the database can, and nearly all
    /// of them are simple.
    pub(super) fn begin_in_place_of(
        &mut self,
        keys: &[TriggerKey],
        in_state: TriggerState,
        fires: Vec<FiredRow>,
    ) -> Result<usize> {
        if self.backend() != Backend::Postgres || keys.is_empty() || fires.is_empty() || keys.iter().any(is_rerun) {
            let deleted = self.delete_triggers(keys, Some(in_state))?;
            self.insert_fired(fires)?;
            return Ok(deleted);
        }
        self.assert_trigger_access();
        let found = by_primary_key(&BARE_KEY, 2);
        let guard = and_guard(&format!("t.trigger_state = '{}'", in_state.name()));
        let marks = vec!["?"; fired_row::INSERTED.len()].join(", ");
        let text = format!(
            "WITH gone AS (DELETE FROM {{p}}TRIGGERS AS t USING {found}{guard} RETURNING 1), \
             simple AS (DELETE FROM {{p}}SIMPLE_TRIGGERS AS t USING {found} RETURNING 1), \
             begun AS (INSERT INTO {{p}}FIRED_TRIGGERS (sched_name, {}) SELECT ?, v.* FROM unnest({marks}) AS v) \
             SELECT (SELECT count(*) FROM gone) AS triggers, (SELECT count(*) FROM simple) AS simple",
            fired_row::INSERTED.join(", "),
        );
        let rows = trigger_keys(keys);
        let mut values = Vec::new();
        for _ in 0..2 {
            values.push(self.name());
            values.extend(transpose(rows.clone(), 2));
        }
        values.push(self.name());
        values.extend(transpose(fires.iter().map(fired_row::values).collect(), fired_row::INSERTED.len()));
        let begun: Vec<Begun> = self.load(&text, &values)?;
        let count = |of: fn(&Begun) -> i64| begun.first().map_or(0, |row| usize::try_from(of(row)).unwrap_or(0));
        if count(|row| row.simple) < keys.len() {
            self.delete_schedules(&rows, true)?;
        }
        Ok(count(|row| row.triggers))
    }
}
