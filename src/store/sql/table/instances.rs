//! `SCHEDULER_STATE` and its side tables `CN_INSTANCES` and `CN_PROCESSES`.
//!
//! A node of ours writes the time of its check-in twice, in one transaction: here and in
//! `CN_NODES`. If both times are there and differ, a node of Quartz has taken the name of a dead
//! one of ours, and knows nothing of our tables.

use super::members;
use super::stray::stray_rows;
use crate::error::Result;
use crate::store::database::{ClusterRows, Owner, Session, Strays};
use crate::store::row::{
    ClusterMembers, Departure, InstanceRow, InstanceSelection, Late, LoadRow, NodeRow, PlacementView, WithFires,
};
use crate::store::sql::backend::Backend;
use crate::store::sql::by_place::by_place;
use crate::store::sql::dialect;
use crate::store::sql::session::SqlSession;
use crate::store::sql::statement::Value;
use diesel::sql_types::{BigInt, Text};

by_place! {
    struct SideTable {
        side_table: String as Text,
        n: i64 as BigInt,
    }
}

by_place! {
    struct StateCount {
        trigger_state: String as Text,
        n: i64 as BigInt,
    }
}

/// The tables with rows of an instance of ours beside its state row.
const OF_INSTANCE: [&str; 4] = ["CN_INSTANCES", "CN_PROCESSES", "CN_JOB_TYPES", "CN_NODES"];

/// Sets the time of a check-in, if the row is still of this incarnation.
const TOUCH: &str = "UPDATE {p}SCHEDULER_STATE SET last_checkin_time = ? WHERE sched_name = ? AND instance_name = ? \
     AND EXISTS (SELECT 1 FROM {p}CN_INSTANCES i WHERE i.sched_name = {p}SCHEDULER_STATE.sched_name \
     AND i.instance_name = {p}SCHEDULER_STATE.instance_name AND i.incarnation = ?)";

impl ClusterRows for SqlSession<'_, '_> {
    fn read_members(&mut self) -> Result<(ClusterMembers, PlacementView)> {
        let now = self.now_in_statement()?;
        let text = format!(
            "{members} UNION ALL {places} \
             UNION ALL SELECT {shown}, 'fires', f.instance_name, MIN(f.entry_id), MAX(f.entry_id), NULL, NULL, NULL, \
             NULL, NULL, NULL, NULL \
             FROM {{p}}FIRED_TRIGGERS f WHERE f.sched_name = ? GROUP BY f.instance_name \
             UNION ALL SELECT {shown}, 'fence', '', NULL, NULL, NULL, NULL, NULL, c.fence, NULL, NULL, NULL \
             FROM {{p}}CN_FENCES c WHERE c.sched_name = ?",
            members = members::members(now.shown, ""),
            places = members::places(now.shown),
            shown = now.shown
        );
        let names: [Value; 7] = std::array::from_fn(|_| self.name());
        let rows: Vec<members::UnionRow> = SqlSession::load(self, &text, &names)?;
        if let Some(row) = rows.first() {
            self.know_now(now.or(row.now_ms));
        }
        let instances = members::instance_rows(&rows);
        let mut members = ClusterMembers { now_ms: self.now_ms()?, instances, ..ClusterMembers::default() };
        let mut places = Vec::new();
        for row in rows {
            match row.what.as_str() {
                "fires" => {
                    let ids = [row.first, row.second].map(Option::unwrap_or_default);
                    members.with_fires.push(WithFires { instance: row.name, ids });
                }
                "fence" => members.fence = row.one,
                _ => places.push(row),
            }
        }
        Ok((members, members::placement_view(places)))
    }

    fn instances(&mut self, which: InstanceSelection<'_>) -> Result<Vec<InstanceRow>> {
        let (is_it, bound) = match which {
            InstanceSelection::All => ("", vec![self.name()]),
            InstanceSelection::Named(name) => (" AND instance_name = ?", vec![self.name(), name.into()]),
        };
        // The time is not asked for. A count is a number of 64 bits on each server.
        let text = members::members("COUNT(*)", is_it);
        Ok(members::instance_rows(&SqlSession::load(self, &text, &[&bound[..], &bound, &bound].concat())?))
    }

    fn touch_instance(&mut self, owner: &Owner, now_ms: i64, node: Option<&NodeRow>) -> Result<bool> {
        let touched = vec![now_ms.into(), self.name(), (&owner.instance).into(), (&owner.incarnation).into()];
        let Some(node) = node else { return Ok(self.execute(TOUCH, &touched)? > 0) };
        if self.backend() == Backend::Postgres {
            // One statement does both.
            let before = format!("WITH touched AS ({TOUCH} RETURNING 1) ");
            let condition = "EXISTS (SELECT 1 FROM touched)";
            return Ok(self.upsert_if(&before, touched, node, &["started_ms"], condition)? > 0);
        }
        let touched = self.execute(TOUCH, &touched)? > 0;
        if touched {
            let session: &mut dyn Session = self;
            session.upsert(node, &["started_ms"])?;
        }
        Ok(touched)
    }

