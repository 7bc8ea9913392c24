//! `Completer`: records whatever fires have ended since its last pass, in one transaction.

use super::acquirer::Leftovers;
use super::service::{Next, Service};
use crate::error::{FailureClass, Result, storable};
use crate::listener::lifecycle_log;
use crate::scheduler::node::Node;
use crate::scheduler::run::completion_queue::{CompletionQueue, MOST_COMPLETED, MOST_TEXT_BYTES, OwnedCompletion};
use crate::store::{Completion, CompletionOutcome, CompletionReport, Owner};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// The most ends of one transaction that are followed by other jobs: each may have a thousand
/// children.
const MOST_FOLLOWED: usize = 50;

/// While most fires are still running, how long the first that ended waits for others, so that one
/// transaction records them.
const BATCH_WAIT: Duration = Duration::from_millis(1);

/// The time for which a completion that the store refuses for good waits for its next try.
const REFUSAL_TIME: Duration = Duration::from_secs(60);

/// The time for which a completion waits that a transaction of its job's holds, and what the
/// acquirer has left and the store cannot take back.
const HOLDING_TIME: Duration = Duration::from_secs(1);

/// Beyond so many refused completions the oldest is given up; its row stays until this node ends.
const MOST_REFUSED: usize = 1000;

/// The tries to record a completion.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Attempt {
    /// The first: nothing of the completion is given up yet.
    First,
    /// One after a refusal: rather without its texts and data than not at all.
    AfterRefusal,
}

/// The completion service.
pub(crate) struct Completer {
    node: Arc<Node>,
    queue: Arc<CompletionQueue>,
    /// The remains of the acquirer, once it has ended.
    leftovers: Arc<Leftovers>,
    /// Taken from the channel, all of one owner, not recorded yet.
    batch: Vec<Completion>,
    batch_owner: Option<Arc<Owner>>,
    /// The number of completions, the first of the batch, that may be recorded: the answer was
    /// lost, and nobody could say.
    in_doubt: usize,
    /// The first of the next owner's.
    next: Option<OwnedCompletion>,
    /// The completions that the database refuses for good.
    refused: Vec<OwnedCompletion>,
    /// The time at which the refused completions were tried last, or the first was refused.
    refused_at: Duration,
    /// The completions that a transaction of their job's holds.
    held: Vec<OwnedCompletion>,
    held_until: Duration,
    /// The held completions that were named in the log.
    held_named: BTreeSet<String>,
    /// Since when the batch waits for more.
    waiting_since: Option<Duration>,
}

impl Completer {
    pub(crate) fn new(node: Arc<Node>, queue: Arc<CompletionQueue>, leftovers: Arc<Leftovers>) -> Self {
        Self {
            node,
            queue,
            leftovers,
            batch: Vec::new(),
            batch_owner: None,
            in_doubt: 0,
            next: None,
            refused: Vec::new(),
            refused_at: Duration::ZERO,
            held: Vec::new(),
            held_until: Duration::ZERO,
            held_named: BTreeSet::new(),
            waiting_since: None,
        }
    }

    /// Fills the batch with what has ended, up to the first fire of another incarnation.
    fn gather(&mut self) {
        let mut followed = self.batch.iter().filter(|completion| completion.followed).count();
        let mut words: usize = self.batch.iter().map(|completion| completion.words()).sum();
        while self.batch.len() < MOST_COMPLETED && followed < MOST_FOLLOWED && words < MOST_TEXT_BYTES {
            let Some(ended) = self.next.take().or_else(|| self.queue.next(&self.node)) else { return };
            if self.batch_owner.as_ref().is_some_and(|owner| *owner != ended.owner) {
                self.next = Some(ended);
                return;
            }
            self.batch_owner = Some(ended.owner);
            followed += usize::from(ended.completion.followed);
            words += ended.completion.words();
            self.batch.push(ended.completion);
        }
    }

