//! Firing of reserved triggers, and release of reservations.

use super::*;
use carnelian::store::row::TriggerSelection;

on_each_strategy!(a_reserved_trigger_fires_at_its_time);
fn a_reserved_trigger_fires_at_its_time() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a").data("x", "job"), [minutely("t", "a", NOW + 10 * SECOND).data("y", "trigger")]);
    let reservation = a.reserve_one();
    cluster.advance(10 * SECOND);
    let fired = a.fire(std::slice::from_ref(&reservation));
    assert_eq!(names(&fired), ["t"]);
    let bundle = &fired[0];
    assert_eq!((bundle.scheduled_ms, bundle.fired_ms), (NOW + 10 * SECOND, NOW + 10 * SECOND));
    assert_eq!(bundle.job.data().text("x"), Some("job"));
    assert_eq!(bundle.trigger.data().text("y"), Some("trigger"));
    assert_eq!(bundle.trigger.next_fire_time(), Some(at(NOW + 10 * SECOND + MINUTE)));
    assert_ne!(bundle.fire_id, reservation.fire_id, "its fence is drawn when it begins");
    assert_eq!(cluster.state("t"), "WAITING");
    assert_eq!(cluster.fires(), ["t/EXECUTING@A"]);
}

on_each_strategy!(a_lone_jobs_triggers_are_blocked_while_it_runs);
fn a_lone_jobs_triggers_are_blocked_while_it_runs() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(
        lone_job("a"),
        [minutely("t", "a", NOW + SECOND), minutely("u", "a", NOW + MINUTE), minutely("v", "a", NOW + MINUTE)],
    );
    cluster.store.catalogue().pause_triggers(&[trigger_key("v")]).unwrap();
    let reservation = a.reserve_one();
    assert_eq!(cluster.state("u"), "WAITING");
    let fired = a.fire(&[reservation]);
    assert_eq!(["t", "u", "v"].map(|t| cluster.state(t)), ["BLOCKED", "BLOCKED", "PAUSED_BLOCKED"]);
    a.complete(&fired[0]);
    assert_eq!(["t", "u", "v"].map(|t| cluster.state(t)), ["WAITING", "WAITING", "PAUSED"]);
}

on_each_strategy!(of_two_reserved_triggers_of_a_lone_job_one_fires);
/// Two nodes may reserve triggers of one lone job; the second to fire gives its own back.
fn of_two_reserved_triggers_of_a_lone_job_one_fires() {
    let cluster = Cluster::new(open());
    let (a, b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(lone_job("a"), [minutely("t", "a", NOW + SECOND), minutely("u", "a", NOW + SECOND)]);
    let (first, second) = (a.reserve_one(), b.reserve_one());
    assert_ne!(first.trigger, second.trigger);
    cluster.advance(SECOND);
    assert_eq!(a.fire(&[first]).len(), 1);
    assert!(b.fire(std::slice::from_ref(&second)).is_empty());
    assert_eq!(cluster.state_of(&second.trigger), "BLOCKED");
    assert_eq!(cluster.fires().len(), 1);
}

on_each_strategy!(a_trigger_that_a_lone_job_blocks_is_reserved_no_longer);
/// A reservation that outlived the run would be a second one as soon as the trigger is free again.
fn a_trigger_that_a_lone_job_blocks_is_reserved_no_longer() {
    let cluster = Cluster::new(open());
    let (a, b, c) = (cluster.node("A"), cluster.node("B"), cluster.node("C"));
    cluster.schedule(lone_job("a"), [once("t", "a", NOW + SECOND), minutely("u", "a", NOW + 10 * SECOND)]);
    let (first, second) = (a.reserve_one(), b.reserve_one());
    cluster.advance(SECOND);
    // By a fire of a reservation, and by one without.
    let fired = a.fire(std::slice::from_ref(&first)).remove(0);
    assert_eq!(cluster.fires(), ["t/EXECUTING@A"]);
    a.complete(&fired);
    let third = c.reserve_one();
    cluster.check();
    cluster.store.catalogue().add_trigger(once("v", "a", NOW).build().unwrap(), false).unwrap();
    let fired = a.fire_one();
    assert_eq!((cluster.fires(), cluster.state("u").as_str()), (vec!["v/EXECUTING@A".to_owned()], "BLOCKED"));
    a.complete(&fired);
    let last = a.reserve_one();
    cluster.check();

    // The trigger fires once, by whoever reserved it last.
    cluster.advance(9 * SECOND);
    for (node, lost) in [(&b, &second), (&c, &third)] {
        let late = node.store.firing().fire(&node.owner(), std::slice::from_ref(lost)).unwrap();
        assert_eq!((late.fired.len(), late.overtaken), (0, 1));
    }
    let fired = a.fire(&[last]);
    assert_eq!((names(&fired), fired[0].scheduled_ms), (vec!["u"], NOW + 10 * SECOND));
    a.complete(&fired[0]);
    assert_eq!(cluster.next("u"), Some(NOW + 10 * SECOND + MINUTE));
}

on_each_strategy!(a_trigger_paused_while_reserved_is_not_fired);
fn a_trigger_paused_while_reserved_is_not_fired() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [once("t", "a", NOW + SECOND)]);
    let reservation = a.reserve_one();
    cluster.store.catalogue().pause_triggers(&[trigger_key("t")]).unwrap();
    cluster.advance(SECOND);
    assert!(a.fire(&[reservation]).is_empty());
    assert_eq!(cluster.state("t"), "PAUSED");
    assert!(cluster.fires().is_empty());
}

