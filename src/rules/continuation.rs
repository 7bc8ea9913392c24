//! Continuation: which children follow the end of a run, or of all parts of a tick.

use crate::error::Result;
use crate::job::{FireOutcome, On};

/// The end of the word of a continuation that is for whole ticks.
const OF_TICK: &str = "/tick";

/// The word of the table: after which ends a child runs, and whether of whole ticks.
pub(crate) fn word(on: On, per_tick: bool) -> String {
    format!("{on}{}", if per_tick { OF_TICK } else { "" })
}

/// Reads a word of the table.
///
/// # Errors
/// An outcome that this version does not know.
pub(crate) fn read(word: &str) -> Result<(On, bool)> {
    let (on, per_tick) = word.strip_suffix(OF_TICK).map_or((word, false), |on| (on, true));
    Ok((on.parse()?, per_tick))
}

/// The place of the part of a tick whose outcome is that of the tick, among all its parts; none if
/// there are none. The tick has failed if a part has, and has succeeded if all have that ran.
pub(crate) fn deciding(parts: &[FireOutcome]) -> Option<usize> {
    let rank = |outcome: &FireOutcome| match outcome {
        FireOutcome::Failed | FireOutcome::TimedOut | FireOutcome::Lost | FireOutcome::Interrupted => 3,
        FireOutcome::Cancelled => 2,
        FireOutcome::Succeeded => 1,
        FireOutcome::Vetoed | FireOutcome::Misfired | FireOutcome::Running => 0,
    };
    (0..parts.len()).max_by_key(|place| parts.get(*place).map(rank))
}

/// True if a child that follows `on` this runs after a run whose work is over, with this outcome.
///
/// A fire that never ran is not followed. A run that somebody cancelled has neither done its work
/// nor failed at it.
pub(crate) fn follows(on: On, outcome: FireOutcome) -> bool {
    match outcome {
        FireOutcome::Succeeded => on != On::Failure,
        FireOutcome::Failed | FireOutcome::TimedOut | FireOutcome::Lost | FireOutcome::Interrupted => on != On::Success,
        FireOutcome::Cancelled => on == On::Any,
        FireOutcome::Vetoed | FireOutcome::Misfired | FireOutcome::Running => false,
    }
}

/// True if a run is one of those that a continuation is for: it began after that was stored. Fences
/// grow with each fire, and one is drawn for each continuation; a fire of a node of Quartz has
/// none.
pub(crate) fn is_for(since_fence: i64, fence: Option<i64>) -> bool {
    fence.is_none_or(|fence| fence > since_fence)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// LT-12: every outcome with every condition.
    #[test]
    fn what_follows_on_what() {
        let followed = |on: On| -> Vec<&str> {
            FireOutcome::ALL.into_iter().filter(|outcome| follows(on, *outcome)).map(FireOutcome::name).collect()
        };
        assert_eq!(followed(On::Success), ["succeeded"]);
        assert_eq!(followed(On::Failure), ["failed", "timed_out", "interrupted", "lost"]);
        assert_eq!(followed(On::Any), ["succeeded", "failed", "cancelled", "timed_out", "interrupted", "lost"]);
    }

    #[test]
    fn what_is_written_of_ticks_is_read_again() {
        for on in On::ALL {
            for per_tick in [false, true] {
                assert_eq!(read(&word(on, per_tick)).unwrap(), (on, per_tick));
            }
        }
        assert!(read("success/week").is_err());
    }

    #[test]
    fn one_part_that_failed_fails_the_tick() {
        use FireOutcome::{Cancelled, Lost, Succeeded, Vetoed};
        let decides = |parts: &[FireOutcome]| deciding(parts).and_then(|place| parts.get(place).copied());
        assert_eq!(decides(&[Succeeded, Lost, Cancelled]), Some(Lost));
        assert_eq!(decides(&[Vetoed, Succeeded]), Some(Succeeded));
        assert_eq!(decides(&[Cancelled, Succeeded]), Some(Cancelled));
        assert_eq!(decides(&[]), None);
    }

    #[test]
    fn a_run_that_began_before_is_not_followed() {
        assert!(is_for(7, Some(8)) && is_for(7, None));
        assert!(!is_for(7, Some(6)));
    }
}
