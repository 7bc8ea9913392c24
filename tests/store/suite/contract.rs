//! The tests that Quartz has for every store, told in our terms. `docs/testing.md` names our tests
//! for the rest.

use super::*;
use carnelian::store::CompletionInstruction::NoInstruction;
use carnelian::store::row::{JobRow, ScheduleRow, TriggerSelection};
use carnelian::store::{Acquisition, Reservation};
use carnelian::{
    CronSchedule, GroupMatcher, JobDetail, JobKey, MisfireInstruction, Schedule, SimpleSchedule, Trigger, TriggerKey,
};

fn reserved(acquisition: &Acquisition) -> Vec<&str> {
    acquisition.reserved.iter().map(|one| one.trigger.name()).collect()
}

on_each_database!(triggers_come_one_by_one_in_the_order_of_their_times_and_again_after_a_release);
fn triggers_come_one_by_one_in_the_order_of_their_times_and_again_after_a_release() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    // Stored in another order than they are due.
    cluster
        .schedule(job("a"), [(2, "second"), (1, "first"), (3, "third")].map(|(s, t)| once(t, "a", NOW + s * SECOND)));
    let take = |look_ahead_ms: i64| a.acquire_with(1, |request| request.look_ahead_ms = look_ahead_ms).unwrap();
    assert_eq!(reserved(&take(-10 * SECOND)), [] as [&str; 0], "nothing is due in the past");
    assert_eq!(reserved(&take(0)), [] as [&str; 0]);
    let taken: Vec<Acquisition> = (0..3).map(|_| take(10 * SECOND)).collect();
    assert_eq!(taken.iter().flat_map(reserved).collect::<Vec<_>>(), ["first", "second", "third"]);
    assert_eq!(reserved(&take(10 * SECOND)), [] as [&str; 0], "all are taken");
    a.store.firing().release(&taken[1].reserved).unwrap();
    assert_eq!(reserved(&take(10 * SECOND)), ["second"]);
}

on_each_database!(of_triggers_a_minute_apart_the_look_ahead_takes_those_it_reaches);
fn of_triggers_a_minute_apart_the_look_ahead_takes_those_it_reaches() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    let triggers: [_; 10] = std::array::from_fn(|i| once(&format!("t{i}"), "a", NOW + (i as i64 + 1) * MINUTE));
    cluster.schedule(job("a"), triggers);
    let mut singles: Vec<Reservation> = Vec::new();
    for minute in 1..=10 {
        let taken = a.acquire_with(5, |request| request.look_ahead_ms = minute * MINUTE).unwrap();
        assert_eq!(reserved(&taken), [format!("t{}", minute - 1)]);
        singles.extend(taken.reserved);
    }
    a.store.firing().release(&singles).unwrap();
    let batch = a.acquire_with(7, |request| request.look_ahead_ms = 8 * MINUTE).unwrap();
    assert_eq!(reserved(&batch), ["t0", "t1", "t2", "t3", "t4", "t5", "t6"]);
}

on_each_database!(a_batch_is_what_the_look_ahead_reaches_and_the_window_is_what_fires_early);
/// Quartz ends a batch a window after its first trigger, or after now if that is overdue, since the
/// whole batch fires with its first. Ours takes what the look-ahead reaches: the window only says
/// what may fire before its time.
fn a_batch_is_what_the_look_ahead_reaches_and_the_window_is_what_fires_early() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    let triggers = [(-1, "overdue"), (5, "five"), (15, "fifteen"), (25, "twenty-five")];
    cluster.schedule(job("a"), triggers.map(|(s, t)| minutely(t, "a", NOW + s * SECOND)));
    let again = |window_ms: i64, look_ahead_ms: i64| {
        let taken = a
            .acquire_with(10, |request| {
                request.fire_ahead_ms = window_ms;
                request.look_ahead_ms = look_ahead_ms;
            })
            .unwrap();
        let found = (
            names(&taken.fired).into_iter().map(str::to_owned).collect::<Vec<_>>(),
            reserved(&taken).into_iter().map(str::to_owned).collect::<Vec<_>>(),
        );
        let ends: Vec<_> = taken.fired.iter().map(|bundle| bundle.completion(NoInstruction, None)).collect();
        a.complete_all(&ends);
        a.store.firing().release(&taken.reserved).unwrap();
        // As it was, so that the next question finds the same.
        for (s, t) in triggers {
            cluster.store.catalogue().add_trigger(minutely(t, "a", NOW + s * SECOND).build().unwrap(), true).unwrap();
        }
        found
    };
    let all = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    assert_eq!(again(0, 0), (all(&["overdue"]), all(&[])));
    assert_eq!(again(0, 15 * SECOND), (all(&["overdue"]), all(&["five", "fifteen"])));
    assert_eq!(again(4_999, 100 * SECOND), (all(&["overdue"]), all(&["five", "fifteen", "twenty-five"])));
    assert_eq!(again(5_000, 100 * SECOND), (all(&["overdue", "five"]), all(&["fifteen", "twenty-five"])));
    assert_eq!(again(100 * SECOND, 0), (all(&["overdue", "five", "fifteen", "twenty-five"]), all(&[])));
}

