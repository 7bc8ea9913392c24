//! The checker: searches an order of the calls of one key in which each answer is right (Wing and
//! Gong's search, without what was seen before).

use std::collections::HashSet;

/// A call of a key: of a job that is not durable, and its trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Stores job and trigger, if neither is there.
    Schedule(i32),
    /// Stores job and trigger.
    Replace(i32),
    /// Puts a trigger in the place of the one that is there.
    Reschedule(i32),
    Unschedule,
    Delete,
    Pause,
    Resume,
    /// Adds a trigger that fires now; nothing fires it here.
    TriggerNow,
    /// Reads what there is, after all others.
    Look,
}

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The number of rows that were changed or stored; none if the call was refused.
    Count(usize),
    /// The call may have taken effect, or may still.
    Unknown,
    /// The call failed without effect.
    Nothing,
    /// The trigger's version and whether it is paused; and the number of triggers that fire now.
    Seen(Option<(i32, bool)>, usize),
}

/// A call that has ended, between two moments of one clock.
#[derive(Clone, Debug)]
pub struct Ended {
    pub call: Call,
    pub answer: Answer,
    pub called: usize,
    pub answered: usize,
}

/// The rows of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct State {
    has_job: bool,
    /// The version, and whether it is paused.
    trigger: Option<(i32, bool)>,
    manual: usize,
}

impl State {
    /// The state after the call, and its answer.
    fn after(self, call: Call) -> (Self, Answer) {
        let count = |is_done: bool| Answer::Count(usize::from(is_done));
        let stored = |version| Self { has_job: true, trigger: Some((version, false)), ..self };
        let paused = |is: bool| Self { trigger: self.trigger.map(|(version, _)| (version, is)), ..self };
        match call {
            Call::Schedule(_) if self.has_job || self.trigger.is_some() => (self, count(false)),
            Call::Schedule(version) | Call::Replace(version) => (stored(version), count(true)),
            Call::Reschedule(_) | Call::Unschedule if self.trigger.is_none() => (self, count(false)),
            Call::Reschedule(version) => (stored(version), count(true)),
            Call::Unschedule => (Self { has_job: self.manual > 0, trigger: None, ..self }, count(true)),
            Call::Delete => (Self::default(), count(self.has_job)),
            Call::Pause => (paused(true), count(self.trigger.is_some_and(|(_, paused)| !paused))),
            Call::Resume => (paused(false), count(self.trigger.is_some_and(|(_, paused)| paused))),
            Call::TriggerNow if !self.has_job => (self, count(false)),
            Call::TriggerNow => (Self { manual: self.manual + 1, ..self }, count(true)),
            Call::Look => (self, Answer::Seen(self.trigger, self.manual)),
        }
    }
}

/// True if an order of the calls explains every answer. A call whose answer is unknown may have no
/// place in it.
pub fn is_linearisable(history: &[Ended]) -> bool {
    let calls: Vec<&Ended> = history.iter().filter(|one| one.answer != Answer::Nothing).collect();
    assert!(calls.len() <= 64, "a bit for each call");
    let must: u64 = bits(&calls, |one| one.answer != Answer::Unknown);
    search(&calls, must, 0, State::default(), &mut HashSet::new())
}

fn bits(calls: &[&Ended], is_one: impl Fn(&Ended) -> bool) -> u64 {
    calls.iter().enumerate().filter(|(_, one)| is_one(one)).fold(0, |bits, (at, _)| bits | 1 << at)
}

fn search(calls: &[&Ended], must: u64, done: u64, state: State, seen: &mut HashSet<(u64, State)>) -> bool {
    if done & must == must {
        return true;
    }
    if !seen.insert((done, state)) {
        return false;
    }
    let is_open = |at: usize| done & (1 << at) == 0;
    // A call after the first of these answers comes later.
    let known = calls.iter().enumerate().filter(|(at, one)| is_open(*at) && one.answer != Answer::Unknown);
    let first_answer = known.map(|(_, one)| one.answered).min().unwrap_or(usize::MAX);
    calls.iter().enumerate().filter(|(at, one)| is_open(*at) && one.called < first_answer).any(|(at, one)| {
        let (next, answer) = state.after(one.call);
        let is_right = one.answer == Answer::Unknown || one.answer == answer;
        is_right && search(calls, must, done | 1 << at, next, seen)
    })
}

#[test]
fn the_checker_tells_orders_from_disorder() {
    let ended = |call, answer, called, answered| Ended { call, answer, called, answered };
    let stored = ended(Call::Schedule(1), Answer::Count(1), 0, 3);
    let again = |count| ended(Call::Schedule(2), Answer::Count(count), 1, 2);
    assert!(is_linearisable(&[stored.clone(), again(0)]));
    assert!(!is_linearisable(&[stored.clone(), again(1)]), "both were stored");
    let look = |seen| ended(Call::Look, Answer::Seen(seen, 0), 8, 9);
    assert!(is_linearisable(&[stored.clone(), look(Some((1, false)))]));
    assert!(!is_linearisable(&[stored.clone(), look(None)]), "what was stored is gone");
    let unknown = ended(Call::Delete, Answer::Unknown, 4, 5);
    for seen in [None, Some((1, false))] {
        assert!(is_linearisable(&[stored.clone(), unknown.clone(), look(seen)]));
    }
    let failed = ended(Call::Delete, Answer::Nothing, 4, 5);
    assert!(!is_linearisable(&[stored, failed, look(None)]), "a call without effect had one");
}
