//! Pausing and resuming, with Quartz's remembered groups.

use super::*;
use carnelian::store::ALL_GROUPS_PAUSED;
use carnelian::{GroupMatcher, JobDetail, JobKey, Trigger, TriggerKey};

fn key(text: &str) -> TriggerKey {
    let (group, name) = text.split_once('.').unwrap();
    TriggerKey::new(group, name)
}

/// Triggers `A.t`, `B.t`, `B.u` of the jobs `jA.a`, `jB.b`, each in a job group of its own.
fn three(cluster: &Cluster) {
    for (group, triggers) in [("A", vec!["A.t"]), ("B", vec!["B.t", "B.u"])] {
        let job = JobDetail::builder(JobKey::new(format!("j{group}"), group.to_lowercase()), "work").build().unwrap();
        let trigger =
            |t: &&str| Trigger::builder(key(t), job.key().clone()).start_at(at(NOW + MINUTE)).build().unwrap();
        let triggers = triggers.iter().map(trigger).collect();
        cluster.store.catalogue().schedule(vec![(job, triggers)], false).unwrap();
    }
}

fn states(cluster: &Cluster) -> [String; 3] {
    ["A.t", "B.t", "B.u"].map(|t| cluster.state_of(&key(t)))
}

fn paused(cluster: &Cluster) -> Vec<String> {
    let mut groups = cluster.store.catalogue().paused_groups().unwrap();
    groups.sort();
    groups
}

fn store_into(cluster: &Cluster, trigger: &str) -> String {
    let job = JobKey::new("jA", "a");
    let stored = cluster
        .store
        .catalogue()
        .add_trigger(Trigger::builder(key(trigger), job).start_at(at(NOW + MINUTE)).build().unwrap(), false)
        .unwrap();
    cluster.state_of(stored.key())
}

on_each_strategy!(pausing_a_trigger_pauses_it_alone);
fn pausing_a_trigger_pauses_it_alone() {
    let cluster = Cluster::new(open());
    three(&cluster);
    assert_eq!(cluster.store.catalogue().pause_triggers(&[key("B.t"), key("B.nobody")]).unwrap(), 1);
    assert_eq!(cluster.store.catalogue().pause_triggers(&[key("B.t")]).unwrap(), 0);
    assert_eq!(states(&cluster), ["WAITING", "PAUSED", "WAITING"]);
    assert!(paused(&cluster).is_empty());
    assert_eq!(cluster.store.catalogue().resume_triggers(&[key("B.t"), key("A.t")], true).unwrap(), 1);
    assert_eq!(states(&cluster), ["WAITING", "WAITING", "WAITING"]);
}

on_each_strategy!(pausing_a_group_remembers_it_for_triggers_to_come);
fn pausing_a_group_remembers_it_for_triggers_to_come() {
    let cluster = Cluster::new(open());
    three(&cluster);
    assert_eq!(cluster.store.catalogue().pause_trigger_groups(&GroupMatcher::equals("B")).unwrap(), ["B"]);
    assert_eq!(states(&cluster), ["WAITING", "PAUSED", "PAUSED"]);
    assert_eq!(paused(&cluster), ["B"]);
    assert_eq!(store_into(&cluster, "B.new"), "PAUSED");
    assert_eq!(store_into(&cluster, "C.new"), "WAITING");
}

on_each_strategy!(a_group_without_triggers_is_remembered_if_it_is_named_exactly);
/// Golden 24: a group named exactly is remembered though it has no triggers; other matchers take
/// what exists.
fn a_group_without_triggers_is_remembered_if_it_is_named_exactly() {
    let cluster = Cluster::new(open());
    three(&cluster);
    assert_eq!(cluster.store.catalogue().pause_trigger_groups(&GroupMatcher::equals("empty")).unwrap(), ["empty"]);
    assert!(cluster.store.catalogue().pause_trigger_groups(&GroupMatcher::starts_with("none")).unwrap().is_empty());
    assert_eq!(paused(&cluster), ["empty"]);
    assert_eq!(store_into(&cluster, "empty.t"), "PAUSED");
}