    fn put_instance(&mut self, row: &InstanceRow) -> Result<()> {
        self.delete_instance(&row.name, Departure::Any)?;
        let state = [(&row.name).into(), row.last_checkin_ms.into(), row.checkin_interval_ms.into()];
        self.insert_rows(
            "SCHEDULER_STATE",
            &["instance_name", "last_checkin_time", "checkin_interval"],
            vec![state.to_vec()],
        )?;
        let Some(incarnation) = &row.incarnation else { return Ok(()) };
        let side = [(&row.name).into(), incarnation.into(), row.joined.into()];
        self.insert_rows("CN_INSTANCES", &["instance_name", "incarnation", "joined"], vec![side.to_vec()])
    }

    fn stray_side_rows(&mut self, which: Strays<'_>) -> Result<Vec<(String, usize)>> {
        let Strays::Delete(tables) = which else {
            let count = |(table, rows)| {
                format!("SELECT MAX('{table}') AS side_table, COUNT(*) AS n FROM {rows} HAVING COUNT(*) > 0")
            };
            let counts: Vec<String> = stray_rows().map(count).collect();
            let values = vec![self.name(); counts.len()];
            let strays: Vec<SideTable> = SqlSession::load(self, &counts.join(" UNION ALL "), &values)?;
            return Ok(strays.into_iter().map(|row| (row.side_table, usize::try_from(row.n).unwrap_or(0))).collect());
        };
        let strays = stray_rows().filter(|(table, _)| tables.iter().any(|one| one == table));
        strays
            .map(|(table, rows)| {
                let deleted = self.execute(&format!("DELETE FROM {rows}"), &[self.name()])?;
                Ok((table.to_owned(), deleted))
            })
            .collect()
    }

    fn delete_instance(&mut self, name: &str, departure: Departure) -> Result<bool> {
        let key = [self.name(), name.into()];
        let state = "DELETE FROM {p}SCHEDULER_STATE WHERE sched_name = ? AND instance_name = ?";
        let deleted = match departure {
            Departure::Any => self.execute(state, &key)? > 0,
            Departure::Silent(seen_ms) => {
                let [scheduler, instance] = key.clone();
                self.execute(&format!("{state} AND last_checkin_time = ?"), &[scheduler, instance, seen_ms.into()])? > 0
            }
            Departure::Replaced => {
                let text = "DELETE FROM {p}CN_NODES WHERE sched_name = ? AND instance_name = ? AND seen_ms <> (SELECT \
                     s.last_checkin_time FROM {p}SCHEDULER_STATE s WHERE s.sched_name = ? AND s.instance_name = ?)";
                self.execute(text, &[&key[..], &key[..]].concat())? > 0
            }
        };
        // A left-over side row is nobody's; one beside a row that has changed stays with it.
        if deleted || departure == Departure::Any {
            for table in OF_INSTANCE {
                self.execute(&format!("DELETE FROM {{p}}{table} WHERE sched_name = ? AND instance_name = ?"), &key)?;
            }
        }
        Ok(deleted)
    }

    fn read_cluster_load(&mut self, late: Late, most: usize) -> Result<(i64, LoadRow)> {
        match late {
            Late::Before(before_ms) => {
                let shown = dialect::now_in_statement(self.backend()).unwrap_or("0");
                self.load_late(shown, "?", &[before_ms.into()], most)
            }
            Late::MoreThan(after_ms) => {
                let now = self.now_in_statement()?;
                let before: Vec<Value> = now.value.iter().cloned().chain([after_ms.into()]).collect();
                let (shown_ms, load) = self.load_late(now.shown, &format!("{} - ?", now.text), &before, most)?;
                Ok((now.or(shown_ms), load))
            }
        }
    }

    fn count_states(&mut self) -> Result<Vec<(String, usize)>> {
        let text = "SELECT trigger_state AS trigger_state, COUNT(*) AS n FROM {p}TRIGGERS WHERE sched_name = ? \
             GROUP BY trigger_state";
        let rows: Vec<StateCount> = SqlSession::load(self, text, &[self.name()])?;
        Ok(rows.into_iter().map(|row| (row.trigger_state, usize::try_from(row.n).unwrap_or(0))).collect())
    }
}
