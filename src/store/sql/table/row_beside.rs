//! Joins with the row of another table that has the same key: the row of a trigger's kind, the
//! policy of a job.

use crate::store::sql::backend::Backend;

/// The columns that name a trigger, and those that name a job.
pub(super) const OF_TRIGGER: [&str; 2] = ["trigger_name", "trigger_group"];
pub(super) const OF_JOB: [&str; 2] = ["job_name", "job_group"];

/// ` LEFT JOIN` of the row of `table` that has the key of the row `of`.
pub(super) fn left_join(backend: Backend, table: &str, alias: &str, of: &str, key: [&str; 2]) -> String {
    format!(" LEFT{}", join(backend, table, alias, of, key))
}

/// ` JOIN` of that row.
///
/// PostgreSQL must not choose here: statistics that were gathered while a queue was empty let each
/// table seem to have no row, and then all of the table was read for each row of a batch. The name
/// of the scheduler is a list of one for it, as in a batch of keys.
pub(super) fn join(backend: Backend, table: &str, alias: &str, of: &str, key: [&str; 2]) -> String {
    let same_scheduler = match backend {
        Backend::Postgres => format!("{alias}.sched_name = ANY (ARRAY[{of}.sched_name])"),
        Backend::Mysql | Backend::Sqlite => format!("{alias}.sched_name = {of}.sched_name"),
    };
    let same_key: String = key.iter().map(|column| format!(" AND {alias}.{column} = {of}.{column}")).collect();
    format!(" JOIN {{p}}{table} {alias} ON {same_scheduler}{same_key}")
}