on_each_strategy!(resuming_a_group_resumes_also_what_was_paused_singly);
/// Golden 25.
fn resuming_a_group_resumes_also_what_was_paused_singly() {
    let cluster = Cluster::new(open());
    three(&cluster);
    cluster.store.catalogue().pause_triggers(&[key("A.t")]).unwrap();
    cluster.store.catalogue().pause_trigger_groups(&GroupMatcher::equals("B")).unwrap();
    assert_eq!(cluster.store.catalogue().resume_trigger_groups(&GroupMatcher::any(), true).unwrap(), ["A", "B"]);
    assert_eq!(states(&cluster), ["WAITING", "WAITING", "WAITING"]);
    assert!(paused(&cluster).is_empty());
}

on_each_strategy!(resuming_a_trigger_works_inside_a_paused_group_which_stays_paused);
/// Golden 25.
fn resuming_a_trigger_works_inside_a_paused_group_which_stays_paused() {
    let cluster = Cluster::new(open());
    three(&cluster);
    cluster.store.catalogue().pause_trigger_groups(&GroupMatcher::equals("B")).unwrap();
    cluster.store.catalogue().resume_triggers(&[key("B.t")], true).unwrap();
    assert_eq!(states(&cluster), ["WAITING", "WAITING", "PAUSED"]);
    assert_eq!(paused(&cluster), ["B"]);
}

on_each_strategy!(resuming_a_group_that_was_remembered_without_triggers_forgets_it);
fn resuming_a_group_that_was_remembered_without_triggers_forgets_it() {
    let cluster = Cluster::new(open());
    three(&cluster);
    cluster.store.catalogue().pause_trigger_groups(&GroupMatcher::equals("empty")).unwrap();
    assert_eq!(
        cluster.store.catalogue().resume_trigger_groups(&GroupMatcher::equals("empty"), true).unwrap(),
        ["empty"]
    );
    assert_eq!(store_into(&cluster, "empty.t"), "WAITING");
}

on_each_strategy!(pausing_a_job_pauses_its_triggers_and_remembers_nothing);
fn pausing_a_job_pauses_its_triggers_and_remembers_nothing() {
    let cluster = Cluster::new(open());
    three(&cluster);
    assert_eq!(
        cluster.store.catalogue().pause_jobs(&[JobKey::new("jB", "b"), JobKey::new("jB", "nobody")]).unwrap(),
        2
    );
    assert_eq!(states(&cluster), ["WAITING", "PAUSED", "PAUSED"]);
    assert!(paused(&cluster).is_empty());
    assert_eq!(cluster.store.catalogue().resume_jobs(&[JobKey::new("jB", "b")], true).unwrap(), 2);
    assert_eq!(states(&cluster), ["WAITING", "WAITING", "WAITING"]);
}

on_each_strategy!(pausing_job_groups_pauses_their_triggers_and_remembers_nothing);
fn pausing_job_groups_pauses_their_triggers_and_remembers_nothing() {
    let cluster = Cluster::new(open());
    three(&cluster);
    assert_eq!(cluster.store.catalogue().pause_job_groups(&GroupMatcher::ends_with("A")).unwrap(), 1);
    assert_eq!(states(&cluster), ["PAUSED", "WAITING", "WAITING"]);
    assert!(paused(&cluster).is_empty());
    assert_eq!(store_into(&cluster, "A.new"), "WAITING");
    assert_eq!(cluster.store.catalogue().resume_job_groups(&GroupMatcher::contains("j"), true).unwrap(), 1);
    assert_eq!(states(&cluster), ["WAITING", "WAITING", "WAITING"]);
}

