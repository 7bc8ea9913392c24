//! The census of statements: the number that each fire costs, counted on every database, without a
//! clock.
#![cfg(all(feature = "sqlite", feature = "postgres", feature = "mysql"))]

use crate::support;
use carnelian::clock::SystemClock;
use carnelian::history::HistoryQuery;
use carnelian::settings::Settings;
use carnelian::store::{
    AcquireRequest, CompletionInstruction, CompletionOutcome, DeadFire, DeadFireDecision, DeadFireHandler, JobStore,
    Membership, Owner, SqlDatabase, StatementCounts, violations,
};
use carnelian::{
    CalendarIntervalSchedule, Continuation, IntervalUnit, JobDetail, JobKey, JobPolicy, OnDead, Schedule,
    SimpleSchedule, Trigger, TriggerKey,
};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

static NONE: BTreeSet<TriggerKey> = BTreeSet::new();

fn request(max: usize, job_types: &[String]) -> AcquireRequest<'_> {
    AcquireRequest { max, prefetch: None, look_ahead_ms: 0, fire_ahead_ms: 0, job_types, quarantined: &NONE }
}

struct Node {
    store: JobStore,
    owner: Owner,
}

impl Node {
    fn open(url: &str) -> Self {
        let name = support::fresh_name("census");
        let clock = Arc::new(SystemClock::default());
        let settings = Settings::in_database(name, url.parse().unwrap());
        let database = Arc::new(SqlDatabase::open(&settings, clock.clone()).unwrap());
        let store = JobStore::new(database, clock, settings);
        store.database().migrate().unwrap();
        let mut me = Membership::new("counter");
        store.upkeep().check_in(&mut me).unwrap();
        Self { owner: me.owner().unwrap(), store }
    }

    fn schedule(&self, triggers: u32, schedule: impl Into<Schedule>, recovery: bool) {
        let schedule = schedule.into();
        let key = JobKey::named("counted");
        let job = JobDetail::builder(key.clone(), "t").durable(true).requests_recovery(recovery).build().unwrap();
        let trigger = |i| Trigger::builder(TriggerKey::named(format!("t{i}")), key.clone()).schedule(schedule.clone());
        let triggers = (0..triggers).map(|i| trigger(i).build().unwrap()).collect();
        self.store.catalogue().schedule(vec![(job, triggers)], true).unwrap();
    }

    /// Fires and completes in batches until nothing is due; returns fires and what they cost.
    fn drain(&self, batch: usize, by: By) -> (u64, StatementCounts) {
        let types = ["t".to_owned()];
        let request = request(batch, &types);
        let before = self.store.database().counts();
        let (mut fires, mut ends) = (0, Vec::new());
        loop {
            let (outcomes, fired) = match by {
                By::Calls => {
                    let outcomes = self.store.firing().complete(&self.owner, &ends).unwrap().outcomes;
                    (outcomes, self.store.firing().acquire(&self.owner, &request).unwrap().fired)
                }
                By::Turns => {
                    let (recorded, acquired) =
                        self.store.firing().complete_and_acquire(&self.owner, &ends, &request).unwrap();
                    (recorded.outcomes, acquired.fired)
                }
            };
            assert!(outcomes.iter().all(|outcome| *outcome == CompletionOutcome::Recorded));
            if fired.is_empty() {
                break;
            }
            fires += u64::try_from(fired.len()).unwrap();
            ends = fired.iter().map(|f| f.completion(CompletionInstruction::NoInstruction, None)).collect();
        }
        let after = self.store.database().counts();
        let cost = StatementCounts {
            statements: after.statements - before.statements,
            commits: after.commits - before.commits,
        };
        assert_eq!(violations(&self.store.upkeep().snapshot().unwrap()), []);
        (fires, cost)
    }
}

/// The way in which a backlog is drained.
#[derive(Clone, Copy)]
enum By {
    /// A transaction that records the ends, and one that acquires.
    Calls,
    /// Both in one: what a node with a backlog does.
    Turns,
}

