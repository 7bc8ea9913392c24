//! Scheduling calls of several threads at once: each takes effect at one moment between its call
//! and its answer, or later if its answer was lost.

use super::*;
use carnelian::store::JobStore;
use carnelian::store::faults::Fault;
use carnelian::{Error, FailureClass, JobDataMap, JobDetail, Trigger, TriggerBuilder, TriggerKey, TriggerState};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering as AtomicOrdering};

mod checker;

use checker::{Answer, Call, Ended, is_linearisable};

/// Calls of one thread, and threads.
const CALLS: usize = 6;
const THREADS: usize = 4;

/// Each job with its trigger is a register of its own.
const KEYS: u64 = 2;

/// Of ten calls so many meet a fault.
const FAULTS: u64 = 2;

/// Numbers that follow from a seed (SplitMix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % n
    }
}

fn name(key: u64) -> String {
    format!("k{key}")
}

/// The trigger of a key; its priority tells which call has stored it.
fn versioned(key: u64, version: i32) -> TriggerBuilder {
    minutely(&name(key), &name(key), NOW + MINUTE).priority(version)
}

fn work(key: u64, version: i32) -> Vec<(JobDetail, Vec<Trigger>)> {
    vec![(job(&name(key)).build().unwrap(), vec![versioned(key, version).build().unwrap()])]
}

fn draw(dice: &mut Dice, version: i32) -> Call {
    match dice.below(9) {
        0 | 1 => Call::Schedule(version),
        2 => Call::Replace(version),
        3 => Call::Reschedule(version),
        4 => Call::Unschedule,
        5 => Call::Delete,
        6 => Call::Pause,
        7 => Call::Resume,
        _ => Call::TriggerNow,
    }
}

/// Calls, and says what came of it; a failure that is not transient is a refusal.
fn call(store: &JobStore, key: u64, call: Call) -> Answer {
    let catalogue = store.catalogue();
    let (trigger, job) = (trigger_key(&name(key)), job_key(&name(key)));
    let answered = match call {
        Call::Schedule(version) => catalogue.schedule(work(key, version), false).map(|_| 1),
        Call::Replace(version) => catalogue.schedule(work(key, version), true).map(|_| 1),
        Call::Reschedule(version) => catalogue
            .reschedule(&trigger, versioned(key, version).build().unwrap())
            .map(|stored| usize::from(stored.is_some())),
        Call::Unschedule => catalogue.unschedule(&[trigger]),
        Call::Delete => catalogue.delete_jobs(&[job]),
        Call::Pause => catalogue.pause_triggers(&[trigger]),
        Call::Resume => catalogue.resume_triggers(&[trigger], false),
        Call::TriggerNow => catalogue.trigger_job(&job, JobDataMap::default()).map(|_| 1),
        Call::Look => {
            let read = catalogue.triggers_of_job(&job);
            let states = catalogue.trigger_state(&trigger);
            return look(read.unwrap(), states.unwrap(), &trigger);
        }
    };
    match answered {
        Ok(count) => Answer::Count(count),
        Err(Error::AlreadyExists { .. } | Error::NotFound { .. }) => Answer::Count(0),
        Err(error) if error.failure_class() == Some(FailureClass::CommitUnknown) => Answer::Unknown,
        Err(error) if error.is_transient() => Answer::Nothing,
        Err(error) => panic!("{call:?} of {key}: {error}"),
    }
}

/// The state of a key that nobody changes.
fn look(triggers: Vec<Trigger>, state: Option<TriggerState>, key: &TriggerKey) -> Answer {
    let (own, manual): (Vec<_>, Vec<_>) = triggers.into_iter().partition(|trigger| trigger.key() == key);
    let paused = state == Some(TriggerState::Paused);
    Answer::Seen(own.first().map(|trigger| (trigger.priority(), paused)), manual.len())
}

/// The histories of both keys of one round.
fn round(seed: u64) -> Vec<Vec<Ended>> {
    let cluster = Cluster::one_of_many(open());
    let (clock, begun) = (AtomicUsize::new(0), Barrier::new(THREADS));
    let tick = || clock.fetch_add(1, AtomicOrdering::SeqCst);
    let ended = parking_lot::Mutex::new(vec![Vec::new(); usize::try_from(KEYS).unwrap()]);
    let stores: Vec<JobStore> = (0..THREADS).map(|at| cluster.stranger(&at.to_string()).store).collect();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            // Two threads of four share a store, and with it its group commits.
            let (store, begun, ended, cluster) = (&stores[thread.max(1)], &begun, &ended, &cluster);
            scope.spawn(move || {
                let dice = &mut Dice(seed ^ ((thread as u64) << 56));
                begun.wait();
                for n in 0..CALLS {
                    let (key, version) = (dice.below(KEYS), i32::try_from(thread * 100 + n).unwrap());
                    let drawn = draw(dice, version);
                    if dice.below(10) < FAULTS {
                        cluster.opened.database.plan().plan(1, fault(dice));
                    }
                    let called = tick();
                    let answer = call(store, key, drawn);
                    let one = Ended { call: drawn, answer, called, answered: tick() };
                    ended.lock()[usize::try_from(key).unwrap()].push(one);
                }
            });
        }
    });
    cluster.opened.database.plan().cancel();
    let mut ended = ended.into_inner();
    for (key, history) in (0..KEYS).zip(&mut ended) {
        let called = tick();
        history.push(Ended {
            call: Call::Look,
            answer: call(&cluster.store, key, Call::Look),
            called,
            answered: tick(),
        });
    }
    ended
}

fn fault(dice: &mut Dice) -> Fault {
    match dice.below(4) {
        0 => Fault::CommitLostApplied,
        1 => Fault::CommitLostNotApplied,
        2 => Fault::CommitLostThenAway(1 + dice.below(12)),
        _ => Fault::Statement(FailureClass::Deadlock),
    }
}

on_each_database!(calls_of_several_threads_have_an_order);
fn calls_of_several_threads_have_an_order() {
    let given = std::env::var("CARNELIAN_SEED").ok().and_then(|seed| seed.parse().ok());
    let first: u64 = given.unwrap_or_else(|| getrandom::u64().expect("a seed") >> 16);
    for seed in first..first + if given.is_some() { 1 } else { ROUNDS } {
        println!("CARNELIAN_SEED={seed}");
        for (key, history) in round(seed).iter().enumerate() {
            assert!(is_linearisable(history), "CARNELIAN_SEED={seed}: no order of the calls of k{key}: {history:#?}");
        }
    }
}

/// Histories of one test.
const ROUNDS: u64 = 40;