    /// Until when to wait for more; none if there is enough, or if it was long enough.
    fn batching_deadline(&mut self) -> Option<Duration> {
        let fires = &self.node.running_fires;
        if fires.stopping.is_set() || self.batch.len().saturating_mul(2) >= fires.count() {
            return None;
        }
        let now = self.node.clock.ticks();
        let until = self.waiting_since.get_or_insert(now).saturating_add(BATCH_WAIT);
        if now >= until {
            return None;
        }
        // Each that ends is one more here and one less there: so many further ends are enough.
        let missing = fires.count().saturating_sub(self.batch.len().saturating_mul(2)).div_ceil(3);
        self.node.unrecorded.await_batch(missing);
        Some(until)
    }

    /// From now on the first end is told of; false if some have come before they could be.
    fn awaits_any(&self) -> bool {
        self.node.unrecorded.await_batch(1);
        self.queue.is_empty(&self.node)
    }

    /// Records the batch. A failure that will not pass by itself concerns one of them: they are
    /// recorded singly then.
    fn complete(&mut self, owner: &Arc<Owner>) -> Result<()> {
        self.settle_doubt(owner)?;
        if self.batch.is_empty() {
            return Ok(());
        }
        let is_doubtful = self.is_doubtful(owner);
        self.batch.iter_mut().for_each(|completion| completion.guarded |= is_doubtful);
        match self.node.store.firing().complete(owner, &self.batch) {
            Ok(recorded) => {
                let batch = std::mem::take(&mut self.batch);
                self.settle(owner, batch, recorded);
                Ok(())
            }
            Err(error) if error.is_fenced() => {
                let batch = std::mem::take(&mut self.batch);
                self.node.tell_completed(&batch, &of_another(batch.len()));
                Ok(())
            }
            Err(error) if error.is_transient() => {
                let is_unknown = error.failure_class() == Some(FailureClass::CommitUnknown);
                self.in_doubt = if is_unknown { self.batch.len() } else { 0 };
                match error.failure_class() {
                    // A completion may need more room than there is, and the others less.
                    Some(FailureClass::InsufficientResources) => self.complete_singly(owner),
                    _ => Err(error),
                }
            }
            Err(_) => self.complete_singly(owner),
        }
    }

    /// Ends that were recorded without an answer are not to be recorded again: their rows are gone,
    /// and they would pass for those of another node.
    ///
    /// The tidying after ends that jobs have recorded is not seen in the store: it is done again.
    fn settle_doubt(&mut self, owner: &Arc<Owner>) -> Result<()> {
        let count = self.in_doubt.min(self.batch.len());
        let in_doubt = self.batch.get(..count).unwrap_or_default();
        let ended: Vec<Completion> = in_doubt.iter().filter(|ended| !ended.by_job).cloned().collect();
        if !ended.is_empty() && self.node.store.firing().ask_whether_completed(owner, &ended)? {
            let rest = self.batch.split_off(count);
            self.batch.retain(|ended| ended.by_job);
            self.batch.extend(rest);
            let outcomes = vec![CompletionOutcome::Recorded; ended.len()];
            self.node.tell_completed(&ended, &CompletionReport { outcomes, ..CompletionReport::default() });
        }
        self.in_doubt = 0;
        Ok(())
    }

    fn complete_singly(&mut self, owner: &Arc<Owner>) -> Result<()> {
        while !self.batch.is_empty() {
            let completion = self.batch.remove(0);
            match self.complete_one(owner, completion.clone(), Attempt::First) {
                Ok(recorded) => self.settle(owner, vec![completion], recorded),
                Err(error) if error.is_transient() => {
                    let is_unknown = error.failure_class() == Some(FailureClass::CommitUnknown);
                    self.in_doubt = usize::from(is_unknown);
                    match is_unknown {
                        true => self.batch.insert(0, completion),
                        // The others come first in the next try.
                        false => self.batch.push(completion),
                    }
                    return Err(error);
                }
                Err(error) => {
                    lifecycle_log::completion_refused(&completion.fire_id, &error.to_string());
                    self.refuse(OwnedCompletion { owner: Arc::clone(owner), completion });
                }
            }
        }
        Ok(())
    }

    /// True if others may have taken the node for dead, and have put triggers back for fires whose
    /// rows were held: as if each job held its own.
    fn is_doubtful(&self, owner: &Owner) -> bool {
        !self.node.lease.is_held_by(owner)
    }

