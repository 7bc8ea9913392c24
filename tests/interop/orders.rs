//! Orders: the other side obeys when one side pauses, resumes or reschedules.
//!
//! The proof that something does not happen is a metronome: a trigger that goes on firing
//! meanwhile.

use super::Work;
use super::checker::Verdict;
use super::cluster::{Cluster, Config, Kind, SOON};
use super::support::wait_until;
use super::tables::Server;
use carnelian::store::row::FiredState;
use carnelian::{GroupMatcher, JobKey, MisfireInstruction, SimpleSchedule, Trigger, TriggerKey, TriggerState};
use std::time::Duration;

const EVERY: Duration = Duration::from_millis(200);
const FIRES: u32 = 1_000_000;

/// The object that is paused and resumed.
#[derive(Clone, Copy, Debug)]
enum Target {
    Trigger,
    Job,
    Group,
    All,
}

pub fn run(server: Server) {
    let mut cluster = Cluster::new("orders", server, &Config::default());
    cluster.start(&[Kind::Java, Kind::Rust]);
    let mut work = Work::default();
    work.grid(("obeys", "it"), "demo.append", EVERY, FIRES, &[]);
    work.grid(("metronome", "tick"), "demo.append", EVERY, FIRES, &[]);
    work.store(&cluster.store);
    let mut orders = 0;
    for (one, other) in [(Kind::Java, Kind::Rust), (Kind::Rust, Kind::Java)] {
        for target in [Target::Trigger, Target::Job, Target::Group, Target::All] {
            runs_on(&cluster, "obeys.it");
            pause(&mut cluster, one, target);
            stands_still(&mut cluster, other, target);
            resume(&mut cluster, other, target);
            orders += 2;
        }
        runs_on(&cluster, "obeys.it");
    }
    let schedules: Vec<_> = [Kind::Java, Kind::Rust].into_iter().map(|kind| reschedule(&mut cluster, kind)).collect();

    let starts = cluster.starts("trigger", "obeys.it");
    let shares = cluster.shares(&starts);
    cluster.store.catalogue().unschedule(&[TriggerKey::new("metronome", "tick")]).unwrap();
    cluster.wait_until_quiet(0, SOON);
    // The metronome, and what was paused and resumed, each due time once: all without a misfire.
    let mut verdict = Verdict::of(&cluster, &[], &[]);
    verdict.tables(&cluster);
    for trigger in ["obeys.it", "metronome.tick"] {
        for (first, gap) in gaps(&cluster, trigger) {
            let begins_anew =
                trigger == "obeys.it" && schedules.iter().any(|(from, _)| first < *from && *from <= first + gap);
            let every = schedules.iter().rev().find(|(from, _)| trigger == "obeys.it" && first >= *from);
            let every = every.map_or(EVERY, |(_, every)| *every);
            let right = begins_anew || gap == i64::try_from(every.as_millis()).unwrap();
            verdict.expect(right, || format!("{trigger} fired at {first} and then {gap} ms later, not {every:?}"));
        }
    }
    for (kind, share) in &shares {
        verdict.expect(*share > 0, || format!("no {kind:?} node ever ran the job that orders were given for"));
    }
    cluster.stop_all();
    let figures = format!(
        " orders={} both ways, obeyed by java={} rust={}",
        orders + 2,
        shares[&Kind::Java],
        shares[&Kind::Rust]
    );
    verdict.conclude("orders", server, cluster, &figures);
}

/// The trigger fires again and again from now on.
fn runs_on(cluster: &Cluster, trigger: &str) {
    let before = cluster.starts("trigger", trigger).len();
    wait_until(&format!("{trigger} fires"), SOON, || cluster.starts("trigger", trigger).len() >= before + 3);
}

fn pause(cluster: &mut Cluster, kind: Kind, target: Target) {
    let (trigger, job) = (TriggerKey::new("obeys", "it"), JobKey::new("obeys", "it"));
    let store = cluster.store.clone();
    match (kind, target) {
        (Kind::Java, Target::Trigger) => drop(cluster.java("pause-trigger obeys.it")),
        (Kind::Java, Target::Job) => drop(cluster.java("pause-job obeys.it")),
        (Kind::Java, Target::Group) => drop(cluster.java("pause-group obeys")),
        (Kind::Java, Target::All) => drop(cluster.java("pause-all")),
        (Kind::Rust, Target::Trigger) => drop(store.catalogue().pause_triggers(&[trigger]).unwrap()),
        (Kind::Rust, Target::Job) => drop(store.catalogue().pause_jobs(&[job]).unwrap()),
        (Kind::Rust, Target::Group) => {
            drop(store.catalogue().pause_trigger_groups(&GroupMatcher::equals("obeys")).unwrap())
        }
        (Kind::Rust, Target::All) => store.catalogue().pause_all().unwrap(),
    }
}

