//! A run in the history from start to end: running, its times, its chain, its log, and the ways to
//! find it.

use super::*;
use carnelian::clock::Clock;
use carnelian::history::CapturedLine;
use carnelian::history::HistoryRow;
use carnelian::history::{FireOutcome, HistoryQuery, RunMarks, RunRecord};
use carnelian::store::{Completion, CompletionInstruction, CompletionOutcome, Ending, FireBundle};
use log::Level;
use std::time::Duration;

fn found(cluster: &Cluster, query: HistoryQuery) -> Vec<HistoryRow> {
    cluster.store.history().find(&query).unwrap()
}

fn record(cluster: &Cluster, fire_id: &str) -> RunRecord {
    cluster.store.history().run_record(fire_id).unwrap().unwrap()
}

fn ended(bundle: &FireBundle, outcome: FireOutcome, run_ms: u64) -> Completion {
    let error = (outcome == FireOutcome::Failed).then(|| "100% of the paper_is gone".to_owned());
    let ending = Ending { outcome, error, run_time: Some(Duration::from_millis(run_ms)), ..Ending::default() };
    Completion { ending, ..bundle.completion(CompletionInstruction::NoInstruction, None) }
}

fn line(cluster: &Cluster, message: &str) -> CapturedLine {
    let (at, target) = (cluster.clock.ticks(), "shop".to_owned());
    CapturedLine { at, level: Level::Info, target, message: message.to_owned() }
}

on_each_database!(a_fire_is_in_the_history_from_its_start);
/// LT-58, DS-08: the row is there from the start, and costs the start nothing: it is the fired row.
fn a_fire_is_in_the_history_from_its_start() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [once("t", "a", NOW)]);
    cluster.schedule(job("b"), [once("u", "b", NOW + 10 * SECOND)]);
    cluster.advance(2 * SECOND);
    let acquired = a.acquire();
    assert_eq!((acquired.fired.len(), acquired.reserved.len()), (1, 1));
    cluster.advance(SECOND);
    assert_eq!(found(&cluster, HistoryQuery::new()), [], "only what has ended, if nothing else is said");
    let rows = found(&cluster, HistoryQuery::new().running(true));
    assert_eq!(rows.len(), 1, "what is reserved does not run: {rows:?}");
    let expected = HistoryRow {
        fire_id: acquired.fired[0].fire_id.clone(),
        trigger: trigger_key("t"),
        job: Some(job_key("a")),
        job_type: Some("work".to_owned()),
        instance: Some("A".to_owned()),
        scheduled_ms: NOW,
        fired_ms: Some(NOW + 2 * SECOND),
        ended_ms: NOW + 3 * SECOND,
        run_ms: None,
        outcome: FireOutcome::Running,
        attempt: 0,
        root_fire_id: None,
        error: None,
        result: None,
        marks: RunMarks::default(),
        address: None,
    };
    assert_eq!(rows, std::slice::from_ref(&expected));
    assert_eq!(found(&cluster, HistoryQuery::new().outcome(FireOutcome::Running)), [expected]);
    assert_eq!(found(&cluster, HistoryQuery::new().running(true).job(job_key("b"))), []);
    assert_eq!(found(&cluster, HistoryQuery::new().running(true).outcome(FireOutcome::Failed)), []);

    a.complete_all(&[ended(&acquired.fired[0], FireOutcome::Succeeded, 400)]);
    let rows = found(&cluster, HistoryQuery::new().running(true));
    assert_eq!(rows.len(), 1, "not twice: {rows:?}");
    assert_eq!((rows[0].outcome, rows[0].is_running()), (FireOutcome::Succeeded, false));
    // LT-53: four times.
    let times = (
        rows[0].scheduled_ms,
        rows[0].fired_ms,
        rows[0].start_time().map(|start| start.timestamp_millis()),
        rows[0].ended_ms,
    );
    assert_eq!(times, (NOW, Some(NOW + 2 * SECOND), Some(NOW + 2 * SECOND + 600), NOW + 3 * SECOND));
}

