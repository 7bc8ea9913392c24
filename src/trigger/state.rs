//! `TriggerState`: every state a trigger can be in, and every legal transition, in one table.

use std::fmt;

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
    /// waits for a run of its own to end, by its [`Overlap`](crate::Overlap).
    Blocked,
    /// Paused.
    Paused,
    /// Paused while blocked.
    PausedBlocked,
    /// No fire time is left; it stays until its last fire has ended.
    Complete,
    /// A completion instruction set it aside; it waits for a person.
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
    /// Somebody resumes it; a blocked one goes on being blocked.
    Resume,
    /// A completion instruction declares it complete.
    Complete,
    /// A completion instruction puts it in error.
    Fail,
    /// A person resets it from the error state.
    Reset,
}

impl TriggerState {
    /// Every state.
    pub const ALL: [TriggerState; 7] = [Waiting, Acquired, Blocked, Paused, PausedBlocked, Complete, Error];

    /// The text in `TRIGGER_STATE`.
    pub fn name(self) -> &'static str {
        match self {
            Waiting => "WAITING",
            Acquired => "ACQUIRED",
            Blocked => "BLOCKED",
            Paused => "PAUSED",
            PausedBlocked => "PAUSED_BLOCKED",
            Complete => "COMPLETE",
            Error => "ERROR",
        }
    }

    /// The state of this text.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.name() == name)
    }

    /// The state after `transition`, or none if it does not apply: the one table of legal
    /// transitions.
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

    /// From which states to which it leads. Every update of `TRIGGER_STATE` names the states it
    /// leaves from here.
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

impl fmt::Display for TriggerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
