//! The history: one row for each fire that has ended, written with its end, and forgotten in time.

use super::*;
use carnelian::clock::Clock;
use carnelian::history::HistoryRow;
use carnelian::history::{FireOutcome, HistoryQuery, RunMarks};
use carnelian::store::{Completion, CompletionInstruction, CompletionOutcome, Ending, FireBundle};
use std::collections::BTreeSet;
use std::time::Duration;

fn all(cluster: &Cluster) -> Vec<HistoryRow> {
    cluster.store.history().find(&HistoryQuery::new()).unwrap()
}

fn outcomes(cluster: &Cluster) -> Vec<FireOutcome> {
    all(cluster).into_iter().map(|row| row.outcome).collect()
}

fn ended(bundle: &FireBundle, outcome: FireOutcome, error: Option<&str>) -> Completion {
    let ending = Ending {
        outcome,
        error: error.map(str::to_owned),
        result: Some("ätsch".to_owned()),
        run_time: Some(Duration::from_millis(250)),
        at: None,
    };
    Completion { ending, ..bundle.completion(CompletionInstruction::NoInstruction, None) }
}

on_each_database!(the_end_of_a_fire_is_written_down);
/// LT-50…56.
fn the_end_of_a_fire_is_written_down() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a").durable(true), [once("t", "a", NOW)]);
    cluster.advance(3 * SECOND);
    let bundle = a.fire_one();
    assert_eq!(all(&cluster), []);
    cluster.advance(SECOND);
    a.complete_all(&[ended(&bundle, FireOutcome::Failed, Some("no paper"))]);
    let row = HistoryRow {
        fire_id: bundle.fire_id.clone(),
        trigger: trigger_key("t"),
        job: Some(job_key("a")),
        job_type: Some("work".to_owned()),
        instance: Some("A".to_owned()),
        scheduled_ms: NOW,
        fired_ms: Some(NOW + 3 * SECOND),
        ended_ms: NOW + 4 * SECOND,
        run_ms: Some(250),
        outcome: FireOutcome::Failed,
        attempt: 0,
        root_fire_id: None,
        error: Some("no paper".to_owned()),
        result: Some("ätsch".to_owned()),
        marks: RunMarks::default(),
        address: None,
    };
    assert_eq!(all(&cluster), [row]);
    // The history stays whatever becomes of the job.
    cluster.store.catalogue().delete_jobs(&[job_key("a")]).unwrap();
    cluster.store.catalogue().clear().unwrap();
    assert_eq!(outcomes(&cluster), [FireOutcome::Failed]);
}

on_each_database!(a_long_result_is_kept_whole);
/// LT-56: a result of 64 KiB fits into the column of every database.
fn a_long_result_is_kept_whole() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [once("t", "a", NOW)]);
    let mut end = ended(&a.fire_one(), FireOutcome::Succeeded, None);
    let result = "ü".repeat(32_767) + "x";
    end.ending.result = Some(result.clone());
    a.complete_all(&[end]);
    assert_eq!(all(&cluster)[0].result, Some(result));
}

on_each_database!(a_completion_that_had_to_wait_has_ended_before);
/// A node that the database was away from for an hour knows when its job ended.
fn a_completion_that_had_to_wait_has_ended_before() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [once("t", "a", NOW)]);
    let mut end = ended(&a.fire_one(), FireOutcome::Succeeded, None);
    end.ending.at = Some(cluster.clock.ticks());
    cluster.advance(5 * SECOND);
    a.complete_all(&[end]);
    assert_eq!(all(&cluster)[0].ended_ms, NOW);
}

on_each_database!(a_batch_is_written_down_however_its_fires_ended);
fn a_batch_is_written_down_however_its_fires_ended() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    for i in 0..11 {
        cluster.schedule(job(&format!("j{i}")), [once(&format!("t{i}"), &format!("j{i}"), NOW)]);
    }
    let fired = a.acquire().fired;
    assert_eq!(fired.len(), 11);
    // A short text, a long one, none: the columns of a batch are as wide as they must be.
    let long = "x".repeat(2000);
    let error = |i: usize| [None, Some("short"), Some(long.as_str())][i % 3];
    let outcome = |i: usize| if i.is_multiple_of(3) { FireOutcome::Succeeded } else { FireOutcome::Failed };
    let mut ends: Vec<_> = fired.iter().enumerate().map(|(i, f)| ended(f, outcome(i), error(i))).collect();
    a.complete_all(&ends.split_off(5));
    a.complete_all(&ends);
    let rows = all(&cluster);
    assert_eq!(rows.len(), 11);
    for (i, fire) in fired.iter().enumerate() {
        let row = rows.iter().find(|row| row.fire_id == fire.fire_id).unwrap();
        assert_eq!((row.outcome, row.error.as_deref()), (outcome(i), error(i)), "{i}");
        assert_eq!(row.trigger, *fire.trigger.key());
    }
    assert!(cluster.fires().is_empty());
}

