//! The execution strategies that the node of a store has, by the names under which jobs choose
//! them.

use crate::error::{Error, Result};
use crate::job::{EveryNode, ExecutionStrategy, JobDetail, Strategy};
use crate::store::{JobStore, NodeView};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Strategies by their names; those that spread ticks and are built in are always among them.
#[derive(Clone)]
pub(in crate::store) struct Strategies(BTreeMap<String, Arc<dyn ExecutionStrategy>>);

impl Default for Strategies {
    fn default() -> Self {
        let every: Arc<dyn ExecutionStrategy> = Arc::new(EveryNode);
        let built_in = [Strategy::Broadcast, Strategy::Sharded];
        Self(built_in.iter().map(|one| (one.name().to_owned(), Arc::clone(&every))).collect())
    }
}

impl Strategies {
    pub(in crate::store) fn get(&self, strategy: &Strategy) -> Option<&dyn ExecutionStrategy> {
        self.0.get(strategy.name()).map(|one| &**one)
    }
}

impl JobStore {
    /// The store whose node has this strategy too: it spreads the ticks of jobs that have chosen it
    /// by this name.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a name that no strategy can have, and [`Error::Refused`] for one that
    /// is taken.
    pub fn with_execution_strategy(
        mut self,
        name: impl Into<String>,
        strategy: Arc<dyn ExecutionStrategy>,
    ) -> Result<Self> {
        let name = name.into();
        Strategy::check_name(&name)?;
        let strategies = Arc::make_mut(&mut self.view.strategies);
        if strategies.0.contains_key(&name) {
            return Err(Error::Refused(format!(
                "execution strategy `{name}` is registered already: give each strategy a name of its own"
            )));
        }
        strategies.0.insert(name, strategy);
        Ok(self)
    }
}

impl NodeView {
    /// Whether this node can fan out the ticks of the job.
    pub(in crate::store) fn has_strategy_of(&self, job: &JobDetail) -> bool {
        self.strategies.get(job.policy().execution_strategy()).is_some()
    }
}
