//! Checkpoints of a running job: how far its work has come, for the run that goes on with it.

use super::context::JobContext;
use crate::error::{Error, Result};
use crate::store::row::CheckpointRow;
use serde::{Serialize, de::DeserializeOwned};

impl JobContext {
    /// Keeps how far the work has come, in the place of what was kept before, for whoever goes on
    /// with it: this fire when it is run again at once, or the node that recovers it.
    ///
    /// Written in a transaction of its own, as JSON, at most
    /// [`MAX_CHECKPOINT_BYTES`](crate::recovery::MAX_CHECKPOINT_BYTES). The checkpoint goes when
    /// the work ends. Work after a checkpoint and before the next may be done again.
    ///
    /// ```
    /// use carnelian::{JobContext, JobError};
    ///
    /// fn copy(ctx: &mut JobContext) -> Result<(), JobError> {
    ///     let begin = ctx.resume::<u64>()?.unwrap_or(0);
    ///     for row in begin..1_000 {
    ///         // … copy the row …
    ///         if row % 100 == 99 {
    ///             ctx.checkpoint(&(row + 1))?;
    ///         }
    ///     }
    ///     Ok(())
    /// }
    /// # let _ = carnelian::Scheduler::builder().job_fn("copy", copy);
    /// ```
    ///
    /// # Errors
    /// [`Error::Fenced`] if the fire belongs to another node by now: the job is to stop.
    /// [`Error::Invalid`] for a value that is no JSON or too long, and what can go wrong with the
    /// store.
    pub fn checkpoint<T: Serialize + ?Sized>(&mut self, progress: &T) -> Result<()> {
        let data = serde_json::to_vec(progress)
            .map_err(|why| Error::invalid("checkpoint", std::any::type_name::<T>(), format!("expected JSON: {why}")))?;
        if self.checkpoint_version.is_none() {
            self.read_checkpoint()?;
        }
        let version = self.checkpoint_version.unwrap_or(0) + 1;
        let row = CheckpointRow { root_fire_id: self.work_id().to_owned(), version, fence: self.fence(), data };
        self.node.store.firing().write_checkpoint(self.fire_id(), &row)?;
        self.handle.set_progress(None, self.node.clock.ticks());
        self.checkpoint_version = Some(version);
        Ok(())
    }

    /// The last checkpoint of the work when it was interrupted; none if it begins, or left no
    /// checkpoint.
    ///
    /// # Errors
    /// [`Error::Unreadable`] if what was kept is no `T`, as after a change of the program; what can
    /// go wrong with the store.
    pub fn resume<T: DeserializeOwned>(&mut self) -> Result<Option<T>> {
        let Some(row) = self.read_checkpoint()? else { return Ok(None) };
        serde_json::from_slice(&row.data).map(Some).map_err(|why| {
            let reason = format!("version {} is no {}: {why}", row.version, std::any::type_name::<T>());
            Error::unreadable("CN_CHECKPOINTS", row.root_fire_id, reason)
        })
    }

    /// The number of checkpoints that the work has left so far, in this fire and those before it; 0
    /// until one is read or written.
    pub fn checkpoint_version(&self) -> i64 {
        self.checkpoint_version.unwrap_or(0)
    }

    fn read_checkpoint(&mut self) -> Result<Option<CheckpointRow>> {
        let row = self.node.store.firing().read_checkpoint(self.work_id())?;
        self.checkpoint_version = Some(row.as_ref().map_or(0, |row| row.version));
        Ok(row)
    }
}