    fn complete_one(&self, owner: &Owner, mut completion: Completion, attempt: Attempt) -> Result<CompletionReport> {
        completion.guarded |= self.is_doubtful(owner);
        let one = |completion: &Completion| match self
            .node
            .store
            .firing()
            .complete(owner, std::slice::from_ref(completion))
        {
            Err(error) if error.is_fenced() => Ok(of_another(1)),
            other => other,
        };
        let error = match one(&completion) {
            Err(error) if !error.is_transient() => error,
            other => return other,
        };
        // A database that refuses it may be away in words that are not known here.
        if attempt == Attempt::First && !matches!(error.failure_class(), None | Some(FailureClass::InvalidData)) {
            return Err(error);
        }
        // The job's texts and data are the likeliest reason; without them at least the end of the
        // fire is known.
        let has_lines = !completion.log.is_empty();
        let has_words = completion.ending.error.is_some() || completion.ending.result.is_some() || has_lines;
        let what = match completion.job_data.take() {
            Some(_) => {
                let lost = format!("the data cannot be stored, and stay as they were: {error}");
                completion.ending.error.get_or_insert_with(|| storable(&lost, 2000));
                "the data"
            }
            None if has_words => "the result, the error or the log",
            None => return Err(error),
        };
        let mut again = one(&completion);
        if has_words && again.as_ref().is_err_and(|error| !error.is_transient()) {
            (completion.ending.error, completion.ending.result) = (None, None);
            completion.log.clear();
            again = one(&completion);
        }
        if again.is_ok() {
            let (job, fire) = (&completion.job, &completion.fire_id);
            self.node.listeners.error(&format!("{what} of job `{job}` cannot be stored after fire {fire}: {error}"));
        }
        again
    }

    fn refuse(&mut self, ended: OwnedCompletion) {
        if self.refused.len() >= MOST_REFUSED {
            let oldest = self.refused.remove(0);
            lifecycle_log::completion_abandoned(&oldest.completion.fire_id);
        }
        if self.refused.is_empty() {
            self.refused_at = self.node.clock.ticks();
        }
        self.refused.push(ended);
    }

    /// The time of the next try of refused completions. A node that ends has no minute left.
    fn refused_until(&self) -> Duration {
        let ends = self.node.running_fires.stopping.is_set();
        self.refused_at.saturating_add(if ends { HOLDING_TIME } else { REFUSAL_TIME })
    }

    /// Tries refused completions again, if it is time; those that are refused again stay.
    fn retry_refused(&mut self) {
        if self.refused.is_empty() || self.node.clock.ticks() < self.refused_until() {
            return;
        }
        let refused = std::mem::take(&mut self.refused);
        let left = until_away(refused, |ended| self.retry_one(ended, Attempt::AfterRefusal));
        self.refused.extend(left);
        self.refused_at = self.node.clock.ticks();
    }

    /// Tries a completion again; gives it back if the store is away.
    fn retry_one(&mut self, ended: OwnedCompletion, attempt: Attempt) -> Option<OwnedCompletion> {
        match self.complete_one(&ended.owner, ended.completion.clone(), attempt) {
            Ok(recorded) => self.settle(&ended.owner, vec![ended.completion], recorded),
            Err(error) if error.is_transient() => return Some(ended),
            Err(_) => self.refuse(ended),
        }
        None
    }

    /// Tells what was recorded, and keeps what a transaction of its job's holds for later.
    fn settle(&mut self, owner: &Arc<Owner>, batch: Vec<Completion>, mut recorded: CompletionReport) {
        let is_held = |outcome: &CompletionOutcome| *outcome == CompletionOutcome::Held;
        if !recorded.outcomes.iter().any(is_held) {
            return self.node.tell_completed(&batch, &recorded);
        }
        if self.held.is_empty() {
            self.held_until = self.node.clock.ticks().saturating_add(HOLDING_TIME);
        }
        let (mut over, mut outcomes) = (Vec::new(), Vec::new());
        for (completion, outcome) in batch.into_iter().zip(std::mem::take(&mut recorded.outcomes)) {
            if is_held(&outcome) {
                if self.held_named.insert(completion.fire_id.clone()) {
                    lifecycle_log::end_held(&completion.fire_id);
                }
                // The next try does not wait for the row.
                let completion = Completion { guarded: true, ..completion };
                self.held.push(OwnedCompletion { owner: Arc::clone(owner), completion });
            } else {
                over.push(completion);
                outcomes.push(outcome);
            }
        }
        recorded.outcomes = outcomes;
        self.node.tell_completed(&over, &recorded);
    }

