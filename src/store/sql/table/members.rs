//! The rows of members, and of what decides where work may run: several tables in one statement.

use crate::node::{NodeActivity, NodeIdentity, NodeRole};
use crate::store::row::{BlacklistKind, BlacklistRow, InstanceRow, LimitRow, PlacementView};
use crate::store::sql::by_place::by_place;
use diesel::sql_types::{BigInt, Nullable, Text};

by_place! {
    /// A row of one of several tables, which `what` names. Each uses the columns, `first` to
    /// `fifth`, `one` to `three` and `made_ms`, in its own way:
    ///
    /// * `member`: node name, labels, role, incarnation, activity; time and interval of its
    ///   check-ins, time of the check-in with which a node of ours wrote this; seniority.
    /// * `blacklist`: kind, reason, author; end; time at which it was written.
    /// * `limit`: author as `third`; number for each node, for the cluster; time as above.
    /// * `fires`: first and last id. All others are counts and times, as `one` and `two`.
    pub(super) struct UnionRow {
        pub(super) now_ms: i64 as BigInt,
        pub(super) what: String as Text,
        pub(super) name: String as Text,
        pub(super) first: Option<String> as Nullable<Text>,
        pub(super) second: Option<String> as Nullable<Text>,
        pub(super) third: Option<String> as Nullable<Text>,
        pub(super) fourth: Option<String> as Nullable<Text>,
        pub(super) fifth: Option<String> as Nullable<Text>,
        pub(super) one: Option<i64> as Nullable<BigInt>,
        pub(super) two: Option<i64> as Nullable<BigInt>,
        pub(super) three: Option<i64> as Nullable<BigInt>,
        pub(super) made_ms: Option<i64> as Nullable<BigInt>,
    }
}

/// The rows that keep nodes from work, and the time as `shown`: to follow a select that says which
/// type each column has.
pub(super) fn places(shown: &str) -> String {
    format!(
        "SELECT {shown}, 'blacklist', b.node_name, b.kind, b.reason, b.who, NULL, NULL, b.until_ms, NULL, NULL, b.made_ms \
         FROM {{p}}CN_BLACKLIST b WHERE b.sched_name = ? \
         UNION ALL SELECT {shown}, 'limit', l.job_group, NULL, NULL, l.who, NULL, NULL, l.per_node, l.per_cluster, NULL, l.made_ms \
         FROM {{p}}CN_GROUP_LIMITS l WHERE l.sched_name = ?"
    )
}

/// The nodes of ours, and the time as `shown`.
pub(super) fn nodes(shown: &str) -> String {
    format!("SELECT {shown} AS now_ms, 'member' AS what, {}", of_nodes())
}

fn of_nodes() -> String {
    let (no_text, no_number) = ("NULLIF(node_role, node_role)", "NULLIF(seen_ms, seen_ms)");
    format!(
        "instance_name AS name, node_name AS first, labels AS second, node_role AS third, {no_text} AS fourth, \
         activity AS fifth, {no_number} AS one, {no_number} AS two, seen_ms AS three, {no_number} AS made_ms \
         FROM {{p}}CN_NODES WHERE sched_name = ?"
    )
}

/// The members of whose instances `is_it` is true: their state rows, our rows beside them, and the
/// time as `shown`. A member is one row, and its tables are not joined: a
/// server that plans a join while these have few rows may keep the plan until they have many.
pub(super) fn members(shown: &str, is_it: &str) -> String {
    format!(
        "SELECT {shown} AS now_ms, 'member' AS what, m.name AS name, MAX(m.first) AS first, MAX(m.second) AS second, \
         MAX(m.third) AS third, MAX(m.fourth) AS fourth, MAX(m.fifth) AS fifth, MAX(m.one) AS one, MAX(m.two) AS two, \
         MAX(m.three) AS three, MAX(m.made_ms) AS made_ms FROM (SELECT {nodes}{is_it} \
         UNION ALL SELECT instance_name, NULL, NULL, NULL, incarnation, NULL, NULL, NULL, NULL, joined \
         FROM {{p}}CN_INSTANCES WHERE sched_name = ?{is_it} \
         UNION ALL SELECT instance_name, NULL, NULL, NULL, NULL, NULL, last_checkin_time, checkin_interval, NULL, NULL \
         FROM {{p}}SCHEDULER_STATE WHERE sched_name = ?{is_it}) m GROUP BY m.name",
        nodes = of_nodes(),
    )
}

/// The instances with a state row, in order of their names.
pub(super) fn instance_rows(rows: &[UnionRow]) -> Vec<InstanceRow> {
    let instance = |row: &UnionRow| {
        let last_checkin_ms = row.one?;
        let is_replaced = row.three.is_some_and(|seen_ms| seen_ms != last_checkin_ms);
        let incarnation = row.fourth.as_ref().filter(|_| !is_replaced);
        Some(InstanceRow {
            name: row.name.clone(),
            last_checkin_ms,
            checkin_interval_ms: row.two.unwrap_or(0),
            joined: incarnation.and(row.made_ms).unwrap_or(0),
            incarnation: incarnation.cloned(),
        })
    };
    let mut instances: Vec<InstanceRow> = rows.iter().filter(|row| row.what == "member").filter_map(instance).collect();
    instances.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    instances
}

pub(super) fn placement_view(rows: Vec<UnionRow>) -> PlacementView {
    let mut found = PlacementView::default();
    for row in rows {
        let made_ms = row.made_ms.unwrap_or(0);
        match row.what.as_str() {
            "member" => found.nodes.extend(row.first.map(|node_name| NodeIdentity {
                instance: row.name,
                node_name: Some(node_name),
                labels: Some(row.second.and_then(|labels| labels.parse().ok()).unwrap_or_default()),
                role: row.third.and_then(|role| NodeRole::from_name(&role)).unwrap_or_default(),
                activity: row.fifth.and_then(|activity| NodeActivity::from_name(&activity)).unwrap_or_default(),
            })),
            "limit" => found.limits.push(LimitRow {
                group: row.name,
                per_node: count(row.one),
                per_cluster: count(row.two),
                who: row.third.unwrap_or_default(),
                made_ms,
            }),
            _ => found.blacklist.push(BlacklistRow {
                node: row.name,
                // A kind that a later version adds keeps a node from work too.
                kind: row.first.and_then(|kind| BlacklistKind::from_name(&kind)).unwrap_or(BlacklistKind::Blacklist),
                reason: row.second,
                who: row.third.unwrap_or_default(),
                until_ms: row.one,
                made_ms,
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