on_each_database!(a_trigger_that_exists_is_refused_or_replaced_whole);
fn a_trigger_that_exists_is_refused_or_replaced_whole() {
    let cluster = Cluster::new(open());
    cluster.schedule(job("a").durable(true), [minutely("t", "a", NOW).priority(9).data("x", "old").description("old")]);
    let other = once("t", "a", NOW + MINUTE)
        .data("y", "new")
        .end_at(at(NOW + 2 * MINUTE))
        .misfire(MisfireInstruction::FireNow)
        .build()
        .unwrap();
    let error = cluster.store.catalogue().add_trigger(other.clone(), false).unwrap_err();
    assert!(error.is_already_exists() && error.to_string().contains("triggers.t"), "{error}");
    assert_eq!(cluster.store.catalogue().trigger(&trigger_key("t")).unwrap().unwrap().priority(), 9);
    let stored = cluster.store.catalogue().add_trigger(other, true).unwrap();
    assert_eq!(cluster.store.catalogue().trigger(&trigger_key("t")).unwrap(), Some(stored.clone()));
    assert_eq!((stored.priority(), stored.description(), stored.data().text("x")), (5, None, None));
}

on_each_database!(a_trigger_that_moves_to_another_job_takes_the_old_one_along_if_it_was_its_last);
/// Quartz leaves the old job, which nothing fires or deletes any longer.
fn a_trigger_that_moves_to_another_job_takes_the_old_one_along_if_it_was_its_last() {
    let cluster = Cluster::new(open());
    cluster.schedule(job("a"), [once("t", "a", NOW), once("u", "a", NOW)]);
    cluster.schedule(job("kept").durable(true), [once("v", "kept", NOW)]);
    cluster.store.catalogue().add_job(&job("b").durable(true).build().unwrap(), false).unwrap();
    let move_to_b =
        |trigger: &str| cluster.store.catalogue().add_trigger(once(trigger, "b", NOW).build().unwrap(), true).unwrap();
    move_to_b("t");
    move_to_b("v");
    assert!(cluster.has_job("a") && cluster.has_job("kept"));
    let moved = (job("b").durable(true).build().unwrap(), vec![once("u", "b", NOW).build().unwrap()]);
    cluster.store.catalogue().schedule(vec![moved], true).unwrap();
    assert!(!cluster.has_job("a"));
    assert_eq!(cluster.store.catalogue().triggers_of_job(&job_key("b")).unwrap().len(), 3);
}

on_each_database!(a_trigger_that_changes_its_kind_fires_by_the_new_one);
fn a_trigger_that_changes_its_kind_fires_by_the_new_one() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a").durable(true), [minutely("t", "a", NOW)]);
    let replace = |trigger: carnelian::TriggerBuilder| {
        cluster.store.catalogue().add_trigger(trigger.build().unwrap(), true).unwrap()
    };
    let next = |after_ms: i64| {
        cluster.clock.jump(after_ms - cluster.now());
        let bundle = a.fire_one();
        a.complete(&bundle);
        cluster.next("t").unwrap()
    };
    let cron = replace(once("t", "a", NOW).schedule(CronSchedule::new("0 0/5 * * * ?").unwrap()));
    assert!(matches!(cron.schedule(), Schedule::Cron(_)));
    assert_eq!(next(NOW), NOW + 5 * MINUTE);
    let simple = replace(minutely("t", "a", NOW + MINUTE));
    assert!(matches!(simple.schedule(), Schedule::Simple(_)));
    assert_eq!(next(NOW + MINUTE), NOW + 2 * MINUTE);
}

