//! `NodeRow`: what a node of ours says of itself.

use super::table::{Cell, Column, Kind, ToCells, columns, table};
use crate::alarm::AlarmKind;
use crate::epoch::moment;
use crate::node::{Labels, MachineLoad, NodeActivity, NodeInfo, NodeRole};
use chrono::{DateTime, Utc};
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
