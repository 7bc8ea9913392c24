//! The load of a cluster: `TRIGGERS`, `FIRED_TRIGGERS` and `SCHEDULER_STATE` in one statement.

use super::instances::{INCARNATION, SIDE_ROWS};
use super::time;
use crate::error::Result;
use crate::node::{NodeActivity, NodeInfo, NodeRole};
use crate::store::row::{BlacklistKind, BlacklistRow, InstanceRow, LoadRow};
use crate::store::sql::by_place::by_place;
use crate::store::sql::session::SqlSession;
use crate::store::sql::statement::Value;
use diesel::sql_types::{BigInt, Nullable, Text};

/// Parked work `k` with its triggers `w`. SQLite reads the tables of a `CROSS JOIN` in this order;
/// of another join it would read every trigger.
const PARKED: &str = "FROM {p}CN_PARKED k CROSS JOIN {p}TRIGGERS w \
     WHERE w.sched_name = k.sched_name AND w.trigger_name = k.trigger_name AND w.trigger_group = k.trigger_group \
     AND k.sched_name = ? AND w.trigger_state = 'ERROR'";

by_place! {
    struct Load {
        now_ms: i64 as BigInt,
        overdue: i64 as BigInt,
        oldest: Option<i64> as Nullable<BigInt>,
        held: i64 as BigInt,
        instance_name: Option<String> as Nullable<Text>,
        last_checkin_time: Option<i64> as Nullable<BigInt>,
        checkin_interval: Option<i64> as Nullable<BigInt>,
        incarnation: Option<String> as Nullable<Text>,
        joined: Option<i64> as Nullable<BigInt>,
        node_name: Option<String> as Nullable<Text>,
        node_role: Option<String> as Nullable<Text>,
        activity: Option<String> as Nullable<Text>,
        blacklisted: Option<String> as Nullable<Text>,
        until_ms: Option<i64> as Nullable<BigInt>,
        parked: i64 as BigInt,
        running: i64 as BigInt,
        recovery_since: i64 as BigInt,
    }
}

/// One row at least, also without an instance; one more for each further thing that keeps an
/// instance from work. The innermost select walks the index of due triggers, up to its limit.
fn load_text(shown: &str, before: &str) -> String {
    format!(
        "SELECT {shown} AS now_ms, o.overdue AS overdue, o.oldest AS oldest, h.held AS held, s.instance_name AS instance_name, \
     s.last_checkin_time AS last_checkin_time, s.checkin_interval AS checkin_interval, {INCARNATION} AS incarnation, \
     i.joined AS joined, n.node_name AS node_name, n.node_role AS node_role, n.activity AS activity, \
     b.node_name AS blacklisted, b.until_ms AS until_ms, k.parked AS parked, (SELECT COUNT(*) FROM {{p}}FIRED_TRIGGERS f WHERE f.sched_name = s.sched_name \
     AND f.instance_name = s.instance_name AND f.state = 'EXECUTING') AS running, \
     COALESCE((SELECT m.since_ms FROM {{p}}CN_RECOVERY_MODE m WHERE m.sched_name = ?), 0) AS recovery_since \
     FROM (SELECT COUNT(*) AS overdue, MIN(d.next_fire_time) AS oldest FROM (SELECT t.next_fire_time AS next_fire_time \
     FROM {{p}}TRIGGERS t WHERE t.sched_name = ? AND t.trigger_state = 'WAITING' AND t.next_fire_time > 0 \
     AND t.next_fire_time < {before} ORDER BY t.next_fire_time LIMIT ?) d) o \
     CROSS JOIN (SELECT COUNT(*) AS held FROM {{p}}FIRED_TRIGGERS a WHERE a.sched_name = ? AND a.state = 'ACQUIRED' \
     AND a.sched_time < {before}) h \
     CROSS JOIN (SELECT COUNT(*) AS parked FROM (SELECT w.trigger_name AS trigger_name {PARKED} LIMIT ?) e) k \
     LEFT JOIN {{p}}SCHEDULER_STATE s ON s.sched_name = ? {SIDE_ROWS} \
     LEFT JOIN {{p}}CN_BLACKLIST b ON b.sched_name = s.sched_name \
     AND (b.node_name = s.instance_name OR b.node_name = n.node_name) \
     ORDER BY s.instance_name"
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
        let name = self.name();
        let mut all = vec![name.clone(), name.clone()];
        all.extend_from_slice(values);
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        all.extend([most.into(), name.clone()]);
        all.extend_from_slice(values);
        all.extend([name.clone(), most.into(), name]);
        let rows: Vec<Load> = self.load(&load_text(shown, before), &all)?;
        let now_ms = rows.first().map_or(0, |row| row.now_ms);
        let count = |n: i64| usize::try_from(n).unwrap_or(0);
        let mut load = LoadRow::default();
        if let Some(first) = rows.first() {
            load.overdue = count(first.overdue.saturating_add(first.held));
            load.oldest_overdue_ms = time(first.oldest);
            load.recovery_since_ms = time(Some(first.recovery_since));
            load.parked = count(first.parked);
        }
        for row in rows {
            let Some(instance) = row.instance_name else { continue };
            load.blacklist.extend(row.blacklisted.map(|node| BlacklistRow {
                node,
                kind: BlacklistKind::Blacklist,
                reason: None,
                who: String::new(),
                until_ms: row.until_ms,
                made_ms: 0,
            }));
            if load.instances.last().is_some_and(|(last, _)| last.name == instance) {
                continue;
            }
            if let (Some(node_name), Some(role), Some(activity)) = (row.node_name, row.node_role, row.activity) {
                let info = NodeInfo { node_name, ..decided_by(&role, &activity) };
                load.infos.insert(instance.clone(), info);
            }
            let instance = InstanceRow {
                name: instance,
                last_checkin_ms: row.last_checkin_time.unwrap_or_default(),
                checkin_interval_ms: row.checkin_interval.unwrap_or_default(),
                incarnation: row.incarnation,
                joined: row.joined.unwrap_or_default(),
            };
            load.instances.push((instance, count(row.running)));
        }
        Ok((now_ms, load))
    }
}
