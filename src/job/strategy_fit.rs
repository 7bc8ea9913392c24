//! The fit of an execution strategy with the rest of a job's policy.

use super::actions::OnDead;
use super::policy::JobPolicy;
use super::strategy::Strategy;
use crate::error::{Error, Result};

impl Strategy {
    /// Checks that a job with this policy, that requests recovery and is not concurrent or
    /// otherwise, can be run so.
    pub(super) fn check(&self, policy: &JobPolicy, requests_recovery: bool, nonconcurrent: bool) -> Result<()> {
        let refuse = |expected: &str| Err(Error::invalid("strategy", self.name(), expected));
        if *self == Strategy::Preempt {
            return Ok(());
        }
        if let Strategy::Named(name) = self {
            Self::check_name(name)?;
        } else if nonconcurrent {
            return refuse("expected a job that may run concurrently: each tick runs on several nodes at once");
        }
        if policy.placed().is_some_and(|placement| placement.preferred().is_some()) {
            return refuse("expected no preferred node: the strategy says on which nodes each tick runs");
        }
        if self.has_shares() {
            return match policy.on_dead_policy() {
                Some(OnDead::Revive) => {
                    refuse("expected another `on dead` than revive: a share is given to another node")
                }
                _ => Ok(()),
            };
        }
        if requests_recovery {
            return refuse("expected a job that does not request recovery: a run belongs to its node; see sharded");
        }
        Ok(())
    }
}
