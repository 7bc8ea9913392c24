//! `GroupCommit`: the queue of the threads that store a trigger at the same time, and its leader.

use crate::error::Result;
use crate::signal::Signal;
use crate::trigger::Trigger;
use parking_lot::Mutex;
use std::sync::Arc;

/// The most callers of one transaction.
const MOST: usize = 128;

/// The queue of the callers of one store.
#[derive(Debug, Default)]
pub(in crate::store) struct GroupCommit(Mutex<Queue>);

#[derive(Debug, Default)]
struct Queue {
    waiting: Vec<Arc<Caller>>,
    /// A caller leads: the leader stores now, and names the next leader at its end.
    is_led: bool,
}

/// One call of `add_trigger`.
#[derive(Debug)]
pub(super) struct Caller {
    pub(super) trigger: Trigger,
    pub(super) even_if_deprecated: bool,
    answer: Mutex<Option<Answer>>,
    answered: Signal,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "it is moved once, from the thread that stores to the one that asked")]
pub(super) enum Answer {
    /// The trigger is stored, or refused.
    Done(Result<Trigger>),
    /// The caller has to store its trigger alone.
    Alone,
    /// The caller has to store for all that wait.
    Lead,
}

impl Caller {
    pub(super) fn new(trigger: Trigger, even_if_deprecated: bool) -> Self {
        Self { trigger, even_if_deprecated, answer: Mutex::default(), answered: Signal::default() }
    }

    pub(super) fn tell(&self, answer: Answer) {
        *self.answer.lock() = Some(answer);
        self.answered.raise();
    }

    pub(super) fn wait(&self) -> Answer {
        loop {
            if let Some(answer) = self.answer.lock().take() {
                return answer;
            }
            self.answered.wait(None);
        }
    }
}

/// The leadership of one caller, which stores for a group. The end of the leadership, also by a
/// panic, names the next leader.
pub(super) struct Leader<'a> {
    queue: &'a GroupCommit,
    pub(super) group: Vec<Arc<Caller>>,
}

impl<'a> Leader<'a> {
    /// Enqueues a caller, and makes it the leader unless there is one, which will answer.
    pub(super) fn enter(commit: &'a GroupCommit, caller: &Arc<Caller>) -> Option<Self> {
        let mut queue = commit.0.lock();
        queue.waiting.push(Arc::clone(caller));
        if queue.is_led {
            return None;
        }
        queue.is_led = true;
        drop(queue);
        Some(Self::take(commit))
    }

    /// Takes the callers that have waited longest; the leader is among them.
    pub(super) fn take(commit: &'a GroupCommit) -> Self {
        let mut queue = commit.0.lock();
        let count = queue.waiting.len().min(MOST);
        Self { queue: commit, group: queue.waiting.drain(..count).collect() }
    }
}

impl Drop for Leader<'_> {
    fn drop(&mut self) {
        // Callers without an answer are left after a panic only.
        for caller in self.group.drain(..) {
            caller.tell(Answer::Alone);
        }
        let mut queue = self.queue.0.lock();
        queue.is_led = !queue.waiting.is_empty();
        if let Some(next) = queue.waiting.first() {
            next.tell(Answer::Lead);
        }
    }
}
