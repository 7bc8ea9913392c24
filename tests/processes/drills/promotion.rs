//! The promotion of an asynchronous replica that lacks the last commits of the primary: no trigger
//! waits for ever, no fire id comes twice, fences and nodes go on by themselves.

use super::history::text;
use super::replica::Pair;
use super::support::{cutting_proxy::Proxy, wait_until};
use super::*;
use carnelian::{JobDetail, JobKey, MisfireInstruction, SimpleSchedule, Trigger, TriggerBuilder, TriggerKey};
use std::collections::{BTreeMap, BTreeSet};

const NODES: [&str; 2] = ["a", "b"];

/// One-shots, a quarter of a second apart.
const ONCE: i64 = 60;

fn job(name: &str, job_type: &str, ms: i64) -> carnelian::JobDetailBuilder {
    JobDetail::builder(JobKey::named(name), job_type).durable(true).data("ms", ms)
}

fn trigger(name: &str) -> TriggerBuilder {
    Trigger::builder(TriggerKey::named(name), JobKey::named(name))
}

/// Fires that overlap, of jobs that run once at a time, close together, and each once. Returns the
/// triggers that go on.
fn schedule(place: &Place) -> BTreeSet<String> {
    let mut work = Vec::new();
    let every = |ms| SimpleSchedule::every(Duration::from_millis(ms));
    for i in 0..8 {
        let name = format!("overlaps-{i}");
        let misfire = MisfireInstruction::Ignore;
        work.push((job(&name, "demo.stubborn", 8_000), trigger(&name).schedule(every(2_000)).misfire(misfire)));
    }
    for i in 0..4 {
        let name = format!("alone-{i}");
        let alone = job(&name, "demo.sleep", 700).disallow_concurrent_execution(true).requests_recovery(true);
        work.push((alone, trigger(&name).schedule(every(1_000))));
        let name = format!("often-{i}");
        work.push((job(&name, "demo.append", 0), trigger(&name).schedule(every(500))));
    }
    let go_on = work.iter().map(|(_, trigger)| trigger.clone().build().unwrap().key().to_string()).collect();
    let now_ms = place.store.now_ms().unwrap();
    for i in 0..ONCE {
        let (name, at) = (format!("once-{i}"), chrono::DateTime::from_timestamp_millis(now_ms + 250 * i).unwrap());
        work.push((job(&name, "demo.append", 0), trigger(&name).start_at(at)));
    }
    let work = work.into_iter().map(|(job, trigger)| (job.build().unwrap(), vec![trigger.build().unwrap()]));
    place.store.catalogue().schedule(work.collect(), false).unwrap();
    go_on
}

/// The begin of a run, as its job saw it.
struct Start {
    trigger: String,
    instance: String,
    fire_id: String,
    fence: i64,
    scheduled_ms: i64,
    at_ms: i64,
}

fn starts(place: &Place) -> Vec<Start> {
    let events = place.events();
    let starts = events.iter().filter(|event| text(event, "event") == "START");
    let number = |event: &Value, field: &str| event[field].as_i64().unwrap();
    let start = |event: &Value| Start {
        trigger: text(event, "trigger").to_owned(),
        instance: text(event, "instance").to_owned(),
        fire_id: text(event, "fire_id").to_owned(),
        fence: number(event, "fence"),
        scheduled_ms: number(event, "scheduled_ms"),
        at_ms: number(event, "wall_ms"),
    };
    starts.map(start).collect()
}

/// The last fence that was drawn, as a server has it.
fn fence(connection: &mut PgConnection) -> i64 {
    sql_query("SELECT max(fence) AS n FROM qrtz_cn_fences").get_result::<Count>(connection).unwrap().n
}

