//! `TriggerState`: every state a trigger can be in, and the transitions by events.

use crate::words::words;

/// The state of a trigger, spelled in `TRIGGER_STATE` as Quartz spells it.
///
/// `EXECUTING` is the state of a fire, not of a trigger: while its job runs, a trigger is already
/// waiting for its next time (or blocked, or complete).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TriggerState {
    /// May be acquired when due.
    Waiting,
    /// Reserved by one node, which will fire it at its time.
    Acquired,
    /// The job disallows concurrent execution and is running somewhere; or the trigger is due and
    /// waits for a run of its own to end, by its [`Overlap`](crate::Overlap); or its fixed delay
    /// begins when a run of its own ends.
    Blocked,
    /// Paused.
    Paused,
    /// Paused while blocked.
    PausedBlocked,
    /// No fire time is left; the row stays until the last fire has ended.
    Complete,
    /// The trigger is set aside until a person resets it: by a completion instruction, a handler of
    /// dead fires or a node of Quartz, or because its work is parked.
    Error,
}

use TriggerState::*;

/// An event that moves triggers from state to state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transition {
    /// A node reserves a due trigger.
    Acquire,
    /// The reservation is given back, by its owner or by the recovery of its owner.
    Release,
    /// A fire of the job begins and the job disallows concurrent execution: its triggers are held
    /// back.
    Block,
    /// The blocking fire has ended, or its node was failed: its triggers are let go.
    Unblock,
    /// Somebody pauses the trigger, its group, its job or all.
    Pause,
    /// Somebody resumes the trigger; a blocked trigger goes on being blocked.
    Resume,
    /// A completion instruction declares the trigger complete.
    Complete,
    /// A completion instruction puts the trigger in error.
    Fail,
    /// A person resets the trigger from the error state.
    Reset,
}

words! {
    /// The text in `TRIGGER_STATE`.
    TriggerState {
        Waiting = "WAITING",
        Acquired = "ACQUIRED",
        Blocked = "BLOCKED",
        Paused = "PAUSED",
        PausedBlocked = "PAUSED_BLOCKED",
        Complete = "COMPLETE",
        Error = "ERROR",
    }
}

impl TriggerState {
    /// The state after `transition`, or none if the transition does not start from this state.
    pub fn after(self, transition: Transition) -> Option<TriggerState> {
        transition.moves().iter().find(|(from, _)| *from == self).map(|(_, to)| *to)
    }
}

impl Transition {
    /// Every transition.
    pub const ALL: [Transition; 9] = [
        Transition::Acquire,
        Transition::Release,
        Transition::Block,
        Transition::Unblock,
        Transition::Pause,
        Transition::Resume,
        Transition::Complete,
        Transition::Fail,
        Transition::Reset,
    ];

    /// The states from which the event leads, each with the state after it. Fires, and triggers
    /// that are stored or replaced, get a new state by other rules.
    pub fn moves(self) -> &'static [(TriggerState, TriggerState)] {
        match self {
            Transition::Acquire => &[(Waiting, Acquired)],
            Transition::Release => &[(Acquired, Waiting)],
            Transition::Block => &[(Waiting, Blocked), (Acquired, Blocked), (Paused, PausedBlocked)],
            Transition::Unblock => &[(Blocked, Waiting), (PausedBlocked, Paused)],
            Transition::Pause => &[(Waiting, Paused), (Acquired, Paused), (Blocked, PausedBlocked)],
            Transition::Resume => &[(Paused, Waiting), (PausedBlocked, Blocked)],
            Transition::Complete => &[
                (Waiting, TriggerState::Complete),
                (Acquired, TriggerState::Complete),
                (Blocked, TriggerState::Complete),
                (Paused, TriggerState::Complete),
                (PausedBlocked, TriggerState::Complete),
                (Error, TriggerState::Complete),
            ],
            Transition::Fail => &[
                (Waiting, Error),
                (Acquired, Error),
                (Blocked, Error),
                (Paused, Error),
                (PausedBlocked, Error),
                (TriggerState::Complete, Error),
            ],
            Transition::Reset => &[(Error, Waiting)],
        }
    }
}
