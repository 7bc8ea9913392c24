//! The rows of members, and of what decides where work may run: several tables in one statement.

use crate::node::{Labels, NodeRole};
use crate::store::row::{BlacklistKind, BlacklistRow, LimitRow, NodePlace, PlacementView};
use crate::store::sql::by_place::by_place;
use diesel::sql_types::{BigInt, Nullable, Text};

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
         UNION ALL SELECT {shown}, 'node', n.instance_name, n.node_name, n.labels, n.node_role, NULL, NULL, 0 \
         FROM {{p}}CN_NODES n WHERE n.sched_name = ?"
    )
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
