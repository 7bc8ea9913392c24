//! `Acquirer`: takes due triggers, hands their fires to workers, and keeps what is due soon until its time.

mod ahead;
mod doubt;
mod leading;
mod looking;
mod overdue;
mod turns;

use self::ahead::{Measured, ahead_of};
use self::turns::LINGER;
use super::capture_log::RunLines;
use super::ends::Ends;
use super::interrupt_monitor;
use super::node::{Node, millis};
use super::parking::note_parked;
use super::running::FireTask;
use super::service::{Next, Service};
use super::starter::Early;
use super::stop::StopReason;
use super::stop_step::StopStep;
use super::worker_pool::WorkerPool;
use crate::error::{Error, Result};
use crate::listener::log;
use crate::rules::ahead::Window;
use crate::rules::outages::Pace;
use crate::rules::overdue::stagger_ms;
use crate::rules::store_time::StoreTime;
use crate::store::row::Look;
use crate::store::{AcquireRequest, Acquisition, Completion, Doubt, FireBundle, Owner, Reservation, TakeAhead};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A reservation gives way only to a trigger that is due this much earlier.
const WORTH_A_RELEASE_MS: i64 = 100;

/// The acquisition service. It keeps its reserved batch between passes.
pub(crate) struct Acquirer {
    node: Arc<Node>,
    pool: Arc<WorkerPool<FireTask>>,
    ends: Arc<Ends>,
    /// What is being recorded with an acquisition.
    turn: Vec<Completion>,
    /// The incarnation under which everything below was taken.
    owner: Option<Owner>,
    /// Reserved for their time, earliest first.
    reserved: Vec<Reservation>,
    /// To be given back as soon as the store can be reached.
    unwanted: Vec<Reservation>,
    /// Fired, and not handed over; normally empty.
    handover: VecDeque<FireTask>,
    /// Begun in the store, and to be handed over at their times.
    early: Arc<Early>,
    /// How many fires may wait for a worker, if they are short.
    window: Window,
    /// Which are short.
    measured: Arc<Measured>,
    /// The last acquisition left triggers that are taken for free workers only.
    is_withheld: bool,
    /// When fires were last handed over, in ticks.
    handed: Duration,
    /// The last acquisition brought all it asked for: there is probably more.
    is_more: bool,
    /// Since when a pass waits for more free workers.
    batching_since: Option<Duration>,
    /// What was taken if the store says so, as soon as it can be asked.
    doubts: Vec<Doubt>,
    /// Rows of this node that nothing here stood for when it was last asked.
    unknown: BTreeSet<String>,
    /// How often the way to the store had been lost then, and when to ask again, in ticks.
    compared: (u64, Duration),
    /// Something went wrong in the middle: see [`Acquirer::recover_forgotten`].
    is_in_doubt: bool,
    /// What was stored here and said to be due was not for this node: it looks, until it has taken something.
    was_misled: bool,
    /// How many times a wait for the next look was asked for.
    polls: u64,
    /// What was seen to be due the last time that reservations were let go for it in vain, and whether it was due then.
    fruitless: Option<(i64, bool)>,
    /// The counters of changes and of orders to stop at the last look.
    seen: Option<(i64, i64)>,
    /// When that was, in ticks.
    last_look: Duration,
    /// When what others have reserved is overdue, in the time of the store; and not tried before,
    /// in ticks.
    overdue_ms: Option<i64>,
    retry_overdue: Duration,
    /// How far the clocks of the store and of this node are apart.
    store_time: StoreTime,
    /// How fast the recovery mode lets it go.
    pace: Pace,
}

/// What an acquisition found.
enum Found {
    /// As much as was asked for, or some.
    Something,
    /// Nothing; when to look again, in ticks.
    Nothing(Duration),
}

impl Acquirer {
    pub(crate) fn new(node: Arc<Node>, pool: Arc<WorkerPool<FireTask>>, early: Arc<Early>, ends: Arc<Ends>) -> Self {
        Self {
            node,
            pool,
            early,
            ends,
            turn: Vec::new(),
            owner: None,
            reserved: Vec::new(),
            unwanted: Vec::new(),
            handover: VecDeque::new(),
            window: Window::default(),
            measured: Arc::default(),
            is_withheld: false,
            handed: Duration::ZERO,
            is_more: false,
            fruitless: None,
            batching_since: None,
            doubts: Vec::new(),
            unknown: BTreeSet::new(),
            compared: (0, Duration::ZERO),
            is_in_doubt: false,
            was_misled: false,
            polls: 0,
            seen: None,
            last_look: Duration::ZERO,
            overdue_ms: None,
            retry_overdue: Duration::ZERO,
            store_time: StoreTime::default(),
            pace: Pace::default(),
        }
    }

