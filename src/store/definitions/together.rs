//! Scheduling together: threads that store a trigger at the same time share one transaction.
//!
//! Whoever comes while a transaction of another thread is under way waits for its end; then one of those that wait takes all
//! of them along. So a commit and a turn at the lock serve many callers. Each gets an answer of its own: what is refused
//! is refused before anything of it is written, so it stands in nobody's way; what fails in the database rolls everything
//! back, and then each is tried alone.

use crate::error::{DatabaseError, Error, FailureClass, Result};
use crate::key::TriggerKey;
use crate::signal::Signal;
use crate::store::row::{News, TriggerRow};
use crate::store::transaction::random_hex;
use crate::store::{Begin, JobStore, Lock, Session};
use crate::trigger::{Schedule, Trigger, TriggerState};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::sync::Arc;

/// How many share a transaction at most.
const MOST: usize = 128;

const PURPOSE: &str = "schedule a trigger";

/// Where callers meet.
#[derive(Debug, Default)]
pub(in crate::store) struct Together(Mutex<Queue>);

#[derive(Debug, Default)]
struct Queue {
    waiting: Vec<Arc<Caller>>,
    /// Whether one of the callers is storing, and will see to those that wait.
    is_led: bool,
}

/// One call.
#[derive(Debug)]
struct Caller {
    trigger: Trigger,
    even_if_deprecated: bool,
    answer: Mutex<Option<Answer>>,
    answered: Signal,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "it is moved once, from the thread that stores to the one that asked")]
enum Answer {
    /// What became of it.
    Done(Result<Trigger>),
    /// It is to be tried alone.
    Alone,
    /// It is this caller's turn to store for all that wait.
    Lead,
}

impl Caller {
    fn tell(&self, answer: Answer) {
        *self.answer.lock() = Some(answer);
        self.answered.raise();
    }

    fn wait(&self) -> Answer {
        loop {
            if let Some(answer) = self.answer.lock().take() {
                return answer;
            }
            self.answered.wait(None);
        }
    }
}

/// The turn of a caller to store for all. Its end, whatever brings it, lets the next one lead.
struct Turn<'a> {
    together: &'a Together,
    group: Vec<Arc<Caller>>,
}

impl<'a> Turn<'a> {
    /// None while another leads: it will answer.
    fn enter(together: &'a Together, caller: &Arc<Caller>) -> Option<Self> {
        let mut queue = together.0.lock();
        queue.waiting.push(Arc::clone(caller));
        if queue.is_led {
            return None;
        }
        queue.is_led = true;
        drop(queue);
        Some(Self::take(together))
    }

    /// Those that have waited longest; among them is who was told to lead.
    fn take(together: &'a Together) -> Self {
        let mut queue = together.0.lock();
        let count = queue.waiting.len().min(MOST);
        Self { together, group: queue.waiting.drain(..count).collect() }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // After a panic some have no answer yet: nothing of theirs was committed.
        for caller in self.group.drain(..) {
            caller.tell(Answer::Alone);
        }
        let mut queue = self.together.0.lock();
        queue.is_led = !queue.waiting.is_empty();
        if let Some(next) = queue.waiting.first() {
            next.tell(Answer::Lead);
        }
    }
}

impl JobStore {
    /// Stores a new trigger, with those that other threads are storing.
    pub(super) fn put_together(&self, trigger: Trigger, even_if_deprecated: bool) -> Result<Trigger> {
        let caller =
            Arc::new(Caller { trigger, even_if_deprecated, answer: Mutex::default(), answered: Signal::default() });
        let together = Arc::clone(&self.together);
        if let Some(turn) = Turn::enter(&together, &caller) {
            self.store_for_all(turn);
        }
        loop {
            match caller.wait() {
                Answer::Done(result) => return result,
                Answer::Lead => self.store_for_all(Turn::take(&together)),
                Answer::Alone => {
                    let answers = self.store_group(std::slice::from_ref(&caller))?;
                    return answers.into_iter().next().unwrap_or_else(|| Err(unanswered()));
                }
            }
        }
    }