on_each_strategy!(pausing_all_sets_the_marker_and_new_groups_begin_paused);
/// Golden 24.
fn pausing_all_sets_the_marker_and_new_groups_begin_paused() {
    let cluster = Cluster::new(open());
    three(&cluster);
    cluster.store.catalogue().pause_all().unwrap();
    cluster.store.catalogue().pause_all().unwrap();
    assert_eq!(states(&cluster), ["PAUSED", "PAUSED", "PAUSED"]);
    assert_eq!(paused(&cluster), ["A", "B", ALL_GROUPS_PAUSED]);
    assert_eq!(store_into(&cluster, "new.t"), "PAUSED");
    assert_eq!(paused(&cluster), ["A", "B", ALL_GROUPS_PAUSED, "new"]);
    cluster.store.catalogue().resume_all(true).unwrap();
    assert!(paused(&cluster).is_empty());
    assert_eq!(states(&cluster), ["WAITING", "WAITING", "WAITING"]);
    assert_eq!(cluster.state_of(&key("new.t")), "WAITING");
    assert_eq!(store_into(&cluster, "other.t"), "WAITING");
}

on_each_strategy!(pausing_a_reserved_trigger_takes_the_reservation_back);
fn pausing_a_reserved_trigger_takes_the_reservation_back() {
    for pause in [
        (|c: &Cluster| c.store.catalogue().pause_triggers(&[trigger_key("t")]).map(drop))
            as fn(&Cluster) -> carnelian::Result<()>,
        |c| c.store.catalogue().pause_trigger_groups(&GroupMatcher::any()).map(drop),
        |c| c.store.catalogue().pause_jobs(&[job_key("a")]).map(drop),
        |c| c.store.catalogue().pause_job_groups(&GroupMatcher::any()).map(drop),
        |c| c.store.catalogue().pause_all(),
    ] {
        let cluster = Cluster::new(open());
        let a = cluster.node("A");
        cluster.schedule(job("a"), [once("t", "a", NOW + SECOND)]);
        let reservation = a.reserve_one();
        pause(&cluster).unwrap();
        assert_eq!(cluster.state("t"), "PAUSED");
        cluster.check();
        assert!(a.fire(&[reservation]).is_empty());
        assert!(cluster.fires().is_empty());
    }
}

on_each_strategy!(resuming_leaves_reservations_of_triggers_that_are_not_paused_alone);
fn resuming_leaves_reservations_of_triggers_that_are_not_paused_alone() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [once("t", "a", NOW + SECOND)]);
    let reservation = a.reserve_one();
    cluster.store.catalogue().resume_all(true).unwrap();
    cluster.store.catalogue().resume_triggers(&[trigger_key("t")], true).unwrap();
    cluster.check();
    cluster.advance(SECOND);
    assert_eq!(a.fire(&[reservation]).len(), 1);
}

on_each_strategy!(a_reservation_from_before_a_pause_does_not_come_to_life_again);
/// A node of Quartz pauses a reserved trigger and leaves the reservation.
fn a_reservation_from_before_a_pause_does_not_come_to_life_again() {
    use carnelian::TriggerState::{Acquired, Paused};
    let cluster = Cluster::new(open());
    let (a, b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(job("a"), [once("t", "a", NOW + SECOND)]);
    let old = a.reserve_one();
    let keys = [trigger_key("t")];
    cluster.tamper(|s| {
        let selected = carnelian::store::row::Selection::Triggers(&keys);
        s.change_states(selected, &[(Acquired, Paused)], false).map(drop)
    });
    cluster.store.catalogue().resume_all(true).unwrap();
    cluster.check();
    let new = b.reserve_one();
    cluster.advance(SECOND);
    assert!(a.fire(&[old]).is_empty());
    assert_eq!(b.fire(&[new]).len(), 1);
}

on_each_strategy!(a_blocked_trigger_that_is_paused_stays_blocked_beneath);
fn a_blocked_trigger_that_is_paused_stays_blocked_beneath() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(lone_job("a"), [minutely("t", "a", NOW), minutely("u", "a", NOW + MINUTE)]);
    let bundle = a.fire_one();
    cluster.store.catalogue().pause_triggers(&[trigger_key("t"), trigger_key("u")]).unwrap();
    assert_eq!(["t", "u"].map(|t| cluster.state(t)), ["PAUSED_BLOCKED", "PAUSED_BLOCKED"]);
    cluster.store.catalogue().resume_triggers(&[trigger_key("t")], true).unwrap();
    assert_eq!(["t", "u"].map(|t| cluster.state(t)), ["BLOCKED", "PAUSED_BLOCKED"]);
    a.complete(&bundle);
    assert_eq!(["t", "u"].map(|t| cluster.state(t)), ["WAITING", "PAUSED"]);
}