on_each_database!(what_is_built_from_a_stored_one_is_like_it_and_begins_anew);
/// `getTriggerBuilder` and `getJobBuilder`.
fn what_is_built_from_a_stored_one_is_like_it_and_begins_anew() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    let repeats = SimpleSchedule::every(std::time::Duration::from_secs(60)).repeat(2);
    cluster.schedule(job("a"), [minutely("t", "a", NOW).schedule(repeats).priority(9).data("x", "1")]);
    let bundle = a.fire_one();
    a.complete(&bundle);
    let fired = cluster.store.catalogue().trigger(&trigger_key("t")).unwrap().unwrap();
    assert!(fired.previous_fire_time().is_some());

    let later = fired.to_builder().start_at(at(NOW + 60 * MINUTE)).build().unwrap();
    assert_eq!((later.previous_fire_time(), later.next_fire_time(), later.priority()), (None, None, 9));
    assert_eq!((later.key(), later.job_key(), later.data()), (fired.key(), fired.job_key(), fired.data()));
    cluster.store.catalogue().reschedule(&trigger_key("t"), later).unwrap();
    cluster.clock.jump(60 * MINUTE);
    // All three fires again: the one it has had is not counted.
    for fire in 0..3 {
        assert_eq!(cluster.next("t"), Some(NOW + 60 * MINUTE + fire * MINUTE));
        let bundle = a.fire_one();
        a.complete(&bundle);
        cluster.clock.jump(MINUTE);
    }
    assert!(!cluster.has_job("a"), "the count of the new schedule is up");

    let original = job("a").requests_recovery(true).data("x", "1").build().unwrap();
    let copy = original.to_builder().key(job_key("b")).build().unwrap();
    assert_eq!((copy.key(), copy.requests_recovery(), copy.data()), (&job_key("b"), true, original.data()));
    let moved = fired.to_builder().key(trigger_key("u")).job(job_key("b")).build().unwrap();
    cluster.store.catalogue().schedule(vec![(copy, vec![moved])], false).unwrap();
    assert_eq!(cluster.store.catalogue().triggers_of_job(&job_key("b")).unwrap().len(), 1);
}

on_each_database!(jobs_and_triggers_are_found_by_their_groups);
fn jobs_and_triggers_are_found_by_their_groups() {
    let cluster = Cluster::new(open());
    for (group, count) in [("report", 3), ("report-daily", 2), ("my-report", 1)] {
        for i in 0..count {
            let key = JobKey::new(group, format!("j{i}"));
            let detail = JobDetail::builder(key.clone(), "work").description(group).build().unwrap();
            let trigger = |n: &str| {
                Trigger::builder(TriggerKey::new(format!("{group}.t"), format!("{n}{i}")), key.clone())
                    .start_at(at(NOW))
                    .build()
                    .unwrap()
            };
            cluster.store.catalogue().schedule(vec![(detail, vec![trigger("a"), trigger("b")])], false).unwrap();
        }
    }
    assert_eq!(cluster.store.catalogue().job_groups().unwrap(), ["my-report", "report", "report-daily"]);
    assert_eq!(cluster.store.catalogue().trigger_groups().unwrap(), ["my-report.t", "report-daily.t", "report.t"]);
    type Matcher = GroupMatcher;
    for (jobs, expected, triggers) in [
        (Matcher::equals("report"), 3, Matcher::equals("report.t")),
        (Matcher::starts_with("report"), 5, Matcher::starts_with("report")),
        (Matcher::ends_with("report"), 4, Matcher::ends_with("report.t")),
        (Matcher::contains("epor"), 6, Matcher::contains("epor")),
        (Matcher::any(), 6, Matcher::any()),
        (Matcher::equals("Report"), 0, Matcher::equals("report")),
    ] {
        let found = cluster.store.catalogue().jobs(&jobs).unwrap();
        assert_eq!(found.len(), expected, "{jobs:?}");
        assert!(found.iter().all(|job| job.description() == Some(job.key().group())), "{jobs:?}");
        assert_eq!(cluster.store.catalogue().trigger_summaries(&triggers).unwrap().len(), 2 * expected, "{triggers:?}");
    }
    let key = JobKey::new("report-daily", "j1");
    let of_job = cluster.store.catalogue().triggers_of_job(&key).unwrap();
    assert_eq!(
        of_job.iter().map(|t| t.key().to_string()).collect::<Vec<_>>(),
        ["report-daily.t.a1", "report-daily.t.b1"]
    );
    assert_eq!(cluster.store.catalogue().job(&key).unwrap().unwrap().key(), &key);
    assert!(cluster.store.catalogue().triggers_of_job(&JobKey::new("report", "nobody")).unwrap().is_empty());
}

