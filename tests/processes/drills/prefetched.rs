//! A node that is killed with hundreds of prefetched fires (QZ-11, QZ-62, DS-52): none is lost,
//! though their jobs ask for no recovery.

use super::node::NodeProcess;
use super::support::wait_until;
use super::*;
use carnelian::history::{FireOutcome, HistoryQuery};
use carnelian::listing::TriggerQuery;
use carnelian::store::TxMode;
use carnelian::store::row::FiredSelection;
use carnelian::{JobDetail, JobKey, Trigger, TriggerKey};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

const FIRES: usize = 1500;
const WORKERS: usize = 3;
/// The least number of waiting fires with which the node is killed.
const AHEAD: usize = 500;
/// Most that may wait at once, 500 by default.
const BATCH: usize = 1000;

fn key(round: usize, n: usize) -> TriggerKey {
    TriggerKey::named(format!("t{round}-{n}"))
}

/// Triggers of one job of a millisecond, due at once.
fn store(place: &Place, round: usize) {
    let job = JobDetail::builder(JobKey::named("quick"), "demo.stubborn").durable(true).data("ms", 1).build().unwrap();
    let trigger = |n: usize| Trigger::builder(key(round, n), job.key().clone()).build().unwrap();
    let triggers = (0..FIRES).map(trigger).collect();
    place.store.catalogue().schedule(vec![(job, triggers)], true).unwrap();
}

/// The number of begins of each trigger's job, on all nodes.
fn starts(place: &Place) -> BTreeMap<String, usize> {
    let mut starts = BTreeMap::new();
    for event in super::history::read(&place.path("demo.log")) {
        if super::history::text(&event, "event") == "START" {
            *starts.entry(super::history::text(&event, "trigger").to_owned()).or_default() += 1;
        }
    }
    starts
}

/// The triggers of a round whose fires are over, by the store's history.
fn over(place: &Place, round: usize) -> BTreeSet<String> {
    let rows = place.store.history().find(&HistoryQuery::new().limit(round * 2 * FIRES)).unwrap();
    let of_round: BTreeSet<_> = (0..FIRES).map(|n| key(round, n).to_string()).collect();
    rows.iter().map(|row| row.trigger.to_string()).filter(|trigger| of_round.contains(trigger)).collect()
}

/// The triggers of the fires that a node has, by what the store says: those that wait, and those
/// that it has begun.
fn in_hand(place: &Place, instance: &str) -> [BTreeSet<String>; 2] {
    let mut in_hand = [BTreeSet::new(), BTreeSet::new()];
    let look = place.store.database().transact("look what has begun", TxMode::ReadOnly, &mut |s| {
        in_hand = Default::default();
        let mark = s.begun(instance, false)?.unwrap();
        let prefetched: BTreeSet<i64> = s.prefetched(instance)?.iter().map(|fire| fire.fence).collect();
        for fire in s.fired(FiredSelection::OfInstance(instance))? {
            let fence = fire.fire_id.rsplit_once('-').unwrap().1.parse().unwrap();
            let has_begun = !prefetched.contains(&fence) || mark.has_begun(fence);
            in_hand[usize::from(has_begun)].insert(fire.trigger.to_string());
        }
        Ok(())
    });
    look.unwrap();
    in_hand
}

#[test]
fn none_is_lost() {
    let settings = format!(
        "carnelian.scheduler.takeAhead = 10s\nscheduler.batchTriggerAcquisitionMaxCount = {BATCH}\n\
         threadPool.threadCount = {WORKERS}\n"
    );
    everywhere(&settings, |place| {
        let config = place.path("node.properties");
        let log = format!("demo.log.file = {}\n", place.path("demo.log").display());
        std::fs::write(&config, format!("{}{log}", place.text)).unwrap();
        // The number of fires in hand at one moment is a matter of chance: the test kills until it
        // is large enough.
        let (mut round, mut killed, mut waiting) = (0, String::new(), BTreeSet::new());
        while round < 10 {
            round += 1;
            let mut node = NodeProcess::demo(&config, &place.path(&format!("node{round}.err")));
            killed = node.ready();
            store(place, round);
            let limit = Instant::now() + LONG / 4;
            while in_hand(place, &killed)[0].len() < AHEAD + AHEAD / 4 && Instant::now() < limit {}
            node.kill();
            let begun;
            [waiting, begun] = in_hand(place, &killed);
            println!(
                "prefetched database={} round={round} waiting={} begun_and_not_recorded={} begun_so_far={}",
                place.database,
                waiting.len(),
                begun.len(),
                starts(place).len()
            );
            if waiting.len() >= AHEAD {
                break;
            }
            place.store.catalogue().clear().unwrap();
        }
        assert!(waiting.len() >= AHEAD, "the node had no more than {} waiting", waiting.len());

        let before = starts(place);
        let early: Vec<_> = waiting.iter().filter(|trigger| before.contains_key(*trigger)).collect();
        assert!(early.is_empty(), "they ran before the store was told: {early:?}");
        let mut node = NodeProcess::demo(&config, &place.path("second.err"));
        node.ready();
        let fired = || place.store.upkeep().fired_triggers().unwrap();
        wait_until("the dead node is recovered", LONG, || fired().iter().all(|fire| fire.instance != killed));
        // Each fire is in the history when it is over. Nobody sees triggers and fires at one
        // moment, and a fire that is given back goes from the one to the other. A busy machine may
        // be slow, and no node may stand still.
        let mut left = usize::MAX;
        while left > 0 {
            let before = left;
            wait_until(&format!("fewer than {before} are left"), LONG, || {
                left = FIRES - over(place, round).len();
                left < before
            });
        }
        wait_until("nothing is left", LONG, || {
            place.store.catalogue().count_triggers(&TriggerQuery::new()).unwrap() + fired().len() == 0
        });
        let after = starts(place);
        // A last mark of the dead node may have come after the look: its workers were about to
        // begin these.
        let query = HistoryQuery::new().instance(&killed).outcome(FireOutcome::Lost).limit(FIRES);
        let recorded: BTreeSet<String> =
            place.store.history().find(&query).unwrap().iter().map(|row| row.trigger.to_string()).collect();
        let never = (0..FIRES).map(|n| key(round, n).to_string()).filter(|trigger| !after.contains_key(trigger));
        let (about, lost): (Vec<_>, Vec<_>) = never.partition(|trigger| recorded.contains(trigger));
        let twice: Vec<_> = after.iter().filter(|(_, times)| **times > 1).collect();
        println!(
            "prefetched database={} lost={} twice={} about_to_begin={}",
            place.database,
            lost.len(),
            twice.len(),
            about.len()
        );
        assert!(lost.is_empty(), "they never began: {lost:?}");
        assert!(about.len() <= WORKERS, "more than its workers were about to begin: {about:?}");
        assert!(twice.is_empty(), "they ran once more: {twice:?}");
        place.store.catalogue().clear().unwrap();
        node.signal(rustix::process::Signal::TERM);
        node.expect_success();
    });
}
