//! `NowIn`: the time within a statement.

use crate::error::Result;
use crate::store::database::Session;
use crate::store::sql::dialect;
use crate::store::sql::session::SqlSession;
use crate::store::sql::statement::Value;

/// The time as a statement has it.
pub(super) struct NowIn {
    /// As it is selected. That of the database, where there is one, also if it does not count.
    pub(super) shown: &'static str,
    /// As it is compared with, and its value if it is the node's.
    pub(super) text: &'static str,
    pub(super) value: Vec<Value>,
    node_ms: Option<i64>,
}

impl NowIn {
    /// The time that counts: the node's if that was compared with, else the one selected.
    pub(super) fn or(&self, shown_ms: i64) -> i64 {
        self.node_ms.unwrap_or(shown_ms)
    }
}

impl SqlSession<'_, '_> {
    pub(super) fn now_in_statement(&mut self) -> Result<NowIn> {
        let of_database = dialect::now_in_statement(self.backend());
        let shown = of_database.unwrap_or("0");
        match of_database.filter(|_| !self.takes_time_of_node()) {
            Some(text) => Ok(NowIn { shown, text, value: Vec::new(), node_ms: None }),
            None => {
                let node_ms = self.now_ms()?;
                Ok(NowIn { shown, text: "?", value: vec![node_ms.into()], node_ms: Some(node_ms) })
            }
        }
    }
}