on_each_database!(jobs_that_nobody_can_run_or_read_can_be_deleted_unscheduled_and_replaced);
/// A job that no node can run, or even read, is no reason to keep it.
fn jobs_that_nobody_can_run_or_read_can_be_deleted_unscheduled_and_replaced() {
    let unreadable = |row: &mut JobRow| row.data = Some(vec![0xAC, 0xED, 0, 5, 1, 2, 3]);
    let unknown = |row: &mut JobRow| row.job_type = "of.nobody.AnyLonger".into();
    for spoil in [unreadable as fn(&mut JobRow), unknown] {
        let cluster = Cluster::new(open());
        let a = cluster.node("A");
        for name in ["alone", "with", "last", "again"] {
            match name {
                "alone" => cluster.store.catalogue().add_job(&job(name).durable(true).build().unwrap(), false).unwrap(),
                _ => drop(cluster.schedule(job(name), [minutely(name, name, NOW)])),
            }
            cluster.damage(|s| {
                let mut row = s.job(&job_key(name))?.expect("it was stored");
                spoil(&mut row);
                s.update_job(&row)
            });
        }
        assert!(a.acquire().fired.is_empty());
        let states = || ["with", "last", "again"].map(|name| cluster.state(name));
        assert_eq!(states(), ["WAITING"; 3], "Quartz sets them to ERROR");

        assert_eq!(cluster.store.catalogue().delete_jobs(&[job_key("alone")]).unwrap(), 1);
        assert_eq!(cluster.store.catalogue().delete_jobs(&[job_key("with")]).unwrap(), 1);
        assert_eq!(cluster.store.catalogue().unschedule(&[trigger_key("last")]).unwrap(), 1);
        assert_eq!(states(), ["-", "-", "WAITING"]);
        assert!(!cluster.store.catalogue().job_exists(&job_key("last")).unwrap());
        cluster.store.catalogue().add_job_awaiting_trigger(&job("again").build().unwrap(), true).unwrap();
        assert_eq!(names(&a.acquire().fired), ["again"]);
        cluster.check();
    }
}

on_each_database!(triggers_that_nobody_can_read_can_be_paused_replaced_and_deleted);
/// A trigger, whatever its row holds, can be looked for, paused, replaced and deleted.
fn triggers_that_nobody_can_read_can_be_paused_replaced_and_deleted() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), ["t", "u", "v"].map(|name| minutely(name, "a", NOW)));
    let keys = ["t", "u", "v"].map(trigger_key);
    cluster.damage(|s| {
        let mut rows = s.triggers(TriggerSelection::Keys(&keys))?;
        s.delete_triggers(&keys, None)?;
        for row in &mut rows {
            row.kind = "CRON".to_owned();
            row.schedule = ScheduleRow::Cron { expression: "never mind".to_owned(), zone: None };
        }
        s.insert_triggers(&rows)
    });
    assert_eq!(a.acquire().unreadable.len(), 3);
    assert!(cluster.store.catalogue().trigger(&keys[0]).unwrap_err().to_string().contains("never mind"));
    assert!(cluster.store.catalogue().trigger_exists(&keys[0]).unwrap());
    assert_eq!(cluster.store.catalogue().trigger_summaries(&GroupMatcher::any()).unwrap().len(), 3);
    assert_eq!(cluster.store.catalogue().pause_triggers(&keys[..1]).unwrap(), 1);
    assert_eq!(cluster.state("t"), "PAUSED");
    assert_eq!(cluster.store.catalogue().unschedule(&keys[..1]).unwrap(), 1);
    cluster.store.catalogue().add_trigger(minutely("u", "a", NOW).build().unwrap(), true).unwrap();
    assert!(
        cluster.store.catalogue().reschedule(&keys[2], minutely("v", "a", NOW).build().unwrap()).unwrap().is_some()
    );
    assert_eq!(names(&a.acquire().fired), ["u", "v"]);
    cluster.check();
}

on_each_database!(a_cron_trigger_fires_again_after_a_pause_of_itself_or_of_its_job);
fn a_cron_trigger_fires_again_after_a_pause_of_itself_or_of_its_job() {
    type Act = fn(&Cluster);
    let by_trigger: (Act, Act) = (
        |c| assert_eq!(c.store.catalogue().pause_triggers(&[trigger_key("t")]).unwrap(), 1),
        |c| assert_eq!(c.store.catalogue().resume_triggers(&[trigger_key("t")], true).unwrap(), 1),
    );
    let by_job: (Act, Act) = (
        |c| assert_eq!(c.store.catalogue().pause_jobs(&[job_key("a")]).unwrap(), 1),
        |c| assert_eq!(c.store.catalogue().resume_jobs(&[job_key("a")], true).unwrap(), 1),
    );
    for (pause, resume) in [by_trigger, by_job] {
        let cluster = Cluster::new(open());
        let a = cluster.node("A");
        let cron = once("t", "a", NOW)
            .schedule(CronSchedule::new("0/10 * * * * ?").unwrap())
            .misfire(MisfireInstruction::DoNothing);
        cluster.schedule(job("a"), [cron]);
        a.complete(&a.fire_one());
        pause(&cluster);
        cluster.advance(10 * MINUTE + 3 * SECOND);
        assert!(a.acquire().fired.is_empty());
        resume(&cluster);
        // The missed times are a misfire, and this trigger goes on with the next of its times.
        assert_eq!(cluster.next("t"), Some(NOW + 10 * MINUTE + 10 * SECOND));
        cluster.advance(7 * SECOND);
        assert_eq!(a.fire_one().scheduled_ms, NOW + 10 * MINUTE + 10 * SECOND);
    }
}