on_each_strategy!(a_trigger_resumed_while_its_lone_job_runs_is_blocked);
fn a_trigger_resumed_while_its_lone_job_runs_is_blocked() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(lone_job("a"), [minutely("t", "a", NOW), minutely("u", "a", NOW + MINUTE)]);
    cluster.store.catalogue().pause_triggers(&[trigger_key("u")]).unwrap();
    let bundle = a.fire_one();
    cluster.store.catalogue().resume_triggers(&[trigger_key("u")], true).unwrap();
    assert_eq!(cluster.state("u"), "BLOCKED");
    a.complete(&bundle);
}

on_each_strategy!(resuming_applies_misfires_only_in_a_running_scheduler);
/// Golden 25: only while the scheduler runs.
fn resuming_applies_misfires_only_in_a_running_scheduler() {
    for (running, next) in [(true, NOW + 6 * MINUTE), (false, NOW + MINUTE)] {
        let cluster = Cluster::new(open());
        cluster.schedule(job("a"), [minutely("t", "a", NOW + MINUTE)]);
        cluster.store.catalogue().pause_all().unwrap();
        cluster.advance(5 * MINUTE + 1);
        cluster.store.catalogue().resume_all(running).unwrap();
        assert_eq!((cluster.state("t").as_str(), cluster.next("t")), ("WAITING", Some(next)), "running={running}");
        let misfired = carnelian::history::HistoryQuery::new().outcome(carnelian::history::FireOutcome::Misfired);
        assert_eq!(
            cluster.store.history().find(&misfired).unwrap().len(),
            usize::from(running),
            "as of the misfire handler"
        );
    }
}

on_each_strategy!(a_trigger_resumed_within_the_misfire_threshold_keeps_its_time);
fn a_trigger_resumed_within_the_misfire_threshold_keeps_its_time() {
    // Golden 25: at the very threshold it is late, though the misfire handler would not see it yet.
    for (ms, next) in [(MINUTE - 1, NOW + SECOND), (MINUTE, NOW + 2 * MINUTE + SECOND)] {
        let cluster = Cluster::new(open());
        cluster.schedule(job("a"), [minutely("t", "a", NOW + SECOND)]);
        cluster.store.catalogue().pause_all().unwrap();
        cluster.advance(SECOND + ms);
        cluster.store.catalogue().resume_all(true).unwrap();
        assert_eq!(cluster.next("t"), Some(next));
    }
}

on_each_strategy!(a_trigger_that_was_paused_past_its_end_goes_when_it_is_resumed);
fn a_trigger_that_was_paused_past_its_end_goes_when_it_is_resumed() {
    let cluster = Cluster::new(open());
    cluster.schedule(job("a"), [minutely("t", "a", NOW + SECOND).end_at(at(NOW + 2 * MINUTE))]);
    cluster.store.catalogue().pause_all().unwrap();
    cluster.advance(10 * MINUTE);
    cluster.store.catalogue().resume_all(true).unwrap();
    assert_eq!(cluster.state("t"), "-");
    assert!(!cluster.has_job("a"));
}

