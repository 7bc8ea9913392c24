//! Fault enumeration: every operation of the store, and in it every statement and every commit,
//! fails once.
//!
//! After each fault the invariants must hold, and the operation must have happened whole or not at
//! all. Then every node that took part falls silent, another node takes over and runs the rest, and
//! every fire must be accounted for.
#![warn(clippy::disallowed_methods)]
#![cfg(feature = "test-util")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

#[path = "faults/given_back.rs"]
mod given_back;
#[path = "faults/kit.rs"]
mod kit;
#[path = "faults/outages.rs"]
mod outages;
#[path = "faults/placement.rs"]
mod placement;
#[path = "support/places.rs"]
mod places;
#[path = "faults/prefetched.rs"]
mod prefetched;
#[path = "faults/strategies.rs"]
mod strategies;

use carnelian::calendar::{Calendar, CronTimes};
use carnelian::definitions::OrphanedDefinitions;
use carnelian::history::CapturedLine;
use carnelian::history::HistoryPruning;
use carnelian::key::FOLLOWING_GROUP;
use carnelian::settings::PollingStrategy;
use carnelian::store::faults::Fault;
use carnelian::store::row::{FiredState, Selection};
use carnelian::store::{
    AcquireRequest, BeginMark, CompletionInstruction, CompletionOutcome, Doubt, FireBundle, FireHeartbeat, Heartbeats,
    Recovered, Reservation,
};
use carnelian::{
    Continuation, FailureClass, GroupMatcher, JobDataMap, JobDefinition, JobDetail, JobKey, On, Result, Trigger,
    TriggerKey, TriggerState,
};
use kit::*;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The nodes of a case, and what their callers know of their fires.
struct World {
    a: Node,
    b: Node,
    running: Vec<FireBundle>,
    /// Prefetched fires of A that have not begun.
    waiting: Vec<FireBundle>,
    reserved: Vec<Reservation>,
    /// Fires that have ended with a line that each has logged: its own id.
    logged: Vec<String>,
    /// The fires that A took, or did not take, and could not ask about.
    doubt: Option<Box<Doubt>>,
    /// Reservations that A had, and has no longer.
    stale: Vec<Reservation>,
    /// Work that must run at these times, unless it is running.
    owed: BTreeSet<(TriggerKey, i64)>,
    /// Work that is parked.
    parked: Vec<TriggerKey>,
}

/// One operation of the store.
struct Operation {
    name: &'static str,
    /// True if node A holds fires and reservations when the operation begins.
    holding: bool,
    /// True if the store itself tries again after a failure that passes.
    retried: bool,
    /// True if the operation is one transaction.
    whole: bool,
    prepare: fn(&Cluster, &mut World),
    act: fn(&Cluster, &mut World) -> Result<()>,
}

fn lone_saving() -> JobDetail {
    let job = a_job("lone").disallow_concurrent_execution(true).requests_recovery(true);
    job.persist_job_data_after_execution(true).data("n", 1).build().unwrap()
}

fn grouped(name: &str, ms: i64) -> Trigger {
    let trigger = Trigger::builder(TriggerKey::new("G", name), JobKey::new("G", "g"));
    trigger.start_at(at(ms)).schedule(every(60)).build().unwrap()
}

fn nothing(_: &Cluster, _: &mut World) {}

/// Leaves out these minutes of every hour.
fn leaving_out(minutes: &str) -> Calendar {
    Calendar::new(CronTimes::excluding(&format!("* {minutes} * * * ?")).unwrap())
}

/// Two triggers that name a calendar: one that is due, one that is paused.
fn with_calendar(c: &Cluster, _: &mut World) {
    c.catalogue().add_calendar("c", &leaving_out("7"), false, false).unwrap();
    let plain = job("plain");
    for name in ["due", "idle"] {
        c.catalogue().add_trigger(every_minute(name, &plain, 0).calendar("c").build().unwrap(), false).unwrap();
    }
    c.catalogue().pause_triggers(&[key("idle")]).unwrap();
}

/// Two versions of the definitions in a program's code: one job changes, one goes, one comes.
fn in_code(version: i64) -> Vec<JobDefinition> {
    let defined = |name: &str, ms: i64| JobDefinition::new(job(name)).trigger(minutely(name, &job(name), ms));
    let other = if version == 0 { "goes" } else { "comes" };
    vec![defined("changes", (version + 5) * MINUTE), defined(other, 9 * MINUTE)]
}

/// A job of a type of its own, which does not run.
fn with_idle(c: &Cluster, _: &mut World) {
    let idle = a_job("idle").job_type("idle").durable(true).build().unwrap();
    let trigger = minutely("i1", &idle, MINUTE);
    c.catalogue().schedule(vec![(idle, vec![trigger])], false).unwrap();
}

