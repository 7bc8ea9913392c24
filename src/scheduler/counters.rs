//! `Counters`: what a node counts from when it was built.

use crate::job::FireOutcome;
use crate::meter::Counter;

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// The counters of this node, from when it was built.
        #[derive(Debug, Default)]
        pub(crate) struct Counters {
            $(pub(crate) $name: Counter,)*
        }

        /// The values of the node's counters, from when it was built.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct CounterValues {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl Counters {
            pub(crate) fn values(&self) -> CounterValues {
                CounterValues { $($name: self.$name.value(),)* }
            }
        }
    };
}

counters! {
    /// Runs that have begun, each try of one that was fired again at once for itself.
    begun,
    /// Runs that ended well.
    succeeded,
    /// Runs that ended with an error or a panic.
    failed,
    /// Runs that ended because somebody asked them to.
    cancelled,
    /// Runs that ended because they took too long, or made no progress.
    timed_out,
    /// Runs that ended because the node did.
    interrupted,
    /// Fires that a trigger listener refused.
    vetoed,
    /// Fires that were lost before their job had ended.
    lost,
    /// Completions refused since the fire belonged to another node by then.
    fenced_writes,
    /// Running fires that were lost since this node was declared dead.
    failed_out,
    /// Nodes this node declared dead.
    convictions,
    /// Acquired triggers of failed nodes that were given back.
    recoveries_freed,
    /// Recovery triggers made for fires of failed nodes.
    recoveries_recovered,
    /// Triggers made due again for fires of failed nodes.
    recoveries_revived,
    /// Interrupted fires of failed nodes whose job asks for no recovery.
    recoveries_lost,
    /// Work that was set aside instead of being taken over.
    recoveries_parked,
    /// Interrupted fires of failed nodes whose job was deleted: there is nothing to do again.
    recoveries_gone,
    /// Runs that had died with their nodes or fallen silent, and that this node cleared away.
    dead_executions,
    /// Triggers whose misfire instruction was applied.
    misfires,
    /// Due triggers that another node was faster to take, where they are looked for without the
    /// lock; and reservations that went before this node fired them: to others, or since a run of
    /// their job began.
    overtaken,
    /// Times of triggers that were left out by their policies: the overlap, the catch-up window.
    skipped,
    /// Triggers that were paused since a run of theirs failed.
    paused_on_failure,
    /// Check-ins that failed.
    checkin_failures,
    /// Times that a run was found to be stuck.
    stuck,
    /// Triggers and jobs that an audit set right.
    mended,
    /// Fires that were forgotten by the clean-up of the history.
    forgotten_history,
    /// Requests that were forgotten by the clean-up.
    forgotten_requests,
    /// Alarms for jobs that no living node can run: one for each before it is due, and one with
    /// each audit.
    orphaned_jobs,
    /// Alarms raised.
    alarms,
}

/// The number that counts the fires with an outcome; none for a fire that has not ended.
macro_rules! of_outcome {
    ($numbers:ident, $outcome:ident) => {
        match $outcome {
            FireOutcome::Succeeded => Some(&$numbers.succeeded),
            FireOutcome::Failed => Some(&$numbers.failed),
            FireOutcome::Cancelled => Some(&$numbers.cancelled),
            FireOutcome::TimedOut => Some(&$numbers.timed_out),
            FireOutcome::Interrupted => Some(&$numbers.interrupted),
            FireOutcome::Vetoed => Some(&$numbers.vetoed),
            FireOutcome::Lost => Some(&$numbers.lost),
            FireOutcome::Misfired => Some(&$numbers.misfires),
            FireOutcome::Running => None,
        }
    };
}

impl Counters {
    /// Counts a fire that has ended.
    pub(crate) fn count(&self, outcome: FireOutcome) {
        if let Some(counter) = of_outcome!(self, outcome) {
            counter.add(1);
        }
    }
}

impl CounterValues {
    /// The number of fires of this node that ended so.
    pub fn of(&self, outcome: FireOutcome) -> u64 {
        of_outcome!(self, outcome).copied().unwrap_or_default()
    }
}
