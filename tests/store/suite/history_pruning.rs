//! The history is forgotten: by age, by number, by job, in small batches, with what the runs have
//! logged (LT-86).

use super::*;
use carnelian::JobPolicy;
use carnelian::history::HistoryRow;
use carnelian::history::{FireOutcome, HistoryPruning, HistoryQuery, RunMarks};
use carnelian::settings::StoreKind;
use carnelian::store::row::{CommitRow, LogRow};
use std::time::Duration;

/// A row of a job that ended in this millisecond after the start.
fn row(name: &str, ended: i64) -> HistoryRow {
    HistoryRow {
        fire_id: format!("{name}-{ended}"),
        trigger: trigger_key("t"),
        job: Some(job_key(name)),
        job_type: Some("work".to_owned()),
        instance: Some("A".to_owned()),
        scheduled_ms: NOW,
        fired_ms: Some(NOW),
        ended_ms: NOW + ended,
        run_ms: Some(1),
        outcome: FireOutcome::Succeeded,
        attempt: 0,
        root_fire_id: None,
        error: None,
        result: None,
        marks: RunMarks::default(),
        address: None,
    }
}

/// Rows of a job that ended in these milliseconds after the start, each with a log.
fn put(cluster: &Cluster, name: &str, ends: impl Iterator<Item = i64>) {
    let rows: Vec<HistoryRow> = ends.map(|ended| row(name, ended)).collect();
    let log = |row: &HistoryRow| LogRow { fire_id: row.fire_id.clone(), lines: "[]".to_owned() };
    let logs: Vec<LogRow> = rows.iter().map(log).collect();
    cluster.tamper(|s| {
        s.put_all(&rows)?;
        s.insert_logs(&logs)
    });
}

/// The rows that are left of a job: the milliseconds in which they ended, the oldest first.
fn left(cluster: &Cluster, name: &str) -> Vec<i64> {
    let query = HistoryQuery::new().job(job_key(name)).limit(10_000);
    let mut ends: Vec<i64> =
        cluster.store.history().find(&query).unwrap().iter().map(|row| row.ended_ms - NOW).collect();
    ends.sort_unstable();
    let mut logs = 0;
    cluster.tamper(|s| {
        logs = 0;
        for i in 0..2_000 {
            logs += usize::from(i < 50 && s.row::<carnelian::store::row::LogRow>(&format!("{name}-{i}"))?.is_some());
        }
        Ok(())
    });
    assert_eq!(logs, ends.iter().filter(|end| **end < 50).count(), "a log goes with its row");
    ends
}

/// Counts first, as `--dry-run` does; then prunes.
fn prune(cluster: &Cluster, pruning: &HistoryPruning) -> u64 {
    let counted = cluster.store.history().count_prunable(pruning).unwrap();
    assert_eq!(cluster.store.history().prune(pruning).unwrap(), counted, "as was said before");
    assert_eq!(cluster.store.history().count_prunable(pruning).unwrap(), 0);
    counted
}

on_each_database!(a_job_keeps_so_many_rows_and_another_its_own_number);
fn a_job_keeps_so_many_rows_and_another_its_own_number() {
    let cluster = Cluster::with(open(), |settings| settings.history.max_rows_per_job = 3);
    let own = job("own").durable(true).policy(JobPolicy::new().keep_history(2));
    let much = job("much").durable(true).policy(JobPolicy::new().keep_history(100));
    for detail in [own, much, job("other").durable(true)] {
        cluster.store.catalogue().add_job(&detail.build().unwrap(), false).unwrap();
    }
    for name in ["own", "much", "other", "deleted"] {
        put(&cluster, name, 0..5);
    }
    assert_eq!(prune(&cluster, &HistoryPruning::new().job(job_key("other"))), 2);
    assert_eq!(left(&cluster, "own").len(), 5, "not asked for");
    assert_eq!(prune(&cluster, &HistoryPruning::new()), 5);
    assert_eq!(left(&cluster, "own"), [3, 4]);
    assert_eq!(left(&cluster, "much"), [0, 1, 2, 3, 4]);
    assert_eq!(left(&cluster, "other"), [2, 3, 4]);
    assert_eq!(left(&cluster, "deleted"), [2, 3, 4]);
}

on_each_database!(without_a_number_for_all_only_policies_count);
/// A job that has a number of its own needs no number of all.
fn without_a_number_for_all_only_policies_count() {
    let cluster = Cluster::new(open());
    let own = job("own").durable(true).policy(JobPolicy::new().keep_history(1));
    cluster.store.catalogue().add_job(&own.build().unwrap(), false).unwrap();
    put(&cluster, "own", 0..4);
    put(&cluster, "other", 0..4);
    assert_eq!(prune(&cluster, &HistoryPruning::new()), 3);
    assert_eq!((left(&cluster, "own"), left(&cluster, "other").len()), (vec![3], 4));
}