/// Jobs that follow those of the case, one of them one at a time; then node A takes what is due.
fn with_followers(c: &Cluster, w: &mut World) {
    c.catalogue().add_job(&a_job("after").durable(true).build().unwrap(), false).unwrap();
    let shy = a_job("shy").durable(true).disallow_concurrent_execution(true).build().unwrap();
    c.catalogue().add_job(&shy, false).unwrap();
    for (parent, child, on) in [
        ("plain", "after", On::Any),
        ("plain", "shy", On::Success),
        ("dear", "after", On::Success),
        ("lone", "shy", On::Success),
        ("lone", "after", On::Failure),
    ] {
        c.catalogue().follow(&Continuation::new(JobKey::named(parent), JobKey::named(child)).on(on)).unwrap();
    }
    let acquired = w.a.acquire(20);
    (w.running, w.reserved) = (acquired.fired, acquired.reserved);
    assert_eq!(w.running.len(), 4);
}

fn ends(w: &World, instruction: CompletionInstruction) -> Vec<carnelian::store::Completion> {
    let data: JobDataMap = [("n", 2)].into_iter().collect();
    let saves = |fire: &FireBundle| fire.job.persists_job_data_after_execution().then(|| data.clone());
    w.running.iter().map(|fire| fire.completion(instruction, saves(fire))).collect()
}

fn complete(w: &mut World, instruction: CompletionInstruction) -> Result<()> {
    let outcomes = w.a.store.firing().complete(&w.a.owner(), &ends(w, instruction))?.outcomes;
    assert!(outcomes.iter().all(|outcome| *outcome == CompletionOutcome::Recorded), "{outcomes:?}");
    w.running.clear();
    Ok(())
}

/// LT-58: what runs have logged is there with their ends, once.
fn complete_with_logs(w: &mut World) -> Result<()> {
    let line = |fire: &FireBundle| CapturedLine {
        at: Duration::ZERO,
        level: log::Level::Info,
        target: "faults".to_owned(),
        message: fire.fire_id.clone(),
    };
    let mut ends = ends(w, CompletionInstruction::NoInstruction);
    for (end, fire) in ends.iter_mut().zip(&w.running) {
        end.log = vec![line(fire)];
    }
    w.a.store.firing().complete(&w.a.owner(), &ends)?;
    w.logged = std::mem::take(&mut w.running).into_iter().map(|fire| fire.fire_id).collect();
    Ok(())
}

/// LT-86: nothing of the fires depends on what is forgotten of them.
fn prune(w: &mut World) -> Result<()> {
    w.logged.clear();
    w.a.store.history().prune(&HistoryPruning::new().older_than(Duration::ZERO)).map(drop)
}

fn beats(w: &World) -> Vec<FireHeartbeat> {
    let beat = |fire: &FireBundle| FireHeartbeat {
        fire_id: fire.fire_id.clone(),
        limit: Duration::from_secs(15),
        progress: None,
        silence: None,
        silence_limit: None,
    };
    w.running.iter().map(beat).collect()
}

fn polling(c: &Cluster, w: &mut World, strategy: PollingStrategy) {
    w.a.store = c.store_with(|settings| settings.job_store.polling_strategy = strategy);
}

/// One look may bring a part only; the next ones bring the rest.
fn acquire_in_parts(w: &mut World) -> Result<()> {
    let first = w.a.try_acquire(20)?;
    let more = (0..3).filter_map(|_| w.a.try_acquire(20).ok());
    for acquired in std::iter::once(first).chain(more.collect::<Vec<_>>()) {
        w.running.extend(acquired.fired);
        w.reserved.extend(acquired.reserved);
    }
    Ok(())
}

