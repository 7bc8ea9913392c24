//! `CN_NODES`: what the nodes say of themselves.

use crate::error::Result;
use crate::node::{Labels, MachineLoad, NodeActivity, NodeInfo, NodeRole};
use crate::store::database::NodeRows;
use crate::store::row::NodeRow;
use crate::store::sql::connection::Backend;
use crate::store::sql::session::SqlSession;
use crate::store::sql::statement::Value;
use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Nullable, Text};

/// Nodes whose instances are gone.
pub(super) const STRAY: &str = "{p}CN_NODES WHERE sched_name = ? AND NOT EXISTS (SELECT 1 FROM {p}SCHEDULER_STATE s \
     WHERE s.sched_name = {p}CN_NODES.sched_name AND s.instance_name = {p}CN_NODES.instance_name)";

/// What a check-in writes anew, in the order of [`values`].
const REFRESHED: [&str; 23] = [
    "node_name",
    "display_name",
    "application",
    "app_version",
    "library_version",
    "labels",
    "node_role",
    "activity",
    "host_name",
    "ip_address",
    "pid",
    "pool_size",
    "free_workers",
    "running",
    "cores",
    "host_cpu",
    "process_cpu",
    "memory_total",
    "memory_used",
    "process_memory",
    "memory_limit",
    "threads",
    "seen_ms",
];

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = Text)]
    instance_name: String,
    #[diesel(sql_type = Text)]
    node_name: String,
    #[diesel(sql_type = Text)]
    display_name: String,
    #[diesel(sql_type = Text)]
    application: String,
    #[diesel(sql_type = Nullable<Text>)]
    app_version: Option<String>,
    #[diesel(sql_type = Text)]
    library_version: String,
    #[diesel(sql_type = Text)]
    labels: String,
    #[diesel(sql_type = Text)]
    node_role: String,
    #[diesel(sql_type = Text)]
    activity: String,
    #[diesel(sql_type = Nullable<Text>)]
    host_name: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    ip_address: Option<String>,
    #[diesel(sql_type = BigInt)]
    pid: i64,
    #[diesel(sql_type = BigInt)]
    pool_size: i64,
    #[diesel(sql_type = BigInt)]
    free_workers: i64,
    #[diesel(sql_type = BigInt)]
    running: i64,
    #[diesel(sql_type = Nullable<BigInt>)]
    cores: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    host_cpu: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    process_cpu: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    memory_total: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    memory_used: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    process_memory: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    memory_limit: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    threads: Option<i64>,
    #[diesel(sql_type = BigInt)]
    started_ms: i64,
    #[diesel(sql_type = BigInt)]
    seen_ms: i64,
}

/// A number that somebody may have written by hand.
fn number<T: TryFrom<i64>>(value: i64) -> Option<T> {
    T::try_from(value).ok()
}

/// What of a node decides whether it takes work, its name apart.
pub(super) fn decided_by(role: &str, activity: &str) -> NodeInfo {
    NodeInfo {
        role: NodeRole::from_name(role).unwrap_or_default(),
        activity: NodeActivity::from_name(activity).unwrap_or_default(),
        ..NodeInfo::default()
    }
}

impl Row {
    /// What cannot be read, or is of a later version, is left out: nothing here decides about anybody's work.
    fn value(self) -> NodeRow {
        let load = MachineLoad {
            cores: self.cores.and_then(number),
            host_cpu_permille: self.host_cpu.and_then(number),
            process_cpu_permille: self.process_cpu.and_then(number),
            memory_total: self.memory_total.and_then(number),
            memory_used: self.memory_used.and_then(number),
            process_memory: self.process_memory.and_then(number),
            memory_limit: self.memory_limit.and_then(number),
            threads: self.threads.and_then(number),
        };
        let info = NodeInfo {
            node_name: self.node_name,
            display_name: self.display_name,
            application: self.application,
            application_version: self.app_version,
            library_version: self.library_version,
            labels: self.labels.parse::<Labels>().unwrap_or_default(),
            host: self.host_name,
            ip: self.ip_address,
            pid: number(self.pid).unwrap_or(0),
            pool_size: number(self.pool_size).unwrap_or(0),
            free_workers: number(self.free_workers).unwrap_or(0),
            running: number(self.running).unwrap_or(0),
            load,
            ..decided_by(&self.node_role, &self.activity)
        };
        NodeRow { instance: self.instance_name, started_ms: self.started_ms, seen_ms: self.seen_ms, info }
    }
}

fn values(row: &NodeRow) -> Vec<Value> {
    let NodeInfo { labels, load, .. } = &row.info;
    let info = &row.info;
    let bytes = |bytes: Option<u64>| Value::Int(bytes.map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX)));
    let small = |number: Option<u32>| Value::Int(number.map(i64::from));
    vec![
        (&info.node_name).into(),
        (&info.display_name).into(),
        (&info.application).into(),
        info.application_version.as_deref().into(),
        (&info.library_version).into(),
        (&labels.to_string()).into(),
        info.role.name().into(),
        info.activity.name().into(),
        info.host.as_deref().into(),
        info.ip.as_deref().into(),
        i64::from(info.pid).into(),
        i64::from(info.pool_size).into(),
        i64::from(info.free_workers).into(),
        i64::from(info.running).into(),
        small(load.cores),
        small(load.host_cpu_permille),
        small(load.process_cpu_permille),
        bytes(load.memory_total),
        bytes(load.memory_used),
        bytes(load.process_memory),
        bytes(load.memory_limit),
        small(load.threads),
        row.seen_ms.into(),
    ]
}

impl NodeRows for SqlSession<'_, '_> {
    fn put_node(&mut self, row: &NodeRow) -> Result<()> {
        let (on_conflict, given): (_, fn(&str) -> String) = match self.backend() {
            Backend::Mysql => ("ON DUPLICATE KEY UPDATE", |column| format!("{column} = VALUES({column})")),
            Backend::Postgres | Backend::Sqlite => {
                ("ON CONFLICT (sched_name, instance_name) DO UPDATE SET", |column| {
                    format!("{column} = excluded.{column}")
                })
            }
        };
        let refreshed: Vec<String> = REFRESHED.iter().map(|column| given(column)).collect();
        let text = format!(
            "INSERT INTO {{p}}CN_NODES (sched_name, instance_name, started_ms, {}) VALUES (?, ?, ?{}) {on_conflict} {}",
            REFRESHED.join(", "),
            ", ?".repeat(REFRESHED.len()),
            refreshed.join(", ")
        );
        let mut all = vec![self.name(), (&row.instance).into(), row.started_ms.into()];
        all.extend(values(row));
        self.execute(&text, &all).map(drop)
    }

    fn nodes(&mut self) -> Result<Vec<NodeRow>> {
        let columns: Vec<String> = ["instance_name", "started_ms"]
            .iter()
            .chain(&REFRESHED)
            .map(|column| format!("{column} AS {column}"))
            .collect();
        let text =
            format!("SELECT {} FROM {{p}}CN_NODES WHERE sched_name = ? ORDER BY instance_name", columns.join(", "));
        let rows: Vec<Row> = self.load(&text, &[self.name()])?;
        Ok(rows.into_iter().map(Row::value).collect())
    }
}
