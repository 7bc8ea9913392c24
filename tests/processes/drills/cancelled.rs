//! A run is asked to stop, and its node is killed before the run has ended: nobody does the work
//! again, though its job requests recovery (LT-83).

use super::history::text;
use super::support::wait_until;
use super::*;
use carnelian::history::{FireOutcome, HistoryQuery};
use carnelian::{JobDetail, JobKey, Trigger, TriggerKey};

fn started(place: &Place, name: &str) -> usize {
    let events = place.events();
    events.iter().filter(|e| text(e, "event") == "START" && text(e, "job").ends_with(name)).count()
}

/// The outcomes of the runs of a job, the newest first.
fn outcomes(place: &Place, name: &str) -> Vec<FireOutcome> {
    let query = HistoryQuery::new().job(JobKey::named(name));
    place.store.history().find(&query).unwrap().into_iter().map(|row| row.outcome).collect()
}

#[test]
fn what_was_cancelled_is_over_though_its_node_is_killed() {
    everywhere("", |place| {
        let mut a = place.node("a");
        let work = ["cancelled", "paused", "free"].map(|name| {
            let job = JobDetail::builder(JobKey::named(name), "demo.stubborn").requests_recovery(true);
            let job = job.durable(true).data("ms", if name == "free" { 3_000 } else { 600_000 }).build().unwrap();
            let trigger = Trigger::builder(TriggerKey::named(name), job.key().clone()).build().unwrap();
            (job, vec![trigger])
        });
        place.store.catalogue().schedule(work.into(), false).unwrap();
        wait_until("all run", LONG, || ["cancelled", "paused", "free"].iter().all(|name| started(place, name) == 1));
        let fires = place.store.upkeep().fired_triggers().unwrap();
        let fire = fires.into_iter().find(|fire| fire.trigger.name() == "cancelled").unwrap().fire_id;
        assert_eq!(place.store.upkeep().request_cancels(&[fire], "ada").unwrap(), 1);
        assert_eq!(place.store.catalogue().pause_job_and_stop(&JobKey::named("paused"), "ada").unwrap().1, 1);
        a.kill();

        let mut b = place.node("b");
        wait_until("the run that nobody wanted to stop ends elsewhere", LONG, || {
            outcomes(place, "free") == [FireOutcome::Succeeded, FireOutcome::Lost]
        });
        for name in ["cancelled", "paused"] {
            assert_eq!((outcomes(place, name), started(place, name)), (vec![FireOutcome::Cancelled], 1), "{name}");
            assert!(place.store.catalogue().triggers_of_job(&JobKey::named(name)).unwrap().is_empty(), "{name}");
        }
        b.kill();
        place.store.catalogue().clear().unwrap();
    });
}
