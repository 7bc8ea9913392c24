//! Parts of spread ticks among the `TRIGGERS`.

use crate::error::Result;
use crate::key::{BROADCAST_GROUP, TriggerKey};
use crate::store::database::PartRows;
use crate::store::sql::by_place::by_place;
use crate::store::sql::session::SqlSession;
use diesel::sql_types::Text;

by_place! {
    struct Name {
        trigger_name: String as Text,
    }
}

impl PartRows for SqlSession<'_, '_> {
    fn parts(&mut self, prefix: &str) -> Result<Vec<TriggerKey>> {
        let text = "SELECT trigger_name AS trigger_name FROM {p}TRIGGERS WHERE sched_name = ? AND trigger_group = ? \
             AND trigger_name LIKE ? ORDER BY trigger_name";
        let values = [self.name(), BROADCAST_GROUP.into(), (&format!("{prefix}%")).into()];
        let rows: Vec<Name> = self.load(text, &values)?;
        Ok(rows.into_iter().map(|row| TriggerKey::new(BROADCAST_GROUP, row.trigger_name)).collect())
    }
}