on_each_database!(a_lost_fire_is_written_down_once_and_by_who_took_it);
/// PA-34: what a node says of a fire that is another's is not written down.
fn a_lost_fire_is_written_down_once_and_by_who_took_it() {
    for recovers in [false, true] {
        let cluster = Cluster::new(open());
        let a = cluster.node("A");
        cluster.schedule(job("a").requests_recovery(recovers), [once("t", "a", NOW)]);
        cluster.schedule(job("b"), [once("u", "b", NOW)]);
        let fired = a.acquire().fired;
        let bundle = fired.iter().find(|f| f.job.key().name() == "a").unwrap();
        let other = fired.iter().find(|f| f.job.key().name() == "b").unwrap();
        a.complete(other);
        cluster.advance(WINDOW + SECOND);
        let b = cluster.node("B");
        let late = ended(bundle, FireOutcome::Succeeded, None);
        assert_eq!(a.complete_all(&[late]), [CompletionOutcome::Fenced]);
        let rows = cluster.store.history().find(&HistoryQuery::new().job(job_key("a"))).unwrap();
        assert_eq!(rows.len(), 1, "{rows:?}");
        assert_eq!((rows[0].fire_id.as_str(), rows[0].outcome), (bundle.fire_id.as_str(), FireOutcome::Lost));
        assert_eq!((rows[0].instance.as_deref(), rows[0].run_ms), (Some("A"), None));
        if recovers {
            let again = b.fire_one();
            b.complete(&again);
            let rows = cluster.store.history().find(&HistoryQuery::new().job(job_key("a"))).unwrap();
            assert_eq!(
                rows.iter().map(|row| (row.outcome, row.attempt)).collect::<Vec<_>>(),
                [(FireOutcome::Succeeded, 1), (FireOutcome::Lost, 0)]
            );
            assert_eq!(rows[0].root_fire_id.as_deref(), Some(bundle.fire_id.as_str()));
        }
    }
}

on_each_database!(a_batch_with_a_lost_fire_is_written_down_without_it);
/// Of a batch in which one fire is lost, the others are written down.
fn a_batch_with_a_lost_fire_is_written_down_without_it() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    for name in ["a", "b", "c"] {
        cluster.schedule(job(name), [once(name, name, NOW)]);
    }
    let fired = a.acquire().fired;
    let lost = fired[1].fire_id.clone();
    cluster.damage(|s| s.delete_fired(std::slice::from_ref(&lost), Vec::new()).map(drop));
    let ends: Vec<_> = fired.iter().map(|f| ended(f, FireOutcome::Succeeded, None)).collect();
    let answers = a.complete_all(&ends);
    assert_eq!(answers, [CompletionOutcome::Recorded, CompletionOutcome::Fenced, CompletionOutcome::Recorded]);
    let rows = all(&cluster);
    assert_eq!(rows.len(), 2);
    assert!(rows.iter().all(|row| row.fire_id != lost));
}

on_each_database!(a_misfire_is_written_down);
fn a_misfire_is_written_down() {
    let cluster = Cluster::new(open());
    cluster.schedule(job("a"), [minutely("t", "a", NOW)]);
    cluster.advance(5 * MINUTE);
    assert_eq!(cluster.store.upkeep().handle_misfires().unwrap().handled.len(), 1);
    let rows = all(&cluster);
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].outcome, rows[0].scheduled_ms, rows[0].fired_ms), (FireOutcome::Misfired, NOW, None));
    assert_eq!((&rows[0].trigger, rows[0].ended_ms), (&trigger_key("t"), NOW + 5 * MINUTE));
}

on_each_database!(only_problems_are_written_down_or_nothing);
fn only_problems_are_written_down_or_nothing() {
    use carnelian::settings::HistoryRecord::{None, Problems};
    for (record, expected) in [(Problems, vec![FireOutcome::Failed]), (None, vec![])] {
        let cluster = Cluster::with(open(), |settings| settings.history.record = record);
        let a = cluster.node("A");
        for name in ["a", "b", "c"] {
            cluster.schedule(job(name), [once(name, name, NOW)]);
        }
        let fired = a.acquire().fired;
        let outcome = |i: usize| if i == 1 { FireOutcome::Failed } else { FireOutcome::Succeeded };
        let ends: Vec<_> = fired.iter().enumerate().map(|(i, f)| ended(f, outcome(i), Option::None)).collect();
        assert_eq!(a.complete_all(&ends), [CompletionOutcome::Recorded; 3]);
        assert_eq!(outcomes(&cluster), expected, "{record:?}");
    }
}

