//! `CN_BLACKLIST` and `CN_GROUP_LIMITS`, the runs that count against limits, and what is left alone
//! when work is sought.

use super::executing::{column, executing};
use super::{members, texts};
use crate::error::Result;
use crate::key::BROADCAST_GROUP;
use crate::rules::strategy::{FOR_ANY, groups_of_one};
use crate::store::database::PlacementRows;
use crate::store::row::{Exclusions, GroupRuns, PlacementView};
use crate::store::sql::backend::Backend;
use crate::store::sql::by_place::by_place;
use crate::store::sql::session::SqlSession;
use crate::store::sql::statement::Value;
use diesel::sql_types::Text;

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

/// The things given, the last of them again and again, up to one of a few sizes.
fn filled_up<T>(things: &[T]) -> Vec<&T> {
    let size = SIZES.iter().find(|size| **size >= things.len()).copied().unwrap_or(things.len());
    things.iter().chain(things.last().into_iter().cycle()).take(size).collect()
}

impl PlacementRows for SqlSession<'_, '_> {
    fn placement_view(&mut self) -> Result<PlacementView> {
        let shown = self.now_in_statement()?.shown;
        let text = format!("{} UNION ALL {}", members::nodes(shown), members::places(shown));
        let rows: Vec<members::UnionRow> = self.load(&text, &[self.name(), self.name(), self.name()])?;
        Ok(members::placement_view(rows))
    }

    fn runs_of_groups(&mut self, groups: &[String]) -> Result<Vec<GroupRuns>> {
        let mut runs: Vec<GroupRuns> = Vec::new();
        // Counted here: few runs are of limited groups, and a batch of keys takes no GROUP BY.
        let head = format!(
            "SELECT f.job_group AS job_group, f.instance_name AS instance_name {} AND",
            executing(self.backend(), "?")
        );
        let group = column(self.backend(), "job_group");
        let rows: Vec<Runs> = self.load_for_keys(&head, &[self.name()], &[&group], &texts(groups), "")?;
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