fn operations() -> Vec<Operation> {
    let usual = |name, act| Operation { name, holding: true, retried: true, whole: true, prepare: nothing, act };
    let after = |name, prepare, act| Operation { prepare, ..usual(name, act) };
    vec![
        usual("schedule", |c, _| {
            let (new, more) = (precious("new"), lone("more"));
            let of_new = vec![once("n1", &new, 0), minutely("n2", &new, 0)];
            c.catalogue().schedule(vec![(new, of_new), (more.clone(), vec![once("m1", &more, 0)])], false).map(drop)
        }),
        usual("replace", |c, _| {
            let (job, plain) = (lone_saving(), job("plain"));
            let again = vec![minutely("l1", &job, 0), minutely("l2", &job, SECOND)];
            c.catalogue()
                .schedule(vec![(job, again), (plain.clone(), vec![once("p2", &plain, 15 * SECOND)])], true)
                .map(drop)
        }),
        usual("add_job", |c, _| c.catalogue().add_job(&a_job("added").durable(true).build()?, false)),
        usual("add_trigger", |c, _| c.catalogue().add_trigger(minutely("p4", &job("plain"), 0), false).map(drop)),
        usual("reschedule", |c, _| {
            c.catalogue().reschedule(&key("p2"), once("p9", &job("plain"), 5 * SECOND)).map(drop)
        }),
        usual("unschedule", |c, _| c.catalogue().unschedule(&["p1", "p2", "p3", "d2", "l2"].map(key)).map(drop)),
        usual("delete_jobs", |c, _| c.catalogue().delete_jobs(&["plain", "dear", "lone"].map(JobKey::named)).map(drop)),
        usual("trigger_job", |c, _| c.catalogue().trigger_job(&JobKey::named("plain"), JobDataMap::new()).map(drop)),
        usual("pause_triggers", |c, _| c.catalogue().pause_triggers(&["p2", "p3", "l1"].map(key)).map(drop)),
        usual("pause_trigger_groups", |c, _| c.catalogue().pause_trigger_groups(&GroupMatcher::equals("G")).map(drop)),
        usual("pause_jobs", |c, _| c.catalogue().pause_jobs(&["plain", "lone"].map(JobKey::named)).map(drop)),
        usual("pause_all", |c, _| c.catalogue().pause_all()),
        after(
            "resume_triggers",
            |c, _| c.catalogue().pause_all().unwrap(),
            |c, _| c.catalogue().resume_triggers(&["p2", "p3", "l1"].map(key), true).map(drop),
        ),
        after(
            "resume_trigger_groups",
            |c, _| c.catalogue().pause_all().unwrap(),
            |c, _| c.catalogue().resume_trigger_groups(&GroupMatcher::any(), false).map(drop),
        ),
        after(
            "resume_all, with misfires",
            |c, _| {
                c.catalogue().pause_all().unwrap();
                c.clock.advance(10 * MINUTE);
            },
            |c, _| c.catalogue().resume_all(true),
        ),
        after(
            "reset_from_error",
            |_, w| complete(w, CompletionInstruction::SetAllJobTriggersError).unwrap(),
            |c, _| c.catalogue().reset_from_error(&key("l2")).map(drop),
        ),
        after("rename_job", with_idle, |c, _| {
            c.catalogue().rename_job(&JobKey::named("idle"), &JobKey::named("renamed"), false).map(drop)
        }),
        after("migrate_jobs", with_idle, |c, _| {
            let upgrade = |_: u32, data: &mut JobDataMap| {
                data.put("n", 7);
                Ok(2)
            };
            c.job_types().migrate("idle", "busy", Some(&upgrade), false).map(drop)
        }),
        usual("clear", |c, _| c.catalogue().clear()),
        usual("add_calendar", |c, _| c.catalogue().add_calendar("new", &leaving_out("7"), false, true)),
        after("add_calendar that updates triggers", with_calendar, |c, _| {
            c.catalogue().add_calendar("c", &leaving_out("0"), true, true)
        }),
        after(
            "delete_calendar",
            |c, _| c.catalogue().add_calendar("c", &leaving_out("7"), false, false).unwrap(),
            |c, _| c.catalogue().delete_calendar("c").map(drop),
        ),
        Operation {
            holding: false,
            prepare: with_calendar,
            ..usual("acquire by a calendar", |_, w| {
                let acquired = w.a.try_acquire(20)?;
                w.running.extend(acquired.fired);
                w.reserved.extend(acquired.reserved);
                Ok(())
            })
        },
        Operation {
            holding: false,
            ..usual("acquire", |_, w| {
                let acquired = w.a.try_acquire(20)?;
                w.running.extend(acquired.fired);
                w.reserved.extend(acquired.reserved);
                Ok(())
            })
        },
        // DS-48, DS-65: on a database with one writer this is the operation above.
        Operation {
            holding: false,
            prepare: |c, w| polling(c, w, PollingStrategy::LockAndFetch),
            ..usual("acquire, claiming", |_, w| acquire_in_parts(w))
        },
        after(
            "fire",
            |c, _| c.clock.advance(20 * SECOND),
            |_, w| {
                let fired = w.a.try_to_fire(&w.reserved)?;
                w.running.extend(fired);
                w.reserved.clear();
                Ok(())
            },
        ),
        after(
            "fire what was paused",
            |c, _| {
                c.catalogue().pause_trigger_groups(&GroupMatcher::equals("G")).unwrap();
                c.clock.advance(20 * SECOND);
            },
            |_, w| {
                let fired = w.a.try_to_fire(&w.reserved)?;
                w.running.extend(fired);
                w.reserved.clear();
                Ok(())
            },
        ),
        usual("complete", |_, w| complete(w, CompletionInstruction::NoInstruction)),
        Operation {
            holding: false,
            prepare: with_followers,
            ..usual("complete what is followed", |_, w| complete(w, CompletionInstruction::NoInstruction))
        },
        Operation {
            holding: false,
            retried: false,
            whole: false,
            prepare: |c, w| {
                with_followers(c, w);
                falls_silent(c, &mut w.b);
            },
            ..usual("check_in that recovers what is followed", |_, w| w.b.try_check_in().map(drop))
        },
        usual("follow", |c, _| c.catalogue().follow(&Continuation::new(JobKey::named("plain"), JobKey::new("G", "g")))),
        after(
            "unfollow",
            |c, _| c.catalogue().follow(&Continuation::new(JobKey::named("plain"), JobKey::new("G", "g"))).unwrap(),
            |c, _| c.catalogue().unfollow(&JobKey::named("plain"), &JobKey::new("G", "g")).map(drop),
        ),
        // The ends and the next fires are one: neither without the other.
        Operation {
            holding: false,
            prepare: |_, w| w.running = w.a.acquire(2).fired,
            ..usual("turn", |_, w| {
                let ended = ends(w, CompletionInstruction::NoInstruction);
                let (recorded, acquired) = w.a.try_turn(&ended, 20)?;
                assert!(recorded.outcomes.iter().all(|one| *one == CompletionOutcome::Recorded), "{recorded:?}");
                (w.running, w.reserved) = (acquired.fired, acquired.reserved);
                Ok(())
            })
        },
        usual("complete triggers", |_, w| complete(w, CompletionInstruction::SetTriggerComplete)),
        usual("complete all triggers", |_, w| complete(w, CompletionInstruction::SetAllJobTriggersComplete)),
        usual("complete in error", |_, w| complete(w, CompletionInstruction::SetTriggerError)),
        usual("complete with log lines", |_, w| complete_with_logs(w)),
        Operation {
            whole: false,
            ..after(
                "prune the history",
                |c, w| {
                    complete_with_logs(w).unwrap();
                    c.clock.advance(SECOND);
                },
                |_, w| prune(w),
            )
        },
        usual("release", |_, w| w.a.store.firing().release(&w.reserved).map(|()| w.reserved.clear())),
        Operation {
            holding: false,
            prepare: |c, _| c.clock.advance(10 * MINUTE),
            ..usual("handle_misfires", |c, _| c.upkeep().handle_misfires().map(drop))
        },
        Operation {
            retried: false,
            ..usual("check_in", |c, w| {
                c.clock.advance(SECOND);
                w.b.try_check_in().map(drop)
            })
        },
        Operation {
            retried: false,
            whole: false,
            ..usual("check_in that registers", |c, _| c.stranger("D").try_check_in().map(drop))
        },
        Operation {
            retried: false,
            whole: false,
            ..after("check_in after a restart", |c, w| w.a = c.stranger("A"), |_, w| w.a.try_check_in().map(drop))
        },
        Operation {
            retried: false,
            whole: false,
            ..after("check_in that recovers", |c, w| falls_silent(c, &mut w.b), |_, w| w.b.try_check_in().map(drop))
        },
        Operation {
            retried: false,
            ..usual("beat", |_, w| {
                let pass = w.a.store.upkeep().heartbeat(&w.a.owner(), &beats(w), &mut Heartbeats::default())?;
                assert_eq!(pass.lost, Vec::<String>::new());
                Ok(())
            })
        },
        Operation {
            retried: false,
            whole: false,
            ..after(
                "beat that recovers",
                |c, w| {
                    w.a.store.upkeep().heartbeat(&w.a.owner(), &beats(w), &mut Heartbeats::default()).unwrap();
                    c.clock.advance(15 * SECOND);
                    w.a.check_in();
                    w.b.check_in();
                    c.clock.advance(10 * SECOND);
                    w.a.check_in();
                    w.b.check_in();
                },
                |_, w| w.b.store.upkeep().heartbeat(&w.b.owner(), &[], &mut Heartbeats::default()).map(drop),
            )
        },
        after(
            "sync definitions",
            |c, _| {
                c.catalogue()
                    .sync_definitions("code", &in_code(0), |_| true, OrphanedDefinitions::Report, false)
                    .map(drop)
                    .unwrap()
            },
            |c, _| {
                let report = c.catalogue().sync_definitions(
                    "code",
                    &in_code(1),
                    |_| true,
                    OrphanedDefinitions::Delete,
                    false,
                )?;
                // A change whose answer was lost is found by its token: the report is the one that
                // was lost.
                assert_eq!(
                    (report.inserted.len(), report.updated.len(), report.deleted.len()),
                    (1, 1, 1),
                    "{report:?}"
                );
                Ok(())
            },
        ),
        Operation {
            retried: false,
            ..usual("give up", |_, w| {
                let ids: Vec<String> = w.running.iter().map(|fire| fire.fire_id.clone()).collect();
                w.a.store.upkeep().abandon(&w.a.owner(), &ids).map(|_| w.running.clear())
            })
        },
        usual("leave", |_, w| w.a.store.upkeep().leave(&w.a.owner()).map(|_| w.reserved.clear())),
        after(
            "leave with nothing running",
            |_, w| complete(w, CompletionInstruction::NoInstruction).unwrap(),
            |_, w| w.a.store.upkeep().leave(&w.a.owner()).map(|_| w.reserved.clear()),
        ),
        Operation {
            holding: false,
            retried: false,
            whole: false,
            prepare: |c, _| {
                use TriggerState::{Acquired, Blocked, Waiting};
                c.by_hand(|s| {
                    s.change_states(Selection::Triggers(&[key("p2")]), &[(Waiting, Acquired)], false)?;
                    s.change_states(Selection::Triggers(&[key("d2")]), &[(Waiting, Blocked)], false).map(drop)
                });
            },
            ..usual("audit", |c, _| c.upkeep().audit().map(drop))
        },
        Operation { whole: false, ..usual("clean_up", |c, _| c.upkeep().clean_up().map(drop)) },
    ]
}

