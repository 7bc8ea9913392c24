//! Prefetched fires that had not begun when their node died.

use super::*;
use carnelian::history::HistoryQuery;
use carnelian::store::row::FiredSelection;
use carnelian::store::{
    Acquisition, BeginMark, CompletionInstruction, CompletionOutcome, FireBundle, PrefetchRequest, Recovered, TxMode,
};
use carnelian::{MisfireInstruction, SimpleSchedule, TriggerBuilder};
use std::collections::BTreeSet;
use std::sync::LazyLock;
use std::time::Duration;

static WORK: LazyLock<BTreeSet<String>> = LazyLock::new(|| BTreeSet::from(["work".to_owned()]));

/// Everything that is due, for workers that are busy.
fn prefetch(node: &Node) -> Acquisition {
    node.acquire_with(2000, |request| request.prefetch = Some(PrefetchRequest { free: 0, quick: 1, short: &WORK }))
        .unwrap()
}

fn mark(number: i64, last: i64) -> BeginMark {
    BeginMark { number, last, waiting: Vec::new() }
}

/// The node falls silent for longer than the rule; what the other makes of it.
fn dies(cluster: &Cluster, other: &mut Node) -> Vec<Recovered> {
    cluster.advance(10 * SECOND);
    let mut all = other.recovers();
    cluster.advance(12_501);
    loop {
        let recovered = other.recovers();
        if recovered.is_empty() {
            cluster.check();
            return all;
        }
        all.extend(recovered);
    }
}

on_each_database!(what_had_not_begun_when_its_node_died_was_never_taken);
fn what_had_not_begun_when_its_node_died_was_never_taken() {
    let cluster = Cluster::new(open());
    let (a, mut b) = (cluster.node("A"), cluster.node("B"));
    let far = NOW + 10 * MINUTE;
    let (spent, kept) = (once("gone", "a", NOW - SECOND), once("kept", "r", NOW - SECOND));
    let large = "y".repeat(5000);
    let minutes = minutely("m", "a", NOW - 2 * SECOND);
    cluster.schedule(job("a"), [spent.data("x", "1").priority(7).description("d").end_at(at(far)), minutes]);
    cluster.schedule(job("r").requests_recovery(true), [kept]);
    cluster.schedule(job("l"), [once("large", "l", NOW).data("x", large.as_str())]);
    let before = cluster.snapshot();
    let fired = prefetch(&a).fired;
    assert_eq!(fired.len(), 4);
    assert!(fired.iter().all(|fire| fire.prefetched));

    let recovered = dies(&cluster, &mut b);
    cluster.check();
    assert_eq!(recovered.iter().map(|one| (one.freed, one.lost.len())).collect::<Vec<_>>(), [(4, 0)]);
    let after = cluster.snapshot();
    assert_eq!((after.fired.len(), after.recoveries.len()), (0, 0));
    assert_eq!(format!("{:?}", after.triggers), format!("{:?}", before.triggers), "as before, to the last column");
    assert!(cluster.store.history().find(&HistoryQuery::new()).unwrap().is_empty());
    let shown = |fire: &FireBundle| {
        let data = fire.trigger.data().text("x").map(str::to_owned);
        (fire.trigger.key().clone(), fire.scheduled_ms, fire.previous_ms, fire.rerun.clone(), data)
    };
    let again = b.acquire().fired;
    assert_eq!(again.iter().map(shown).collect::<Vec<_>>(), fired.iter().map(shown).collect::<Vec<_>>());
    assert!(again.iter().all(|fire| !fire.prefetched), "workers are free for them");
}

