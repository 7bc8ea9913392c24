//! Work that is given on without a run: fires taken back, overdue reservations, acquisitions in
//! doubt, and parked work.

use super::*;
use carnelian::store::{Acquisition, Doubt, Unfired};

/// The number of statements that fail, large enough that no look-up gets through.
const LONG_AWAY: u64 = 12;

fn due_of(fires: &[FireBundle]) -> impl Iterator<Item = (TriggerKey, i64)> {
    fires.iter().map(|fire| (fire.trigger.key().clone(), fire.scheduled_ms))
}

/// Takes back all that A has not begun: what is taken back is owed by whoever takes it next.
fn unfire(w: &mut World, expected: &[Unfired]) -> Result<()> {
    let fires: Vec<&FireBundle> = w.running.iter().collect();
    let mut answer = w.a.store.firing().unfire(&w.a.owner(), &fires)?.into_iter();
    assert_eq!(answer.as_slice(), expected);
    w.running.retain(|_| answer.next() == Some(Unfired::Stands));
    Ok(())
}

/// A trigger of one of the fires has gone on since, another's job was deleted, a third is paused.
fn moved_on(c: &Cluster, w: &mut World) {
    w.owed.extend(due_of(&w.running).filter(|(trigger, _)| ["p1", "p3", "l1"].contains(&trigger.name())));
    let often = a_trigger("often", &job("plain"), 0).schedule(every(5)).build().unwrap();
    c.catalogue().add_trigger(often, false).unwrap();
    w.running.extend(w.a.run_due(1));
    c.clock.advance(5 * SECOND);
    let again = w.b.run_due(1);
    assert_eq!(names(&again), ["often"]);
    assert_eq!(w.b.complete(&again[0]), CompletionOutcome::Recorded);
    c.catalogue().delete_jobs(&[JobKey::named("dear")]).unwrap();
    c.catalogue().pause_jobs(&[JobKey::named("lone")]).unwrap();
}

/// The time of all that A has reserved comes, and A does nothing.
fn overdue(c: &Cluster, w: &mut World) {
    c.clock.advance(20 * SECOND + 1);
    w.owed.extend(w.reserved.iter().map(|held| (held.trigger.clone(), held.scheduled_ms)));
}

/// B sets free what is overdue: A finds nothing of it.
fn take_back(w: &mut World) -> Result<()> {
    w.b.store.firing().take_back_overdue(&w.b.owner(), Duration::ZERO)?;
    w.stale.append(&mut w.reserved);
    Ok(())
}

/// A takes what is due and what is soon, and cannot ask whether it has.
fn taken_in_doubt(c: &Cluster, w: &mut World) {
    c.database.faults().plan(1, Fault::CommitLostThenAway(LONG_AWAY));
    w.doubt = w.a.try_acquire(20).unwrap().doubt;
    c.database.faults().cancel();
    assert_eq!(
        w.doubt.as_ref().map(|doubt| (doubt.acquisition.fired.len(), doubt.acquisition.reserved.len())),
        Some((4, 3))
    );
}

/// An acquisition of which nothing was committed: the answer is all there is.
fn not_taken_in_doubt(c: &Cluster, w: &mut World) {
    c.lose_commit_of("acquire triggers");
    let brought = w.a.try_acquire(20).unwrap();
    assert!(!c.database.faults().is_about_to_forget());
    w.owed.extend(due_of(&brought.fired));
    w.stale.clone_from(&brought.reserved);
    w.doubt = Some(Box::new(in_doubt(brought, Vec::new())));
}

fn in_doubt(brought: Acquisition, ended: Vec<carnelian::store::Completion>) -> Doubt {
    let error = carnelian::Error::Refused("nobody could say".to_owned());
    Doubt { acquisition: brought, ended, recorded: Default::default(), precommits: false, error }
}

/// A records two ends and takes what comes next, and cannot ask whether it has.
fn turned_in_doubt(c: &Cluster, w: &mut World) {
    w.running = w.a.acquire(2).fired;
    let ended = ends(w, CompletionInstruction::NoInstruction);
    c.database.faults().plan(1, Fault::CommitLostThenAway(LONG_AWAY));
    w.doubt = w.a.try_turn(&ended, 20).unwrap().1.doubt;
    c.database.faults().cancel();
    assert_eq!(w.doubt.as_ref().map(|doubt| doubt.ended.len()), Some(2));
    w.running.clear();
}

fn not_turned_in_doubt(c: &Cluster, w: &mut World) {
    w.running = w.a.acquire(2).fired;
    let ended = ends(w, CompletionInstruction::NoInstruction);
    c.lose_commit_of("record and acquire");
    let brought = w.a.try_turn(&ended, 20).unwrap().1;
    assert!(!c.database.faults().is_about_to_forget());
    w.owed.extend(due_of(&brought.fired));
    w.stale.clone_from(&brought.reserved);
    w.doubt = Some(Box::new(in_doubt(brought, ended)));
}