on_each_database!(a_run_is_shown_with_its_chain_and_its_log);
/// LT-106, QZ-24: one run with its chain, which was lost, runs again, and has what it logged.
fn a_run_is_shown_with_its_chain_and_its_log() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a").requests_recovery(true).description("prints"), [once("t", "a", NOW)]);
    let first = a.fire_one();
    let shown = record(&cluster, &first.fire_id);
    assert_eq!((shown.run.outcome, shown.description.as_deref()), (FireOutcome::Running, Some("prints")));
    assert_eq!((shown.chain.len(), shown.waiting.len(), shown.log.len()), (1, 0, 0));

    cluster.advance(WINDOW + SECOND);
    let b = cluster.node("B");
    let shown = record(&cluster, &first.fire_id);
    assert_eq!((shown.run.outcome, shown.run.job_type.as_deref()), (FireOutcome::Lost, Some("work")));
    assert_eq!(shown.run.error.as_deref(), Some("its node `A` was declared dead, or started again"));
    assert_eq!(shown.waiting.len(), 1, "{:?}", shown.waiting);
    assert_eq!(shown.waiting[0].0, *cluster.recovery_trigger().key());

    let second = b.fire_one();
    let running = record(&cluster, &second.fire_id);
    assert_eq!((running.run.attempt, running.run.root_fire_id.as_ref()), (1, Some(&first.fire_id)));
    let mut end = ended(&second, FireOutcome::Succeeded, 100);
    end.log = vec![line(&cluster, "one"), line(&cluster, "two \"ä\"\n")];
    cluster.advance(SECOND);
    b.complete_all(&[end]);
    for fire in [&first.fire_id, &second.fire_id] {
        let chain: Vec<_> = record(&cluster, fire).chain.into_iter().map(|row| (row.fire_id, row.outcome)).collect();
        let lost = (first.fire_id.clone(), FireOutcome::Lost);
        assert_eq!(chain, [lost, (second.fire_id.clone(), FireOutcome::Succeeded)]);
        assert_eq!(record(&cluster, fire).waiting, []);
    }
    let log = record(&cluster, &second.fire_id).log;
    let at_ms = NOW + WINDOW + SECOND;
    assert_eq!(
        log.iter().map(|line| (line.at.timestamp_millis(), line.level, line.message.as_str())).collect::<Vec<_>>(),
        [(at_ms, Level::Info, "one"), (at_ms, Level::Info, "two \"ä\"\n")]
    );
    assert_eq!(cluster.store.history().run_record("nobody").unwrap(), None);
}

on_each_database!(a_log_is_kept_exactly_if_its_row_is);
/// LT-58: what a run has logged is written by the transaction that ends it, or not at all.
fn a_log_is_kept_exactly_if_its_row_is() {
    use carnelian::settings::HistoryRecord;
    let cluster = Cluster::with(open(), |settings| settings.history.record = HistoryRecord::Problems);
    let a = cluster.node("A");
    for name in ["good", "bad", "gone"] {
        cluster.schedule(job(name), [once(name, name, NOW)]);
    }
    let fired = a.acquire().fired;
    let of = |name: &str| fired.iter().find(|fire| fire.trigger.key().name() == name).unwrap();
    let gone = of("gone").fire_id.clone();
    cluster.damage(|s| s.delete_fired(std::slice::from_ref(&gone), Vec::new()).map(drop));
    let end = |name: &str, outcome| {
        let mut end = ended(of(name), outcome, 1);
        end.log = vec![line(&cluster, name)];
        end
    };
    let ends = [end("good", FireOutcome::Succeeded), end("bad", FireOutcome::Failed), end("gone", FireOutcome::Failed)];
    let outcomes = a.complete_all(&ends);
    assert_eq!(outcomes, [CompletionOutcome::Recorded, CompletionOutcome::Recorded, CompletionOutcome::Fenced]);
    let mut logs = Vec::new();
    cluster.tamper(|s| {
        logs.clear();
        for fire in &fired {
            logs.extend(s.row::<carnelian::store::row::LogRow>(&fire.fire_id)?.map(|row| (row.fire_id, row.lines)));
        }
        Ok(())
    });
    assert_eq!(logs.len(), 1, "{logs:?}");
    assert_eq!((logs[0].0.as_str(), logs[0].1.contains("bad")), (of("bad").fire_id.as_str(), true));
}