#[test]
fn a_replica_that_has_lost_commits_is_promoted() {
    let mut servers = Pair::start();
    let proxy = Proxy::before(&servers.primary.url());
    let url = proxy.url(&servers.primary.url());
    let more = "jobStore.clusterCheckinInterval = 1000\nthreadPool.threadCount = 40\n";
    let place = Place::at(Some(url), "postgres", more, Arc::new(SystemClock::default()));
    let mut nodes = NODES.map(|name| place.node(name));
    let go_on = schedule(&place);
    let fired_since = |begin_ms: i64| {
        let starts = starts(&place).into_iter().filter(|start| start.scheduled_ms > begin_ms);
        starts.map(|start| start.trigger).collect::<BTreeSet<_>>().is_superset(&go_on)
    };
    wait_until("every trigger has fired", LONG, || fired_since(0));

    servers.separate();
    let separated_ms = place.store.now_ms().unwrap();
    let reserved = count(&mut servers.replica.connect(), "FROM qrtz_fired_triggers WHERE state = 'ACQUIRED'");
    let executing = count(&mut servers.replica.connect(), "FROM qrtz_fired_triggers WHERE state = 'EXECUTING'");
    let lost = i64::try_from(seconds("CARNELIAN_PROMOTION_LOST", 8).as_millis()).unwrap();
    wait_until("commits of so many seconds are to be lost", LONG * 10, || {
        place.store.now_ms().unwrap() >= separated_ms + lost
    });
    let (drawn, left) = (fence(&mut servers.primary.connect()), fence(&mut servers.replica.connect()));
    assert!(drawn > left && reserved + executing > 0, "{drawn} {left} {reserved} {executing}: nothing was lost");

    servers.primary.kill();
    servers.promote();
    proxy.lead_to(&servers.replica.url());
    let promoted_ms = place.store.now_ms().unwrap();
    wait_until("every trigger fires again", LONG, || fired_since(promoted_ms));
    let again_ms = place.store.now_ms().unwrap() - promoted_ms;
    // Once more: it was not only what had been reserved before.
    wait_until("every trigger goes on", LONG, || fired_since(promoted_ms + again_ms));
    wait_until("what fires once has fired", LONG, || {
        let starts = starts(&place);
        starts.iter().filter(|start| start.trigger.contains("once-")).count() >= ONCE as usize
    });
    nodes.iter_mut().for_each(|node| assert!(node.is_alive()));

    let starts = starts(&place);
    let ids: BTreeSet<_> = starts.iter().map(|start| &start.fire_id).collect();
    let (before, after): (Vec<_>, Vec<_>) = starts.iter().partition(|start| start.at_ms < promoted_ms);
    let once: BTreeSet<_> = starts.iter().map(|s| &s.trigger).filter(|name| name.contains("once-")).collect();
    let mut fences: BTreeMap<&str, BTreeMap<i64, i64>> = BTreeMap::new();
    for start in &after {
        fences.entry(&start.trigger).or_default().insert(start.scheduled_ms, start.fence);
    }
    let back: Vec<_> = fences.iter().filter(|(_, of)| !of.values().is_sorted_by(|a, b| a < b)).collect();
    let largest = before.iter().map(|start| start.fence).max().unwrap();
    let small: Vec<_> = after.iter().filter(|start| start.fence <= largest).collect();
    println!(
        "promotion lost_ms={lost} lost_fences={} reserved={reserved} executing={executing} starts={} after={} \
         twice={} back={} not_larger={} again_ms={again_ms}",
        drawn - left,
        starts.len(),
        after.len(),
        starts.len() - ids.len(),
        back.len(),
        small.len()
    );
    assert_eq!(starts.len(), ids.len(), "an id of a fire came twice");
    assert_eq!(once.len(), ONCE as usize);
    assert!(back.is_empty(), "fences went back: {back:?}");
    for node in NODES {
        assert!(after.iter().any(|start| start.instance == node), "{node} does not go on");
    }
    place.store.catalogue().clear().unwrap();
    for node in &mut nodes {
        node.signal(rustix::process::Signal::TERM);
        node.expect_success();
    }
    let found = NODES.map(|name| std::fs::read_to_string(place.path(&format!("{name}.err"))).unwrap());
    assert!(found.iter().any(|log| log.contains("the database has lost commits")));
    assert_eq!(violations(&place.store.upkeep().snapshot().unwrap()), []);
}