fn prepared<'a>(place: &'a Place, operation: &Operation) -> (Cluster<'a>, World) {
    let c = place.cluster();
    let (plain, dear, lone) = (job("plain"), precious("dear"), lone_saving());
    let group = JobDetail::builder(JobKey::new("G", "g"), TYPE).durable(true).build().unwrap();
    let mut work = vec![
        (plain.clone(), vec![once("p1", &plain, 0), once("p2", &plain, 10 * SECOND), minutely("p3", &plain, 0)]),
        (dear.clone(), vec![once("d1", &dear, 0), once("d2", &dear, 10 * SECOND)]),
        (lone.clone(), vec![minutely("l1", &lone, 0), minutely("l2", &lone, SECOND)]),
        (group, vec![grouped("t", 20 * SECOND)]),
    ];
    // Each trigger has a priority of its own: a database has an order of its own among equals.
    for (priority, trigger) in (1..).zip(work.iter_mut().flat_map(|(_, triggers)| triggers)) {
        *trigger = trigger.to_builder().priority(priority).build().unwrap();
    }
    c.catalogue().schedule(work, false).unwrap();
    let mut w = World {
        a: c.node("A"),
        b: c.node("B"),
        running: Vec::new(),
        waiting: Vec::new(),
        reserved: Vec::new(),
        logged: Vec::new(),
        doubt: None,
        stale: Vec::new(),
        owed: BTreeSet::new(),
        parked: Vec::new(),
    };
    if operation.holding {
        let acquired = w.a.acquire(20);
        assert_eq!((acquired.fired.len(), acquired.reserved.len()), (4, 3));
        (w.running, w.reserved) = (acquired.fired, acquired.reserved);
    }
    (operation.prepare)(&c, &mut w);
    (c, w)
}

