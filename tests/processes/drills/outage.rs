//! An outage of the database that is longer than the window. The nodes come back one after the
//! other, and none declares those dead that are not back yet. A node that died meanwhile is found.

use super::history::text;
use super::support::{cutting_proxy::Proxy, wait_until};
use super::*;
use carnelian::{JobDetail, JobKey, Trigger, TriggerKey};
use std::collections::BTreeSet;

const NODES: [&str; 3] = ["a", "b", "dies"];
const INTERVAL: Duration = Duration::from_secs(1);
const TOLERANCE: Duration = Duration::from_secs(4);
const OUTAGE: Duration = Duration::from_secs(7);

fn who_comes_back_later_is_not_dead(database: &'static str) {
    let url = server_url(database);
    let more = format!(
        "jobStore.clusterCheckinInterval = {}\njobStore.clusterCheckinMisfireThreshold = {}\n\
         threadPool.threadCount = 1\n",
        INTERVAL.as_millis(),
        TOLERANCE.as_millis()
    );
    let place = Place::at(None, database, &more, Arc::new(SystemClock::default()));
    let proxies = NODES.map(|_| Proxy::before(&url));
    let through = |n: usize| place.start(NODES[n], &mut place.command_at(NODES[n], &proxies[n].url(&url)));
    let mut nodes = [through(0), through(1), through(2)];
    // Each node runs one of them as long as the drill takes, whatever becomes of the node's trust
    // in itself.
    for name in NODES {
        let job = JobDetail::builder(JobKey::named(name), "demo.stubborn").requests_recovery(true);
        let job = job.data("ms", 600_000).build().unwrap();
        let trigger = Trigger::builder(TriggerKey::named(name), job.key().clone()).build().unwrap();
        place.store.catalogue().schedule(vec![(job, vec![trigger])], false).unwrap();
    }
    let running = || -> BTreeSet<(String, String)> {
        let rows = place.store.upkeep().fired_triggers().unwrap().into_iter();
        rows.filter(|row| row.job.is_some()).map(|row| (row.instance, row.fire_id)).collect()
    };
    let starts = || place.events().into_iter().filter(|event| text(event, "event") == "START").count();
    let has_begun = || starts() == NODES.len() && running().len() == NODES.len();
    wait_until("each has begun", LONG, has_begun);
    let before = running();

    let begun_ms = place.store.now_ms().unwrap();
    let [a, b, dies] = &proxies;
    a.shut(OUTAGE);
    // Less than the tolerance later, with the second that a node waits between two tries.
    b.shut(OUTAGE + TOLERANCE / 2);
    dies.shut(OUTAGE);
    nodes[2].kill();
    let checked_in = |name: &str| {
        let rows = place.store.upkeep().instances().unwrap();
        rows.into_iter().find(|row| row.instance == name).map(|row| row.last_checkin_ms)
    };
    let outage_ms = i64::try_from(OUTAGE.as_millis()).unwrap();
    let is_back = |name| checked_in(name).is_some_and(|ms| ms > begun_ms + outage_ms - 500);
    wait_until("the first is back", LONG, || is_back("a"));
    let first_ms = place.store.now_ms().unwrap() - begun_ms;
    wait_until("the other is back", LONG, || is_back("b"));
    let second_ms = place.store.now_ms().unwrap() - begun_ms;
    wait_until("the dead one is found", LONG, || checked_in("dies").is_none());
    let found_ms = place.store.now_ms().unwrap() - begun_ms;
    println!("outage database={database} first_ms={first_ms} second_ms={second_ms} found_ms={found_ms}");
    let of_the_living: BTreeSet<_> = before.into_iter().filter(|(instance, _)| instance != "dies").collect();
    assert!(running().is_superset(&of_the_living), "what runs was taken away: {:?} of {of_the_living:?}", running());
    nodes.iter_mut().for_each(NodeProcess::kill);
    place.store.database().forget_scheduler().unwrap();
}

#[test]
fn who_comes_back_later_is_not_dead_on_postgres() {
    who_comes_back_later_is_not_dead("postgres");
}

#[test]
fn who_comes_back_later_is_not_dead_on_mysql() {
    who_comes_back_later_is_not_dead("mysql");
}
