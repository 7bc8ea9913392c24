//! Nodes of Quartz beside ours: changes that such nodes make to the rows, played by hand, and our
//! reaction.

use super::*;
use carnelian::node::{NodeInfo, NodeReport};
use carnelian::store::row::{Departure, FiredRow, FiredState, InstanceRow, InstanceSelection, RecoveryRow, Selection};
use carnelian::store::{Lock, TxMode};
use carnelian::{Error, TriggerKey, TriggerState};
use std::collections::BTreeMap;

pub(super) const JAVA: &str = "java";

/// As Quartz checks in: its row, by its own clock.
fn java_checks_in(cluster: &Cluster) {
    let row = InstanceRow {
        name: JAVA.to_owned(),
        last_checkin_ms: cluster.now(),
        checkin_interval_ms: 15_000,
        incarnation: None,
        joined: 0,
    };
    let begin = TxMode::Exclusive(Lock::StateAccess);
    cluster.opened.database.transact("a node of Quartz", begin, &mut |s| s.put_instance(&row)).unwrap();
}

/// Registers a node of Quartz: a state row and no side row. Our node learns of it with its next
/// check-in.
pub(super) fn java_joins(cluster: &Cluster, node: &mut Node) {
    java_checks_in(cluster);
    assert!(!node.store.is_beside_quartz());
    node.check_in();
    assert!(node.store.is_beside_quartz());
}

/// As Quartz reserves: state and fired row.
fn java_reserves(cluster: &Cluster, from: TriggerState, scheduled_ms: i64) {
    let now = cluster.now();
    let row = FiredRow {
        fire_id: format!("{JAVA}{now}"),
        trigger: trigger_key("t"),
        instance: JAVA.to_owned(),
        fired_ms: now,
        scheduled_ms,
        priority: 5,
        state: FiredState::Acquired,
        job: None,
        nonconcurrent: false,
        requests_recovery: false,
    };
    let keys = [trigger_key("t")];
    cluster.tamper(|s| {
        s.change_states(Selection::Triggers(&keys), &[(from, TriggerState::Acquired)], false)?;
        s.insert_fired(vec![row.clone()], &BTreeMap::new()).map(drop)
    });
}

/// As Quartz begins a fire: a fired row of its own, whose id begins with the name of its node.
fn java_executes(cluster: &Cluster) {
    let now = cluster.now();
    let row = FiredRow {
        fire_id: format!("{JAVA}{now}"),
        trigger: trigger_key("t"),
        instance: JAVA.to_owned(),
        fired_ms: now,
        scheduled_ms: now,
        priority: 5,
        state: FiredState::Executing,
        job: Some(job_key("a")),
        nonconcurrent: false,
        requests_recovery: true,
    };
    cluster.tamper(|s| s.insert_fired(vec![row.clone()], &Default::default()).map(drop));
}

on_each_strategy!(a_trigger_that_quartz_has_reserved_and_lost_is_fired_without_being_reserved);
/// H2: a node of Quartz fires a trigger that it has reserved if the trigger is `ACQUIRED` when its
/// time comes, whoever acquired the trigger, and by the schedule that it had. A reservation that
/// the node has lost must therefore not be `ACQUIRED` by us.
fn a_trigger_that_quartz_has_reserved_and_lost_is_fired_without_being_reserved() {
    let cluster = Cluster::new(open());
    let mut a = cluster.node("A");
    cluster.schedule(job("a"), [minutely("t", "a", NOW + SECOND)]);
    java_joins(&cluster, &mut a);
    java_reserves(&cluster, TriggerState::Waiting, NOW + SECOND);
    cluster.store.catalogue().pause_triggers(&[trigger_key("t")]).unwrap();
    cluster.store.catalogue().resume_triggers(&[trigger_key("t")], true).unwrap();
    assert_eq!(cluster.fires(), ["t/ACQUIRED@java"], "the row is its own to delete");
    let left = a.acquire();
    assert!(left.reserved.is_empty() && left.fired.is_empty());
    assert_eq!((left.unreserved_ms, cluster.state("t").as_str()), (Some(NOW + SECOND), "WAITING"));
    cluster.advance(SECOND);
    let bundle = a.fire_one();
    assert_eq!((bundle.scheduled_ms, cluster.state("t").as_str()), (NOW + SECOND, "WAITING"));
    a.complete(&bundle);
}

