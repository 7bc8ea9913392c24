//! `CN_BLACKLIST` and `CN_GROUP_LIMITS`, the runs that count against limits, and what is left alone
//! when work is sought.

use super::executing::{column, executing};
use super::instances::{INCARNATION, SIDE_ROWS};
use super::texts;
use crate::error::Result;
use crate::key::BROADCAST_GROUP;
use crate::node::{Labels, NodeRole};
use crate::rules::strategy::{FOR_ANY, groups_of_one};
use crate::store::database::{PlacementRows, Session};
use crate::store::row::{
    BlacklistKind, BlacklistRow, ClusterMembers, Exclusions, GroupRuns, InstanceRow, LimitRow, NodePlace, PlacementView,
};
use crate::store::sql::backend::Backend;
use crate::store::sql::by_place::by_place;
use crate::store::sql::session::SqlSession;
use crate::store::sql::statement::Value;
use diesel::sql_types::{BigInt, Nullable, Text};

by_place! {
    /// A row of one of several tables; each uses the columns in its own way.
    struct Place {
        now_ms: i64 as BigInt,
        what: String as Text,
        name: String as Text,
        first: String as Text,
        second: Option<String> as Nullable<Text>,
        third: String as Text,
        one: Option<i64> as Nullable<BigInt>,
        two: Option<i64> as Nullable<BigInt>,
        made_ms: i64 as BigInt,
    }
}

by_place! {
    struct Runs {
        job_group: String as Text,
        instance_name: String as Text,
    }
}

/// The numbers of groups or policies in one condition; a list is filled up to one of these sizes,
/// so that few statements are prepared.
const SIZES: [usize; 4] = [1, 4, 16, 64];

/// The type of a trigger's job.
const JOB_TYPE: &str = "SELECT j.job_class_name FROM {p}JOB_DETAILS j WHERE j.sched_name = t.sched_name \
     AND j.job_name = t.job_name AND j.job_group = t.job_group";

impl SqlSession<'_, '_> {
    /// The condition, after others, that a trigger `t` is not left alone, with its values.
    pub(super) fn not_excluded(&self, excluded: &Exclusions) -> (String, Vec<Value>) {
        let (mut text, mut values) = (String::new(), Vec::new());
        if let Some(prefix) = &excluded.parts_but {
            text.push_str(" AND (t.trigger_group <> ? OR t.trigger_name LIKE ? OR t.trigger_name LIKE ?)");
            values.extend([BROADCAST_GROUP.into(), (&format!("{prefix}%")).into(), (&format!("{FOR_ANY}%")).into()]);
        }
        let lists = self.backend() == Backend::Postgres;
        if !excluded.groups.is_empty() {
            if lists {
                text.push_str(" AND NOT t.job_group = ANY(?)");
                values.push(Value::Texts(excluded.groups.iter().cloned().map(Some).collect()));
            } else {
                let groups = filled_up(&excluded.groups);
                text.push_str(&format!(" AND t.job_group NOT IN ({})", vec!["?"; groups.len()].join(", ")));
                values.extend(groups.into_iter().map(Value::from));
            }
        }
        if excluded.policies.is_empty() && excluded.ticks.is_empty() {
            return (text, values);
        }
        // The policy of a job that another program has replaced is not that of the job.
        let of_job = format!(
            "y.sched_name = t.sched_name AND y.job_name = t.job_name AND y.job_group = t.job_group \
             AND y.job_type = ({JOB_TYPE})"
        );
        if !excluded.ticks.is_empty() {
            let of_one: Vec<Value> = groups_of_one().map(Value::from).collect();
            let policies = filled_up(&excluded.ticks);
            text.push_str(&format!(
                " AND (t.trigger_group IN ({}) OR NOT EXISTS (SELECT 1 FROM {{p}}CN_JOB_POLICIES y WHERE {of_job} \
                 AND y.policy IN ({})))",
                vec!["?"; of_one.len()].join(", "),
                vec!["?"; policies.len()].join(", ")
            ));
            values.extend(of_one);
            values.extend(policies.into_iter().map(Value::from));
        }
        if excluded.policies.is_empty() {
            return (text, values);
        }
        if lists {
            text.push_str(&format!(
                " AND NOT EXISTS (SELECT 1 FROM {{p}}CN_JOB_POLICIES y JOIN unnest(?, ?) AS l(policy, after_ms) \
                 ON l.policy = y.policy WHERE {of_job} AND t.next_fire_time > l.after_ms)"
            ));
            values.push(Value::Texts(excluded.policies.iter().map(|(policy, _)| Some(policy.clone())).collect()));
            values.push(Value::Ints(excluded.policies.iter().map(|(_, after_ms)| Some(*after_ms)).collect()));
        } else {
            let policies = filled_up(&excluded.policies);
            let one = "(y.policy = ? AND t.next_fire_time > ?)";
            text.push_str(&format!(
                " AND NOT EXISTS (SELECT 1 FROM {{p}}CN_JOB_POLICIES y WHERE {of_job} AND ({}))",
                vec![one; policies.len()].join(" OR ")
            ));
            values.extend(policies.into_iter().flat_map(|(policy, after_ms)| [policy.into(), (*after_ms).into()]));
        }
        (text, values)
    }
}