fn resume(cluster: &mut Cluster, kind: Kind, target: Target) {
    let (trigger, job) = (TriggerKey::new("obeys", "it"), JobKey::new("obeys", "it"));
    let store = cluster.store.clone();
    match (kind, target) {
        (Kind::Java, Target::Trigger) => drop(cluster.java("resume-trigger obeys.it")),
        (Kind::Java, Target::Job) => drop(cluster.java("resume-job obeys.it")),
        (Kind::Java, Target::Group) => drop(cluster.java("resume-group obeys")),
        (Kind::Java, Target::All) => drop(cluster.java("resume-all")),
        (Kind::Rust, Target::Trigger) => drop(store.catalogue().resume_triggers(&[trigger], true).unwrap()),
        (Kind::Rust, Target::Job) => drop(store.catalogue().resume_jobs(&[job], true).unwrap()),
        (Kind::Rust, Target::Group) => {
            drop(store.catalogue().resume_trigger_groups(&GroupMatcher::equals("obeys"), true).unwrap())
        }
        (Kind::Rust, Target::All) => store.catalogue().resume_all(true).unwrap(),
    }
}

/// Nothing fires: neither node has begun a fire while the metronome ticked, and a trigger that is
/// stored into the group is paused from the start.
fn stands_still(cluster: &mut Cluster, other: Kind, target: Target) {
    let key = TriggerKey::new("obeys", "it");
    assert_eq!(cluster.store.catalogue().trigger_state(&key).unwrap(), Some(TriggerState::Paused), "{target:?}");
    assert_eq!(cluster.java("state obeys.it"), "PAUSED", "{target:?}");
    // A fire that had begun before the order may still be on its way to its START.
    wait_until("the last fire has ended", SOON, || {
        let fires = cluster.store.upkeep().fired_triggers().unwrap();
        fires.iter().all(|fire| fire.trigger != key || fire.state != FiredState::Executing)
    });
    let next = cluster.store.catalogue().trigger(&key).unwrap().unwrap().next_fire_time();
    let before = cluster.starts("trigger", "obeys.it").len();
    match target {
        Target::Trigger | Target::Job => runs_on(cluster, "metronome.tick"),
        Target::Group | Target::All => {
            // The other side stores into the group.
            let late = TriggerKey::new("obeys", "late");
            match other {
                Kind::Java => drop(cluster.java("schedule obeys.late 200 5 demo.append")),
                Kind::Rust => {
                    let mut work = Work::default();
                    work.grid(("obeys", "late"), "demo.append", EVERY, 5, &[]);
                    work.store(&cluster.store);
                }
            }
            assert_eq!(
                cluster.store.catalogue().trigger_state(&late).unwrap(),
                Some(TriggerState::Paused),
                "{target:?} {other:?}"
            );
            if matches!(target, Target::Group) {
                runs_on(cluster, "metronome.tick");
            }
            cluster.store.catalogue().delete_jobs(&[JobKey::new("obeys", "late")]).unwrap();
        }
    }
    assert_eq!(cluster.starts("trigger", "obeys.it").len(), before, "it fired while paused ({target:?})");
    assert_eq!(cluster.store.catalogue().trigger(&key).unwrap().unwrap().next_fire_time(), next, "{target:?}");
}

/// One side gives the trigger another schedule, which both sides keep to; returns its start, and
/// its interval.
fn reschedule(cluster: &mut Cluster, kind: Kind) -> (i64, Duration) {
    let every = Duration::from_millis(if kind == Kind::Java { 150 } else { 130 });
    let fires = if kind == Kind::Java { FIRES } else { 20 };
    let key = TriggerKey::new("obeys", "it");
    match kind {
        Kind::Java => drop(cluster.java(&format!("reschedule obeys.it {} {fires}", every.as_millis()))),
        Kind::Rust => {
            let trigger = Trigger::builder(key.clone(), JobKey::new("obeys", "it"))
                .schedule(SimpleSchedule::every(every).repeat(fires - 1))
                .misfire(MisfireInstruction::Ignore)
                .build()
                .unwrap();
            assert!(cluster.store.catalogue().reschedule(&key, trigger).unwrap().is_some());
        }
    }
    let from = cluster.store.catalogue().trigger(&key).unwrap().unwrap().start_time().timestamp_millis();
    match kind {
        Kind::Java => runs_on(cluster, "obeys.it"),
        Kind::Rust => wait_until("the last of its fires is over", SOON, || {
            cluster.store.catalogue().trigger(&key).unwrap().is_none()
        }),
    }
    let of_new = cluster.starts("trigger", "obeys.it");
    let of_new = of_new.iter().filter(|start| start["scheduled_ms"].as_i64() >= Some(from)).count();
    assert!(kind == Kind::Java || of_new == 20, "the new schedule has 20 fires, {of_new} were run");
    (from, every)
}

/// The due times of a trigger, each with the time to the next.
fn gaps(cluster: &Cluster, trigger: &str) -> Vec<(i64, i64)> {
    let mut due: Vec<i64> =
        cluster.starts("trigger", trigger).iter().filter_map(|start| start["scheduled_ms"].as_i64()).collect();
    due.sort_unstable();
    due.windows(2).map(|pair| (pair[0], pair[1] - pair[0])).collect()
}