on_each_strategy!(a_node_of_quartz_that_was_declared_dead_fires_nothing_that_we_have_reserved);
/// A node of Quartz that stood still goes on with what it had reserved, by the state of the trigger
/// alone, and sets the trigger back to the time that it knows: all that has fired since would fire
/// again. The row of the reservation has gone with the verdict: nothing says what the node holds.
fn a_node_of_quartz_that_was_declared_dead_fires_nothing_that_we_have_reserved() {
    let cluster = Cluster::new(open());
    let mut a = cluster.node("A");
    cluster.schedule(job("a"), [minutely("t", "a", NOW + SECOND)]);
    java_joins(&cluster, &mut a);
    java_reserves(&cluster, TriggerState::Acquired, NOW + SECOND);
    // A peer of Quartz takes it for dead, sets the trigger free, and dies with it.
    let keys = [trigger_key("t")];
    cluster.tamper(|s| {
        s.delete_fired(&[format!("{JAVA}{NOW}")], Vec::new())?;
        s.delete_instance(JAVA, Departure::Any)?;
        s.change_states(Selection::Triggers(&keys), &[(TriggerState::Acquired, TriggerState::Waiting)], false).map(drop)
    });
    a.check_in();
    let left = a.acquire();
    assert_eq!(
        (left.reserved.len(), left.unreserved_ms, cluster.state("t").as_str()),
        (0, Some(NOW + SECOND), "WAITING")
    );
    cluster.advance(SECOND);
    a.complete(&a.fire_one());
    assert_eq!((cluster.state("t").as_str(), cluster.next("t")), ("WAITING", Some(NOW + SECOND + MINUTE)));
    // After an hour it does not come back any more.
    cluster.advance(61 * MINUTE);
    a.check_in();
    cluster.schedule(job("b"), [once("u", "b", cluster.now() + SECOND)]);
    assert_eq!(a.reserve_one().trigger, trigger_key("u"));
}

on_each_strategy!(a_replaced_trigger_is_not_reserved_while_quartz_holds_the_old_one);
fn a_replaced_trigger_is_not_reserved_while_quartz_holds_the_old_one() {
    let cluster = Cluster::new(open());
    let mut a = cluster.node("A");
    cluster.schedule(job("a"), [minutely("t", "a", NOW + SECOND)]);
    java_joins(&cluster, &mut a);
    java_reserves(&cluster, TriggerState::Waiting, NOW + SECOND);
    let new = minutely("t", "a", NOW + 2 * SECOND).build().unwrap();
    assert!(cluster.store.catalogue().reschedule(&trigger_key("t"), new).unwrap().is_some());
    assert_eq!(a.acquire().unreserved_ms, Some(NOW + 2 * SECOND));
    assert_eq!((cluster.state("t").as_str(), cluster.next("t")), ("WAITING", Some(NOW + 2 * SECOND)));
}

on_each_strategy!(a_reservation_that_quartz_has_taken_over_is_left_to_it);
/// Quartz paused, resumed and took a trigger that we had reserved before: it is the later one that
/// fires.
fn a_reservation_that_quartz_has_taken_over_is_left_to_it() {
    let cluster = Cluster::new(open());
    let mut a = cluster.node("A");
    cluster.schedule(job("a"), [minutely("t", "a", NOW + SECOND)]);
    let ours = a.reserve_one();
    java_joins(&cluster, &mut a);
    java_reserves(&cluster, TriggerState::Acquired, NOW + SECOND);
    cluster.advance(SECOND);
    assert!(a.fire(&[ours]).is_empty());
    assert_eq!(
        (cluster.fires().as_slice(), cluster.state("t").as_str()),
        (["t/ACQUIRED@java".to_owned()].as_slice(), "ACQUIRED")
    );
}