on_each_database!(only_runs_that_logged_cost_a_statement);
/// A job that keeps no lines costs nothing; a batch of jobs that do costs one statement more.
fn only_runs_that_logged_cost_a_statement() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    let cost = |logs: bool| {
        for i in 0..8 {
            let name = format!("{i}-{logs}");
            cluster.schedule(job(&name), [once(&name, &name, cluster.now())]);
        }
        let fired = a.acquire().fired;
        assert_eq!(fired.len(), 8);
        let mut ends: Vec<_> = fired.iter().map(|fire| ended(fire, FireOutcome::Succeeded, 1)).collect();
        if logs {
            ends.iter_mut().for_each(|end| end.log = vec![line(&cluster, "x")]);
        }
        let before = cluster.opened.database.counts();
        a.complete_all(&ends);
        let after = cluster.opened.database.counts();
        (after.statements - before.statements, after.commits - before.commits)
    };
    let (without, with) = (cost(false), cost(true));
    if without.0 > 0 {
        assert_eq!((with.0 - without.0, with.1 - without.1), (1, 0));
    }
}

on_each_database!(long_logs_are_written_in_pieces);
/// Lines of many runs at once, more than one statement takes.
fn long_logs_are_written_in_pieces() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    for i in 0..5 {
        cluster.schedule(job(&format!("j{i}")), [once(&format!("t{i}"), &format!("j{i}"), NOW)]);
    }
    let fired = a.acquire().fired;
    let long = "ü".repeat(100_000);
    let mut ends: Vec<_> = fired.iter().map(|fire| ended(fire, FireOutcome::Succeeded, 1)).collect();
    ends.iter_mut().for_each(|end| end.log = vec![line(&cluster, &long)]);
    assert_eq!(a.complete_all(&ends), [CompletionOutcome::Recorded; 5]);
    for fire in &fired {
        assert_eq!(record(&cluster, &fire.fire_id).log[0].message, long);
    }
}

on_each_database!(a_veto_is_written_down_by_the_completion);
/// LT-54: the outcome of a fire that a listener refused.
fn a_veto_is_written_down_by_the_completion() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [once("t", "a", NOW)]);
    let fire = a.fire_one();
    let ending = Ending { outcome: FireOutcome::Vetoed, ..Ending::default() };
    a.complete_all(&[Completion { ending, ..fire.completion(CompletionInstruction::NoInstruction, None) }]);
    let rows = found(&cluster, HistoryQuery::new().outcome(FireOutcome::Vetoed));
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].run_ms, rows[0].start_time()), (None, None), "its job never began");
}

on_each_database!(misfires_are_left_out_if_nobody_wants_them);
/// A misfire of very many triggers may be left out of the history.
fn misfires_are_left_out_if_nobody_wants_them() {
    for (misfires, rows) in [(true, 3), (false, 0)] {
        let cluster = Cluster::with(open(), |settings| {
            settings.history.misfires = misfires;
            settings.job_store.max_misfires_at_a_time = 2;
        });
        for name in ["t", "u", "v"] {
            cluster.schedule(job(name), [minutely(name, name, NOW)]);
        }
        cluster.advance(5 * MINUTE);
        let passes =
            [cluster.store.upkeep().handle_misfires().unwrap(), cluster.store.upkeep().handle_misfires().unwrap()];
        assert_eq!(passes.map(|pass| pass.handled.len()), [2, 1], "in batches");
        assert_eq!(found(&cluster, HistoryQuery::new().outcome(FireOutcome::Misfired)).len(), rows);
    }
}

/// Ten fires of two jobs on two nodes, two in each second; every other one failed.
fn ten(cluster: &Cluster) {
    let (a, b) = (cluster.node("A"), cluster.node("B"));
    for second in 0..5 {
        for (name, node) in [("a", &a), ("b", &b)] {
            let trigger = format!("{name}{second}");
            cluster.schedule(job(&trigger), [once(&trigger, &trigger, cluster.now())]);
            let outcome = if second % 2 == 0 { FireOutcome::Failed } else { FireOutcome::Succeeded };
            let run_ms = u64::try_from(second).unwrap() * 100;
            node.complete_all(&[ended(&node.fire_one(), outcome, run_ms)]);
        }
        cluster.advance(SECOND);
    }
}