on_each_strategy!(a_trigger_paused_and_resumed_while_reserved_is_not_fired_twice);
/// H2: Quartz would fire the old reservation and rewind the next fire time.
fn a_trigger_paused_and_resumed_while_reserved_is_not_fired_twice() {
    let cluster = Cluster::new(open());
    let (a, b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(job("a"), [minutely("t", "a", NOW + SECOND)]);
    let reservation = a.reserve_one();
    cluster.store.catalogue().pause_triggers(&[trigger_key("t")]).unwrap();
    cluster.store.catalogue().resume_triggers(&[trigger_key("t")], true).unwrap();
    cluster.advance(SECOND);
    let bundle = b.fire_one();
    assert!(a.fire(&[reservation]).is_empty());
    b.complete(&bundle);
    assert_eq!(cluster.next("t"), Some(NOW + SECOND + MINUTE));
}

on_each_strategy!(a_trigger_rescheduled_while_reserved_is_not_fired_at_its_old_time);
fn a_trigger_rescheduled_while_reserved_is_not_fired_at_its_old_time() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [once("t", "a", NOW + SECOND)]);
    let reservation = a.reserve_one();
    cluster.store.catalogue().reschedule(&trigger_key("t"), once("t", "a", NOW + MINUTE).build().unwrap()).unwrap();
    cluster.advance(SECOND);
    assert!(a.fire(&[reservation]).is_empty());
    assert_eq!((cluster.state("t").as_str(), cluster.next("t")), ("WAITING", Some(NOW + MINUTE)));
}

on_each_strategy!(a_trigger_whose_time_was_changed_in_place_while_reserved_is_given_back);
/// A node of Quartz that updates a calendar changes reserved triggers in place.
fn a_trigger_whose_time_was_changed_in_place_while_reserved_is_given_back() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [minutely("t", "a", NOW + SECOND)]);
    let reservation = a.reserve_one();
    let key = [trigger_key("t")];
    cluster.tamper(|s| {
        let mut rows = s.triggers(TriggerSelection::Keys(&key))?;
        s.delete_triggers(&key, None)?;
        rows[0].next_ms = Some(NOW + MINUTE);
        s.insert_triggers(&rows)
    });
    cluster.advance(SECOND);
    assert!(a.fire(&[reservation]).is_empty());
    assert_eq!((cluster.state("t").as_str(), cluster.next("t")), ("WAITING", Some(NOW + MINUTE)));
}

on_each_strategy!(a_trigger_deleted_while_reserved_is_not_fired);
fn a_trigger_deleted_while_reserved_is_not_fired() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [once("t", "a", NOW + SECOND)]);
    let reservation = a.reserve_one();
    cluster.store.catalogue().unschedule(&[trigger_key("t")]).unwrap();
    assert!(a.fire(&[reservation]).is_empty());
    assert!(cluster.fires().is_empty() && !cluster.has_job("a"));
}

on_each_strategy!(a_batch_fires_what_stands_and_gives_back_the_rest);
fn a_batch_fires_what_stands_and_gives_back_the_rest() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), ["t", "u", "v"].map(|t| once(t, "a", NOW + SECOND)));
    let reserved = a.acquire().reserved;
    cluster.store.catalogue().pause_triggers(&[trigger_key("u")]).unwrap();
    cluster.advance(SECOND);
    let fired = a.fire(&reserved);
    assert_eq!(fired.len(), 2);
    assert_eq!(cluster.state("u"), "PAUSED");
    assert_eq!(cluster.fires().len(), 2);
}

on_each_strategy!(nothing_to_fire_or_release_costs_nothing);
fn nothing_to_fire_or_release_costs_nothing() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    let before = cluster.opened.database.counts();
    assert!(a.fire(&[]).is_empty());
    assert!(a.complete_all(&[]).is_empty());
    a.store.firing().release(&[]).unwrap();
    assert_eq!(cluster.opened.database.counts(), before);
}

on_each_strategy!(a_released_trigger_can_be_taken_again);
fn a_released_trigger_can_be_taken_again() {
    let cluster = Cluster::new(open());
    let (a, b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(job("a"), [once("t", "a", NOW + SECOND)]);
    let reservation = a.reserve_one();
    a.store.firing().release(std::slice::from_ref(&reservation)).unwrap();
    assert_eq!(cluster.state("t"), "WAITING");
    assert!(cluster.fires().is_empty());
    let other = b.reserve_one();
    a.store.firing().release(&[reservation]).unwrap();
    assert_eq!(cluster.state("t"), "ACQUIRED", "a second release is not ours to give");
    b.store.firing().release(&[other]).unwrap();
}

on_each_strategy!(releasing_a_trigger_that_was_blocked_meanwhile_leaves_it_blocked);
/// H4: Quartz's release turns BLOCKED into WAITING.
fn releasing_a_trigger_that_was_blocked_meanwhile_leaves_it_blocked() {
    let cluster = Cluster::new(open());
    let (a, b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(lone_job("a"), [minutely("t", "a", NOW + SECOND), minutely("u", "a", NOW + SECOND)]);
    let (first, second) = (a.reserve_one(), b.reserve_one());
    cluster.advance(SECOND);
    let fired = a.fire(&[first]);
    b.store.firing().release(std::slice::from_ref(&second)).unwrap();
    assert_eq!(cluster.state_of(&second.trigger), "BLOCKED");
    assert!(b.acquire().fired.is_empty());
    a.complete(&fired[0]);
    assert_eq!(cluster.state_of(&second.trigger), "WAITING");
}

on_each_strategy!(releasing_a_paused_trigger_leaves_it_paused);
fn releasing_a_paused_trigger_leaves_it_paused() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [once("t", "a", NOW + SECOND)]);
    let reservation = a.reserve_one();
    cluster.store.catalogue().pause_all().unwrap();
    a.store.firing().release(&[reservation]).unwrap();
    assert_eq!(cluster.state("t"), "PAUSED");
}