    fn store_for_all(&self, mut turn: Turn<'_>) {
        let stored = self.store_group(&turn.group);
        match stored {
            Ok(answers) => {
                for (caller, answer) in turn.group.drain(..).zip(answers) {
                    caller.tell(Answer::Done(answer));
                }
            }
            Err(error) if turn.group.len() == 1 => {
                for (caller, error) in turn.group.drain(..).zip([error]) {
                    caller.tell(Answer::Done(Err(error)));
                }
            }
            Err(error) => {
                for caller in turn.group.drain(..) {
                    // What may pass was tried often enough; what lasts may concern one of them only.
                    let answer = copy_of_transient(&error).map_or(Answer::Alone, |error| Answer::Done(Err(error)));
                    caller.tell(answer);
                }
            }
        }
    }

    /// One transaction; an answer for each caller, or nothing has happened.
    fn store_group(&self, group: &[Arc<Caller>]) -> Result<Vec<Result<Trigger>>> {
        let token = random_hex()?;
        self.retrying(
            PURPOSE,
            Begin::Locking(Lock::TriggerAccess),
            |s| self.store_group_in(s, group, &token),
            &mut |s, _| s.is_committed(&token),
        )
    }

    fn store_group_in(&self, s: &mut dyn Session, group: &[Arc<Caller>], token: &str) -> Result<Vec<Result<Trigger>>> {
        let now_ms = s.now_ms()?;
        let plain: Vec<_> = group.iter().map(|caller| self.plain(caller, now_ms)).collect();
        let mut seen = BTreeSet::new();
        let rows: Vec<TriggerRow> =
            plain.iter().flatten().map(|(_, row)| row).filter(|row| seen.insert(&row.key)).cloned().collect();
        let mut stored: BTreeSet<TriggerKey> = BTreeSet::new();
        if !rows.is_empty() {
            stored.extend(s.insert_unhindered(&rows, token)?);
        }
        let is_noted = !stored.is_empty();
        let mut answers = Vec::with_capacity(group.len());
        let mut others = 0;
        for (caller, plain) in group.iter().zip(plain) {
            // Of two of the same key the first is stored, and the second finds it.
            if let Some((trigger, _)) = plain.filter(|(trigger, _)| stored.remove(&trigger.key)) {
                answers.push(Ok(trigger));
                continue;
            }
            match self.put_new_trigger(s, &caller.trigger, caller.even_if_deprecated) {
                Ok(trigger) => {
                    others += 1;
                    answers.push(Ok(trigger));
                }
                Err(error) if group.len() == 1 || error.failure_class().is_some() => return Err(error),
                Err(error) => answers.push(Err(error)),
            }
        }
        if others > 0 {
            s.announce(News::Change)?;
            if !is_noted {
                s.mark_commit(token)?;
            }
        }
        Ok(answers)
    }

    /// The trigger with its first fire time, and its row, if it asks for nothing special.
    fn plain(&self, caller: &Caller, now_ms: i64) -> Option<(Trigger, TriggerRow)> {
        let simple = matches!(caller.trigger.schedule, Schedule::Simple(_));
        let heeds_deprecation = !caller.even_if_deprecated && self.knows_deprecated_types();
        if !simple || heeds_deprecation || caller.trigger.calendar_name.is_some() {
            return None;
        }
        let mut trigger = caller.trigger.clone();
        self.set_first_fire_time(&mut trigger, None, now_ms).ok()?;
        let row = self.trigger_row(&trigger, TriggerState::Waiting).ok()?;
        row.options.is_none().then_some((trigger, row))
    }
}

fn copy_of_transient(error: &Error) -> Option<Error> {
    let Error::Database(DatabaseError { operation, message, class }) = error else { return None };
    let lasts = *class == FailureClass::Permanent;
    (!lasts).then(|| DatabaseError { operation: operation.clone(), message: message.clone(), class: *class }.into())
}

fn unanswered() -> Error {
    Error::Refused(format!("{PURPOSE}: the transaction did not run"))
}