/// Asks what became of it, and goes on from there as an engine does.
fn settle(w: &mut World, expected: bool) -> Result<()> {
    let doubt = w.doubt.as_mut().unwrap();
    assert_eq!(w.a.store.firing().settle_doubt(&w.a.owner(), doubt)?, expected);
    let doubt = *w.doubt.take().unwrap();
    w.running.extend(doubt.acquisition.fired);
    w.reserved.extend(doubt.acquisition.reserved);
    Ok(())
}

/// A records what has ended, and cannot ask whether it has.
fn ended_in_doubt(c: &Cluster, w: &mut World) {
    let ended = ends(w, CompletionInstruction::NoInstruction);
    c.database.faults().plan(1, Fault::CommitLostThenAway(LONG_AWAY));
    complete(w, CompletionInstruction::NoInstruction).unwrap_err();
    c.database.faults().cancel();
    w.running.clear();
    w.doubt = Some(Box::new(in_doubt(Acquisition::default(), ended)));
}

fn not_ended_in_doubt(c: &Cluster, w: &mut World) {
    let ended = ends(w, CompletionInstruction::NoInstruction);
    c.lose_commit_of("complete fires");
    w.a.store.firing().complete(&w.a.owner(), &ended).unwrap();
    assert!(!c.database.faults().is_about_to_forget());
    w.doubt = Some(Box::new(in_doubt(Acquisition::default(), ended)));
}

/// Asks whether ends are recorded, and records them if not.
fn settle_ends(w: &mut World, expected: bool) -> Result<()> {
    let ended = &w.doubt.as_ref().unwrap().ended;
    assert_eq!(w.a.store.firing().ask_whether_completed(&w.a.owner(), ended)?, expected);
    if expected { Ok(()) } else { complete(w, CompletionInstruction::NoInstruction) }
}

/// The recoverable work of A kills the next node as well: more than it may.
fn parked(c: &Cluster, w: &mut World) {
    w.b.store = c.store_with(|settings| settings.recovery.max_takeovers = 1);
    let convict = |w: &mut World| {
        c.clock.advance(10 * SECOND);
        w.b.check_in();
        c.clock.advance(WINDOW - 10 * SECOND + 1);
        assert_eq!(w.b.check_in().recovered.len(), 1);
    };
    convict(w);
    let (victim, mut taken) = (c.node("V"), 0);
    while taken < 2 {
        for fire in victim.try_acquire_due(20).unwrap().fired {
            match fire.recovering {
                Some(_) => taken += 1,
                None => assert_eq!(victim.complete(&fire), CompletionOutcome::Recorded),
            }
        }
    }
    convict(w);
    w.running.clear();
    w.reserved.clear();
    w.parked = c.catalogue().parked().unwrap().into_iter().map(|parked| parked.key).collect();
    assert_eq!(w.parked.len(), 2);
}

pub fn operations() -> Vec<Operation> {
    let usual = |name, act| Operation { name, holding: true, retried: true, whole: true, prepare: nothing, act };
    let after = |name, prepare, act| Operation { prepare, ..usual(name, act) };
    let before = |name, prepare, act| Operation { holding: false, ..after(name, prepare, act) };
    vec![
        after("unfire", |_, w| w.owed.extend(due_of(&w.running)), |_, w| unfire(w, &[Unfired::Done; 4])),
        after("unfire what has moved on", moved_on, |_, w| {
            use Unfired::{Done, Stands};
            unfire(w, &[Done, Done, Done, Done, Stands])
        }),
        after("take_back_overdue", overdue, |_, w| take_back(w)),
        before("settle what was taken", taken_in_doubt, |_, w| settle(w, true)),
        before(
            "settle what was taken, and taken back since",
            |c, w| {
                taken_in_doubt(c, w);
                w.reserved.clone_from(&w.doubt.as_ref().unwrap().acquisition.reserved);
                overdue(c, w);
                take_back(w).unwrap();
            },
            |_, w| {
                settle(w, true)?;
                assert_eq!(w.reserved, [], "it is another's by now");
                Ok(())
            },
        ),
        before("settle what was not taken", not_taken_in_doubt, |_, w| settle(w, false)),
        before("settle a turn", turned_in_doubt, |_, w| settle(w, true)),
        before("settle a turn that was not made", not_turned_in_doubt, |_, w| settle(w, false)),
        after("settle ends", ended_in_doubt, |_, w| settle_ends(w, true)),
        after("settle ends that are not recorded", not_ended_in_doubt, |_, w| settle_ends(w, false)),
        after("retry_parked", parked, |c, w| {
            assert!(c.catalogue().retry_parked(&w.parked[0])?);
            Ok(())
        }),
        after("delete_parked", parked, |c, w| {
            assert!(c.catalogue().delete_parked(&w.parked[0])?);
            Ok(())
        }),
    ]
}