on_each_database!(runs_are_found_by_all_there_is_to_them);
fn runs_are_found_by_all_there_is_to_them() {
    let cluster = Cluster::new(open());
    ten(&cluster);
    let names = |query: HistoryQuery| {
        let mut names: Vec<_> = found(&cluster, query).iter().map(|row| row.trigger.name().to_owned()).collect();
        names.sort_unstable();
        names.join(" ")
    };
    let all = HistoryQuery::new;
    assert_eq!(names(all().instance("B")), "b0 b1 b2 b3 b4");
    assert_eq!(names(all().instance("B").outcome(FireOutcome::Failed)), "b0 b2 b4");
    assert_eq!(names(all().error("0% of the paper_")), "a0 a2 a4 b0 b2 b4", "nothing of it is a pattern");
    assert_eq!(names(all().error("%")), "a0 a2 a4 b0 b2 b4");
    assert_eq!(names(all().error("PAPER")), "", "letter by letter");
    assert_eq!(names(all().since(at(NOW + SECOND)).until(at(NOW + 3 * SECOND))), "a1 a2 b1 b2");
    assert_eq!(names(all().attempt(1)), "");
    assert_eq!(names(all().attempt(0).limit(100)).split(' ').count(), 10);
}

on_each_database!(pages_follow_each_other_whatever_ends_meanwhile);
fn pages_follow_each_other_whatever_ends_meanwhile() {
    let cluster = Cluster::new(open());
    ten(&cluster);
    let whole = found(&cluster, HistoryQuery::new());
    let mut pages = found(&cluster, HistoryQuery::new().limit(3));
    let a = cluster.node("C");
    cluster.schedule(job("late"), [once("late", "late", cluster.now())]);
    a.complete(&a.fire_one());
    loop {
        let page = found(&cluster, HistoryQuery::new().limit(3).running(true).after(pages.last().unwrap()));
        if page.is_empty() {
            break;
        }
        assert!(page.len() <= 3);
        pages.extend(page);
    }
    assert_eq!(pages, whole);
}

on_each_database!(pages_of_running_fires_follow_each_other);
/// More fires run than a page has: those on the next pages were on none.
fn pages_of_running_fires_follow_each_other() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("j").durable(true), [once("ended", "j", NOW)]);
    a.complete(&a.fire_one());
    for name in ["r0", "r1", "r2", "r3", "r4"] {
        cluster.schedule(job(name), [once(name, name, cluster.now())]);
        a.fire_one();
        cluster.advance(SECOND);
    }
    let mut names: Vec<String> = Vec::new();
    let mut query = HistoryQuery::new().limit(2).running(true);
    loop {
        let page = cluster.store.history().find(&query).unwrap();
        let Some(last) = page.last() else { break };
        query = query.after(last);
        names.extend(page.iter().map(|row| row.trigger.name().to_owned()));
    }
    assert_eq!(names, ["r4", "r3", "r2", "r1", "r0", "ended"]);
}

on_each_database!(the_history_is_summed_up);
fn the_history_is_summed_up() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a").durable(true), [minutely("t", "a", NOW)]);
    for run_ms in [300, 100, 200] {
        a.complete_all(&[ended(&a.fire_one(), FireOutcome::Succeeded, run_ms)]);
        cluster.advance(MINUTE);
    }
    a.complete_all(&[ended(&a.fire_one(), FireOutcome::Failed, 7)]);
    let summary = cluster.store.history().summary(&HistoryQuery::new().limit(1)).unwrap();
    assert_eq!((summary.fires, summary.is_complete), (4, true));
    let rows: Vec<_> =
        summary.rows.iter().map(|row| (row.job.clone(), row.outcome, row.fires, row.p50, row.p99, row.max)).collect();
    let ms = |ms| Some(Duration::from_millis(ms));
    let key = Some(job_key("a"));
    assert_eq!(
        rows,
        [
            (key.clone(), FireOutcome::Succeeded, 3, ms(200), ms(300), ms(300)),
            (key, FireOutcome::Failed, 1, ms(7), ms(7), ms(7)),
        ]
    );
    let range = HistoryQuery::new().since(at(NOW + MINUTE)).until(at(NOW + 2 * MINUTE));
    assert_eq!(cluster.store.history().summary(&range).unwrap().fires, 1);
}
