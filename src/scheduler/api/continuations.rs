//! Continuations through the scheduler: a job follows the runs of another, and sees which.

use super::handle::Scheduler;
use crate::error::Result;
use crate::job::{Continuation, Parent};
use crate::key::JobKey;
use crate::scheduler::run::context::JobContext;

impl Scheduler {
    /// Lets a job follow another, from the parent's next fire on: the child runs once for each run
    /// of the parent that ends as the [`Continuation`] says, on any node. The continuation is
    /// stored, and released in the transaction that ends the parent's run.
    ///
    /// Between the same two jobs it takes the place of what was stored before; to say the same
    /// again, as at each start of a program, changes nothing.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound) without one of the jobs;
    /// [`Error::Refused`](crate::Error::Refused) if the child is not durable, or the jobs would
    /// follow each other in a circle; what can go wrong with the store.
    #[doc(alias = "addJobChainLink")]
    pub fn follow(&self, continuation: &Continuation) -> Result<()> {
        self.open_store()?.catalogue().follow(continuation)
    }

    /// Lets a job follow another no longer; false if it did not.
    ///
    /// # Errors
    /// What can go wrong with the store.
    pub fn unfollow(&self, parent: &JobKey, child: &JobKey) -> Result<bool> {
        self.open_store()?.catalogue().unfollow(parent, child)
    }

    /// The jobs that follow a job, in order of their keys.
    ///
    /// # Errors
    /// What can go wrong with the store.
    pub fn children_of(&self, parent: &JobKey) -> Result<Vec<Continuation>> {
        self.open_store()?.catalogue().children_of(parent)
    }

    /// The jobs that a job follows, in order of their keys.
    ///
    /// # Errors
    /// What can go wrong with the store.
    pub fn parents_of(&self, child: &JobKey) -> Result<Vec<Continuation>> {
        self.open_store()?.catalogue().parents_of(child)
    }
}

impl JobContext {
    /// The run that this one follows, if it runs because its job [follows](crate::Continuation)
    /// another. A retry or a recovery of such a run follows the same run.
    ///
    /// The parent is read from the trigger's data, under the keys of [`Parent`]. The data that the
    /// continuation passes on is there too, as [`JobContext::data`].
    pub fn parent(&self) -> Option<Parent> {
        Parent::of(self.trigger().data())
    }
}