/// The most statements that fires may take: what they take, so that nothing is added to them
/// unseen.
struct Most {
    /// Of a one-shot in batches of 50, its row of the history included.
    one_shots: f64,
    /// Of a one-shot in batches of 50, by turns.
    turns: f64,
    /// Of a trigger with a calendar interval, in batches of 50.
    intervals: f64,
    /// Of a lone one-shot.
    lone: u64,
    /// Of a lone one-shot whose job requests recovery.
    recoverable: u64,
    /// Of a lone repeating trigger, with the poll that finds nothing.
    repeating: u64,
    /// More of fifty runs in a batch if they are followed.
    followed: u64,
    /// More of the recovery of twenty jobs whose handler is asked than of one.
    asked: u64,
    /// To store a trigger of a stored job.
    new_trigger: u64,
    /// To store a job with its trigger.
    new_job: u64,
    /// To store a trigger that asks for something special, here a calendar interval.
    special: u64,
}

/// The cost of calls that schedule. IS-6: on PostgreSQL new work on the fast path is one statement,
/// and no transaction beside it.
fn scheduling(database: &str, node: &Node, most: &Most) {
    node.schedule(0, SimpleSchedule::once(), false);
    let trigger =
        |name: &str, job: &str| Trigger::builder(TriggerKey::named(name), JobKey::named(job)).build().unwrap();
    let new_job = JobDetail::builder(JobKey::named("new"), "t").build().unwrap();
    let special = Trigger::builder(TriggerKey::named("special"), JobKey::named("counted"))
        .schedule(CalendarIntervalSchedule::every(1, IntervalUnit::Month))
        .build()
        .unwrap();
    type Call<'a> = Box<dyn Fn(&JobStore) + 'a>;
    let calls: [(&str, u64, Call<'_>); 3] = [
        (
            "new trigger",
            most.new_trigger,
            Box::new(|s| drop(s.catalogue().add_trigger(trigger("one", "counted"), false).unwrap())),
        ),
        (
            "new job",
            most.new_job,
            Box::new(|s| {
                drop(s.catalogue().schedule(vec![(new_job.clone(), vec![trigger("two", "new")])], false).unwrap())
            }),
        ),
        (
            "special trigger",
            most.special,
            Box::new(|s| drop(s.catalogue().add_trigger(special.clone(), false).unwrap())),
        ),
    ];
    for (what, most, call) in calls {
        let before = node.store.database().counts();
        call(&node.store);
        let after = node.store.database().counts();
        let (statements, commits) = (after.statements - before.statements, after.commits - before.commits);
        println!("census database={database} scheduling {what}: statements={statements} commits={commits}");
        assert!(statements <= most && commits == 1, "{what}: {statements} statements, {commits} commits");
    }
    node.store.catalogue().clear().unwrap();
}

/// The cost of another job that follows fifty runs, which end in one transaction: the search for
/// children, the pauses, the triggers, the notification. LT-12.
fn followed(node: &Node, most: u64) {
    node.store
        .catalogue()
        .add_job(&JobDetail::builder(JobKey::named("next"), "other").durable(true).build().unwrap(), false)
        .unwrap();
    let mut costs = Vec::new();
    for follows in [false, true] {
        node.schedule(50, SimpleSchedule::once(), false);
        if follows {
            node.store.catalogue().follow(&Continuation::new(JobKey::named("counted"), JobKey::named("next"))).unwrap();
        }
        let (fires, cost) = node.drain(50, By::Calls);
        assert_eq!(fires, 50);
        costs.push(cost);
    }
    let more = costs[1].statements - costs[0].statements;
    println!("census followed batch=50 statements_more={more}");
    assert_eq!(costs[0].commits, costs[1].commits);
    assert!(more <= most, "{costs:?}");
    let waiting =
        node.store.upkeep().snapshot().unwrap().triggers.into_iter().filter(|t| t.job == JobKey::named("next"));
    assert_eq!(waiting.count(), 50);
    node.store.catalogue().clear().unwrap();
}

/// The cost of a second trigger of a job that runs once at a time: the fire of one blocks the
/// other, and takes it back from whoever has reserved it.
fn siblings(node: &Node) {
    let key = JobKey::named("alone");
    let trigger = |name: &str| {
        let trigger = Trigger::builder(TriggerKey::named(name), key.clone());
        trigger.schedule(SimpleSchedule::every(Duration::from_secs(3600)))
    };
    let mut costs = Vec::new();
    for has_sibling in [false, true] {
        let job = JobDetail::builder(key.clone(), "t").disallow_concurrent_execution(true).build().unwrap();
        let later = trigger("later").start_at(chrono::DateTime::from_timestamp(4_000_000_000, 0).unwrap());
        let triggers = [trigger("now")].into_iter().chain(has_sibling.then_some(later));
        let triggers = triggers.map(|trigger| trigger.build().unwrap()).collect();
        node.store.catalogue().schedule(vec![(job, triggers)], true).unwrap();
        let (fires, cost) = node.drain(1, By::Calls);
        assert_eq!(fires, 1);
        costs.push(cost.statements);
        node.store.catalogue().clear().unwrap();
    }
    println!("census sibling of a job that runs once at a time: statements_more={}", costs[1] - costs[0]);
    assert_eq!(costs[1] - costs[0], 1, "{costs:?}");
}

/// Gives every dead fire up.
struct GivesUp;

impl DeadFireHandler for GivesUp {
    fn decide(&self, fire: &DeadFire) -> Option<DeadFireDecision> {
        assert_eq!(fire.data.text("of"), Some("job"));
        Some(DeadFireDecision::NextFire)
    }
}

/// The cost of dead fires about which a handler is asked, with the data of their jobs: no statement
/// more for each job on a server.
fn asked(node: &Node, most: u64) {
    let mut costs = Vec::new();
    for jobs in [1, 20] {
        let work = |n: u32| {
            let job = JobDetail::builder(JobKey::named(format!("asked{n}")), "t").requests_recovery(true);
            let job = job.policy(JobPolicy::new().on_dead(OnDead::Ask)).data("of", "job").build().unwrap();
            let trigger = Trigger::builder(TriggerKey::named(format!("asked{n}")), job.key().clone()).build().unwrap();
            (job, vec![trigger])
        };
        node.store.catalogue().schedule((0..jobs).map(work).collect(), true).unwrap();
        let fired = node.store.firing().acquire(&node.owner, &request(50, &["t".to_owned()])).unwrap().fired;
        let dead: Vec<String> = fired.into_iter().map(|fire| fire.fire_id).collect();
        assert_eq!(dead.len(), jobs as usize);
        let asking = node.store.clone().with_dead_fire_handler(Arc::new(GivesUp));
        let before = asking.database().counts();
        let recovered = asking.upkeep().abandon(&node.owner, &dead).unwrap();
        costs.push(asking.database().counts().statements - before.statements);
        assert_eq!(recovered.lost.len(), jobs as usize);
    }
    let more = costs[1].saturating_sub(costs[0]);
    println!("census recovery of 20 jobs whose handler is asked: statements_more={more} than of one: {costs:?}");
    assert!(more <= most, "{costs:?}");
    node.store.catalogue().clear().unwrap();
}

/// The cost of a backlog of one-shots and of one of calendar intervals at batch 50, and of a lone
/// repeating fire.
fn census(database: &str, url: &str, most: &Most) {
    let node = Node::open(url);
    node.schedule(1000, SimpleSchedule::once(), false);
    let (fires, cost) = node.drain(50, By::Calls);
    assert_eq!(fires, 1000);
    let per_fire = |n: u64| n as f64 / fires as f64;
    println!(
        "census database={database} batch=50 one-shots={fires} statements_per_fire={:.3} commits_per_fire={:.3}",
        per_fire(cost.statements),
        per_fire(cost.commits)
    );
    assert!(per_fire(cost.statements) <= most.one_shots, "{cost:?}");
    assert!(per_fire(cost.commits) <= 0.042, "{cost:?}");
    assert_eq!(node.store.history().find(&HistoryQuery::new().limit(2000)).unwrap().len(), 1000);

    node.schedule(1000, SimpleSchedule::once(), false);
    let (fires, cost) = node.drain(50, By::Turns);
    assert_eq!(fires, 1000);
    println!(
        "census database={database} batch=50 one-shots={fires} by turns: statements_per_fire={:.3} commits_per_fire={:.3}",
        per_fire(cost.statements),
        per_fire(cost.commits)
    );
    assert!(per_fire(cost.statements) <= most.turns, "{cost:?}");
    assert!(per_fire(cost.commits) <= 0.021, "{cost:?}");

    node.schedule(1000, CalendarIntervalSchedule::every(1, IntervalUnit::Month), false);
    let (fires, cost) = node.drain(50, By::Calls);
    assert_eq!(fires, 1000);
    println!(
        "census database={database} batch=50 calendar-intervals={fires} statements_per_fire={:.3}",
        per_fire(cost.statements)
    );
    assert!(per_fire(cost.statements) <= most.intervals, "{cost:?}");
    node.store.catalogue().clear().unwrap();

    for (what, recovery, most) in [("plain", false, most.lone), ("recoverable", true, most.recoverable)] {
        node.schedule(1, SimpleSchedule::once(), recovery);
        let (fires, cost) = node.drain(1, By::Calls);
        // The last acquisition, which finds nothing, is the idle poll and not the fire's.
        let lone = StatementCounts { statements: cost.statements - 2, commits: cost.commits - 1 };
        println!("census database={database} lone {what} one-shot: {lone:?}");
        assert_eq!(fires, 1);
        assert!(lone.statements <= most && lone.commits <= 2, "{lone:?}");
    }
    node.schedule(1, SimpleSchedule::every(Duration::from_secs(3600)), true);
    let (fires, cost) = node.drain(1, By::Calls);
    println!("census database={database} lone repeating fire: {cost:?} with its idle poll");
    assert_eq!(fires, 1);
    assert!(cost.statements <= most.repeating, "{cost:?}");
    node.store.catalogue().clear().unwrap();
    followed(&node, most.followed);
    siblings(&node);
    asked(&node, most.asked);
    scheduling(database, &node, most);
}

#[test]
fn postgres_takes_a_sixth_of_a_statement_per_fire() {
    let most = Most {
        one_shots: 0.163,
        turns: 0.163,
        intervals: 0.203,
        lone: 8,
        recoverable: 10,
        repeating: 11,
        followed: 5,
        asked: 0,
        new_trigger: 1,
        new_job: 1,
        special: 10,
    };
    census("postgres", &support::postgres_url(), &most);
}

#[test]
fn mysql_takes_a_fifth_of_a_statement_per_fire() {
    let most = Most {
        one_shots: 0.224,
        turns: 0.203,
        intervals: 0.363,
        lone: 11,
        recoverable: 14,
        repeating: 15,
        followed: 6,
        // A lone fired row needs no look before it is deleted.
        asked: 1,
        new_trigger: 9,
        new_job: 11,
        special: 10,
    };
    census("mysql", &support::mysql_url(), &most);
}

/// In this process a statement is no round trip: SQLite loops over prepared ones, one commit a
/// batch.
#[test]
fn sqlite_takes_few_commits() {
    let folder = tempfile::tempdir().unwrap();
    let most = Most {
        one_shots: 2.182,
        turns: 2.182,
        intervals: 4.182,
        lone: 6,
        recoverable: 8,
        repeating: 9,
        followed: 9,
        asked: 440,
        new_trigger: 8,
        new_job: 10,
        special: 9,
    };
    census("sqlite", &format!("sqlite:{}", folder.path().join("census.db").display()), &most);
}
