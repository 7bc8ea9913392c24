//! `CN_TRIGGER_OPTIONS`: what triggers do otherwise than Quartz.

use super::executing::trigger_executes;
use super::recurrences::type_and_misfire;
use super::{BARE_KEY, trigger_keys};
use crate::error::Result;
use crate::key::TriggerKey;
use crate::store::database::Session;
use crate::store::row::{OptionsRow, StoredOptionsRow, TriggerRow};
use crate::store::sql::backend::Backend;
use crate::store::sql::by_place::by_place;
use crate::store::sql::session::SqlSession;
use crate::store::sql::statement::Value;
use diesel::sql_types::{BigInt, Nullable, Text};

/// The columns of a row that may not be there; whether it has an effect is asked only where it is.
pub(super) const OPTION_COLUMNS: &str = "o.options AS options, o.trigger_type AS options_type, o.start_time AS \
     options_start, CASE WHEN o.options IS NULL THEN 0 ELSE (SELECT COUNT(*) FROM {p}SCHEDULER_STATE q \
     WHERE q.sched_name = o.sched_name AND NOT EXISTS (SELECT 1 FROM {p}CN_INSTANCES i \
     WHERE i.sched_name = q.sched_name AND i.instance_name = q.instance_name)) END AS nodes_of_quartz";

/// The column that says whether a fire of trigger `t`, for the job it has now, is executing; asked
/// only where there are options.
pub(super) fn of_trigger_with_options(backend: Backend) -> String {
    format!("CASE WHEN o.options IS NULL THEN 0 ELSE {} END AS trigger_executing", trigger_executes(backend, "t"))
}

by_place! {
    pub(super) struct OptionColumns {
        options: Option<String> as Nullable<Text>,
        options_type: Option<String> as Nullable<Text>,
        options_start: Option<i64> as Nullable<BigInt>,
        nodes_of_quartz: i64 as BigInt,
    }
}

impl OptionColumns {
    /// The row, if it was given to a trigger of this type and start, and not to one whose place
    /// that has taken.
    pub(super) fn given_to(self, trigger_type: &str, start_ms: i64) -> Option<OptionsRow> {
        let is_its = self.options_type.as_deref() == Some(trigger_type) && self.options_start == Some(start_ms);
        let beside_quartz = self.nodes_of_quartz > 0;
        self.options.filter(|_| is_its).map(|names| OptionsRow { names, beside_quartz })
    }
}

impl SqlSession<'_, '_> {
    /// Writes the options of new triggers.
    pub(super) fn insert_options(&mut self, triggers: &[TriggerRow]) -> Result<()> {
        // Another program may have deleted a trigger of the same key and left its options. Simple
        // triggers seldom have some, and they are the many that come and go.
        let old = triggers.iter().filter(|t| t.kind != "SIMPLE" || t.options.is_some());
        let old: Vec<_> = old.map(|t| t.key.clone()).collect();
        self.delete_option_rows(&trigger_keys(&old))?;
        let row = |t: &TriggerRow| {
            let names = &t.options.as_ref()?.names;
            let (trigger_type, _) = type_and_misfire(t);
            Some(StoredOptionsRow {
                trigger: t.key.clone(),
                trigger_type: trigger_type.to_owned(),
                start_ms: t.start_ms,
                names: names.clone(),
            })
        };
        let session: &mut dyn Session = self;
        session.insert_all(&triggers.iter().filter_map(row).collect::<Vec<_>>())
    }

    /// Deletes the options of triggers of these keys.
    pub(super) fn delete_option_rows(&mut self, keys: &[Vec<Value>]) -> Result<()> {
        self.delete_rows("CN_TRIGGER_OPTIONS", &BARE_KEY, keys, "").map(drop)
    }

    /// Writes other starts into the options of triggers.
    pub(super) fn update_option_starts(&mut self, starts: &[(&TriggerKey, i64)]) -> Result<()> {
        let row =
            |(key, start_ms): &(&TriggerKey, i64)| vec![key.name().into(), key.group().into(), (*start_ms).into()];
        let rows: Vec<_> = starts.iter().map(row).collect();
        self.update_rows("CN_TRIGGER_OPTIONS", &BARE_KEY, &[], &["start_time"], &rows).map(drop)
    }
}
