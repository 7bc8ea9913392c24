//! Overlap: what becomes of a due trigger whose earlier fire still runs.

use crate::trigger::Overlap;

/// What becomes of a fire that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// It begins.
    Fires,
    /// It is left out.
    IsSkipped,
    /// It waits for the end of the runs before it, which may be asked to stop.
    Waits {
        /// Whether they are.
        cancels: bool,
    },
}

/// The turn of a due trigger of which a fire runs, or none.
pub(crate) fn turn(overlap: Overlap, runs: bool) -> Turn {
    match overlap {
        _ if !runs => Turn::Fires,
        Overlap::AllowAll => Turn::Fires,
        Overlap::Skip => Turn::IsSkipped,
        Overlap::BufferOne => Turn::Waits { cancels: false },
        Overlap::CancelPrevious => Turn::Waits { cancels: true },
    }
}

/// Whether a fire of it may wait for the runs before it.
pub(crate) fn may_wait(overlap: Overlap) -> bool {
    matches!(turn(overlap, true), Turn::Waits { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_run_everything_fires() {
        assert!(Overlap::ALL.into_iter().all(|overlap| turn(overlap, false) == Turn::Fires));
    }

    #[test]
    fn beside_a_run_the_policy_decides() {
        let turns = Overlap::ALL.map(|overlap| turn(overlap, true));
        let waits = |cancels| Turn::Waits { cancels };
        assert_eq!(turns, [Turn::Fires, Turn::IsSkipped, waits(false), waits(true)]);
        assert_eq!(Overlap::ALL.map(may_wait), [false, false, true, true]);
    }
}
