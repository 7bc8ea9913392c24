//! `Strategy`: which execution strategy a job has chosen, by its name.

use crate::error::{Error, Result};
use crate::words::display;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// The longest name of a strategy, in characters.
const MAX_NAME_CHARS: usize = 60;

/// The choice of nodes for each time at which a trigger of a job fires: its ticks.
///
/// ```
/// use carnelian::{JobDetail, JobKey, JobPolicy};
/// use carnelian::placement::Strategy;
///
/// let policy = JobPolicy::new().strategy(Strategy::Broadcast);
/// let job = JobDetail::builder(JobKey::named("drop_caches"), "drop_caches").policy(policy).build()?;
/// assert_eq!(job.policy().execution_strategy(), &Strategy::Broadcast);
/// assert_eq!(Strategy::from("one-per-zone"), Strategy::Named("one-per-zone".to_owned()));
/// # Ok::<(), carnelian::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
#[non_exhaustive]
pub enum Strategy {
    /// One node, whichever takes the tick first: the behaviour of Quartz.
    #[default]
    Preempt,
    /// Every node that may run the job, each once. A run belongs to its node: if that dies, it is
    /// lost.
    Broadcast,
    /// Every node that may run the job, each a share of the work
    /// ([`JobContext::shard`](crate::JobContext::shard)). The share of a node that dies is given to
    /// another if the job requests recovery.
    Sharded,
    /// The nodes that an execution strategy of the user chooses
    /// ([`SchedulerBuilder::execution_strategy`](crate::SchedulerBuilder::execution_strategy)). The
    /// part of a node that dies is given to another if the job requests recovery. Nodes without the
    /// strategy leave its ticks alone.
    Named(String),
}

impl Strategy {
    /// The strategies that every node has.
    pub const BUILT_IN: [Self; 3] = [Strategy::Preempt, Strategy::Broadcast, Strategy::Sharded];

    /// The word of the command line, and the name under which it is registered.
    pub fn name(&self) -> &str {
        match self {
            Strategy::Preempt => "preempt",
            Strategy::Broadcast => "broadcast",
            Strategy::Sharded => "sharded",
            Strategy::Named(name) => name,
        }
    }

    /// True if parts that their node cannot do any more are another's, or lost; they are dropped
    /// otherwise.
    pub(crate) fn has_shares(&self) -> bool {
        matches!(self, Strategy::Sharded | Strategy::Named(_))
    }

    /// True if the strategy is one of the user's.
    pub(crate) fn is_named(&self) -> bool {
        matches!(self, Strategy::Named(_))
    }

    /// Checks that a strategy of the user's can have the name.
    pub(crate) fn check_name(name: &str) -> Result<()> {
        let refuse = |expected: &str| Err(Error::invalid("strategy", name, expected));
        if Self::BUILT_IN.iter().any(|one| one.name() == name) {
            return refuse(
                "expected another name: that is one of the built-in strategies preempt, broadcast and sharded",
            );
        }
        let is_good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic());
        match starts_well && name.len() <= MAX_NAME_CHARS && name.chars().all(is_good) {
            true => Ok(()),
            false => {
                refuse("expected a letter of A to Z, then such letters, digits, `-`, `_` or `.`; at most 60 in all")
            }
        }
    }
}

impl From<&str> for Strategy {
    fn from(name: &str) -> Self {
        let built_in = Self::BUILT_IN.into_iter().find(|strategy| strategy.name() == name);
        built_in.unwrap_or_else(|| Strategy::Named(name.to_owned()))
    }
}

impl From<String> for Strategy {
    fn from(name: String) -> Self {
        Self::from(name.as_str())
    }
}

impl From<Strategy> for String {
    fn from(strategy: Strategy) -> Self {
        strategy.name().to_owned()
    }
}

impl FromStr for Strategy {
    type Err = Error;

    /// The strategy of this name.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a name that no strategy can have.
    fn from_str(name: &str) -> Result<Self> {
        let strategy = Self::from(name);
        if strategy.is_named() {
            Self::check_name(name)?;
        }
        Ok(strategy)
    }
}

display! { Strategy => |strategy| strategy.name() }

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::job::JobPolicy;

    /// LT-13.
    #[test]
    fn a_strategy_is_stored_by_its_name() {
        for (name, strategy) in [
            ("preempt", Strategy::Preempt),
            ("broadcast", Strategy::Broadcast),
            ("sharded", Strategy::Sharded),
            ("one-per.zone_2", Strategy::Named("one-per.zone_2".to_owned())),
        ] {
            assert_eq!(name.parse::<Strategy>().unwrap(), strategy);
            let text = serde_json::to_string(&strategy).unwrap();
            assert_eq!(text, format!("\"{name}\""));
            assert_eq!(serde_json::from_str::<Strategy>(&text).unwrap(), strategy);
        }
    }

    #[test]
    fn names_that_no_strategy_can_have_are_refused() {
        for name in ["", "1st", "a b", "zoné", "a\"", &"a".repeat(61)] {
            let error = name.parse::<Strategy>().unwrap_err().to_string();
            assert!(error.contains("strategy"), "{error}");
        }
        for strategy in [Strategy::Named("sharded".to_owned()), Strategy::Named(" ".to_owned())] {
            assert!(strategy.check(&JobPolicy::new(), false, false).is_err(), "{strategy}");
        }
    }

    /// Parts of a tick may run alone, or one after the other.
    #[test]
    fn a_job_that_runs_alone_may_have_a_strategy_of_the_users() {
        let check = |strategy: Strategy| strategy.check(&JobPolicy::new(), true, true);
        assert!(check(Strategy::from("least-loaded")).is_ok());
        assert!(check(Strategy::Sharded).is_err());
    }
}
