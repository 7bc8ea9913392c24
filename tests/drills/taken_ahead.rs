//! A node that dies with fires that it has taken ahead (QZ-11, QZ-62, DS-52): none is lost, though their jobs ask for no
//! recovery.

use super::node::NodeProcess;
use super::support::wait_until;
use super::*;
use carnelian::{JobDetail, JobKey, Trigger, TriggerKey};
use std::collections::BTreeMap;
use std::time::Instant;

const QUICK: usize = 2000;
const SLOW: usize = 60;
/// What the node is killed with, or more, waiting.
const AHEAD: usize = 20;

/// Triggers of a job of this name that takes so long, due at once.
fn store(place: &Place, name: &str, ms: i64, count: usize, priority: i32) {
    let job = JobDetail::builder(JobKey::named(name), "demo.stubborn").durable(true).data("ms", ms).build().unwrap();
    let trigger = |n: usize| {
        let key = TriggerKey::named(format!("{name}-{n}"));
        Trigger::builder(key, JobKey::named(name)).priority(priority).build().unwrap()
    };
    place.store.schedule(vec![(job, (0..count).map(trigger).collect())], true).unwrap();
}

/// How often each trigger's job has begun, by all nodes.
fn starts(place: &Place) -> BTreeMap<String, usize> {
    let mut starts = BTreeMap::new();
    for event in super::history::read(&place.path("demo.log")) {
        if super::history::text(&event, "event") == "START" {
            *starts.entry(super::history::text(&event, "trigger").to_owned()).or_default() += 1;
        }
    }
    starts
}

fn slow_of(place: &Place, round: usize) -> usize {
    let job = JobKey::named(format!("slow{round}"));
    place.store.fired_triggers().unwrap().iter().filter(|fire| fire.job.as_ref() == Some(&job)).count()
}

#[test]
fn none_is_lost() {
    everywhere("carnelian.scheduler.takeAhead = 1s\nthreadPool.threadCount = 3\n", |place| {
        let config = place.path("node.properties");
        let log = format!("demo.log.file = {}\n", place.path("demo.log").display());
        std::fs::write(&config, format!("{}{log}", place.text)).unwrap();
        // Jobs that were short make the node take more of their type; then they are long. Whether it has some in hand
        // just then is a matter of moments: it gives them back after half a second.
        let (mut waiting, mut last) = (0, 0);
        for round in 0..10 {
            let mut node = NodeProcess::demo(&config, &place.path(&format!("node{round}.err")));
            node.ready();
            store(place, &format!("quick{round}"), 0, QUICK, 9);
            store(place, &format!("slow{round}"), 400, SLOW, 1);
            let limit = Instant::now() + LONG / 4;
            while slow_of(place, round) < AHEAD && Instant::now() < limit {}
            node.kill();
            let begun = starts(place);
            waiting = slow_of(place, round);
            println!("round {round}: killed with {waiting} fires in hand, {} had begun so far", begun.len());
            last = round;
            if waiting >= AHEAD {
                break;
            }
            place.store.clear().unwrap();
        }
        assert!(waiting >= AHEAD, "the node took no more than {waiting} ahead");

        let before = starts(place).len();
        let mut node = NodeProcess::demo(&config, &place.path("second.err"));
        node.ready();
        wait_until("everything is done", LONG, || {
            let quiet = place.store.fired_triggers().unwrap().is_empty();
            quiet && place.store.snapshot().unwrap().triggers.is_empty()
        });
        let after = starts(place);
        let slow = after.keys().filter(|trigger| trigger.contains(&format!("slow{last}-"))).count();
        assert!(after.len() > before);
        assert_eq!(slow, SLOW, "some never began: {after:?}");
        assert!(after.values().all(|times| *times == 1), "what had begun ran once more: {after:?}");
        place.store.clear().unwrap();
        node.signal(rustix::process::Signal::TERM);
        node.expect_success();
    });
}