on_each_database!(what_had_begun_is_lost_with_its_node_or_runs_again);
fn what_had_begun_is_lost_with_its_node_or_runs_again() {
    let cluster = Cluster::new(open());
    let (a, mut b) = (cluster.node("A"), cluster.node("B"));
    let of = |name: &'static str, owner| once(name, owner, NOW);
    cluster.schedule(job("a"), [of("a1", "a"), of("a2", "a"), of("a3", "a"), of("a4", "a")]);
    cluster.schedule(job("r").requests_recovery(true), [of("r1", "r"), of("r2", "r")]);
    let fired = prefetch(&a).fired;
    assert_eq!(names(&fired), ["a1", "a2", "a3", "a4", "r1", "r2"]);
    let fence = |name: &str| fired.iter().find(|fire| fire.trigger.key().name() == name).unwrap().fence;
    // All but a2 and r2 have begun.
    let waiting = vec![(fence("a2"), fence("a2"))];
    cluster.store.firing().note_begun(&a.owner(), &BeginMark { waiting, ..mark(1, fence("r1")) }).unwrap();

    let recovered = dies(&cluster, &mut b);
    assert_eq!(recovered.len(), 1);
    assert_eq!((recovered[0].freed, recovered[0].lost.len(), recovered[0].recovery_triggers.len()), (2, 3, 1));
    let again = b.acquire().fired;
    let again: BTreeSet<String> = again.iter().map(|fire| fire.trigger.key().to_string()).collect();
    assert_eq!(again.len(), 3);
    assert!(again.contains(&trigger_key("a2").to_string()) && again.contains(&trigger_key("r2").to_string()));
}

on_each_database!(a_fire_that_its_job_holds_keeps_its_data_beyond_the_death_of_its_node);
/// The trigger has gone with the fire, and its data are with what the node has prefetched. The
/// verdict passes over the fire, whose row a transaction of the job holds.
fn a_fire_that_its_job_holds_keeps_its_data_beyond_the_death_of_its_node() {
    for ends_after_all in [false, true] {
        let cluster = Cluster::new(open());
        let database = &cluster.opened.database;
        if !database.begins_apart() {
            return;
        }
        let (a, mut b) = (cluster.node("A"), cluster.node("B"));
        cluster.schedule(job("r").requests_recovery(true), [once("t", "r", NOW).data("x", "1")]);
        let fired = prefetch(&a).fired;
        assert!(fired[0].removed);
        cluster.store.firing().note_begun(&a.owner(), &mark(1, fired[0].fence)).unwrap();
        let held = [fired[0].fire_id.clone()];
        let mut died = Vec::new();
        database
            .transact("a job's", TxMode::OwnRows, &mut |s| {
                assert_eq!(s.fired(FiredSelection::FreeIds(&held))?.len(), 1);
                cluster.advance(10 * SECOND);
                b.check_in();
                cluster.advance(12_501);
                died = b.recovers();
                Ok(())
            })
            .unwrap();
        assert_eq!((died.len(), cluster.state("t").as_str()), (1, "COMPLETE"));
        if ends_after_all {
            let mut end = fired[0].completion(CompletionInstruction::NoInstruction, None);
            end.guarded = true;
            let report = a.store.firing().complete(&a.owner(), &[end]).unwrap();
            assert_eq!((report.outcomes, cluster.state("t").as_str()), (vec![CompletionOutcome::Recorded], "-"));
        } else {
            assert_eq!(b.recovers()[0].recovery_triggers.len(), 1);
            assert_eq!(b.fire_one().trigger.data().text("x"), Some("1"));
        }
        cluster.check();
    }
}

