//! Continuation: which children follow the end of a run.

use crate::job::{FireOutcome, On};

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
    fn a_run_that_began_before_is_not_followed() {
        assert!(is_for(7, Some(8)) && is_for(7, None));
        assert!(!is_for(7, Some(6)));
    }
}