/// The stored rows, without random names and without numbers that count up.
fn shape(c: &Cluster) -> Vec<String> {
    let s = c.look();
    let named = |key: &TriggerKey| match (key.name().starts_with("MT_"), key.group() == FOLLOWING_GROUP) {
        (true, _) => "MT_".to_owned(),
        (_, true) => FOLLOWING_GROUP.to_owned(),
        _ => key.to_string(),
    };
    let mut rows: Vec<String> = Vec::new();
    rows.extend(s.jobs.iter().map(|j| format!("{j:?}")));
    rows.extend(
        s.triggers.iter().map(|t| format!("{} {} {} {:?} {:?}", named(&t.key), t.job, t.state, t.next_ms, t.schedule)),
    );
    rows.extend(s.fired.iter().map(|f| format!("{} {:?} {}", named(&f.trigger), f.state, f.instance)));
    rows.extend(s.recoveries.iter().map(|r| format!("{} {}", r.original_scheduled_ms, r.attempt)));
    rows.extend(s.instances.iter().map(|i| format!("{} {}", i.name, i.last_checkin_ms)));
    rows.extend(s.paused_groups);
    rows.extend(c.catalogue().continuations().unwrap().iter().map(|link| format!("{link:?}")));
    rows.extend(
        c.placement()
            .blacklist_rows()
            .unwrap()
            .iter()
            .map(|entry| format!("{} {:?} {:?}", entry.node, entry.kind, entry.until_ms)),
    );
    rows.extend(
        c.placement()
            .group_limits()
            .unwrap()
            .iter()
            .map(|l| format!("{} {:?} {:?}", l.group, l.per_node, l.per_cluster)),
    );
    rows.extend(s.calendars.iter().map(|c| format!("{c:?}")));
    rows.extend(
        c.catalogue().parked().unwrap().iter().map(|work| format!("{} {} {}", work.job, work.takeovers, work.reason)),
    );
    rows.sort();
    rows
}

