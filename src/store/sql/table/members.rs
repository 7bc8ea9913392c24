//! The rows of members, and of what decides where work may run: several tables in one statement.

use crate::node::{Labels, NodeRole};
use crate::store::row::{BlacklistKind, BlacklistRow, InstanceRow, LimitRow, NodePlace, PlacementView};
use crate::store::sql::by_place::by_place;
use diesel::sql_types::{BigInt, Nullable, Text};
use std::collections::BTreeMap;

by_place! {
    /// A row of one of several tables; each uses the columns in its own way.
    pub(super) struct Place {
        pub(super) now_ms: i64 as BigInt,
        pub(super) what: String as Text,
        pub(super) name: String as Text,
        pub(super) first: String as Text,
        pub(super) second: Option<String> as Nullable<Text>,
        pub(super) third: String as Text,
        pub(super) one: Option<i64> as Nullable<BigInt>,
        pub(super) two: Option<i64> as Nullable<BigInt>,
        pub(super) made_ms: i64 as BigInt,
    }
}

/// The rows that decide where work may run, and the time as `shown`.
pub(super) fn places(shown: &str) -> String {
    // The first says which type each column has.
    format!(
        "SELECT {shown} AS now_ms, 'blacklist' AS what, b.node_name AS name, b.kind AS first, b.reason AS second, b.who AS third, \
         b.until_ms AS one, b.until_ms AS two, b.made_ms AS made_ms FROM {{p}}CN_BLACKLIST b WHERE b.sched_name = ? \
         UNION ALL SELECT {shown}, 'limit', l.job_group, '', NULL, l.who, l.per_node, l.per_cluster, l.made_ms \
         FROM {{p}}CN_GROUP_LIMITS l WHERE l.sched_name = ? \
         UNION ALL SELECT {shown}, 'node', n.instance_name, n.node_name, n.labels, n.node_role, NULL, NULL, n.seen_ms \
         FROM {{p}}CN_NODES n WHERE n.sched_name = ?"
    )
}

/// The state rows and our rows beside them, of the instances of which `is_it` is true, and the time
/// as `shown`. The node joins them: a server that plans a join of tables while these have few rows
/// may keep the plan until they have many.
pub(super) fn instances(shown: &str, is_it: &str) -> String {
    format!(
        "SELECT {shown}, 'ours', instance_name, '', incarnation, '', NULL, NULL, joined \
         FROM {{p}}CN_INSTANCES WHERE sched_name = ?{is_it} \
         UNION ALL SELECT {shown}, 'instance', instance_name, '', NULL, '', last_checkin_time, checkin_interval, 0 \
         FROM {{p}}SCHEDULER_STATE WHERE sched_name = ?{is_it}"
    )
}

/// The instances, by their names.
pub(super) fn instance_rows(rows: &[Place]) -> Vec<InstanceRow> {
    let of = |what: &'static str| rows.iter().filter(move |row| row.what == what);
    let ours: BTreeMap<&str, &Place> = of("ours").map(|row| (&*row.name, row)).collect();
    let seen_ms: BTreeMap<&str, i64> = of("node").map(|row| (&*row.name, row.made_ms)).collect();
    let instance = |row: &Place| {
        let last_checkin_ms = row.one.unwrap_or(0);
        let is_replaced = seen_ms.get(&*row.name).is_some_and(|seen_ms| *seen_ms != last_checkin_ms);
        let ours = ours.get(&*row.name).filter(|_| !is_replaced);
        InstanceRow {
            name: row.name.clone(),
            last_checkin_ms,
            checkin_interval_ms: row.two.unwrap_or(0),
            incarnation: ours.and_then(|ours| ours.second.clone()),
            joined: ours.map_or(0, |ours| ours.made_ms),
        }
    };
    let mut instances: Vec<InstanceRow> = of("instance").map(instance).collect();
    instances.sort_by(|a, b| a.name.cmp(&b.name));
    instances
}

pub(super) fn placement_view(rows: Vec<Place>) -> PlacementView {
    let mut found = PlacementView::default();
    for row in rows {
        match row.what.as_str() {
            "node" => found.nodes.push(NodePlace {
                instance: row.name,
                node_name: row.first,
                labels: row.second.and_then(|labels| labels.parse::<Labels>().ok()).unwrap_or_default(),
                role: NodeRole::from_name(&row.third).unwrap_or_default(),
            }),
            "limit" => found.limits.push(LimitRow {
                group: row.name,
                per_node: count(row.one),
                per_cluster: count(row.two),
                who: row.third,
                made_ms: row.made_ms,
            }),
            _ => found.blacklist.push(BlacklistRow {
                node: row.name,
                // A kind that a later version adds keeps a node from work too.
                kind: BlacklistKind::from_name(&row.first).unwrap_or(BlacklistKind::Blacklist),
                reason: row.second,
                who: row.third,
                until_ms: row.one,
                made_ms: row.made_ms,
            }),
        }
    }
    found.blacklist.sort_by(|a, b| (&a.node, a.kind).cmp(&(&b.node, b.kind)));
    found.limits.sort_by(|a, b| a.group.cmp(&b.group));
    found
}

fn count(number: Option<i64>) -> Option<u32> {
    number.map(|number| u32::try_from(number).unwrap_or(0))
}
