//! Transactions of jobs and callers that stay open for long: nothing else is late.
//!
//! `CARNELIAN_HELD` is the number of seconds for which they stay open.

use super::history::text;
use super::standing_still::stop;
use super::support::wait_until;
use super::*;
use carnelian::database::CallersConnection;
use carnelian::{
    JobDetail, JobKey, JobPolicy, MisfireInstruction, SimpleSchedule, Trigger, TriggerBuilder, TriggerKey,
};
use diesel::connection::SimpleConnection;
use rustix::process::Signal;
use std::collections::BTreeSet;

/// No other fire is later.
const LATEST_MS: i64 = 2_000;

fn job(key: JobKey) -> JobDetail {
    JobDetail::builder(key, "demo.append").durable(true).build().unwrap()
}

fn trigger(name: &str) -> TriggerBuilder {
    Trigger::builder(TriggerKey::named(name), JobKey::named(name))
}

/// Four triggers that fire twice a second, each time once.
fn schedule_others(place: &Place) {
    let every = SimpleSchedule::every(Duration::from_millis(500));
    let work = ["t1", "t2", "t3", "t4"].map(|name| {
        let job = job(JobKey::new("others", name));
        let trigger = Trigger::builder(TriggerKey::named(name), job.key().clone()).schedule(every.clone());
        (job, vec![trigger.misfire(MisfireInstruction::Ignore).build().unwrap()])
    });
    place.store.catalogue().schedule(work.into(), false).unwrap();
    wait_until("they fire", LONG, || others(place, 0).len() > 8);
}

/// The due time and the lateness, in milliseconds, of the others' fires that were due since.
fn others(place: &Place, since_ms: i64) -> Vec<(i64, i64)> {
    let events = place.events();
    let starts = events.iter().filter(|e| text(e, "event") == "START" && text(e, "job").starts_with("others."));
    let due = starts.map(|e| (e["scheduled_ms"].as_i64().unwrap(), e["wall_ms"].as_i64().unwrap()));
    due.filter(|(due, _)| *due >= since_ms).map(|(due, at)| (due, at - due)).collect()
}

fn started(place: &Place, name: &str) -> usize {
    let events = place.events();
    events.iter().filter(|e| text(e, "event") == "START" && text(e, "job").ends_with(name)).count()
}

/// Stores a job in a transaction of its own, on a connection of its own, and keeps that open for so
/// long.
fn hold_open(place: &Place, held: Duration) {
    let hold = |connection: CallersConnection<'_>| -> diesel::QueryResult<()> {
        // However long it stays open, that is no misfire.
        let later = trigger("later").misfire(MisfireInstruction::Ignore);
        let work = [(job(JobKey::named("later")), vec![later.build().unwrap()])];
        place.store.catalogue().schedule_within(connection, &work, false).unwrap();
        std::thread::sleep(held);
        Ok(())
    };
    let settings = Settings::from_text("test", &place.text, |_| None).unwrap();
    match settings.data_source.unwrap().url {
        DataSourceUrl::Sqlite { path } => {
            let mut own = SqliteConnection::establish(&path).unwrap();
            own.batch_execute("PRAGMA busy_timeout = 10000").unwrap();
            own.immediate_transaction(|c| hold(c.into()))
        }
        DataSourceUrl::Postgres { url } => {
            let mut own = PgConnection::establish(url.reveal()).unwrap();
            // A limit of the session's own: without one the server would end the session after 5 s.
            own.batch_execute("SET idle_in_transaction_session_timeout = '10min'").unwrap();
            own.transaction(|c| hold(c.into()))
        }
        DataSourceUrl::MySql { url } => {
            let mut own = MysqlConnection::establish(url.reveal()).unwrap();
            own.batch_execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED").unwrap();
            own.transaction(|c| hold(c.into()))
        }
    }
    .unwrap();
}

/// For so long, and a third of it before the node of the guards stops.
fn held() -> Duration {
    seconds("CARNELIAN_HELD", 12)
}

