//! The rows of nodes, and the load of the cluster that they are.

use super::BlacklistRow;
use super::table::{Cell, Column, Kind, ToCells, columns, table};
use crate::alarm::AlarmKind;
use crate::epoch::moment;
use crate::node::{Labels, MachineLoad, NodeActivity, NodeInfo, NodeRole};
use chrono::{DateTime, Utc};
use std::collections::BTreeMap;
use std::vec::IntoIter;

table! {
    /// A row of `CN_NODES`: what a node of ours said of itself with its last check-in.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct NodeRow in "CN_NODES" by [instance] {
        /// The instance's name.
        pub instance: String = [instance_name],
        /// The time at which it was started, epoch milliseconds by the store's clock.
        #[doc(hidden)]
        pub started_ms: i64,
        /// The time at which the node said this, epoch milliseconds by the store's clock.
        #[doc(hidden)]
        pub seen_ms: i64,
        /// The node's words on itself.
        pub info: NodeInfo = [
            node_name, display_name, application, app_version, library_version, labels, node_role, activity, host_name,
            ip_address, pid, pool_size, free_workers, running, cores, host_cpu, process_cpu, memory_total, memory_used,
            process_memory, memory_limit, threads, alarms
        ],
    }
}

impl NodeRow {
    /// The time at which the node was started, by the store's clock.
    pub fn start_time(&self) -> DateTime<Utc> {
        moment(self.started_ms)
    }

    /// The time at which the node said this, by the store's clock.
    pub fn last_seen(&self) -> DateTime<Utc> {
        moment(self.seen_ms)
    }
}

table! {
    /// A row of `CN_PROCESSES`: the process of an instance under an incarnation.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct InstanceProcessRow in "CN_PROCESSES" by [instance] {
        /// The instance.
        pub instance: String = [instance_name],
        /// The incarnation.
        pub incarnation: String,
        /// The process, as a text.
        pub process: String,
    }
}

table! {
    /// A row of `CN_INCARNATIONS`: where a node was under an incarnation, kept as long as the
    /// history.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct IncarnationRow in "CN_INCARNATIONS" by [incarnation] {
        /// The incarnation.
        pub incarnation: String,
        /// The instance.
        pub instance: String = [instance_name],
        /// The host name of its machine.
        pub host: Option<String> = [host_name],
        /// The address of its machine.
        pub address: Option<String> = [ip_address],
        /// The time of its registration.
        pub registered_ms: i64,
    }
}

columns! {
    // A value of a later version decides about nobody's work.
    Labels, Text: |labels| labels.to_string(), |text| Some(text.parse::<Labels>().unwrap_or_default());
    NodeRole, Text: |role| role.name().to_owned(), |name| Some(NodeRole::from_name(&name).unwrap_or_default());
    Vec<AlarmKind>, Text: |alarms| names(alarms), |names| Some(names.split_whitespace().filter_map(AlarmKind::from_name).collect());
    NodeActivity, Text: |activity| activity.name().to_owned(), |name| Some(NodeActivity::from_name(&name).unwrap_or_default());
}

fn names(alarms: &[AlarmKind]) -> String {
    alarms.iter().map(|alarm| alarm.name()).collect::<Vec<_>>().join(" ")
}

/// Columns hold the fields of a struct one after the other.
macro_rules! fields {
    ($struct:ident as $kinds:expr, { $($field:ident),* }) => {
        impl ToCells for $struct {
            fn write(&self, row: &mut Vec<Cell>) {
                $(self.$field.write(row);)*
            }
        }
        impl Column for $struct {
            const KINDS: &'static [Kind] = $kinds;
            fn read(row: &mut IntoIter<Cell>) -> Option<Self> {
                let mut read = Self::default();
                $(read.$field = Column::read(row)?;)*
                Some(read)
            }
        }
    };
}
fields!(MachineLoad as &[Kind::Int; 8], {
    cores, host_cpu_permille, process_cpu_permille, memory_total, memory_used, process_memory, memory_limit, threads
});
fields!(NodeInfo as &KINDS, {
    node_name, display_name, application, application_version, library_version, labels, role, activity, host, ip, pid,
    pool_size, free_workers, running, load, alarms
});

/// Ten texts, numbers, and a text.
const KINDS: [Kind; 23] = {
    use Kind::{Int, Text};
    [
        Text, Text, Text, Text, Text, Text, Text, Text, Text, Text, //
        Int, Int, Int, Int, Int, Int, Int, Int, Int, Int, Int, Int, Text,
    ]
};

/// The instances that are read.
#[derive(Clone, Copy, Debug)]
pub enum InstanceSelection<'a> {
    All,
    Named(&'a str),
}

/// The instance whose rows are deleted, as it has to be for that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// The instance, however it is.
    Any,
    /// The last check-in is still the one at this time.
    Silent(i64),
    /// A node of Quartz has checked in under its name since: only what is left of ours goes.
    Replaced,
}

/// A row of `SCHEDULER_STATE` with its row in `CN_INSTANCES`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceRow {
    /// `INSTANCE_NAME`.
    pub name: String,
    /// `LAST_CHECKIN_TIME`.
    pub last_checkin_ms: i64,
    /// `CHECKIN_INTERVAL`.
    pub checkin_interval_ms: i64,
    /// None for a node that is not ours: it has no side row, or the side row is of one of ours
    /// whose name it has taken.
    pub incarnation: Option<String>,
    /// Grows with each registration; the smallest is the longest-serving node. 0 for a node that is
    /// not ours.
    pub joined: i64,
}

/// The load of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadRow {
    /// Triggers that wait although they were due before the time asked for, up to the limit asked
    /// for; and fires that are reserved for such a time.
    pub overdue: usize,
    /// The earliest time of those triggers.
    pub oldest_overdue_ms: Option<i64>,
    /// Since when the recovery mode is on.
    pub recovery_since_ms: Option<i64>,
    /// The amount of parked work, up to the limit asked for.
    pub parked: usize,
    /// Every instance with the number of its executing fires, in order of their names.
    pub instances: Vec<(InstanceRow, usize)>,
    /// The rows of `CN_NODES`, at least as far as they decide whether these instances take work.
    pub infos: BTreeMap<String, NodeInfo>,
    /// The blacklist, at least as far as it decides whether these instances take work.
    pub blacklist: Vec<BlacklistRow>,
}

/// Since when a trigger or a reservation must be overdue to be counted.
#[derive(Clone, Copy, Debug)]
pub enum Late {
    /// The trigger or reservation was due before this time.
    Before(i64),
    /// The trigger or reservation was due more than so many milliseconds ago.
    MoreThan(i64),
}