    fn pass(&mut self) -> Result<Next> {
        if self.is_in_doubt {
            self.end_turns();
        }
        self.measure();
        self.await_room(1);
        self.forget_if_lost();
        self.hand_over();
        self.look_after_waiting();
        let Some(owner) = self.node.standing.owner_for_new_work() else {
            // The cluster manager raises our signal after the next good check-in; what is reserved waits for it.
            return Ok(Next::WhenSignalled);
        };
        self.owner = Some(owner.clone());
        if !self.node.is_firing() {
            self.give_up_reserved();
        }
        self.let_go_of_excess();
        self.release_unwanted()?;
        self.recover_forgotten(&owner)?;
        self.reconcile(&owner)?;
        if !self.node.is_firing() {
            // What was in doubt until now may be reserved.
            self.give_up_reserved();
            self.release_unwanted()?;
            if self.node.standing.running() == 0 {
                return Ok(self.next_at(None));
            }
            return self.look_after_runs();
        }
        self.fire_due(&owner)?;
        // What was fired was reserved when this was said before.
        self.await_room(1);
        let job_types = self.node.registry.names();
        if job_types.is_empty() {
            return Ok(Next::WhenSignalled);
        }
        let room = self.room();
        if let Some(until) = self.batching_deadline(room) {
            return Ok(self.next_at(Some(until)));
        }
        if room == 0 {
            return self.wait_for_room(&owner, &job_types);
        }
        match self.acquire(&owner, &job_types)? {
            Found::Something => Ok(Next::Now),
            Found::Nothing(again) => Ok(self.next_at(Some(again))),
        }
    }

    /// After a conviction everything that was taken belongs to others.
    fn forget_if_lost(&mut self) {
        let lost = self.owner.take_if(|owner| self.node.standing.owner().as_ref() != Some(owner));
        if let Some(owner) = lost {
            self.forget_doubts(&owner);
            self.reserved.clear();
            self.unwanted.clear();
            self.is_more = false;
            self.count_reserved();
        }
    }

    /// With every worker spoken for, only a trigger due before the reserved ones is worth anything.
    fn wait_for_room(&mut self, owner: &Owner, job_types: &[String]) -> Result<Next> {
        if self.reserved.is_empty() {
            return self.look_after_runs();
        }
        let Look { now_ms, earliest_ms: earliest, .. } = self.look(job_types)?;
        let poll = self.poll_interval();
        let next_look = self.before(i64::MAX, poll);
        // Those that others have taken back are gone by now.
        let Some(last) = self.reserved.last() else { return Ok(Next::Now) };
        let bound = last.scheduled_ms.saturating_sub(WORTH_A_RELEASE_MS);
        let Some(earliest) = earliest.filter(|earliest| *earliest < bound) else {
            return Ok(self.next_at(Some(next_look)));
        };
        // What is seen and cannot be taken, such as a trigger of a group that is full, is no reason to let go again and again
        // what would be reserved anew: once before its time, and once at it.
        let reason = (earliest, earliest <= now_ms);
        if self.fruitless == Some(reason) {
            return Ok(self.next_at(Some(next_look)));
        }
        let running = self.node.standing.running();
        let later = self.reserved.partition_point(|held| held.scheduled_ms <= earliest);
        self.unwanted.extend(self.reserved.drain(later..));
        self.count_reserved();
        self.release_unwanted()?;
        if self.room() == 0 {
            return Ok(self.next_at(Some(next_look)));
        }
        let found = self.acquire(owner, job_types)?;
        let has_earlier = self.reserved.iter().any(|held| held.scheduled_ms <= earliest);
        let is_fruitless = !has_earlier && self.node.standing.running() <= running;
        self.fruitless = is_fruitless.then_some(reason);
        match found {
            Found::Something => Ok(self.next_at(Some(next_look))),
            Found::Nothing(again) => Ok(self.next_at(Some(again))),
        }
    }