/// One case. Returns whether the fault was met.
fn case(place: &Place, operation: &Operation, fault: Fault, n: u64, clean: &[String]) -> bool {
    let what = format!("{} with {fault:?} at {n}", operation.name);
    let (c, mut w) = prepared(place, operation);
    let is_audit = operation.name == "audit";
    let before = c.picture();
    c.database.faults().plan(n, fault);
    let mut outcome = (operation.act)(&c, &mut w);
    let met = !c.database.faults().cancel();
    if !is_audit {
        c.check();
    }
    if let Err(error) = &outcome {
        assert!(met, "{what}: {error}");
        let class = error.failure_class();
        match fault {
            Fault::Statement(expected) => assert_eq!(class, Some(expected), "{what}: {error}"),
            _ => assert_eq!(class, Some(FailureClass::CommitUnknown), "{what}: {error}"),
        }
        let transient = fault != Fault::Statement(FailureClass::Permanent);
        assert!(!(transient && operation.retried), "{what} was not retried: {error}");
        if operation.whole && fault != Fault::CommitLostApplied {
            assert_eq!(c.picture(), before, "{what}: an error leaves nothing behind");
        }
        if !operation.retried {
            // The caller tries again, at the same moment or a little later.
            for _ in 0..3 {
                outcome = (operation.act)(&c, &mut w);
                assert!(outcome.is_ok(), "{what}, again: {outcome:?}");
            }
        }
    }
    if outcome.is_ok() && !operation.retried {
        // A suspect that could not be recovered fails no check-in: the next ones recover it.
        for _ in 0..3 {
            (operation.act)(&c, &mut w).unwrap();
        }
    }
    if outcome.is_ok() && operation.name != "check_in" {
        assert_eq!(shape(&c), clean, "{what}: the whole effect");
    }
    account(&c, &w, &what);
    met
}

