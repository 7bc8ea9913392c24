//! Executing jobs and triggers: `FIRED_TRIGGERS` by the index of executing fires, and by no other.
//!
//! The planner must not choose. While all that executes is of one job, statistics say that the
//! primary key finds as few rows as the job does, and each job that is asked for goes through all
//! fires. PostgreSQL therefore compares names in the collation that this index alone has, and MySQL
//! and SQLite are told the index's name.

use super::fired_row::{Row, columns};
use crate::error::Result;
use crate::key::{JobKey, TriggerKey};
use crate::store::sql::backend::Backend;
use crate::store::sql::dialect;
use crate::store::sql::session::SqlSession;

/// A column `name` of the fires `f`, as the index has it.
pub(super) fn column(backend: Backend, name: &str) -> String {
    match backend {
        Backend::Postgres => format!("f.{name} COLLATE \"C\""),
        Backend::Mysql | Backend::Sqlite => format!("f.{name}"),
    }
}

/// `FROM` the executing fires `f` of the scheduler of this name, up to further conditions: first
/// one on the group of their jobs.
pub(super) fn executing(backend: Backend, scheduler: &str) -> String {
    let index = backend.pick(" INDEXED BY IDX_{i}CN_FT_E", "", " FORCE INDEX (IDX_{i}CN_FT_E)");
    let name = column(backend, "sched_name");
    format!("FROM {{p}}FIRED_TRIGGERS f{index} WHERE {name} = {scheduler} AND f.state <> 'ACQUIRED'")
}

/// The executing fires of the job that `row`, a table or its alias, names.
fn of_job(backend: Backend, row: &str) -> String {
    let same = |name: &str| format!(" AND {} = {row}.{name}", column(backend, name));
    executing(backend, &format!("{row}.sched_name")) + &same("job_group") + &same("job_name")
}

/// 1 if there is a row in what begins with `FROM`, else 0. No planner makes a join of it.
fn is_any(backend: Backend, from: &str) -> String {
    match backend {
        Backend::Postgres => format!("(SELECT COUNT(*) FROM (SELECT 1 {from} LIMIT 1) AS first)"),
        Backend::Mysql => format!("CAST(EXISTS (SELECT 1 {from}) AS SIGNED)"),
        Backend::Sqlite => format!("EXISTS (SELECT 1 {from})"),
    }
}

/// 1 if the job that `row` names executes, else 0.
pub(super) fn job_executes(backend: Backend, row: &str) -> String {
    is_any(backend, &of_job(backend, row))
}

/// 1 if a fire of the job that `row` names lets no other run beside it, else 0.
pub(super) fn job_executes_alone(backend: Backend, row: &str) -> String {
    let flag = dialect::true_literal(backend);
    is_any(backend, &format!("{} AND f.is_nonconcurrent = {flag}", of_job(backend, row)))
}

/// More than 0 if a fire of the trigger that `row` names, for the job that it has now, is
/// executing. The flag comes before the trigger in the index.
pub(super) fn trigger_executes(backend: Backend, row: &str) -> String {
    let name = column(backend, "trigger_name");
    let with = |flag| {
        let of_trigger = format!("{name} = {row}.trigger_name AND f.trigger_group = {row}.trigger_group");
        is_any(backend, &format!("{} AND f.is_nonconcurrent = {flag} AND {of_trigger}", of_job(backend, row)))
    };
    format!("({} + {})", with(dialect::true_literal(backend)), with(dialect::false_literal(backend)))
}

impl SqlSession<'_, '_> {
    /// The executing fires of a job.
    pub(super) fn load_executing_of_job(&mut self, job: &JobKey) -> Result<Vec<Row>> {
        let same = |name| format!(" AND {} = ?", column(self.backend(), name));
        let of_job = executing(self.backend(), "?") + &same("job_group") + &same("job_name");
        let values = [self.name(), job.group().into(), job.name().into()];
        self.load(&format!("SELECT {} {of_job}", columns()), &values)
    }

    /// The executing fires of these triggers, each for this job only.
    pub(super) fn load_executing(&mut self, triggers: &[(TriggerKey, JobKey)]) -> Result<Vec<Row>> {
        let backend = self.backend();
        let head = format!("SELECT {} {} AND", columns(), executing(backend, "?"));
        let keys = ["job_group", "job_name", "is_nonconcurrent", "trigger_name", "trigger_group"].map(|name| {
            let is_in_other_form = ["is_nonconcurrent", "trigger_group"].contains(&name);
            if is_in_other_form { format!("f.{name}") } else { column(backend, name) }
        });
        let row = |(trigger, job): &(TriggerKey, JobKey), flag: bool| {
            let flag = dialect::flag_key(backend, flag);
            vec![job.group().into(), job.name().into(), flag, trigger.name().into(), trigger.group().into()]
        };
        let rows: Vec<_> = triggers.iter().flat_map(|one| [row(one, true), row(one, false)]).collect();
        self.load_for_keys(&head, &[self.name()], &keys.each_ref().map(String::as_str), &rows, "")
    }
}
