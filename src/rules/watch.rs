//! Watching a run: whether it takes too long or makes no progress, and what is due about it.

use crate::job::StuckAction;
use std::time::Duration;

/// The limits of a run. Times are of the monotonic clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Limits {
    /// The longest run time.
    pub timeout: Option<Duration>,
    /// The longest time without progress, and the action after it.
    pub stuck: Option<(Duration, StuckAction)>,
    /// The longest time without progress before the heartbeat ends.
    pub silence: Option<Duration>,
    /// The time from the first request to stop until the worker is abandoned.
    pub grace: Duration,
    /// The number of requests to stop within that time.
    pub attempts: u32,
}

/// The state of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Run {
    /// The time at which the run began.
    pub begun: Duration,
    /// The time of the last progress; the beginning if there was none. The job says what progress
    /// is: a report of an unchanged position is progress too.
    pub progress: Duration,
    /// The time of the first request to stop, for a time-out or for being stuck, and the number of
    /// requests so far.
    pub asked: Option<(Duration, u32)>,
    /// True if something was done about its being stuck since its last progress.
    pub known_stuck: bool,
    /// True if the run's silence was warned of since its last progress.
    pub known_silent: bool,
}

/// The next action on a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// Nothing before this time; never, if there is none.
    Nothing(Option<Duration>),
    /// Ask the run to stop, since it takes too long.
    TimedOut,
    /// The run is stuck.
    Stuck(StuckAction),
    /// Half the time is over after which its heartbeat ends.
    Silent,
    /// Ask the run again.
    AskAgain,
    /// The run was asked often enough: abandon its worker.
    GiveUp,
}

/// The action that is due for a run at `now`.
pub(crate) fn look(run: &Run, limits: &Limits, now: Duration) -> Due {
    if let Some((asked, times)) = run.asked {
        let end = asked.saturating_add(limits.grace);
        if now >= end {
            return Due::GiveUp;
        }
        let attempts = limits.attempts.max(1);
        let again = asked.saturating_add(limits.grace / attempts * times);
        return match times < attempts {
            true if now >= again => Due::AskAgain,
            true => Due::Nothing(Some(again.min(end))),
            false => Due::Nothing(Some(end)),
        };
    }
    let timeout = limits.timeout.map(|timeout| run.begun.saturating_add(timeout));
    if timeout.is_some_and(|at| now >= at) {
        return Due::TimedOut;
    }
    let stuck = limits.stuck.filter(|_| !run.known_stuck);
    let stuck = stuck.map(|(after, action)| (run.progress.saturating_add(after), action));
    if let Some((_, action)) = stuck.filter(|(at, _)| now >= *at) {
        return Due::Stuck(action);
    }
    let silent = limits.silence.filter(|_| !run.known_silent).map(|most| run.progress.saturating_add(most / 2));
    match silent {
        Some(at) if now >= at => Due::Silent,
        _ => Due::Nothing(stuck.map(|(at, _)| at).into_iter().chain(timeout).chain(silent).min()),
    }
}

/// True if the heartbeat of a run goes on: it is bound to the job's progress if `max_silence` says
/// so.
pub(crate) fn beats(progress: Duration, max_silence: Option<Duration>, now: Duration) -> bool {
    max_silence.is_none_or(|most| now <= progress.saturating_add(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    const LIMITS: Limits = Limits {
        timeout: Some(Duration::from_secs(30)),
        stuck: Some((Duration::from_secs(10), StuckAction::FailOver)),
        grace: Duration::from_secs(9),
        attempts: 3,
        silence: None,
    };

    #[test]
    fn silence_is_warned_of_once_at_half_its_limit() {
        let limits = Limits { silence: Some(s(10)), ..Limits::default() };
        let mut run = Run { begun: s(100), progress: s(100), ..Run::default() };
        assert_eq!(look(&run, &limits, s(104)), Due::Nothing(Some(s(105))));
        assert_eq!(look(&run, &limits, s(105)), Due::Silent);
        run.known_silent = true;
        assert_eq!(look(&run, &limits, s(1_000)), Due::Nothing(None));
        // The run reported progress, and falls silent once more.
        (run.progress, run.known_silent) = (s(200), false);
        assert_eq!(look(&run, &limits, s(205)), Due::Silent);
        assert!(beats(s(200), Some(s(10)), s(210)) && !beats(s(200), Some(s(10)), s(211)) && beats(s(0), None, s(999)));
    }

    #[test]
    fn a_run_without_limits_is_left_alone_for_ever() {
        assert_eq!(look(&Run::default(), &Limits::default(), s(1_000_000)), Due::Nothing(None));
    }

    #[test]
    fn a_run_that_takes_too_long_is_asked_and_asked_again_and_given_up() {
        let mut run = Run { begun: s(100), progress: s(100), ..Run::default() };
        let limits = Limits { stuck: None, ..LIMITS };
        assert_eq!(look(&run, &limits, s(129)), Due::Nothing(Some(s(130))));
        assert_eq!(look(&run, &limits, s(130)), Due::TimedOut);
        run.asked = Some((s(130), 1));
        assert_eq!(look(&run, &limits, s(132)), Due::Nothing(Some(s(133))));
        assert_eq!(look(&run, &limits, s(133)), Due::AskAgain);
        run.asked = Some((s(130), 2));
        assert_eq!(look(&run, &limits, s(133)), Due::Nothing(Some(s(136))));
        assert_eq!(look(&run, &limits, s(136)), Due::AskAgain);
        run.asked = Some((s(130), 3));
        assert_eq!(look(&run, &limits, s(138)), Due::Nothing(Some(s(139))));
        assert_eq!(look(&run, &limits, s(139)), Due::GiveUp);
    }

    #[test]
    fn progress_puts_stuckness_off_and_not_the_timeout() {
        let mut run = Run { begun: s(100), progress: s(100), ..Run::default() };
        assert_eq!(look(&run, &LIMITS, s(109)), Due::Nothing(Some(s(110))));
        assert_eq!(look(&run, &LIMITS, s(110)), Due::Stuck(StuckAction::FailOver));
        run.progress = s(109);
        assert_eq!(look(&run, &LIMITS, s(110)), Due::Nothing(Some(s(119))));
        run.progress = s(125);
        assert_eq!(look(&run, &LIMITS, s(126)), Due::Nothing(Some(s(130))));
        run.known_stuck = true;
        assert_eq!(look(&run, &LIMITS, s(129)), Due::Nothing(Some(s(130))), "once for each silence");
        assert_eq!(look(&run, &LIMITS, s(130)), Due::TimedOut);
    }

    #[test]
    fn without_grace_it_is_given_up_as_soon_as_it_was_asked() {
        let run = Run { asked: Some((s(1), 1)), ..Run::default() };
        assert_eq!(look(&run, &Limits { grace: Duration::ZERO, ..LIMITS }, s(1)), Due::GiveUp);
        let odd = Limits { attempts: 0, ..LIMITS };
        assert_eq!(look(&run, &odd, s(9)), Due::Nothing(Some(s(10))));
    }

    #[test]
    fn a_heartbeat_goes_on_as_long_as_it_is_not_bound_or_not_silent() {
        assert!(beats(s(1), None, s(1000)));
        assert!(beats(s(1), Some(s(10)), s(11)));
        assert!(!beats(s(1), Some(s(10)), s(12)));
    }
}
