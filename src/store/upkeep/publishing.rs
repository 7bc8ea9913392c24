//! Publishing: a node publishes the job types that it can run, with their policies, when it
//! registers.

use crate::error::Result;
use crate::node::NodeRole;
use crate::store::row::{JobTypeRow, OrphanRow, TypePolicyRow};
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
            (_, rows) => {
                s.put_job_types(instance, rows)?;
                // A look for orphans may come only when this node has gone again.
                let types: Vec<String> = rows.iter().map(|row| row.job_type.clone()).collect();
                s.rows::<OrphanRow>().any_of(&["job_type"], &types).delete()?;
            }
        }
        if generation > 0 && !observes {
            self.publish_policies(s)?;
        }
        Ok(generation)
    }

    /// The node that said something of a type last is believed: it is the one of the latest version
    /// in a rolling upgrade. Policies of types that no node has stay for those that recover.
    fn publish_policies(&self, s: &mut dyn Session) -> Result<()> {
        let (types, rows) = self.node.types.read().policy_rows()?;
        let known = s.rows::<TypePolicyRow>().list()?;
        let is_other = |row: &TypePolicyRow| types.contains(&row.job_type) && !rows.contains(row);
        let others: Vec<String> = known.iter().filter(|row| is_other(row)).map(|row| row.job_type.clone()).collect();
        s.rows::<TypePolicyRow>().any_of(&["job_type"], &others).delete()?;
        let new: Vec<TypePolicyRow> = rows.into_iter().filter(|row| !known.contains(row)).collect();
        s.insert_all(&new)
    }

    /// Publishes the types again after a change; none if the node is not registered any more.
    ///
    /// No retries: the next check-in tries again, and comes when this is over.
    pub(super) fn publish_types(&self, owner: &Owner) -> Result<Option<u64>> {
        self.store.once("publish job types", TxMode::Exclusive(Lock::StateAccess), |s| {
            match s.draw_fences(Some(owner), 0)? {
                Some(_) => self.publish_types_in(s, &owner.instance).map(Some),
                None => Ok(None),
            }
        })
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
