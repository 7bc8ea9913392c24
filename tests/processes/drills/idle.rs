//! Ten long jobs that are due together, on three idle nodes of five threads: each job begins at its
//! time, under its own key.

use super::history::text;
use super::support::wait_until;
use super::*;
use carnelian::{JobDetail, JobKey, Trigger, TriggerKey};
use rustix::process::Signal;
use std::collections::{BTreeMap, BTreeSet};

/// The largest lateness of a begin, on a machine that others use too. On an idle machine it is the
/// time until two of three nodes poll: less than 160 ms without notifications, and a few
/// milliseconds with them.
const LATEST_MS: i64 = 400;

fn all_begin_at_their_time(place: &Place) {
    let mut nodes = ["a", "b", "c"].map(|name| place.node(name));
    let schedule = |name: &str, job_type: &str, ms: i64, count: usize, in_ms: i64| {
        let job = JobDetail::builder(JobKey::named(name), job_type).requests_recovery(true).data("ms", ms);
        let at = chrono::DateTime::from_timestamp_millis(place.store.now_ms().unwrap() + in_ms).unwrap();
        let trigger =
            |i: usize| Trigger::builder(TriggerKey::new(name, i.to_string()), JobKey::named(name)).start_at(at);
        let triggers = (0..count).map(|i| trigger(i).build().unwrap()).collect();
        place.store.catalogue().schedule(vec![(job.build().unwrap(), triggers)], false).unwrap();
    };
    let starts = |group: &str| {
        let events = place.events().into_iter().filter(|event| text(event, "event") == "START");
        events.filter(|event| text(event, "job").ends_with(group)).collect::<Vec<_>>()
    };
    let is_idle = || place.store.upkeep().fired_triggers().unwrap().is_empty();
    // Jobs were short so far; the long ones are of another type, or of this one.
    schedule("short", "demo.sleep", 1, 100, 0);
    wait_until("the short ones have run", LONG, || starts("short").len() == 100 && is_idle());
    for (round, in_ms) in [("soon", 3_000), ("now", 0)] {
        schedule(round, "demo.sleep", 3_000, 10, in_ms);
        wait_until("all have begun", LONG, || starts(round).len() == 10);
        let starts = starts(round);
        let late = |event: &Value| event["wall_ms"].as_i64().unwrap() - event["scheduled_ms"].as_i64().unwrap();
        let mut all_late: Vec<i64> = starts.iter().map(late).collect();
        all_late.sort_unstable();
        assert!(all_late[0] >= 0, "none begins before its time: {starts:?}");
        let latest_ms = all_late[all_late.len() - 1];
        let mut on: BTreeMap<&str, usize> = BTreeMap::new();
        starts.iter().for_each(|event| *on.entry(text(event, "instance")).or_default() += 1);
        println!("idle database={} due={round} latest_ms={latest_ms} all={all_late:?} on={on:?}", place.database);
        let keys: BTreeSet<_> = starts.iter().map(|event| text(event, "trigger").to_owned()).collect();
        assert_eq!(keys, (0..10).map(|i| format!("{round}.{i}")).collect(), "each under its own key");
        assert!(latest_ms < LATEST_MS, "{latest_ms} ms late: {on:?}");
        wait_until("all have ended", LONG, is_idle);
    }
    for node in &mut nodes {
        node.signal(Signal::TERM);
        node.expect_success();
    }
}

#[test]
fn ten_long_jobs_begin_at_their_time_on_three_idle_nodes() {
    everywhere("threadPool.threadCount = 5\n", all_begin_at_their_time);
}