on_each_database!(who_was_declared_dead_begins_nothing_more);
fn who_was_declared_dead_begins_nothing_more() {
    let cluster = Cluster::new(open());
    let (mut a, mut b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(job("a"), [once("t", "a", NOW), once("u", "a", NOW)]);
    let fired = prefetch(&a).fired;
    let owner = a.owner();
    cluster.store.firing().note_begun(&owner, &mark(1, fired[0].fence)).unwrap();
    dies(&cluster, &mut b);
    let refused = cluster.store.firing().note_begun(&owner, &mark(2, fired[1].fence)).unwrap_err();
    assert!(refused.is_fenced(), "{refused}");
    // Under its new incarnation it begins anew.
    assert!(a.check_in().failed_out);
    a.check_in();
    assert!(cluster.store.firing().note_begun(&owner, &mark(3, fired[1].fence)).unwrap_err().is_fenced());
    let again = prefetch(&a).fired;
    assert_eq!(names(&again), ["u"]);
    cluster.store.firing().note_begun(&a.owner(), &mark(3, again[0].fence)).unwrap();
    a.complete(&again[0]);
}

on_each_database!(a_mark_that_comes_late_does_nothing);
/// A statement whose answer was lost may come late.
fn a_mark_that_comes_late_does_nothing() {
    let cluster = Cluster::new(open());
    let (a, mut b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(job("a"), [once("t", "a", NOW), once("u", "a", NOW)]);
    let fired = prefetch(&a).fired;
    cluster.store.firing().note_begun(&a.owner(), &mark(2, fired[1].fence)).unwrap();
    cluster.store.firing().note_begun(&a.owner(), &mark(2, fired[1].fence)).unwrap();
    assert!(cluster.store.firing().note_begun(&a.owner(), &mark(1, fired[0].fence)).is_err());
    assert_eq!(dies(&cluster, &mut b)[0].lost.len(), 2);
}

on_each_database!(a_mark_that_is_lost_is_made_again);
/// PostgreSQL forgets the marks when it crashes: a prefetched fire counts as begun until the
/// next.
fn a_mark_that_is_lost_is_made_again() {
    let cluster = Cluster::new(open());
    let (a, mut b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(job("a"), [once("t", "a", NOW), once("u", "a", NOW)]);
    let fired = prefetch(&a).fired;
    cluster.store.firing().note_begun(&a.owner(), &mark(1, fired[0].fence)).unwrap();
    cluster.tamper(|s| {
        let left = s.prefetched("A")?;
        s.delete_begin_rows("A")?;
        s.insert_prefetched("A", &left)
    });
    cluster.store.firing().note_begun(&a.owner(), &mark(2, fired[0].fence)).unwrap();
    assert_eq!(dies(&cluster, &mut b).iter().map(|one| (one.freed, one.lost.len())).collect::<Vec<_>>(), [(1, 1)]);
    assert!(cluster.store.firing().note_begun(&a.owner(), &mark(3, fired[1].fence)).unwrap_err().is_fenced());
}

on_each_database!(two_fires_of_one_trigger_are_both_given_back);
fn two_fires_of_one_trigger_are_both_given_back() {
    let cluster = Cluster::new(open());
    let (a, mut b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(job("a"), [minutely("m", "a", NOW).misfire(MisfireInstruction::Ignore)]);
    let first = prefetch(&a).fired.remove(0);
    cluster.store.firing().note_begun(&a.owner(), &mark(1, first.fence)).unwrap();
    a.complete(&first);
    for _ in 0..2 {
        cluster.advance(MINUTE);
        assert_eq!(prefetch(&a).fired.len(), 1);
    }
    let recovered = dies(&cluster, &mut b);
    assert_eq!(recovered.iter().map(|one| one.freed).sum::<usize>(), 2);
    assert_eq!(cluster.next("m"), Some(NOW + MINUTE));
    let again = b.fire_one();
    assert_eq!((again.scheduled_ms, again.previous_ms), (NOW + MINUTE, Some(NOW)));
}

/// Due now and once more in a minute: its row goes with the second fire.
fn twice(name: &str) -> TriggerBuilder {
    let schedule = SimpleSchedule::every(Duration::from_secs(60)).repeat(1);
    once(name, "a", NOW).schedule(schedule).misfire(MisfireInstruction::Ignore)
}

/// Both fires of [`twice`], prefetched by one node.
fn both_prefetched(cluster: &Cluster, node: &Node) -> [FireBundle; 2] {
    cluster.schedule(job("a"), [twice("t")]);
    let first = prefetch(node).fired.remove(0);
    cluster.advance(MINUTE);
    let last = prefetch(node).fired.remove(0);
    assert_eq!((first.scheduled_ms, last.scheduled_ms), (NOW, NOW + MINUTE));
    [first, last]
}

on_each_database!(two_fires_are_given_back_though_the_row_went_with_the_last);
/// The last takes the row of its trigger with it, and is the first that is given back.
fn two_fires_are_given_back_though_the_row_went_with_the_last() {
    let cluster = Cluster::new(open());
    let (a, mut b) = (cluster.node("A"), cluster.node("B"));
    both_prefetched(&cluster, &a);
    let recovered = dies(&cluster, &mut b);
    assert_eq!(recovered.iter().map(|one| one.freed).sum::<usize>(), 2);
    for scheduled_ms in [NOW, NOW + MINUTE] {
        let again = b.fire_one();
        assert_eq!((again.trigger.key(), again.scheduled_ms), (&trigger_key("t"), scheduled_ms));
        b.complete(&again);
    }
    assert!(cluster.snapshot().triggers.is_empty(), "it has fired as often as it should");
}

on_each_database!(a_fire_goes_on_though_its_trigger_went_with_a_later_one);
/// Nobody can tell whether the trigger was deleted or has ended: what had not begun goes on.
fn a_fire_goes_on_though_its_trigger_went_with_a_later_one() {
    for (later_ends, lost) in [(false, 1), (true, 0)] {
        let cluster = Cluster::new(open());
        let (a, mut b) = (cluster.node("A"), cluster.node("B"));
        let [first, last] = both_prefetched(&cluster, &a);
        let waiting = vec![(first.fence, first.fence)];
        cluster.store.firing().note_begun(&a.owner(), &BeginMark { waiting, ..mark(1, last.fence) }).unwrap();
        if later_ends {
            a.complete(&last);
        }
        let recovered = dies(&cluster, &mut b);
        let done: Vec<_> =
            recovered.iter().map(|one| (one.freed, one.lost.len(), one.recovery_triggers.len())).collect();
        assert_eq!(done, [(0, lost, 1)]);
        let again = b.fire_one();
        assert_eq!((again.scheduled_ms, again.rerun.is_some()), (NOW, true));
        b.complete(&again);
        let left = cluster.snapshot();
        assert_eq!((left.triggers.len(), left.jobs.len()), (0, 0));
    }
}

on_each_database!(a_fire_goes_on_though_the_clock_was_set_back_since_its_trigger_ended);
/// A node that has started since somebody set the clock back has seen no time at which the last
/// fire came: the store has that fire.
fn a_fire_goes_on_though_the_clock_was_set_back_since_its_trigger_ended() {
    let cluster = Cluster::new(open());
    // The only node of a store in memory would write down no prefetched fires.
    let (a, _peer) = (cluster.node("A"), cluster.node("C"));
    let [first, last] = both_prefetched(&cluster, &a);
    let waiting = vec![(first.fence, first.fence)];
    cluster.store.firing().note_begun(&a.owner(), &BeginMark { waiting, ..mark(1, last.fence) }).unwrap();
    a.complete(&last);
    cluster.clock.jump(-MINUTE);
    let mut b = cluster.node("B");
    let recovered = dies(&cluster, &mut b);
    assert_eq!(recovered.iter().map(|one| one.recovery_triggers.len()).sum::<usize>(), 1);
    let again = b.fire_one();
    assert_eq!((again.scheduled_ms, again.rerun.is_some()), (NOW, true));
    b.complete(&again);
}

on_each_database!(the_work_of_a_trigger_that_went_on_goes_on_beside_it);
/// A fire that had not begun was not lost, though its trigger has gone on: the work goes on, once,
/// and the history says so of the run that does it.
fn the_work_of_a_trigger_that_went_on_goes_on_beside_it() {
    let cluster = Cluster::new(open());
    let (a, mut b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(job("a"), [minutely("m", "a", NOW)]);
    let fired = prefetch(&a).fired;
    cluster.advance(MINUTE);
    b.check_in();
    let next = b.fire_one();
    b.complete(&next);
    let recovered = dies(&cluster, &mut b);
    let done: Vec<_> = recovered.iter().map(|one| (one.freed, one.lost.len(), one.recovery_triggers.len())).collect();
    assert_eq!(done, [(0, 0, 1)]);
    let runs = cluster.store.history().find(&HistoryQuery::new()).unwrap();
    assert_eq!(runs.iter().map(|run| &run.fire_id).collect::<Vec<_>>(), [&next.fire_id]);
    let again = b.fire_one();
    assert_eq!((again.scheduled_ms, again.rerun.is_some()), (fired[0].scheduled_ms, true));
    b.complete(&again);
}

on_each_database!(a_thousand_that_had_not_begun_are_given_back_in_pages);
/// More than one transaction recovers.
fn a_thousand_that_had_not_begun_are_given_back_in_pages() {
    let cluster = Cluster::new(open());
    let (a, mut b) = (cluster.node("A"), cluster.node("B"));
    let triggers: Vec<_> = (0..1000).map(|n| once(&format!("t{n}"), "a", NOW).build().unwrap()).collect();
    cluster.store.catalogue().schedule(vec![(job("a").build().unwrap(), triggers)], false).unwrap();
    let fired = prefetch(&a).fired;
    assert_eq!(fired.len(), 1000);
    let (begun, rest) = (&fired[..10], 990);
    cluster.store.firing().note_begun(&a.owner(), &mark(1, begun[9].fence)).unwrap();
    let recovered = dies(&cluster, &mut b);
    assert_eq!(recovered.iter().map(|one| one.freed).sum::<usize>(), rest);
    assert_eq!(recovered.iter().map(|one| one.lost.len()).sum::<usize>(), begun.len());
    assert_eq!(prefetch(&b).fired.len(), rest);
}

on_each_database!(a_node_that_starts_while_a_peer_recovers_it_loses_nothing);
/// The node that starts anew does not take over as begun what a peer leaves for its next page.
fn a_node_that_starts_while_a_peer_recovers_it_loses_nothing() {
    let cluster = Cluster::new(open());
    let (a, mut b) = (cluster.node("A"), cluster.node("B"));
    let triggers: Vec<_> = (0..600).map(|n| once(&format!("t{n}"), "a", NOW).build().unwrap()).collect();
    cluster.store.catalogue().schedule(vec![(job("a").build().unwrap(), triggers)], false).unwrap();
    assert_eq!(prefetch(&a).fired.len(), 600);
    drop(a);
    cluster.advance(10 * SECOND);
    b.check_in();
    cluster.advance(12_501);
    let mut again = cluster.stranger("A");
    let (seen, its) = std::sync::mpsc::channel();
    cluster.hold_up(&mut again, "recover a failed instance", move || seen.send(b.recovers()).unwrap());
    let own = again.check_in();
    assert!(own.registered);
    let pages: Vec<_> = its.recv().unwrap().into_iter().chain(own.recovered).map(|one| (one.freed, one.lost)).collect();
    assert_eq!(pages, [(500, vec![]), (100, vec![])]);
    cluster.check();
    assert_eq!(prefetch(&again).fired.len(), 600);
}

on_each_database!(the_only_node_of_a_store_in_memory_marks_nothing_for_others);
fn the_only_node_of_a_store_in_memory_marks_nothing_for_others() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [once("t", "a", NOW), minutely("m", "a", NOW)]);
    let before = cluster.snapshot();
    let fired = prefetch(&a).fired;
    let outlives_process = cluster.store.database().outlives_process();
    assert_eq!(fired.iter().map(|fire| fire.prefetched).collect::<Vec<_>>(), [outlives_process; 2]);
    // The node itself can give the fires back all the same.
    cluster.store.firing().unfire(&a.owner(), &fired.iter().collect::<Vec<_>>()).unwrap();
    assert_eq!(format!("{:?}", cluster.snapshot().triggers), format!("{:?}", before.triggers));

    let _b = cluster.node("B");
    assert!(prefetch(&a).fired.iter().all(|fire| fire.prefetched), "another node can take over");
}
