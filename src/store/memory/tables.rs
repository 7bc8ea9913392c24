//! `Tables`: the maps of a scheduler.

use super::declared_tables::DeclaredTables;
use super::indexes::{FiredIndex, TriggerIndex};
use super::journal::{Journaled, Unordered};
use crate::key::{JobKey, TriggerKey};
use crate::store::row::{FenceRow, FiredRow, HistoryRow, InstanceRow, JobRow, TriggerRow};
use std::sync::Arc;

/// The maps of a scheduler, all of which a transaction commits or rolls back.
macro_rules! tables {
    ($($table:ident: $map:ty,)*) => {
        #[derive(Clone, Default)]
        pub(super) struct Tables {
            $(pub(super) $table: $map,)*
        }

        impl Tables {
            pub(super) fn commit(&mut self) {
                $(self.$table.commit();)*
            }

            pub(super) fn roll_back(&mut self) {
                $(self.$table.roll_back();)*
            }
        }
    };
}

tables! {
    jobs: Journaled<JobKey, JobRow>,
    triggers: Unordered<TriggerKey, TriggerRow, TriggerIndex>,
    fired: Unordered<Arc<str>, FiredRow, FiredIndex>,
    instances: Journaled<String, InstanceRow>,
    history: Unordered<Arc<str>, HistoryRow>,
    changes: Journaled<(), (i64, i64)>,
    declared: DeclaredTables,
}

impl Tables {
    /// The tables as a migration leaves them.
    pub(super) fn migrated() -> Self {
        let mut tables = Self::default();
        tables.put_row(&FenceRow { fence: 0 });
        tables.commit();
        tables
    }

    pub(super) fn last_fence(&self) -> i64 {
        self.rows().next().map_or(0, |row: FenceRow| row.fence)
    }
}
