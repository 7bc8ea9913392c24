//! Scheduling together: threads that store a trigger at the same time share one transaction.
//!
//! Whoever comes while a transaction of another thread is under way waits for its end; then one of those that wait takes all
//! of them along. So a commit and a turn at the lock serve many callers. Each gets an answer of its own: what is refused
//! is refused before anything of it is written, so it stands in nobody's way; what fails in the database rolls everything
//! back, and then each is tried alone.

use super::at_once::AtOnce;
use crate::error::{DatabaseError, Error, FailureClass, Result};
use crate::signal::Signal;
use crate::store::row::{Notification, PlainWork, TriggerRow};
use crate::store::transaction::{random_hex, unknown};
use crate::store::{JobStore, Lock, Session, TxMode};
use crate::trigger::Trigger;
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
        // After a panic some have no answer yet.
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
                    let answers = self.store_group(std::slice::from_ref(&caller), &random_hex()?, Before::Nothing)?;
                    return answers.into_iter().next().unwrap_or_else(|| Err(unanswered()));
                }
            }
        }
    }

    fn store_for_all(&self, mut turn: Turn<'_>) {
        self.store_plain(&mut turn);
        let left = turn.group.len();
        if left > 0
            && let Ok(token) = random_hex()
        {
            self.store_first(&mut turn, left, &token, Before::Nothing);
        }
    }

    /// Stores what asks for nothing special by calls that are transactions of their own: all of it by one, or, where something
    /// stands in the way, halves and halves of these. What does not go so is left.
    fn store_plain(&self, turn: &mut Turn<'_>) {
        let mut rows = self.plain_first(&mut turn.group);
        let mut pieces = vec![rows.len()];
        while let Some(size) = pieces.pop().filter(|size| *size > 0) {
            let Ok(token) = random_hex() else { return };
            let triggers = rows.get(..size).unwrap_or_default().to_vec();
            match self.store_at_once(PURPOSE, &PlainWork { triggers, ..PlainWork::default() }, &token) {
                AtOnce::Stored(now_ms) => self.tell_stored(turn, size, now_ms),
                AtOnce::Unknown => self.store_first(turn, size, &token, Before::Perhaps),
                AtOnce::Failed => return,
                AtOnce::Not if size > 1 => {
                    pieces.extend([size - size / 2, size / 2]);
                    continue;
                }
                AtOnce::Not => turn.group.rotate_left(1),
            }
            rows.drain(..size);
        }
    }

    /// Tells the first `count` of this turn that their triggers were stored then.
    fn tell_stored(&self, turn: &mut Turn<'_>, count: usize, now_ms: i64) {
        let group = turn.group.iter().take(count);
        let answers: Vec<_> = group.map(|caller| self.as_stored(&caller.trigger, now_ms)).collect();
        for (caller, answer) in turn.group.drain(..count).zip(answers) {
            caller.tell(Answer::Done(answer));
        }
    }

    /// Puts those first that ask for nothing special, each of a key of its own, and returns their rows; none where they are
    /// not stored otherwise than the others.
    fn plain_first(&self, group: &mut Vec<Arc<Caller>>) -> Vec<TriggerRow> {
        if !self.database.stores_at_once() {
            return Vec::new();
        }
        let mut seen = BTreeSet::new();
        // Of two of the same key the first is stored, and the second finds it.
        let row = |caller: &Arc<Caller>| {
            let heeds_deprecation = !caller.even_if_deprecated && self.knows_deprecated_types();
            let row = if heeds_deprecation { None } else { self.plain_trigger(&caller.trigger) };
            row.filter(|row| seen.insert(row.key.clone()))
        };
        let rows: Vec<Option<TriggerRow>> = group.iter().map(row).collect();
        let mut is_plain = rows.iter().map(Option::is_some);
        let (plain, others): (Vec<_>, Vec<_>) = group.drain(..).partition(|_| is_plain.next() == Some(true));
        group.extend(plain.into_iter().chain(others));
        rows.into_iter().flatten().collect()
    }

    /// The first `count` of this turn, each with an answer.
    fn store_first(&self, turn: &mut Turn<'_>, count: usize, token: &str, before: Before) {
        match self.store_group(turn.group.get(..count).unwrap_or_default(), token, before) {
            Ok(answers) => {
                for (caller, answer) in turn.group.drain(..count).zip(answers) {
                    caller.tell(Answer::Done(answer));
                }
            }
            Err(error) if before == Before::Perhaps => {
                // Nothing was noted, and the call may still come; what lasts may concern one of them only.
                let settled = if error.is_transient() { Err(error) } else { self.settle(PURPOSE, token) };
                match settled {
                    Ok(Some(now_ms)) => self.tell_stored(turn, count, now_ms),
                    Ok(None) => turn.group.drain(..count).for_each(|caller| caller.tell(Answer::Alone)),
                    Err(error) => {
                        for caller in turn.group.drain(..count) {
                            caller.tell(Answer::Done(Err(unknown(PURPOSE, &error))));
                        }
                    }
                }
            }
            Err(error) if count == 1 => {
                for (caller, error) in turn.group.drain(..count).zip([error]) {
                    caller.tell(Answer::Done(Err(error)));
                }
            }
            Err(error) => {
                for caller in turn.group.drain(..count) {
                    // What may pass was tried often enough; what lasts may concern one of them only.
                    let answer = copy_of_transient(&error).map_or(Answer::Alone, |error| Answer::Done(Err(error)));
                    caller.tell(answer);
                }
            }
        }
    }

    /// One transaction; an answer for each caller, or nothing has happened.
    fn store_group(&self, group: &[Arc<Caller>], token: &str, before: Before) -> Result<Vec<Result<Trigger>>> {
        self.retrying(
            PURPOSE,
            TxMode::Exclusive(Lock::TriggerAccess),
            |s| self.store_group_in(s, group, token, before),
            &mut |s, _| Ok(s.committed_ms(token)?.is_some()),
        )
    }

    fn store_group_in(
        &self,
        s: &mut dyn Session,
        group: &[Arc<Caller>],
        token: &str,
        before: Before,
    ) -> Result<Vec<Result<Trigger>>> {
        if before == Before::Perhaps
            && let Some(now_ms) = s.committed_ms(token)?
        {
            return Ok(group.iter().map(|caller| self.as_stored(&caller.trigger, now_ms)).collect());
        }
        let mut answers = Vec::with_capacity(group.len());
        let mut stored = 0;
        for caller in group {
            match self.put_new_trigger(s, &caller.trigger, caller.even_if_deprecated) {
                Ok(trigger) => {
                    stored += 1;
                    answers.push(Ok(trigger));
                }
                Err(error) if error.failure_class().is_some() => return Err(error),
                Err(error) if group.len() == 1 && before == Before::Nothing => return Err(error),
                Err(error) => answers.push(Err(error)),
            }
        }
        if stored > 0 {
            s.notify(Notification::Change)?;
        }
        // A statement whose answer was lost may still be on its way: the token that it finds stops it.
        if stored > 0 || before == Before::Perhaps {
            s.mark_commit(token)?;
        }
        Ok(answers)
    }
}

/// What happened to a group before a transaction stores it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// Nothing.
    Nothing,
    /// A statement may have stored all of it, under the same token.
    Perhaps,
}

fn copy_of_transient(error: &Error) -> Option<Error> {
    let Error::Database(DatabaseError { operation, message, class }) = error else { return None };
    let lasts = *class == FailureClass::Permanent;
    (!lasts).then(|| DatabaseError { operation: operation.clone(), message: message.clone(), class: *class }.into())
}

fn unanswered() -> Error {
    Error::Refused(format!("{PURPOSE}: the transaction did not run"))
}