/// The rows that decide where work may run, and the time as `shown`.
fn places(shown: &str) -> String {
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

fn found(rows: Vec<Place>) -> PlacementView {
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

/// The things given, the last of them again and again, up to one of a few sizes.
fn filled_up<T>(things: &[T]) -> Vec<&T> {
    let size = SIZES.iter().find(|size| **size >= things.len()).copied().unwrap_or(things.len());
    things.iter().chain(things.last().into_iter().cycle()).take(size).collect()
}

fn count(number: Option<i64>) -> Option<u32> {
    number.map(|number| u32::try_from(number).unwrap_or(0))
}

impl SqlSession<'_, '_> {
    /// See [`ChangeRows::read_members`](crate::store::ChangeRows::read_members).
    pub(super) fn load_members(&mut self) -> Result<(ClusterMembers, PlacementView)> {
        let now = self.now_in_statement()?;
        let text = format!(
            "{places} UNION ALL SELECT {shown}, 'instance', s.instance_name, '', {INCARNATION}, '', s.last_checkin_time, \
             s.checkin_interval, COALESCE(i.joined, 0) FROM {{p}}SCHEDULER_STATE s {SIDE_ROWS} WHERE s.sched_name = ? \
             UNION ALL SELECT {shown}, 'fires', f.instance_name, '', NULL, '', NULL, NULL, 0 \
             FROM {{p}}FIRED_TRIGGERS f WHERE f.sched_name = ? GROUP BY f.instance_name",
            places = places(now.shown),
            shown = now.shown
        );
        let names: [Value; 5] = std::array::from_fn(|_| self.name());
        let rows: Vec<Place> = self.load(&text, &names)?;
        if let Some(row) = rows.first() {
            self.know_now(now.or(row.now_ms));
        }
        let mut members = ClusterMembers { now_ms: self.now_ms()?, ..ClusterMembers::default() };
        let mut places = Vec::new();
        for row in rows {
            match row.what.as_str() {
                "instance" => members.instances.push(InstanceRow {
                    name: row.name,
                    last_checkin_ms: row.one.unwrap_or(0),
                    checkin_interval_ms: row.two.unwrap_or(0),
                    incarnation: row.second,
                    joined: row.made_ms,
                }),
                "fires" => members.with_fires.push(row.name),
                _ => places.push(row),
            }
        }
        members.instances.sort_by(|a, b| a.name.cmp(&b.name));
        Ok((members, found(places)))
    }
}

impl PlacementRows for SqlSession<'_, '_> {
    fn placement_view(&mut self) -> Result<PlacementView> {
        let text = places(self.now_in_statement()?.shown);
        let rows: Vec<Place> = self.load(&text, &[self.name(), self.name(), self.name()])?;
        Ok(found(rows))
    }

    fn runs_of_groups(&mut self, groups: &[String]) -> Result<Vec<GroupRuns>> {
        let mut runs: Vec<GroupRuns> = Vec::new();
        // Counted here: few runs are of limited groups, and a batch of keys takes no GROUP BY.
        let head = format!(
            "SELECT f.job_group AS job_group, f.instance_name AS instance_name {} AND",
            executing(self.backend(), "?")
        );
        let group = column(self.backend(), "job_group");
        let rows: Vec<Runs> = self.load_for_keys(&head, &[self.name()], &[&group], &texts(groups))?;
        for row in rows {
            match runs.iter_mut().find(|one| one.group == row.job_group && one.instance == row.instance_name) {
                Some(one) => one.running += 1,
                None => {
                    runs.push(GroupRuns { group: row.job_group, instance: row.instance_name, running: 1 });
                }
            }
        }
        Ok(runs)
    }
}
