//! The execution strategies that the node of a store has, by the names under which jobs choose
//! them.

use crate::error::{Error, Result};
use crate::hash::HashMap;
use crate::job::{EveryNode, ExecutionStrategy, Strategy};
use std::sync::Arc;

/// Strategies by their names; those that spread ticks and are built in are always among them.
#[derive(Clone)]
pub(in crate::store) struct Strategies(HashMap<String, Arc<dyn ExecutionStrategy>>);

impl Default for Strategies {
    fn default() -> Self {
        let every: Arc<dyn ExecutionStrategy> = Arc::new(EveryNode);
        let built_in = [Strategy::Broadcast, Strategy::Sharded];
        Self(built_in.iter().map(|one| (one.name().to_owned(), Arc::clone(&every))).collect())
    }
}

impl Strategies {
    /// Adds a strategy; a name that is taken is refused.
    pub(super) fn add(&mut self, name: String, strategy: Arc<dyn ExecutionStrategy>) -> Result<()> {
        if self.0.contains_key(&name) {
            return Err(Error::Refused(format!(
                "execution strategy `{name}` is registered already: give each strategy a name of its own"
            )));
        }
        self.0.insert(name, strategy);
        Ok(())
    }

    pub(in crate::store) fn get(&self, strategy: &Strategy) -> Option<&dyn ExecutionStrategy> {
        self.0.get(strategy.name()).map(|one| &**one)
    }
}
