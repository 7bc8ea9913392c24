//! Group commit: threads that store a trigger at the same time share one transaction.
//!
//! A caller that comes while another thread stores waits for the end of that transaction. Then one
//! of the waiting callers leads: it stores the triggers of all. One commit and one wait for the
//! lock thereby serve many callers. Each caller gets an answer of its own. A refusal comes before
//! anything of its trigger is written, so it harms no other caller. A failure of the database rolls
//! everything back, and then each trigger is tried alone.

use super::Catalogue;
use super::commit_queue::{Answer, Caller, Leader};
use super::fast_path::FastPathOutcome;
use super::if_stored::IfStored;
use crate::error::{DatabaseError, Error, FailureClass, Result};
use crate::store::row::{FastPathWork, Notification, TriggerRow};
use crate::store::transaction::{random_hex, unknown};
use crate::store::{Lock, TxMode};
use crate::trigger::Trigger;
use std::collections::BTreeSet;
use std::sync::Arc;

const PURPOSE: &str = "schedule a trigger";

impl Catalogue<'_> {
    /// Stores a new trigger, with those that other threads are storing.
    pub(super) fn put_in_group(&self, trigger: Trigger, even_if_deprecated: bool) -> Result<Trigger> {
        let caller = Arc::new(Caller::new(trigger, even_if_deprecated));
        let commit = Arc::clone(&self.store.group_commit);
        if let Some(leader) = Leader::enter(&commit, &caller) {
            self.store_for_all(leader);
        }
        loop {
            match caller.wait() {
                Answer::Done(result) => return result,
                Answer::Lead => self.store_for_all(Leader::take(&commit)),
                Answer::Alone => {
                    let answers = self.store_group(std::slice::from_ref(&caller), &random_hex()?, Before::Nothing)?;
                    let unanswered = || Err(Error::Refused(format!("{PURPOSE}: the transaction did not run")));
                    return answers.into_iter().next().unwrap_or_else(unanswered);
                }
            }
        }
    }

    /// Stores triggers on the fast path: all by one statement, or, where it is declined, by halves
    /// and halves of these. The others are stored by one transaction.
    fn store_for_all(&self, mut leader: Leader<'_>) {
        let mut rows = self.fast_path_first(&mut leader.group);
        let mut pieces = vec![rows.len()];
        while let Some(size) = pieces.pop().filter(|size| *size > 0) {
            let Ok(token) = random_hex() else { break };
            let triggers = rows.get(..size).unwrap_or_default().to_vec();
            match self.store_on_fast_path(PURPOSE, &FastPathWork { triggers, ..FastPathWork::default() }, &token) {
                FastPathOutcome::Stored(now_ms) => self.tell_stored(&mut leader, size, now_ms),
                FastPathOutcome::Unknown => self.store_first(&mut leader, size, &token, Before::Perhaps),
                FastPathOutcome::Failed => break,
                FastPathOutcome::Declined if size > 1 => {
                    pieces.extend([size - size / 2, size / 2]);
                    continue;
                }
                FastPathOutcome::Declined => leader.group.rotate_left(1),
            }
            rows.drain(..size);
        }
        let remaining = leader.group.len();
        if remaining > 0
            && let Ok(token) = random_hex()
        {
            self.store_first(&mut leader, remaining, &token, Before::Nothing);
        }
    }

    /// Tells the first `count` callers that their triggers were stored at `now_ms`.
    fn tell_stored(&self, leader: &mut Leader<'_>, count: usize, now_ms: i64) {
        let group = leader.group.iter().take(count);
        let answers: Vec<_> = group.map(|caller| self.as_stored(caller.trigger.clone(), now_ms)).collect();
        for (caller, answer) in leader.group.drain(..count).zip(answers) {
            caller.tell(Answer::Done(answer));
        }
    }

    /// Puts the callers first whose triggers the fast path can store, each of a key of its own, and
    /// returns their rows; none where the database has no fast path.
    fn fast_path_first(&self, group: &mut Vec<Arc<Caller>>) -> Vec<TriggerRow> {
        if !self.store.database.has_fast_path() {
            return Vec::new();
        }
        let mut seen = BTreeSet::new();
        // Of two triggers of the same key the first is stored, and the second finds it.
        let row = |caller: &Arc<Caller>| {
            let heeds_deprecation = !caller.even_if_deprecated && self.node.types.read().has_deprecated();
            let row = if heeds_deprecation { None } else { self.fast_path_trigger(&caller.trigger) };
            row.filter(|row| seen.insert(row.key.clone()))
        };
        let rows: Vec<Option<TriggerRow>> = group.iter().map(row).collect();
        let mut is_fast = rows.iter().map(Option::is_some);
        let (fast, others): (Vec<_>, Vec<_>) = group.drain(..).partition(|_| is_fast.next() == Some(true));
        group.extend(fast.into_iter().chain(others));
        rows.into_iter().flatten().collect()
    }

    /// Stores the triggers of the first `count` callers, and answers each.
    fn store_first(&self, leader: &mut Leader<'_>, count: usize, token: &str, before: Before) {
        match self.store_group(leader.group.get(..count).unwrap_or_default(), token, before) {
            Ok(answers) => {
                for (caller, answer) in leader.group.drain(..count).zip(answers) {
                    caller.tell(Answer::Done(answer));
                }
            }
            Err(error) if before == Before::Perhaps => {
                // Nothing was noted, and the statement may still come. A lasting failure may
                // concern one trigger only.
                let outcome =
                    if error.is_transient() { Err(error) } else { self.store.outcome_of_token(PURPOSE, token) };
                match outcome {
                    Ok(Some(now_ms)) => self.tell_stored(leader, count, now_ms),
                    Ok(None) => leader.group.drain(..count).for_each(|caller| caller.tell(Answer::Alone)),
                    Err(error) => {
                        for caller in leader.group.drain(..count) {
                            caller.tell(Answer::Done(Err(unknown(PURPOSE, &error))));
                        }
                    }
                }
            }
            Err(error) if count == 1 => {
                for (caller, error) in leader.group.drain(..count).zip([error]) {
                    caller.tell(Answer::Done(Err(error)));
                }
            }
            Err(error) => {
                for caller in leader.group.drain(..count) {
                    // A transient failure was tried often enough. A lasting failure may concern one
                    // trigger only.
                    let answer = copy_of_transient(&error).map_or(Answer::Alone, |error| Answer::Done(Err(error)));
                    caller.tell(answer);
                }
            }
        }
    }

    /// Stores a group in one transaction: an answer for each caller, or nothing has happened.
    fn store_group(&self, group: &[Arc<Caller>], token: &str, before: Before) -> Result<Vec<Result<Trigger>>> {
        self.store.retrying(
            PURPOSE,
            TxMode::Exclusive(Lock::TriggerAccess),
            |s| {
                if before == Before::Perhaps
                    && let Some(now_ms) = s.committed_ms(token)?
                {
                    return Ok(group.iter().map(|caller| self.as_stored(caller.trigger.clone(), now_ms)).collect());
                }
                let mut answers = Vec::with_capacity(group.len());
                let mut stored = 0;
                for caller in group {
                    match self.put_one_trigger(s, &caller.trigger, IfStored::Refuse, caller.even_if_deprecated) {
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
                // The token stops a statement whose answer was lost and that may still be on its
                // way.
                if stored > 0 || before == Before::Perhaps {
                    s.mark_commit(token)?;
                }
                Ok(answers)
            },
            &mut |s, _| Ok(s.committed_ms(token)?.is_some()),
        )
    }
}

/// The tries to store a group before its transaction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// There was none.
    Nothing,
    /// A statement may have stored the whole group, under the same token.
    Perhaps,
}

fn copy_of_transient(error: &Error) -> Option<Error> {
    let Error::Database(DatabaseError { operation, message, class }) = error else { return None };
    // One trigger may need more room than there is, and the others less.
    let may_be_its_own = !class.is_transient() || *class == FailureClass::InsufficientResources;
    (!may_be_its_own)
        .then(|| DatabaseError { operation: operation.clone(), message: message.clone(), class: *class }.into())
}
