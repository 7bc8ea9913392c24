//! A fixed delay: the node that runs the job is killed in the middle of a run, and the series goes
//! on elsewhere, still counted from the ends of runs.

use super::history::text;
use super::support::wait_until;
use super::*;
use carnelian::{JobDetail, JobKey, SimpleSchedule, Trigger, TriggerKey};

const DELAY_MS: i64 = 200;

/// The times of the events of this name.
fn times(place: &Place, name: &str, instance: &str) -> Vec<i64> {
    let events = place.events();
    let its = events.iter().filter(|e| text(e, "event") == name && text(e, "instance") == instance);
    its.map(|event| event["wall_ms"].as_i64().unwrap()).collect()
}

fn goes_on(place: &Place) {
    let job = JobDetail::builder(JobKey::named("long"), "demo.sleep").durable(true).data("ms", 300).build().unwrap();
    let schedule = SimpleSchedule::fixed_delay(Duration::from_millis(DELAY_MS.unsigned_abs()));
    let trigger = Trigger::builder(TriggerKey::named("long"), job.key().clone()).schedule(schedule).build().unwrap();
    let mut a = place.node("a");
    place.store.catalogue().schedule(vec![(job, vec![trigger])], false).unwrap();
    wait_until("it has run", LONG, || times(place, "END", "a").len() >= 2);
    wait_until("it runs", LONG, || times(place, "START", "a").len() > times(place, "END", "a").len());
    a.kill();
    let mut b = place.node("b");
    wait_until("it goes on", LONG, || times(place, "END", "b").len() >= 3);
    for instance in ["a", "b"] {
        let (starts, ends) = (times(place, "START", instance), times(place, "END", instance));
        for (end, next) in ends.iter().zip(starts.iter().skip(1)) {
            // The end is recorded after the job has said it, by the same clock here.
            assert!(next - end >= DELAY_MS - 5, "{instance} on {}: {starts:?} {ends:?}", place.database);
        }
    }
    b.kill();
    place.store.catalogue().clear().unwrap();
}

#[test]
fn a_fixed_delay_goes_on_after_its_node_was_killed() {
    everywhere("", goes_on);
}