/// Everybody falls silent; another node takes over and runs the rest. Nothing may be missing,
/// nothing may run twice.
fn account(c: &Cluster, w: &World, what: &str) {
    c.check();
    for fire in &w.logged {
        let record = c.history().run_record(fire).unwrap().unwrap();
        assert!(!record.run.is_running(), "{what}: {record:?}");
        let lines: Vec<_> = record.log.iter().map(|line| &line.message).collect();
        assert_eq!(lines, [fire], "{what}: its log is kept with its end");
    }
    assert!(w.stale.is_empty() || w.a.fire(&w.stale).is_empty(), "{what}: what was taken back is fired");
    let held = c.look();
    let of = |state| held.fired.iter().filter(move |f| f.state == state).map(|f| &f.fire_id).collect();
    let (rows, reserved): (BTreeSet<&String>, BTreeSet<&String>) =
        (of(FiredState::Executing), of(FiredState::Acquired));
    let in_doubt = w.doubt.as_ref().map(|doubt| &doubt.acquisition);
    let recovered: BTreeSet<&String> = held.recoveries.iter().map(|r| &r.origin_fire_id).collect();
    for fire in &w.running {
        let is_known = rows.contains(&fire.fire_id) || recovered.contains(&fire.fire_id);
        let was_lost = !fire.job.requests_recovery() && !recovered.is_empty();
        assert!(is_known || was_lost, "{what}: fire {} of {} is gone", fire.fire_id, fire.trigger.key());
    }
    let doubtful = in_doubt.iter().flat_map(|brought| &brought.fired);
    let known: BTreeSet<&String> = w.running.iter().chain(&w.waiting).chain(doubtful).map(|f| &f.fire_id).collect();
    assert!(rows.is_subset(&known), "{what}: a fire that nobody runs: {rows:?} {known:?}");
    let doubtful = in_doubt.iter().flat_map(|brought| &brought.reserved);
    let known: BTreeSet<&String> = w.reserved.iter().chain(doubtful).map(|held| &held.fire_id).collect();
    assert!(reserved.is_subset(&known), "{what}: a reservation that nobody holds: {reserved:?} {known:?}");

    c.clock.advance(WINDOW + 1);
    let mut heir = c.stranger("heir");
    let takeovers = heir.check_in().recovered;
    c.check();
    let dealt_with = |r: &Recovered| r.freed + r.lost.len() + r.other + r.recovery_triggers.len();
    let dealt_with: usize = takeovers.iter().map(dealt_with).sum();
    assert_eq!(dealt_with, rows.len() + reserved.len(), "{what}: each interrupted fire has its due");
    if !w.waiting.is_empty() {
        let all = BeginMark { number: 99, last: i64::MAX, waiting: Vec::new() };
        let told = w.a.store.firing().note_begun(&w.a.owner(), &all).unwrap_err();
        assert!(told.is_fenced(), "{what}: who is gone begins nothing: {told}");
    }
    let waiting: BTreeMap<String, TriggerKey> =
        c.look().recoveries.into_iter().map(|r| (r.root_fire_id, r.trigger)).collect();
    for fire in w.running.iter().filter(|f| f.job.requests_recovery()) {
        let job_is_gone = c.catalogue().job(fire.job.key()).unwrap().is_none();
        assert!(waiting.contains_key(&fire.fire_id) || job_is_gone, "{what}: {} is not recovered", fire.fire_id);
    }

    c.catalogue().resume_all(true).unwrap();
    for trigger in c.look().triggers.iter().filter(|t| t.state == "ERROR") {
        assert!(c.catalogue().reset_from_error(&trigger.key).unwrap());
    }
    while c.upkeep().handle_misfires().unwrap().more {}
    let due: BTreeSet<TriggerKey> = {
        let now = c.now_ms().unwrap();
        let triggers = c.look().triggers.into_iter();
        triggers.filter(|t| t.next_ms.is_some_and(|next| next <= now)).map(|t| t.key).collect()
    };
    let mut ran = BTreeSet::new();
    let mut triggers = BTreeSet::new();
    let mut roots = BTreeSet::new();
    for round in 0.. {
        assert!(round < 100, "{what}: it does not come to an end");
        let fired = heir.try_acquire_due(10).unwrap().fired;
        if fired.is_empty() {
            break;
        }
        for fire in fired {
            let run = (fire.trigger.key().clone(), fire.scheduled_ms);
            assert!(ran.insert(run.clone()), "{what}: {run:?} ran twice");
            triggers.insert(run.0);
            if let Some(from) = &fire.recovering {
                let root = from.root_fire_id.clone().unwrap();
                let origin = w.waiting.iter().find(|fire| fire.fire_id == root);
                ran.extend(origin.map(|fire| (fire.trigger.key().clone(), fire.scheduled_ms)));
                assert!(roots.insert(root), "{what}: one fire is recovered twice");
            }
            assert_eq!(heir.complete(&fire), CompletionOutcome::Recorded);
        }
        c.check();
    }
    assert!(due.is_subset(&triggers), "{what}: left undone: {:?}", due.difference(&triggers));
    let is_running = |key: &TriggerKey, ms| w.running.iter().any(|f| f.trigger.key() == key && f.scheduled_ms == ms);
    for fire in w.running.iter().filter(|fire| fire.prefetched) {
        let run = (fire.trigger.key().clone(), fire.scheduled_ms);
        assert!(!ran.contains(&run), "{what}: {run:?} has begun, and began again");
    }
    let missing: Vec<_> = w.owed.iter().filter(|due| !ran.contains(due) && !is_running(&due.0, due.1)).collect();
    assert!(missing.is_empty(), "{what}: it was given back, and never ran: {missing:?}");
    assert_eq!(roots, waiting.into_keys().collect(), "{what}: recoveries");
    let end = c.look();
    assert!(end.fired.is_empty() && end.recoveries.is_empty(), "{what}: {end:?}");
    assert!(end.triggers.iter().all(|t| t.state == "WAITING"), "{what}: {end:?}");
    assert_eq!(c.upkeep().audit().unwrap(), Default::default(), "{what}: the audit finds nothing");
}

