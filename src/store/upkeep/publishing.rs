//! Publishing: a node publishes the job types that it can run with its registration.

use crate::error::Result;
use crate::node::NodeRole;
use crate::store::row::JobTypeRow;
use crate::store::{Lock, Owner, Session, TxMode, Upkeep};

impl Upkeep<'_> {
    /// Publishes the node's types within its registration; returns their generation.
    pub(super) fn publish_types_in(&self, s: &mut dyn Session, instance: &str) -> Result<u64> {
        let (mut rows, generation) = self.node.types.read().rows(instance);
        let observes = self.node.identity(instance).role == NodeRole::Observer;
        if observes {
            rows.clear(); // an observer runs nothing
        }
        match (generation, rows.as_slice()) {
            (0, _) if !observes => {}
            // An empty list is published too: silence would mean any type.
            (_, []) => s.put_job_types(instance, &[nothing(instance)])?,
            (_, rows) => s.put_job_types(instance, rows)?,
        }
        Ok(generation)
    }

    /// Publishes the types again after a change; none if the node is not registered any more.
    pub(super) fn publish_types(&self, owner: &Owner) -> Result<Option<u64>> {
        self.store.retrying(
            "publish job types",
            TxMode::Exclusive(Lock::StateAccess),
            |s| match s.draw_fences(Some(owner), 0)? {
                Some(_) => self.publish_types_in(s, &owner.instance).map(Some),
                None => Ok(None),
            },
            &mut |_, _| Ok(false), // a second publication does no harm
        )
    }
}

fn nothing(instance: &str) -> JobTypeRow {
    JobTypeRow {
        instance: instance.to_owned(),
        ordinal: 0,
        job_type: String::new(),
        version: 1,
        alias_of: None,
        deprecated: None,
    }
}