on_each_database!(a_job_with_a_number_of_its_own_is_seen_beside_a_thousand_with_more_rows);
/// The jobs with most rows have no limit, and are passed over in each plan: those with one have
/// their turn all the same.
fn a_job_with_a_number_of_its_own_is_seen_beside_a_thousand_with_more_rows() {
    for of_all in [0, 2] {
        let cluster = Cluster::with(open(), |settings| settings.history.max_rows_per_job = of_all);
        let kept = if of_all == 0 { 1 } else { 1_000 };
        let own = job("own").durable(true).policy(JobPolicy::new().keep_history(kept));
        cluster.store.catalogue().add_job(&own.build().unwrap(), false).unwrap();
        put(&cluster, "own", 0..if of_all == 0 { 2 } else { 4 });
        let rows = (0..1_001).flat_map(|n| (0..3).map(move |end| row(&format!("j{n}"), end)));
        let rows: Vec<HistoryRow> = rows.collect();
        cluster.tamper(|s| s.put_all(&rows));
        let counted = cluster.store.history().count_prunable(&HistoryPruning::new()).unwrap();
        assert_eq!(counted, if of_all == 0 { 1 } else { 1_000 }, "a plan has a thousand");
    }
}

on_each_database!(age_and_number_count_together_and_age_alone_if_it_is_given);
fn age_and_number_count_together_and_age_alone_if_it_is_given() {
    let cluster = Cluster::with(open(), |settings| {
        settings.history.retention = Duration::from_secs(60);
        settings.history.max_rows_per_job = 4;
    });
    put(&cluster, "a", 0..6);
    cluster.advance(MINUTE + 1);
    // 0 is too old; of the five others one is too many.
    assert_eq!(prune(&cluster, &HistoryPruning::new()), 2);
    assert_eq!(left(&cluster, "a"), [2, 3, 4, 5]);
    put(&cluster, "b", 0..6);
    let older = HistoryPruning::new().job(job_key("a")).older_than(Duration::from_millis(59_997));
    assert_eq!(prune(&cluster, &older), 2, "what ended in 2 and 3");
    assert_eq!((left(&cluster, "a"), left(&cluster, "b").len()), (vec![4, 5], 6));
    assert_eq!(prune(&cluster, &HistoryPruning::new().older_than(Duration::ZERO)), 8);
}

on_each_database!(ten_thousand_old_rows_take_few_statements);
/// Old rows are found by their age and deleted in few statements: a pass keeps up with many fires
/// a second. Rows that ended in one millisecond go together.
fn ten_thousand_old_rows_take_few_statements() {
    let cluster = Cluster::with(open(), |settings| settings.history.retention = Duration::from_secs(60));
    put(&cluster, "a", 0..10_000);
    put(&cluster, "b", 4_000..4_010);
    cluster.advance(MINUTE + 10_000);
    put(&cluster, "a", 10_000..10_003);
    let before = cluster.opened.database.counts();
    assert_eq!(cluster.store.upkeep().clean_up().unwrap().history, 10_010);
    let after = cluster.opened.database.counts();
    let (statements, commits) = (after.statements - before.statements, after.commits - before.commits);
    assert!(commits <= 8 && statements <= 60, "{statements} statements, {commits} commits");
    assert_eq!((left(&cluster, "a"), left(&cluster, "b")), (vec![10_000, 10_001, 10_002], vec![]));
}

on_each_database!(without_a_number_age_alone_counts);
/// A number of rows is asked for, or there is none: but for what is in memory.
fn without_a_number_age_alone_counts() {
    let cluster = Cluster::new(open());
    assert_eq!(cluster.store.settings().history.max_rows, 0);
    let in_memory = cluster.store.settings().job_store.kind == StoreKind::Memory;
    put(&cluster, "a", 0..if in_memory { 100_002 } else { 2_002 });
    let gone = cluster.store.upkeep().clean_up().unwrap().history;
    assert_eq!(gone, if in_memory { 2 } else { 0 });
}

on_each_database!(many_old_tokens_are_forgotten_in_pages);
/// Old tokens of commits are forgotten a page at a time, however many there are.
fn many_old_tokens_are_forgotten_in_pages() {
    let cluster = Cluster::new(open());
    let tokens = |names: std::ops::Range<i64>, made_ms: i64| {
        let row = |i: i64| CommitRow { token: format!("token-{i}"), made_ms: made_ms + i / 3 };
        let rows: Vec<CommitRow> = names.map(row).collect();
        cluster.tamper(|s| s.insert_all(&rows));
    };
    tokens(0..5_000, NOW - 61 * MINUTE);
    tokens(5_000..5_010, NOW);
    let before = cluster.opened.database.counts().commits;
    cluster.store.upkeep().clean_up().unwrap();
    let commits = cluster.opened.database.counts().commits - before;
    assert!((4..=6).contains(&commits), "{commits}");
    cluster.tamper(|s| {
        let left: Vec<String> = s.rows::<CommitRow>().list()?.into_iter().map(|row| row.token).collect();
        assert!(left.iter().filter(|token| token.starts_with("token-")).count() == 10, "{left:?}");
        Ok(())
    });
}

on_each_database!(much_is_forgotten_in_small_batches);
/// More than one transaction deletes.
fn much_is_forgotten_in_small_batches() {
    let cluster = Cluster::with(open(), |settings| settings.history.max_rows_per_job = 10);
    put(&cluster, "a", 0..1_200);
    let before = cluster.opened.database.counts().commits;
    assert_eq!(prune(&cluster, &HistoryPruning::new()), 1_190);
    let commits = cluster.opened.database.counts().commits - before;
    assert!(commits >= 3, "{commits}");
    assert_eq!(left(&cluster, "a"), (1_190..1_200).collect::<Vec<_>>());
}