on_each_strategy!(a_one_shot_keeps_its_row_until_its_end_while_quartz_may_have_to_recover_it);
/// Quartz recovers a fire that asks for no recovery by removing its `COMPLETE` trigger, and the job
/// with it. The job would stay for ever if the trigger's row has gone with the fire.
fn a_one_shot_keeps_its_row_until_its_end_while_quartz_may_have_to_recover_it() {
    let cluster = Cluster::new(open());
    let mut a = cluster.node("A");
    cluster.schedule(job("b"), [once("u", "b", NOW)]);
    let alone = a.fire_one();
    assert!(alone.removed);
    a.complete(&alone);
    cluster.schedule(job("a"), [once("t", "a", NOW)]);
    java_joins(&cluster, &mut a);
    let bundle = a.fire_one();
    assert_eq!((bundle.removed, cluster.state("t").as_str()), (false, "COMPLETE"));
    a.complete(&bundle);
    assert!(!cluster.has_job("a"));
    cluster.check();
}

on_each_strategy!(side_rows_whose_rows_are_gone_are_swept);
/// Quartz completes a recovery trigger of ours and knows nothing of its side row.
fn side_rows_whose_rows_are_gone_are_swept() {
    let cluster = Cluster::new(open());
    let row = RecoveryRow {
        takeovers: 0,
        trigger: TriggerKey::new("RECOVERING_JOBS", "recover_A_1"),
        origin_fire_id: "f".to_owned(),
        root_fire_id: "f".to_owned(),
        original_scheduled_ms: NOW,
        attempt: 1,
    };
    cluster.tamper(|s| s.insert_all(std::slice::from_ref(&row)));
    assert_eq!(cluster.store.upkeep().audit().unwrap().swept, 1);
    assert_eq!(cluster.store.upkeep().audit().unwrap().swept, 0);
}

on_each_strategy!(a_type_that_no_java_class_can_have_is_refused_beside_quartz);
/// H13: Quartz would put its triggers in `ERROR`.
fn a_type_that_no_java_class_can_have_is_refused_beside_quartz() {
    let cluster = Cluster::new(open());
    let mut a = cluster.node("A");
    let own = || carnelian::JobDetail::builder(job_key("own"), "send-mail");
    cluster.schedule(own(), [once("t", "own", NOW)]);
    java_joins(&cluster, &mut a);
    let again = cluster
        .store
        .catalogue()
        .schedule(vec![(own().build().unwrap(), vec![once("t", "own", NOW).build().unwrap()])], true);
    let Err(Error::Refused(why)) = again else { panic!("{again:?}") };
    assert!(why.contains("send-mail") && why.contains(JAVA) && why.contains("ownTypesBesideQuartz"), "{why}");
    let like_java = carnelian::JobDetail::builder(job_key("a"), "com.acme.Report");
    cluster.schedule(like_java, [once("u", "a", NOW)]);

    let forced = Cluster::with(open(), |settings| settings.cluster.own_types_beside_quartz = true);
    java_joins(&forced, &mut forced.node("A"));
    forced.schedule(own(), [once("t", "own", NOW)]);
}

/// A node of ours as every scheduler is: it says what it is with each check-in.
fn reporting(cluster: &Cluster, name: &str) -> Node {
    let mut node = cluster.stranger(name);
    node.me.node = Some(NodeReport { info: NodeInfo::default(), uptime: std::time::Duration::ZERO });
    assert!(node.check_in().registered, "{name}");
    node
}