on_each_database!(the_history_is_asked_by_job_trigger_outcome_and_time);
fn the_history_is_asked_by_job_trigger_outcome_and_time() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a").durable(true), [minutely("t", "a", NOW), once("u", "a", NOW)]);
    cluster.schedule(job("b"), [once("v", "b", NOW + MINUTE)]);
    for (i, bundle) in a.acquire().fired.iter().enumerate() {
        let outcome = if i == 0 { FireOutcome::Failed } else { FireOutcome::Succeeded };
        a.complete_all(&[ended(bundle, outcome, None)]);
    }
    cluster.advance(MINUTE);
    for bundle in a.acquire().fired {
        a.complete(&bundle);
    }
    let found = |query: HistoryQuery| {
        let rows = cluster.store.history().find(&query).unwrap();
        rows.iter().map(|row| row.trigger.name().to_owned()).collect::<Vec<_>>()
    };
    let sorted = |query: HistoryQuery| {
        let mut names = found(query);
        names.sort_unstable();
        names
    };
    assert_eq!(sorted(HistoryQuery::new()), ["t", "t", "u", "v"]);
    assert_eq!(sorted(HistoryQuery::new().job(job_key("b"))), ["v"]);
    assert_eq!(sorted(HistoryQuery::new().trigger(trigger_key("t"))), ["t", "t"]);
    assert_eq!(found(HistoryQuery::new().trigger(trigger_key("u"))), ["u"], "it is gone");
    assert_eq!(found(HistoryQuery::new().outcome(FireOutcome::Failed)).len(), 1);
    assert_eq!(sorted(HistoryQuery::new().since(at(NOW + SECOND))), ["t", "v"]);
    // The newest first.
    let newest = cluster.store.history().find(&HistoryQuery::new().limit(2)).unwrap();
    assert!(newest.iter().all(|row| row.ended_ms == NOW + MINUTE), "{newest:?}");
    let one = cluster.store.history().find(&HistoryQuery::new().fire(&newest[0].fire_id)).unwrap();
    assert_eq!(one, [newest[0].clone()]);
}

on_each_database!(a_row_of_the_fire_in_the_history_is_no_obstacle);
/// A row that the history has already, from before the database has lost commits, keeps no end from
/// being recorded, neither its own nor those that are recorded with it.
fn a_row_of_the_fire_in_the_history_is_no_obstacle() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a").durable(true), [once("t", "a", NOW), once("u", "a", NOW)]);
    let fires = a.acquire().fired;
    let [first, second] = &fires[..] else { panic!("{fires:?}") };
    a.complete(second);
    let row = HistoryRow { fire_id: first.fire_id.clone(), ..all(&cluster).remove(0) };
    cluster.tamper(|s| s.put(&row));
    cluster.schedule(job("b").durable(true), [once("v", "b", NOW)]);
    let third = a.fire_one();
    assert_eq!(
        a.complete_all(&[ended(first, FireOutcome::Succeeded, None), ended(&third, FireOutcome::Failed, None)]),
        [CompletionOutcome::Recorded; 2]
    );
    assert_eq!(cluster.fires(), [""; 0]);
    let ids: BTreeSet<String> = all(&cluster).into_iter().map(|row| row.fire_id).collect();
    assert_eq!(ids, fires.iter().chain([&third]).map(|fire| fire.fire_id.clone()).collect());
}

on_each_database!(old_history_is_forgotten);
/// LT-86.
fn old_history_is_forgotten() {
    let cluster = Cluster::with(open(), |settings| settings.history.max_rows = 2);
    let a = cluster.node("A");
    cluster.schedule(job("a").durable(true), [minutely("t", "a", NOW)]);
    for _ in 0..4 {
        a.complete(&a.fire_one());
        cluster.advance(MINUTE);
    }
    assert_eq!(cluster.store.upkeep().clean_up().unwrap().history, 2);
    let left: Vec<i64> = all(&cluster).iter().map(|row| row.scheduled_ms).collect();
    assert_eq!(left, [NOW + 3 * MINUTE, NOW + 2 * MINUTE], "no more than the limit");
    cluster.advance(7 * 24 * 60 * MINUTE - 2 * MINUTE);
    assert_eq!(cluster.store.upkeep().clean_up().unwrap(), Default::default());
    assert_eq!(all(&cluster).len(), 2, "the older is seven days old to the moment");
    cluster.advance(1);
    cluster.store.upkeep().clean_up().unwrap();
    assert_eq!(all(&cluster).iter().map(|row| row.scheduled_ms).collect::<Vec<_>>(), [NOW + 3 * MINUTE]);
}

#[cfg(feature = "test-util")]
on_each_database!(an_end_whose_answer_was_lost_is_written_down_once);
/// A store that is asked again after an answer that was lost finds the fire ended, and writes
/// nothing a second time.
#[cfg(feature = "test-util")]
fn an_end_whose_answer_was_lost_is_written_down_once() {
    use carnelian::store::faults::Fault;
    for fault in [Fault::CommitLostApplied, Fault::CommitLostNotApplied] {
        let cluster = Cluster::new(open());
        let a = cluster.node("A");
        cluster.schedule(job("a"), [once("t", "a", NOW)]);
        let bundle = a.fire_one();
        cluster.opened.database.plan().plan(1, fault);
        assert_eq!(a.complete(&bundle), CompletionOutcome::Recorded);
        assert_eq!(outcomes(&cluster), [FireOutcome::Succeeded], "{fault:?}");
    }
}