    /// Peeks without the lock, unless something is known to be there, and takes it only if there is something for us.
    fn acquire(&mut self, owner: &Owner, job_types: &[String]) -> Result<Found> {
        let node = Arc::clone(&self.node);
        let has_due = node.has_due.swap(false, Ordering::Relaxed) && !self.was_misled;
        let is_overdue = self.overdue_in().is_some_and(|wait| wait.is_zero());
        let has_looked = !(self.is_more || has_due) || is_overdue || self.is_time_to_look();
        if has_looked {
            let Look { now_ms, earliest_ms: earliest, .. } = self.look(job_types)?;
            self.is_more = false;
            let poll = self.poll_interval();
            let soon_ms = self.soon_ms();
            let wait_ms = earliest.map_or(i64::MAX, |earliest| earliest.saturating_sub(soon_ms.saturating_add(now_ms)));
            if wait_ms > 0 {
                self.is_withheld = false;
                self.adapt_window(now_ms, None);
                let wait_ms = wait_ms.saturating_add(stagger_ms(&node.instance, earliest, soon_ms));
                return Ok(Found::Nothing(self.before(wait_ms, poll)));
            }
        }
        let (room, measured) = (self.room_now(), Arc::clone(&self.measured));
        let mut max = room.size().min(self.batch_limit()).max(1);
        if let Some(until) = self.keep_pace(&mut max) {
            return Ok(Found::Nothing(until));
        }
        let quarantined = node.quarantine.keys(node.clock.ticks());
        let request = AcquireRequest {
            max,
            ahead: (room.free < max).then_some(TakeAhead {
                free: room.free,
                quick: room.quick,
                short: &measured.short,
            }),
            look_ahead_ms: self.look_ahead_ms(),
            fire_ahead_ms: millis(node.settings.scheduler.batch_time_window),
            job_types,
            quarantined: &quarantined,
        };
        self.is_more = false;
        self.is_in_doubt = true;
        let asked = node.clock.ticks();
        let brought = self.take(owner, &request)?;
        node.counters.overtaken.add(brought.overtaken);
        let now = node.clock.ticks();
        node.metrics.acquire.observe(now.saturating_sub(asked));
        let passed = self.tell_passed(&brought);
        node.quarantine.add(brought.unreadable, now);
        note_parked(&node, brought.parked);
        let count = brought.fired.len() + brought.reserved.len();
        self.pace.spend(count);
        self.store_time.note(now, brought.now_ms);
        self.reserved.extend(brought.reserved);
        self.reserved.sort_by_key(|held| held.scheduled_ms);
        self.count_reserved();
        self.is_withheld = brought.withheld > 0;
        self.is_more = self.is_withheld || count + brought.overtaken >= max;
        node.take_turns(self.is_more && node.store.takes_turns(&brought.fired));
        // That these begin at once on free workers says nothing of those that would wait.
        let longest = self.is_more.then(|| node.longest_wait()).flatten();
        self.take_over(owner, brought.fired, false);
        self.is_in_doubt = brought.is_in_doubt;
        self.keep_doubt(brought.doubt)?;
        self.adapt_window(brought.now_ms, longest);
        if count + passed + brought.spread > 0 {
            self.was_misled = false;
            return Ok(Found::Something);
        }
        if self.is_withheld {
            // The worker that is free next says so.
            let poll = self.poll_interval();
            return Ok(Found::Nothing(now.saturating_add(poll)));
        }
        if brought.overtaken > 0 {
            // Other nodes were faster: there may be more, and they are not to be asked without a pause.
            return Ok(Found::Nothing(now.saturating_add(LINGER)));
        }
        if !has_looked {
            // What was stored here may be another node's, or not be free; when the next is due only a look can say.
            self.was_misled = has_due;
            return Ok(Found::Nothing(now));
        }
        let wait_ms = brought.unreserved_ms.map_or(i64::MAX, |at_ms| at_ms.saturating_sub(brought.now_ms));
        let poll = self.poll_interval();
        Ok(Found::Nothing(self.before(wait_ms, poll)))
    }

    /// Ticks in so many milliseconds, but not later than the next poll.
    fn before(&self, ms: i64, poll: Duration) -> Duration {
        let wait = Duration::from_millis(u64::try_from(ms).unwrap_or(0)).min(poll);
        self.node.clock.ticks().saturating_add(wait)
    }

    /// The earliest of `other`, of the first reservation's time, and of the next look at fires that
    /// wait.
    fn next_at(&self, other: Option<Duration>) -> Next {
        let compares_at = self.compares_at();
        let sees_waiting = self.sees_waiting_at();
        match self.first_fired_at().into_iter().chain(sees_waiting).chain(compares_at).chain(other).min() {
            Some(at) => Next::At(at),
            None => Next::WhenSignalled,
        }
    }