on_each_strategy!(a_node_of_quartz_under_the_name_of_a_dead_one_of_ours_is_foreign);
/// A migration that is rolled back host by host: a node of Quartz starts under the static id of a
/// node of ours that has died. The node of Quartz changes the time of the state row, and knows
/// nothing of the rest.
fn a_node_of_quartz_under_the_name_of_a_dead_one_of_ours_is_foreign() {
    let cluster = Cluster::new(open());
    let mut a = reporting(&cluster, "A");
    let mut b = cluster.node("B");
    let dead = a.owner();
    cluster.schedule(job("a"), [minutely("t", "a", NOW + SECOND)]);
    cluster.advance(SECOND);
    a.check_in();
    assert!(!b.recovers().iter().any(|_| true) && !b.store.is_beside_quartz(), "both times are the same");
    drop(a);

    // Quartz's updateSchedulerState does this.
    cluster.advance(5 * SECOND);
    cluster.tamper(|s| s.touch_instance(&dead, NOW + 6 * SECOND, None).map(drop));
    assert!(cluster.store.upkeep().instance("A").unwrap().unwrap().foreign);
    let checkin = b.check_in();
    assert!(b.store.is_beside_quartz());
    assert!(checkin.foreign_clocks.iter().any(|(name, _)| name == "A"), "it is named");
    assert!(checkin.recovered.is_empty() && checkin.is_longest_serving);

    // The reservations of the node of Quartz are its own.
    let row = FiredRow {
        fire_id: "A1".to_owned(),
        trigger: trigger_key("t"),
        instance: "A".to_owned(),
        fired_ms: cluster.now(),
        scheduled_ms: NOW + SECOND,
        priority: 5,
        state: FiredState::Acquired,
        job: None,
        nonconcurrent: false,
        requests_recovery: false,
    };
    cluster.tamper(|s| {
        s.change_states(
            Selection::Triggers(&[trigger_key("t")]),
            &[(TriggerState::Waiting, TriggerState::Acquired)],
            false,
        )?;
        s.insert_fired(vec![row.clone()], &BTreeMap::new()).map(drop)
    });
    cluster.store.catalogue().pause_triggers(&[trigger_key("t")]).unwrap();
    cluster.store.catalogue().resume_triggers(&[trigger_key("t")], true).unwrap();
    assert_eq!(cluster.fires(), ["t/ACQUIRED@A"]);
    // Quartz goes on with the row, and nothing of ours is left under its name.
    cluster.advance(5 * SECOND);
    cluster.tamper(|s| {
        assert!(!s.touch_instance(&dead, 0, None)?, "its side row is gone");
        assert_eq!(s.rows::<carnelian::store::row::NodeRow>().list()?, []);
        let gone = s.instances(InstanceSelection::Named("A"))?.pop().unwrap();
        s.put_instance(&InstanceRow { last_checkin_ms: NOW + 11 * SECOND, ..gone })
    });
    assert!(b.recovers().is_empty() && b.store.is_beside_quartz());
    cluster.tamper(|s| s.delete_fired(&["A1".to_owned()], Vec::new()).map(drop));
}

on_each_strategy!(a_node_whose_name_quartz_takes_learns_it);
/// A node of ours that lives and whose name a node of Quartz has taken does not fight for it.
fn a_node_whose_name_quartz_takes_learns_it() {
    let cluster = Cluster::new(open());
    let mut a = reporting(&cluster, "A");
    let owner = a.owner();
    cluster.advance(SECOND);
    cluster.tamper(|s| s.touch_instance(&owner, NOW + SECOND, None).map(drop));
    assert!(a.check_in().failed_out);
    assert!(a.check_in().has_namesake);
}

on_each_database!(what_a_node_of_quartz_fires_after_its_conviction_is_its_own_as_long_as_it_may_come_back);
/// A node of Quartz whose check-in has failed goes on firing though somebody has declared it dead,
/// and writes its state row again half a minute later. Only the rows of one that stays away belong
/// to nobody.
fn what_a_node_of_quartz_fires_after_its_conviction_is_its_own_as_long_as_it_may_come_back() {
    for comes_back in [true, false] {
        let cluster = Cluster::new(open());
        let mut b = cluster.node("B");
        cluster.schedule(job("a").requests_recovery(true).durable(true), [minutely("t", "a", NOW + MINUTE)]);
        java_joins(&cluster, &mut b);
        let mut recovered = Vec::new();
        for _ in 0..3 {
            cluster.advance(10 * SECOND);
            recovered.extend(b.recovers());
        }
        assert_eq!((recovered.len(), recovered[0].instance.as_str()), (1, JAVA));
        java_executes(&cluster);
        for _ in 0..3 {
            assert!(b.recovers().is_empty());
            cluster.advance(10 * SECOND);
        }
        if comes_back {
            java_checks_in(&cluster);
        }
        cluster.advance(10 * SECOND);
        let later = b.recovers();
        assert_eq!(later.iter().map(|one| one.recovery_triggers.len()).sum::<usize>(), usize::from(!comes_back));
    }
}