/// A job that guards its fire lives and times out, then its node stands still and is declared dead,
/// all in one guard; and a caller's transaction is open meanwhile.
fn held_up_is_nobody(database: &'static str) {
    let place = Place::new(database, "carnelian.shutdown.stopWait = 100ms\n", Arc::new(SystemClock::default()));
    let held = held();
    let mut a = place.node("a");
    let guarding = |name: &str, policy: JobPolicy| {
        let job = JobDetail::builder(JobKey::named(name), "demo.guarded").requests_recovery(true).policy(policy);
        (job.data("ms", 600_000).build().unwrap(), vec![trigger(name).build().unwrap()])
    };
    let timed = JobPolicy::new().timeout(Duration::from_secs(1));
    place
        .store
        .catalogue()
        .schedule(vec![guarding("plain", JobPolicy::new()), guarding("timed", timed)], false)
        .unwrap();
    let guards = || {
        let events = place.events();
        let ticks = events.iter().filter(|e| text(e, "event") == "TICK");
        ticks.map(|e| text(e, "job")).collect::<BTreeSet<_>>().len()
    };
    wait_until("both guard their fires", LONG, || guards() == 2);
    let mut b = place.node("b");
    schedule_others(&place);
    let begun_ms = place.store.now_ms().unwrap();
    std::thread::scope(|threads| {
        let caller = threads.spawn(|| hold_open(&place, held));
        std::thread::sleep(held / 3);
        stop(&place, &a);
        let is_gone = || !place.store.upkeep().instances().unwrap().iter().any(|node| node.instance == "a");
        wait_until("the node of the guards is declared dead", LONG, is_gone);
        assert_eq!(started(&place, "later"), 0);
        caller.join().unwrap();
    });
    let until_ms = place.store.now_ms().unwrap();
    wait_until("what the caller has stored runs", LONG, || started(&place, "later") == 1);
    let after_ms = place.store.now_ms().unwrap() - until_ms;
    let fires: Vec<_> = others(&place, begun_ms).into_iter().filter(|(due, _)| *due < until_ms).collect();
    let latest_ms = fires.iter().map(|(_, late)| *late).max().unwrap();
    let due = (until_ms - begun_ms) / 500 * 4;
    println!(
        "held database={database} held={held:?} others={} of={due} latest_ms={latest_ms} stored_runs_after_ms={after_ms}",
        fires.len()
    );
    assert!(latest_ms < LATEST_MS && after_ms < LATEST_MS, "{latest_ms} {after_ms}");
    // The fires that the stopped node had begun are not the others' to run.
    assert!(i64::try_from(fires.len()).unwrap() >= due * 9 / 10, "{} of {due}", fires.len());
    assert_eq!((started(&place, "plain"), started(&place, "timed")), (1, 1), "a guarded fire was taken away");
    a.kill();
    wait_until("a peer takes over what was guarded", LONG, || started(&place, "plain") == 2);
    b.kill();
    place.store.catalogue().clear().unwrap();
    place.store.database().forget_scheduler().unwrap();
}

#[test]
fn transactions_that_stay_open_hold_up_nobody_on_postgres() {
    held_up_is_nobody("postgres");
}

#[test]
fn transactions_that_stay_open_hold_up_nobody_on_mysql() {
    held_up_is_nobody("mysql");
}

/// SQLite has one writer: everybody waits for it, and all goes on by itself.
#[test]
fn a_transaction_that_stays_open_is_waited_for_on_sqlite() {
    let place = Place::new("sqlite", "", Arc::new(SystemClock::default()));
    let mut nodes = ["a", "b"].map(|name| place.node(name));
    schedule_others(&place);
    hold_open(&place, held());
    let until_ms = place.store.now_ms().unwrap();
    wait_until("what the caller has stored runs", LONG, || started(&place, "later") == 1);
    let after_ms = place.store.now_ms().unwrap() - until_ms;
    wait_until("the others go on", LONG, || others(&place, until_ms).len() > 8);
    let back_ms = place.store.now_ms().unwrap() - until_ms;
    println!("held database=sqlite held={:?} stored_runs_after_ms={after_ms} back_after_ms={back_ms}", held());
    for node in &mut nodes {
        node.signal(Signal::TERM);
        node.expect_success();
    }
    place.store.catalogue().clear().unwrap();
    place.end();
}