/// Every operation with each fault at each `step`-th place; the operation without a fault says how
/// many places there are.
///
/// `CARNELIAN_FAULTS_EVERY=30` takes every thirtieth statement on a database, for a run in a hurry;
/// of what is cheap, cases in memory, or few, commits, ten times as many.
fn enumerate(server: Server, operations: Vec<Operation>, faults: &[Fault], step: u64, floor: usize) {
    let few = places::tenth(places::asked_step().unwrap_or(1));
    let of_statements = if server == Server::Memory { few } else { places::asked_step().unwrap_or(step) };
    let place = Place::new(server);
    let mut cases = 0;
    for operation in places::operations(operations) {
        let (c, mut w) = prepared(&place, &operation);
        let before = c.database.counts();
        (operation.act)(&c, &mut w).unwrap();
        let after = c.database.counts();
        let clean = shape(&c);
        account(&c, &w, operation.name);
        drop((w, c));
        for fault in faults {
            let (all, step) = match fault {
                Fault::Statement(_) => (after.statements - before.statements, of_statements),
                _ => (after.commits - before.commits, few),
            };
            assert!(all > 0, "{}: {fault:?} has no place", operation.name);
            for n in places::places(all, step) {
                let met = case(&place, &operation, *fault, n, &clean);
                assert_eq!(met, n <= all, "{}: {fault:?} at {n} of {all} places", operation.name);
                cases += usize::from(met);
            }
        }
    }
    println!("faults server={server:?} faults={faults:?} cases={cases}");
    let is_thinned = places::asked_step().is_some_and(|asked| asked > 1);
    // The first place is drawn at random with a longer step.
    let floor = if of_statements > 1 { floor * 3 / 4 } else { floor };
    assert!(is_thinned || cases >= floor, "{cases} cases are fewer than the {floor} there were");
}

fn all_operations() -> Vec<Operation> {
    [operations(), placement::operations(), outages::operations()].into_iter().flatten().collect()
}

macro_rules! enumeration {
    ($name:ident, $server:ident, $step:literal, $statements:literal, $commits:literal, $given_back:expr, $prefetched:expr) => {
        mod $name {
            use super::*;

            #[test]
            fn any_statement_may_fail_for_good() {
                enumerate(
                    Server::$server,
                    all_operations(),
                    &[Fault::Statement(FailureClass::Permanent)],
                    $step,
                    $statements,
                );
            }

            #[test]
            fn any_statement_may_lose_the_connection() {
                enumerate(
                    Server::$server,
                    all_operations(),
                    &[Fault::Statement(FailureClass::ConnectionLost)],
                    $step,
                    $statements,
                );
            }

            #[test]
            fn any_statement_may_be_the_victim_of_a_deadlock() {
                enumerate(
                    Server::$server,
                    all_operations(),
                    &[Fault::Statement(FailureClass::Deadlock)],
                    $step,
                    $statements,
                );
            }

            #[test]
            fn any_commit_may_lose_its_answer() {
                let lost = [Fault::CommitLostApplied, Fault::CommitLostNotApplied];
                enumerate(Server::$server, all_operations(), &lost, $step, $commits);
            }

            #[test]
            fn any_statement_may_fail_where_work_is_given_back() {
                let faults = [FailureClass::Permanent, FailureClass::ConnectionLost].map(Fault::Statement);
                enumerate(Server::$server, given_back::operations(), &faults, $step, $given_back.0);
            }

            #[test]
            fn any_answer_may_be_lost_where_work_is_given_back() {
                let deadlock = Fault::Statement(FailureClass::Deadlock);
                let faults = [deadlock, Fault::CommitLostApplied, Fault::CommitLostNotApplied];
                enumerate(Server::$server, given_back::operations(), &faults, $step, $given_back.1);
            }

            #[test]
            fn any_statement_may_fail_where_work_is_prefetched() {
                let faults = [FailureClass::Permanent, FailureClass::ConnectionLost].map(Fault::Statement);
                enumerate(Server::$server, prefetched::operations(), &faults, $prefetched.0, $prefetched.1);
            }

            #[test]
            fn any_answer_may_be_lost_where_work_is_prefetched() {
                let deadlock = Fault::Statement(FailureClass::Deadlock);
                let faults = [deadlock, Fault::CommitLostApplied, Fault::CommitLostNotApplied];
                enumerate(Server::$server, prefetched::operations(), &faults, $prefetched.0, $prefetched.2);
            }
        }
    };
}

enumeration!(memory, Memory, 1, 250, 70, (135, 90), (1, 430, 245));
#[cfg(feature = "sqlite")]
enumeration!(sqlite, Sqlite, 1, 560, 70, (200, 125), (3, 200, 130));
#[cfg(feature = "postgres")]
enumeration!(postgres, Postgres, 3, 115, 70, (70, 60), (5, 112, 86));
#[cfg(feature = "mysql")]
enumeration!(mysql, Mysql, 3, 120, 70, (75, 60), (5, 118, 88));
