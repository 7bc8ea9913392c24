//! Overlap: what becomes of a due trigger whose earlier fire still runs.

use crate::trigger::Overlap;

/// The decision about a fire that is due while another runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OverlapDecision {
    /// The fire begins.
    Fires,
    /// The fire is left out.
    IsSkipped,
    /// The fire waits for the end of the runs before it, which may be asked to stop.
    Waits {
        /// True if the runs before it are asked to stop.
        cancels: bool,
    },
}

/// The decision for a due trigger of which a fire runs, or none.
pub(crate) fn decide(overlap: Overlap, runs: bool) -> OverlapDecision {
    match overlap {
        _ if !runs => OverlapDecision::Fires,
        Overlap::AllowAll => OverlapDecision::Fires,
        Overlap::Skip => OverlapDecision::IsSkipped,
        Overlap::BufferOne => OverlapDecision::Waits { cancels: false },
        Overlap::CancelPrevious => OverlapDecision::Waits { cancels: true },
    }
}

/// True if a fire of it may wait for the runs before it.
pub(crate) fn may_wait(overlap: Overlap) -> bool {
    matches!(decide(overlap, true), OverlapDecision::Waits { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_run_everything_fires() {
        assert!(Overlap::ALL.into_iter().all(|overlap| decide(overlap, false) == OverlapDecision::Fires));
    }

    #[test]
    fn beside_a_run_the_policy_decides() {
        let decisions = Overlap::ALL.map(|overlap| decide(overlap, true));
        let waits = |cancels| OverlapDecision::Waits { cancels };
        assert_eq!(decisions, [OverlapDecision::Fires, OverlapDecision::IsSkipped, waits(false), waits(true)]);
        assert_eq!(Overlap::ALL.map(may_wait), [false, false, true, true]);
    }
}
