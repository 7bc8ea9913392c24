//! Prefetched fires: those that begin are noted, and the others are given back, once.

use super::*;
use carnelian::store::{PrefetchRequest, Unfired};
use std::sync::LazyLock;

/// The number of statements that fail, large enough that no mark gets through.
const LONG_AWAY: u64 = 12;

static SHORT: LazyLock<BTreeSet<String>> = LazyLock::new(|| BTreeSet::from([TYPE.to_owned()]));

/// A, with one worker that is free and one that soon is, takes what is due.
fn take(w: &mut World) -> Result<()> {
    let request = AcquireRequest {
        max: 20,
        prefetch: Some(PrefetchRequest { free: 1, quick: 2, short: &SHORT }),
        look_ahead_ms: 0,
        fire_ahead_ms: 0,
        job_types: &[TYPE.to_owned()],
        quarantined: &BTreeSet::new(),
    };
    let fired = w.a.store.firing().acquire(&w.a.owner(), &request)?.fired;
    assert!(fired.iter().all(|fire| fire.prefetched));
    w.owed.extend(fired.iter().map(|fire| (fire.trigger.key().clone(), fire.scheduled_ms)));
    w.waiting.extend(fired);
    Ok(())
}

fn taken(_: &Cluster, w: &mut World) {
    take(w).unwrap();
    assert_eq!(names(&w.waiting), ["l1", "d1", "p3", "p1"]);
}

/// A mark after which these have begun, and what it leaves waiting.
fn mark(w: &World, number: i64, begin: &[&str]) -> BeginMark {
    let begun = |fire: &&FireBundle| begin.contains(&fire.trigger.key().name());
    let last = w.waiting.iter().filter(begun).chain(&w.running).map(|fire| fire.fence).max().unwrap();
    let waits = |fire: &&FireBundle| !begun(fire) && fire.fence < last;
    BeginMark { number, last, waiting: w.waiting.iter().filter(waits).map(|f| (f.fence, f.fence)).collect() }
}

/// A notes that these begin, and then they do.
fn begin(w: &mut World, number: i64, names: &[&str]) -> Result<()> {
    w.a.store.firing().note_begun(&w.a.owner(), &mark(w, number, names))?;
    run(w, names);
    Ok(())
}

fn run(w: &mut World, names: &[&str]) {
    let is_meant = |trigger: &TriggerKey| names.contains(&trigger.name());
    let (begun, waiting): (Vec<_>, Vec<_>) =
        std::mem::take(&mut w.waiting).into_iter().partition(|fire| is_meant(fire.trigger.key()));
    assert_eq!(begun.len(), names.len());
    w.owed.retain(|(trigger, _)| !is_meant(trigger));
    w.running.extend(begun);
    w.waiting = waiting;
}

/// Two fires begin: one that its job asks to run again, and one that is lost. A trigger that went
/// with its fire waits.
fn some_began(c: &Cluster, w: &mut World) {
    taken(c, w);
    begin(w, 1, &["d1", "p3"]).unwrap();
}

/// PostgreSQL forgets the marks when it crashes.
fn mark_is_gone(c: &Cluster, w: &mut World) {
    some_began(c, w);
    c.by_hand(|s| {
        let left = s.prefetched("A")?;
        s.delete_begin_rows("A")?;
        s.insert_prefetched("A", &left)
    });
}

/// The mark is there or not, and A could not ask: nothing of it has begun.
fn mark_in_doubt(c: &Cluster, w: &mut World) {
    taken(c, w);
    c.database.faults().plan(1, Fault::CommitLostThenAway(LONG_AWAY));
    w.a.store.firing().note_begun(&w.a.owner(), &mark(w, 1, &["d1", "p3"])).unwrap_err();
    assert!(!c.database.faults().cancel());
}

/// All of a batch has ended, and of the next one some has begun.
fn first_batch_has_ended(c: &Cluster, w: &mut World) {
    taken(c, w);
    begin(w, 1, &["d1", "l1", "p1", "p3"]).unwrap();
    complete(w, CompletionInstruction::NoInstruction).unwrap();
    c.clock.advance(20 * SECOND);
    take(w).unwrap();
    begin(w, 2, &["p2"]).unwrap();
}

/// A trigger has gone on since its fire was prefetched.
fn went_on(c: &Cluster, w: &mut World) {
    let often = a_trigger("often", &job("plain"), 0).schedule(every(5)).build().unwrap();
    c.catalogue().add_trigger(often, false).unwrap();
    take(w).unwrap();
    begin(w, 1, &["d1", "p3"]).unwrap();
    c.clock.advance(5 * SECOND);
    let again = w.b.run_due(1);
    assert_eq!(names(&again), ["often"]);
    assert_eq!(w.b.complete(&again[0]), CompletionOutcome::Recorded);
}

pub fn operations() -> Vec<Operation> {
    let after = |name, prepare, act| Operation { name, holding: false, retried: true, whole: true, prepare, act };
    let checks_in = |name, prepare, act| Operation { retried: false, whole: false, ..after(name, prepare, act) };
    vec![
        after("prefetch", nothing, |_, w| take(w)),
        after("note what begins", taken, |_, w| begin(w, 1, &["d1", "p3"])),
        after("note what begins where the mark is gone", mark_is_gone, |_, w| {
            // Without a mark nobody can say that any has not begun.
            begin(w, 2, &["p1"]).inspect_err(|_| run(w, &["l1", "p1"]))
        }),
        after("note what begins after a mark in doubt", mark_in_doubt, |_, w| {
            // By the mark that is there these have.
            begin(w, 2, &["p1", "p3"]).inspect_err(|_| run(w, &["d1", "p3"]))
        }),
        after("forget what has ended", first_batch_has_ended, |_, w| {
            let first = w.waiting.iter().chain(&w.running).map(|fire| fire.fence).min().unwrap();
            w.a.store.firing().forget_ended_batches(&w.a.owner(), first)
        }),
        after("unfire prefetched fires", some_began, |_, w| {
            let fires: Vec<&FireBundle> = w.waiting.iter().collect();
            assert_eq!(w.a.store.firing().unfire(&w.a.owner(), &fires)?, [Unfired::Done; 2]);
            w.waiting.clear();
            Ok(())
        }),
        after("recover prefetched fires and forgotten", some_began, |_, w| {
            let known = w.running.iter().map(|fire| fire.fire_id.clone()).collect();
            w.a.store.upkeep().recover_forgotten(&w.a.owner(), &known)?;
            w.waiting.clear();
            Ok(())
        }),
        checks_in(
            "check_in that gives back what had not begun",
            |c, w| {
                some_began(c, w);
                falls_silent(c, &mut w.b);
            },
            |_, w| w.b.try_check_in().map(drop),
        ),
        checks_in(
            "check_in that gives back beside a mark in doubt",
            |c, w| {
                mark_in_doubt(c, w);
                // By the mark that is there these have begun.
                run(w, &["d1", "p3"]);
                falls_silent(c, &mut w.b);
            },
            |_, w| w.b.try_check_in().map(drop),
        ),
        checks_in(
            "check_in that gives back what has gone on",
            |c, w| {
                went_on(c, w);
                falls_silent(c, &mut w.b);
            },
            |_, w| w.b.try_check_in().map(drop),
        ),
        checks_in(
            "check_in after a restart, with prefetched fires",
            |c, w| {
                some_began(c, w);
                w.a = c.stranger("A");
            },
            |_, w| w.a.try_check_in().map(drop),
        ),
    ]
}
