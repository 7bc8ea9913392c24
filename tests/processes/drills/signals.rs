//! SIGTERM with running and acquired work (scenario 16; DS-67, LT-87 to LT-90): the node releases
//! acquired work at once, finishes or interrupts runs within the grace, and deletes its rows.

use super::node::NodeProcess;
use super::support::wait_until;
use super::*;
use carnelian::history::{FireOutcome, HistoryQuery};
use carnelian::store::row::FiredState;
use carnelian::{GroupMatcher, JobDetail, JobKey, Trigger, TriggerKey};
use diesel::connection::SimpleConnection;
use rustix::process::Signal;
use std::time::Instant;

/// The number of triggers that are due one after the other, half a second apart.
const SOON: i64 = 40;

/// A node that runs this job, and holds reservations for moments to come.
fn with_running_and_acquired(place: &Place, job_type: &str, ms: i64) -> NodeProcess {
    let config = place.path("node.properties");
    std::fs::write(&config, &place.text).unwrap();
    let mut node = NodeProcess::demo(&config, &place.path("node.err"));
    node.ready();
    let schedule = |name: &str, job_type: &str, ms: i64, trigger: carnelian::TriggerBuilder| {
        let job =
            JobDetail::builder(JobKey::named(name), job_type).requests_recovery(true).data("ms", ms).build().unwrap();
        place.store.catalogue().schedule(vec![(job, vec![trigger.build().unwrap()])], false).unwrap();
    };
    let trigger = |name: &str| Trigger::builder(TriggerKey::named(name), JobKey::named(name));
    schedule("runs", job_type, ms, trigger("runs"));
    wait_until("it runs", LONG, || fires(place, FiredState::Executing) == 1);
    // A node reserves what is due within two seconds; of so many some are reserved at any time.
    let begin = place.store.now_ms().unwrap();
    for n in 1..=SOON {
        let at = chrono::DateTime::from_timestamp_millis(begin + 500 * n).unwrap();
        let name = format!("soon-{n}");
        schedule(&name, "demo.sleep", 1, trigger(&name).start_at(at));
    }
    wait_until("some are acquired", LONG, || fires(place, FiredState::Acquired) > 0);
    node
}

/// The node does not take itself for dead while the machine has no time for it.
const NEVER_LATE: &str = "jobStore.clusterCheckinInterval = 3000\njobStore.clusterCheckinMisfireThreshold = 30000\n";

fn fires(place: &Place, state: FiredState) -> usize {
    place.store.upkeep().fired_triggers().unwrap().iter().filter(|fire| fire.state == state).count()
}

fn outcome(place: &Place) -> (FireOutcome, String) {
    let mut rows = place.store.history().find(&HistoryQuery::new().job(JobKey::named("runs"))).unwrap();
    assert_eq!(rows.len(), 1, "{rows:#?}");
    let row = rows.pop().unwrap();
    (row.outcome, row.error.unwrap_or_default())
}

/// The node ends by itself, with exit code 0, and nobody waits for its death.
fn ends(place: &Place, node: &mut NodeProcess) {
    node.expect_success();
    assert!(place.store.upkeep().instances().unwrap().is_empty());
    assert!(place.store.upkeep().fired_triggers().unwrap().is_empty());
    let log = std::fs::read_to_string(place.path("node.err")).unwrap();
    assert!(!log.contains("panicked"), "{log}");
}

/// A signal was looked at after the start only, which waited for a lock for a minute.
#[test]
fn a_node_whose_start_waits_for_the_database_ends_in_time() {
    let place = Place::new("postgres", "carnelian.shutdown.deadline = 2s\n", Arc::new(SystemClock::default()));
    let mut holder = PgConnection::establish(place.url()).unwrap();
    let name = &place.store.settings().scheduler.instance_name;
    let hold = format!("BEGIN; SELECT lock_name FROM qrtz_locks WHERE sched_name = '{name}' FOR UPDATE");
    holder.batch_execute(&hold).unwrap();
    let errors = place.path("A.err");
    let mut node = NodeProcess::start(&mut place.command_at("A", place.url()), &errors);
    let log = || std::fs::read_to_string(&errors).unwrap();
    wait_until("it looks at its database", LONG, || log().contains("the database is PostgreSQL"));
    let told = Instant::now();
    node.signal(Signal::TERM);
    node.expect_success();
    // The lock is held for longer: the start would have tried six times.
    assert!(told.elapsed() < LONG / 2, "{:?}", told.elapsed());
    assert!(!log().contains("demo node stops"), "{}", log());
    holder.batch_execute("COMMIT").unwrap();
}

#[test]
fn what_runs_is_finished_and_what_is_acquired_is_released_at_once() {
    everywhere(&format!("carnelian.scheduler.pollInterval = 50ms\n{NEVER_LATE}"), |place| {
        let mut node = with_running_and_acquired(place, "demo.sleep", 4_000);
        node.signal(Signal::TERM);
        wait_until("what was acquired is released", LONG, || fires(place, FiredState::Acquired) == 0);
        // A run that had just begun ends in a moment, and the long one has not ended before.
        wait_until("only the other one still runs", LONG, || fires(place, FiredState::Executing) == 1);
        let waiting = place.store.catalogue().trigger_summaries(&GroupMatcher::Any).unwrap();
        let waiting: Vec<_> = waiting.iter().filter(|trigger| trigger.job.name().starts_with("soon")).collect();
        assert!(!waiting.is_empty() && waiting.iter().all(|trigger| trigger.state == "WAITING"), "{waiting:?}");
        ends(place, &mut node);
        assert_eq!(outcome(place), (FireOutcome::Succeeded, String::new()));
        place.store.catalogue().clear().unwrap();
    });
}

/// A job that looks, and one that does not and is given up: both are recorded, and their work waits
/// for another node.
#[test]
fn what_does_not_end_is_interrupted_within_the_grace() {
    let more = "carnelian.scheduler.pollInterval = 50ms\n\
                scheduler.interruptJobsOnShutdownWithWait = true\ncarnelian.shutdown.stopWait = 500ms\n";
    everywhere(&format!("{more}{NEVER_LATE}"), |place| {
        for (job_type, expected) in
            [("demo.forever", "shutdown: "), ("demo.stubborn", "shutdown: it did not end within 1.5s")]
        {
            let mut node = with_running_and_acquired(place, job_type, 600_000);
            node.signal(Signal::TERM);
            ends(place, &mut node);
            let (outcome, error) = outcome(place);
            assert_eq!(outcome, FireOutcome::Interrupted, "{job_type}: {error}");
            assert!(error.starts_with(expected), "{job_type}: {error}");
            let waiting = place.store.catalogue().triggers_of_job(&JobKey::named("runs")).unwrap();
            assert_eq!(waiting.len(), 1, "{job_type}: its work goes on elsewhere");
            place.store.catalogue().clear().unwrap();
            place.store.database().forget_scheduler().unwrap();
            place.store.database().migrate().unwrap();
        }
    });
}
