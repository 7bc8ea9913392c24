//! Two processes under one instance id (QZ-46): a living process goes on, and a killed one is
//! followed at once.

use super::node::NodeProcess;
use super::support::wait_until;
use super::*;
use carnelian::{JobDetail, JobKey, Trigger, TriggerKey};
use std::time::Instant;

#[test]
fn a_living_namesake_is_refused_and_a_dead_one_followed_at_once() {
    everywhere("scheduler.instanceId = host1\n", |place| {
        let config = place.path("node.properties");
        // With an interval that nobody waits for in a test.
        let text = place.text.replace("clusterCheckinInterval = 300", "clusterCheckinInterval = 60000");
        std::fs::write(&config, &text).unwrap();
        let mut first = NodeProcess::demo(&config, &place.path("first.err"));
        assert_eq!(first.ready(), "host1");
        let job = JobDetail::builder(JobKey::named("runs"), "demo.sleep").requests_recovery(true).data("ms", 600_000);
        let trigger = Trigger::builder(TriggerKey::named("runs"), JobKey::named("runs")).build().unwrap();
        place.store.catalogue().schedule(vec![(job.build().unwrap(), vec![trigger])], false).unwrap();
        wait_until("it runs", LONG, || place.store.upkeep().fired_triggers().is_ok_and(|fires| fires.len() == 1));
        let fires = place.store.upkeep().fired_triggers().unwrap();

        let mut second = NodeProcess::demo(&config, &place.path("second.err"));
        wait_until("the second ends", LONG, || !second.is_alive());
        assert_eq!(second.end().unwrap().code(), Some(3));
        let said = std::fs::read_to_string(place.path("second.err")).unwrap();
        let pid = format!("pid {}", first.pid());
        assert!(said.contains("already") && said.contains("`host1`") && said.contains(&pid), "{said}");
        assert!(first.is_alive());
        let now: Vec<_> = place.store.upkeep().fired_triggers().unwrap().into_iter().map(|fire| fire.fire_id).collect();
        assert_eq!(now, fires.iter().map(|fire| fire.fire_id.clone()).collect::<Vec<_>>(), "its run goes on");

        first.kill();
        let begun = Instant::now();
        let mut third = NodeProcess::demo(&config, &place.path("third.err"));
        assert_eq!(third.ready(), "host1");
        let ready = begun.elapsed();
        println!("namesakes database={} one_known_to_be_gone_followed_after={ready:?}", place.database);
        assert!(ready < Duration::from_secs(20), "{ready:?}");
        wait_until("its work is done again", LONG, || {
            let again = place.store.upkeep().fired_triggers().unwrap();
            again.len() == 1 && again.iter().all(|fire| fire.fire_id != fires[0].fire_id)
        });
        third.kill();
        let mut last = NodeProcess::demo(&config, &place.path("last.err"));
        last.ready();
        place.store.catalogue().clear().unwrap();
        last.signal(rustix::process::Signal::TERM);
        last.expect_success();
    });
}

/// Nobody here can know of the process of another host: it is gone if it is silent for as long as
/// its lease lasts, which is its interval of check-ins and its tolerance without 1.5 s.
#[test]
fn a_dead_node_of_another_host_is_followed_when_its_lease_is_over() {
    const LEASE: Duration = Duration::from_millis(11_500);
    let more = "jobStore.clusterCheckinInterval = 3000\njobStore.clusterCheckinMisfireThreshold = 10000\n";
    everywhere(more, |place| {
        place.node("host1").kill();
        place.execute("UPDATE QRTZ_CN_PROCESSES SET PROCESS = '1 1 1 another-boot another-host'");
        let begun = Instant::now();
        let mut next = place.node("host1");
        let ready = begun.elapsed();
        println!("namesakes database={} lease={LEASE:?} one_of_another_host_followed_after={ready:?}", place.database);
        assert!(ready >= LEASE, "it did not look whether the other lives: {ready:?}");
        assert!(ready < LEASE + Duration::from_secs(17), "{ready:?}");
        next.signal(rustix::process::Signal::TERM);
        next.expect_success();
    });
}
