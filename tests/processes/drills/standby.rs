//! A cluster of which one node works while the others stand by: the working node is killed, or
//! frozen and let go, and a standby takes its place.

use super::history::text;
use super::standing_still::stop;
use super::support::wait_until;
use super::*;
use carnelian::{JobDetail, JobKey, SimpleSchedule, Trigger, TriggerKey};
use rustix::process::Signal;

/// The fences of the runs of a node, in the order of their begins.
fn fences(place: &Place, instance: &str) -> Vec<i64> {
    let events = place.events();
    let starts = events.iter().filter(|e| text(e, "event") == "START" && text(e, "instance") == instance);
    starts.map(|event| event["fence"].as_i64().unwrap()).collect()
}

fn is_replaced(place: &Place, freezes: bool) {
    let job = JobDetail::builder(JobKey::named("often"), "demo.append").durable(true).build().unwrap();
    let schedule = SimpleSchedule::every(Duration::from_millis(50));
    let trigger = Trigger::builder(TriggerKey::named("often"), job.key().clone()).schedule(schedule).build().unwrap();
    let mut a = place.node("a");
    place.store.catalogue().schedule(vec![(job, vec![trigger])], false).unwrap();
    wait_until("the first node works", LONG, || fences(place, "a").len() >= 5);
    let mut b = place.node("b");
    let before = fences(place, "a").len();
    wait_until("it goes on", LONG, || fences(place, "a").len() >= before + 5);
    assert!(fences(place, "b").is_empty(), "the second stands by");
    if freezes {
        stop(place, &a);
    } else {
        a.kill();
    }
    wait_until("the second works", LONG, || fences(place, "b").len() >= 5);
    if freezes {
        a.signal(Signal::CONT);
        let so_far = fences(place, "b").len();
        wait_until("the second works on", LONG, || fences(place, "b").len() >= so_far + 20);
        wait_until("the first is back", LONG, || {
            place.store.upkeep().instances().unwrap().iter().filter(|node| node.alive).count() == 2
        });
    }
    let (of_a, of_b) = (fences(place, "a"), fences(place, "b"));
    assert!(of_a.iter().max() < of_b.iter().min(), "two worked at once: {of_a:?} {of_b:?}");
    a.kill();
    b.kill();
    place.store.catalogue().clear().unwrap();
}

const PASSIVE: &str = "carnelian.cluster.mode = active-passive\n";

#[test]
fn a_standby_takes_the_place_of_a_working_node_that_is_killed() {
    everywhere(PASSIVE, |place| is_replaced(place, false));
}

#[test]
fn a_standby_takes_the_place_of_a_working_node_that_is_frozen() {
    everywhere(PASSIVE, |place| is_replaced(place, true));
}