on_each_strategy!(a_trigger_reset_from_error_in_a_paused_group_is_paused);
fn a_trigger_reset_from_error_in_a_paused_group_is_paused() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [minutely("t", "a", NOW)]);
    let bundle = a.fire_one();
    a.complete_with(&bundle, carnelian::store::CompletionInstruction::SetTriggerError);
    cluster.store.catalogue().pause_trigger_groups(&GroupMatcher::equals("triggers")).unwrap();
    assert_eq!(cluster.state("t"), "ERROR");
    assert!(cluster.store.catalogue().reset_from_error(&trigger_key("t")).unwrap());
    assert_eq!(cluster.state("t"), "PAUSED");
}

on_each_strategy!(a_fire_of_a_trigger_that_is_paused_meanwhile_ends_as_usual);
fn a_fire_of_a_trigger_that_is_paused_meanwhile_ends_as_usual() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a").requests_recovery(true), [once("t", "a", NOW), minutely("u", "a", NOW)]);
    let fired = a.acquire().fired;
    cluster.store.catalogue().pause_all().unwrap();
    assert_eq!(["t", "u"].map(|t| cluster.state(t)), ["COMPLETE", "PAUSED"]);
    for bundle in &fired {
        a.complete(bundle);
    }
    assert_eq!(["t", "u"].map(|t| cluster.state(t)), ["-", "PAUSED"]);
}

on_each_strategy!(resuming_all_groups_by_a_matcher_ends_the_pause_of_everything);
/// As in Quartz, whose statement deletes every remembered group that the matcher matches, the
/// marker among them. Here the marker stayed, and triggers of new groups were stored paused for
/// ever.
fn resuming_all_groups_by_a_matcher_ends_the_pause_of_everything() {
    let cluster = Cluster::new(open());
    three(&cluster);
    cluster.store.catalogue().pause_all().unwrap();
    assert_eq!(cluster.store.catalogue().resume_trigger_groups(&GroupMatcher::equals("A"), true).unwrap(), ["A"]);
    assert_eq!(paused(&cluster), ["B", ALL_GROUPS_PAUSED]);
    assert_eq!(cluster.store.catalogue().resume_trigger_groups(&GroupMatcher::any(), true).unwrap(), ["A", "B"]);
    assert!(paused(&cluster).is_empty());
    assert_eq!(store_into(&cluster, "C.t"), "WAITING");
}

on_each_database!(many_triggers_are_resumed_whichever_of_them_are_late);
/// The rows of 200,000 triggers were in memory together, a gigabyte of them.
fn many_triggers_are_resumed_whichever_of_them_are_late() {
    const MANY: i64 = 2001;
    let cluster = Cluster::new(open());
    let late = |at: i64| at % 1000 == 0;
    let times = |at: i64| NOW + if late(at) { SECOND } else { 7200 * SECOND };
    let triggers = (0..MANY).map(|at| once(&format!("t{at}"), "j", times(at)).build().unwrap()).collect();
    cluster.store.catalogue().schedule(vec![(job("j").durable(true).build().unwrap(), triggers)], false).unwrap();
    assert_eq!(cluster.store.catalogue().pause_and_count_groups(&GroupMatcher::any()).unwrap().1, MANY as usize);
    cluster.advance(3600 * SECOND);
    let resumed = cluster.store.catalogue().resume_and_count_groups(&GroupMatcher::any(), true).unwrap();
    assert_eq!(resumed, (vec!["triggers".to_owned()], MANY as usize));
    let next = |at: i64| cluster.store.catalogue().trigger(&trigger_key(&format!("t{at}"))).unwrap().unwrap();
    for at in [0, 999, 1000, 1001, 2000] {
        let is_due = next(at).next_fire_time().unwrap().timestamp_millis() <= cluster.now();
        assert_eq!((cluster.state(&format!("t{at}")), is_due), ("WAITING".to_owned(), late(at)), "{at}");
    }
    assert_eq!(cluster.node("A").acquire().fired.len(), 3);
}