    /// Tries those again that were held, if it is time.
    fn retry_held(&mut self) {
        if self.held.is_empty() || self.node.clock.ticks() < self.held_until {
            return;
        }
        let held = std::mem::take(&mut self.held);
        let left = until_away(held, |ended| self.retry_one(ended, Attempt::First));
        self.held.extend(left);
        if self.held.is_empty() {
            self.held_named.clear();
        }
        self.held_until = self.node.clock.ticks().saturating_add(HOLDING_TIME);
    }

    /// The time at which to look again at what was left, if anything was.
    fn next_retry(&self) -> Option<Duration> {
        let refused = (!self.refused.is_empty()).then(|| self.refused_until());
        let held = (!self.held.is_empty()).then_some(self.held_until);
        refused.into_iter().chain(held).min()
    }
}

/// Tries one after the other, up to the one that comes back; returns those behind it and that one,
/// which is the last of the next try. The store may be away for them as well, and new ends wait.
fn until_away<T>(all: Vec<T>, attempt: impl FnMut(T) -> Option<T>) -> Vec<T> {
    let mut all = all.into_iter();
    let first = all.by_ref().find_map(attempt);
    all.chain(first).collect()
}

/// The report on fires that belonged to another node by then.
fn of_another(fires: usize) -> CompletionReport {
    CompletionReport { outcomes: vec![CompletionOutcome::Fenced; fires], ..CompletionReport::default() }
}

impl Service for Completer {
    fn run_once(&mut self) -> Result<Next> {
        self.retry_held();
        self.retry_refused();
        self.gather();
        if let Some(owner) = self.batch_owner.clone() {
            if let Some(until) = self.batching_deadline() {
                return Ok(Next::At(until));
            }
            self.waiting_since = None;
            self.complete(&owner)?;
            self.batch_owner = None;
            return Ok(Next::Now);
        }
        let is_left = self.leftovers.settle(&self.node, &self.queue)?;
        if !self.awaits_any() {
            return Ok(Next::Now);
        }
        let leftovers_again = is_left.then(|| self.node.clock.ticks().saturating_add(HOLDING_TIME));
        if self.next_retry().is_none() && leftovers_again.is_none() {
            let is_last = self.node.running_fires.stopping.is_set() && self.queue.is_over(&self.node);
            return Ok(if is_last { Next::Stop } else { Next::WhenSignalled });
        }
        Ok(self.next_retry().into_iter().chain(leftovers_again).min().map_or(Next::WhenSignalled, Next::At))
    }

    /// Fires that are still unrecorded are recovered from their rows, here or by another node.
    fn stopped(&mut self) {
        // One last try, for what came in after the last pass.
        while let Ok(Next::Now) = self.run_once() {}
        self.leftovers.forget(&self.node, &self.queue);
        let left = self.batch.iter().map(|c| &c.fire_id).chain(self.next.iter().map(|e| &e.completion.fire_id));
        for fire_id in left.chain(self.refused.iter().chain(&self.held).map(|ended| &ended.completion.fire_id)) {
            lifecycle_log::completion_abandoned(fire_id);
        }
        while let Some(ended) = self.queue.next_of_all() {
            lifecycle_log::completion_abandoned(&ended.completion.fire_id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each attempt without a store takes as long as a connection is waited for.
    #[test]
    fn a_store_that_is_away_is_tried_once_for_all_ends_that_are_held() {
        let mut tried = Vec::new();
        let left = until_away(vec![1, 2, 3, 4], |end| {
            tried.push(end);
            (end >= 2).then_some(end)
        });
        assert_eq!((tried, left), (vec![1, 2], vec![3, 4, 2]));
        assert!(until_away(vec![1], |_| None).is_empty());
    }
}
