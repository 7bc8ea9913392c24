//! The load of a cluster: `TRIGGERS`, `FIRED_TRIGGERS` and `SCHEDULER_STATE` in one statement.

use super::members;
use super::time;
use crate::error::Result;
use crate::hash::HashMap;
use crate::node::{NodeActivity, NodeInfo, NodeRole};
use crate::store::row::{BlacklistKind, BlacklistRow, InstanceRow, LoadRow};
use crate::store::sql::session::SqlSession;
use crate::store::sql::statement::Value;

/// Parked work `k` with its triggers `w`. SQLite reads the tables of a `CROSS JOIN` in this order;
/// of another join it would read every trigger.
const PARKED: &str = "FROM {p}CN_PARKED k CROSS JOIN {p}TRIGGERS w \
     WHERE w.sched_name = k.sched_name AND w.trigger_name = k.trigger_name AND w.trigger_group = k.trigger_group \
     AND k.sched_name = ? AND w.trigger_state = 'ERROR'";

/// The texts that a count does not have.
const NOTHING: &str = "NULL, NULL, NULL, NULL, NULL";

/// The parts of the load, not joined: [`members::members`] says why. The innermost select walks
/// the index of due triggers, up to its limit.
fn load_text(shown: &str, before: &str) -> String {
    format!(
        "{members} \
     UNION ALL SELECT {shown}, 'running', instance_name, {NOTHING}, COUNT(*), NULL, NULL, NULL FROM {{p}}FIRED_TRIGGERS \
     WHERE sched_name = ? AND state = 'EXECUTING' GROUP BY instance_name \
     UNION ALL SELECT {shown}, 'blacklist', node_name, {NOTHING}, until_ms, NULL, NULL, NULL FROM {{p}}CN_BLACKLIST WHERE sched_name = ? \
     UNION ALL SELECT {shown}, 'recovery', '', {NOTHING}, since_ms, NULL, NULL, NULL FROM {{p}}CN_RECOVERY_MODE WHERE sched_name = ? \
     UNION ALL SELECT {shown}, 'overdue', '', {NOTHING}, COUNT(*), MIN(d.next_fire_time), NULL, NULL FROM (SELECT t.next_fire_time AS next_fire_time \
     FROM {{p}}TRIGGERS t WHERE t.sched_name = ? AND t.trigger_state = 'WAITING' AND t.next_fire_time > 0 \
     AND t.next_fire_time < {before} ORDER BY t.next_fire_time LIMIT ?) d \
     UNION ALL SELECT {shown}, 'held', '', {NOTHING}, COUNT(*), NULL, NULL, NULL FROM {{p}}FIRED_TRIGGERS a WHERE a.sched_name = ? \
     AND a.state = 'ACQUIRED' AND a.sched_time < {before} \
     UNION ALL SELECT {shown}, 'parked', '', {NOTHING}, COUNT(*), NULL, NULL, NULL FROM (SELECT w.trigger_name AS trigger_name {PARKED} LIMIT ?) e",
        members = members::members(shown, "")
    )
}

/// The part of a node's information that decides whether it takes work, its name apart.
fn decided_by(role: &str, activity: &str) -> NodeInfo {
    NodeInfo {
        role: NodeRole::from_name(role).unwrap_or_default(),
        activity: NodeActivity::from_name(activity).unwrap_or_default(),
        ..NodeInfo::default()
    }
}

impl SqlSession<'_, '_> {
    /// The time and the load, with what is late as the text and its values say.
    pub(super) fn load_late(
        &mut self,
        shown: &str,
        before: &str,
        values: &[Value],
        most: usize,
    ) -> Result<(i64, LoadRow)> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let mut all = vec![self.name(); 7];
        all.extend_from_slice(values);
        all.extend([most.into(), self.name()]);
        all.extend_from_slice(values);
        all.extend([self.name(), most.into()]);
        let rows: Vec<members::UnionRow> = self.load(&load_text(shown, before), &all)?;
        let now_ms = rows.first().map_or(0, |row| row.now_ms);
        let count = |n: Option<i64>| usize::try_from(n.unwrap_or(0)).unwrap_or(0);
        let (mut load, mut running) = (LoadRow::default(), HashMap::default());
        let instances = members::instance_rows(&rows);
        for row in rows {
            match row.what.as_str() {
                "member" => {
                    let Some(node_name) = row.first else { continue };
                    let info = decided_by(&row.third.unwrap_or_default(), &row.fifth.unwrap_or_default());
                    load.infos.insert(row.name, NodeInfo { node_name, ..info });
                }
                "running" => drop(running.insert(row.name, count(row.one))),
                "blacklist" => load.blacklist.push(BlacklistRow {
                    node: row.name,
                    kind: BlacklistKind::Blacklist,
                    reason: None,
                    who: String::new(),
                    until_ms: row.one,
                    made_ms: 0,
                }),
                "recovery" => load.recovery_since_ms = time(row.one),
                "overdue" => (load.overdue, load.oldest_overdue_ms) = (load.overdue + count(row.one), time(row.two)),
                "held" => load.overdue += count(row.one),
                "parked" => load.parked = count(row.one),
                _ => {}
            }
        }
        let with_runs = |row: InstanceRow| {
            let runs = running.remove(&row.name).unwrap_or(0);
            (row, runs)
        };
        load.instances = instances.into_iter().map(with_runs).collect();
        Ok((now_ms, load))
    }
}