    /// Tells what did not fire by the policies of its triggers, and asks the runs here to stop that are to; returns how many
    /// triggers there were.
    fn tell_passed(&self, brought: &Acquisition) -> usize {
        let node = &*self.node;
        for trigger in &brought.misfired {
            node.counters.misfires.add(1);
            log::misfired(trigger.key());
            node.listeners.trigger_misfired(trigger);
        }
        node.note_skipped(&brought.skipped);
        node.note_finalized(&brought.finalized);
        brought.waiting.iter().for_each(log::waits_for_earlier_run);
        if !brought.cancelled.is_empty() {
            let here = node.standing.fires();
            for fire_id in &brought.cancelled {
                let handle = here.iter().find(|handle| handle.fire_id() == fire_id);
                log::cancelled_by_trigger(fire_id, handle.is_some());
                if let Some(handle) = handle {
                    handle.stop(StopReason::Cancelled, self.node.clock.ticks());
                }
            }
        }
        brought.skipped.len() + brought.waiting.len()
    }

    /// Hands fires to workers, which wait for their times if these `lead`.
    fn take_over(&mut self, owner: &Owner, bundles: Vec<FireBundle>, lead: bool) {
        if bundles.is_empty() {
            return self.hand_over();
        }
        let was_idle = self.node.standing.running() == 0;
        let monitor = self.node.settings.plugins.interrupt_monitor.as_ref();
        let owner = Arc::new(owner.clone());
        self.handed = self.node.clock.ticks();
        self.node.ahead.lock().enter(ahead_of(&bundles));
        for mut bundle in bundles {
            let late_ms = u64::try_from(bundle.fired_ms.saturating_sub(bundle.scheduled_ms)).unwrap_or(0);
            self.node.metrics.lateness.observe(Duration::from_millis(late_ms));
            interrupt_monitor::limit(&mut bundle, monitor);
            let lines = RunLines::of(&self.node, &bundle);
            let due = if lead { self.store_time.ticks_at(bundle.scheduled_ms) } else { Duration::ZERO };
            let task = FireTask::new(bundle, Arc::clone(&owner), lines, due.max(self.handed));
            self.node.standing.enter(Arc::clone(&task.handle));
            match task.due > self.handed {
                true => self.early.add(&self.node, task),
                false => self.handover.push_back(task),
            }
        }
        if was_idle {
            // From now on it has beats to give, and is to look after them in time.
            self.node.heartbeat.signal.raise();
        }
        self.hand_over();
    }

    /// Gives fires to workers, and to their queue those for which none is free.
    fn hand_over(&mut self) {
        self.pool.submit(&mut self.handover);
    }

    fn count_reserved(&self) {
        self.node.reserved.store(self.reserved.len(), Ordering::Relaxed);
    }

    /// After an error nothing is known for sure: reservations go back, which the store does only for our own.
    fn after(&mut self, error: &Error) {
        self.is_more = false;
        self.end_turns();
        if error.is_fenced() {
            self.reserved.clear();
            self.unwanted.clear();
            if let Some(owner) = &self.owner {
                self.node.standing.doubt(owner);
            }
            self.node.cluster.signal.raise();
        } else {
            self.give_up_reserved();
        }
        self.count_reserved();
    }
}

impl Service for Acquirer {
    fn name(&self) -> &'static str {
        "acquirer"
    }

    fn run_once(&mut self) -> Result<Next> {
        let next = self.pass().inspect_err(|error| self.after(error));
        // What has ended waits for a turn only where one comes at once.
        let is_batching = self.batching_since.is_some() && self.node.is_firing() && matches!(next, Ok(Next::At(_)));
        if !is_batching && !matches!(next, Ok(Next::Now)) {
            self.node.take_turns(false);
        }
        next
    }

    fn stopped(&mut self) {
        self.end_turns();
        if self.node.stopping().is_some() {
            self.node.enter_stop_step(Some(StopStep::Release));
        }
        self.settle_at_end();
        self.leave_nothing_waiting();
        self.forget_if_lost();
        self.give_up_reserved();
        if let Err(error) = self.release_unwanted() {
            log::leave_failed(&self.node.instance, &error.to_string());
        }
    }
}
