//! `CN_JOB_VERSIONS`: jobs whose data are of a later version than the first, and who can run them.

use super::row_beside::{OF_JOB, left_join};
use crate::store::row::TypeVersions;
use crate::store::sql::backend::Backend;
use crate::store::sql::session::SqlSession;
use crate::store::sql::statement::Value;
use std::fmt::Write as _;

/// The latest version that is read of the type in `column`, with its values.
pub(super) fn latest_of(column: &str, versions: &TypeVersions) -> (String, Vec<Value>) {
    if versions.is_empty() {
        return ("1".to_owned(), Vec::new());
    }
    let mut text = format!("CASE {column}");
    let mut values = Vec::new();
    for (job_type, version) in versions {
        // Numbers stand in the text, so that PostgreSQL knows what they are.
        let _ = write!(text, " WHEN ? THEN {version}");
        values.push(job_type.into());
    }
    text.push_str(" ELSE 1 END");
    (text, values)
}

/// The condition that the data of the job of a trigger `t` are of a version that is read here, with
/// its values.
///
/// The first subquery finds out once, and not for each trigger, whether any job has a version.
/// Under `NOT` no planner makes joins of the subqueries, which it might begin with. A planner takes
/// an equation for rare, and therefore almost all triggers for ones that are read: it does not
/// think that it has to search long.
pub(super) fn is_read_here(name: Value, versions: &TypeVersions) -> (String, Vec<Value>) {
    let (latest, types) = latest_of("v.job_type", versions);
    let text = format!(
        "NOT (EXISTS (SELECT 1 FROM {{p}}CN_JOB_VERSIONS x WHERE x.sched_name = ?) \
         AND COALESCE((SELECT CASE WHEN v.version <= {latest} THEN 1 ELSE 0 END FROM {{p}}CN_JOB_VERSIONS v \
         WHERE v.sched_name = t.sched_name AND v.job_name = t.job_name AND v.job_group = t.job_group), 1) = 0)"
    );
    let mut values = vec![name];
    values.extend(types);
    (text, values)
}

/// The version of the data of a job `j`.
pub(super) fn version(backend: Backend) -> String {
    left_join(backend, "CN_JOB_VERSIONS", "v", "j", OF_JOB) + " AND v.job_type = j.job_class_name"
}

impl SqlSession<'_, '_> {
    /// That nobody who has these types can run a job `j` whose version is `v`.
    pub(super) fn is_unknown(&self, known: &TypeVersions) -> (String, Vec<Value>) {
        if known.is_empty() {
            return ("1 = 1".to_owned(), Vec::new());
        }
        let later: TypeVersions = known.iter().filter(|(_, n)| **n > 1).map(|(t, n)| (t.clone(), *n)).collect();
        let (latest, more) = latest_of("j.job_class_name", &later);
        let (of_types, mut values) = match self.backend() {
            Backend::Postgres => (
                "NOT j.job_class_name = ANY(?)".to_owned(),
                vec![Value::Texts(known.keys().cloned().map(Some).collect())],
            ),
            _ => {
                let marks = vec!["?"; known.len()].join(", ");
                (format!("j.job_class_name NOT IN ({marks})"), known.keys().map(Value::from).collect())
            }
        };
        values.extend(more);
        (format!("({of_types} OR v.version > {latest})"), values)
    }
}
