//! Statements while very much executes: the question whether a job or a trigger executes is a
//! look-up in the index of executing fires.

use super::*;
use carnelian::Overlap;

/// The number of fires that execute, all of one job: as statistics see them, a job is as large as
/// the table.
fn crowd_size() -> usize {
    stored() / 5
}

/// The number of pages that a call of the function that stores new work may look at for each
/// trigger. The crowd has many more.
const MOST_PAGES: u64 = 100;

fn crowd() -> JobKey {
    JobKey::new("crowd", "crowd")
}

/// Fires that execute on another node than the one that is looked at.
fn execute_a_crowd(kind: Kind, url: &str, scheduler: &str) {
    let size = crowd_size();
    let (numbers, text) = match kind {
        Kind::Postgres => (format!("generate_series(1, {size}) AS n(i)"), "'{}' || i"),
        Kind::Mysql => (format!("(SELECT seq AS i FROM seq_1_to_{size}) AS n"), "CONCAT('{}', i)"),
        Kind::Sqlite => (
            format!(
                "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {size}) SELECT i FROM n) AS n"
            ),
            "'{}' || i",
        ),
    };
    let named = |prefix: &str| text.replace("{}", prefix);
    let no = ["0", "FALSE", "'0'"][kind as usize];
    run(
        kind,
        url,
        &format!(
            "INSERT INTO QRTZ_FIRED_TRIGGERS (sched_name, entry_id, trigger_name, trigger_group, instance_name, fired_time, \
             sched_time, priority, state, job_name, job_group, is_nonconcurrent, requests_recovery) SELECT '{scheduler}', {}, {}, \
             'crowd', 'other', i, i, 5, 'EXECUTING', 'crowd', 'crowd', {no}, {no} FROM {numbers}",
            named("0123456789abcdef-0123456789abcdef-"),
            named("a-trigger-with-a-name-of-the-length-that-people-give-")
        ),
    );
}

fn gather_statistics_of_fires(kind: Kind, url: &str) {
    let text = if kind == Kind::Mysql { "ANALYZE TABLE QRTZ_FIRED_TRIGGERS" } else { "ANALYZE" };
    run(kind, url, text);
}

/// Due triggers of many jobs that run once at a time, of a job that executes thousands of times,
/// and of a limited group.
fn schedule(node: &Node, round: &str) {
    let at = SystemClock::default().wall_time() - chrono::TimeDelta::milliseconds(1_000);
    let trigger = |job: &JobKey, what: &str, i: usize| {
        Trigger::builder(TriggerKey::named(format!("{what}-{round}-{i}")), job.clone()).start_at(at)
    };
    let mut work: Vec<(JobDetail, Vec<Trigger>)> = Vec::new();
    for i in 0..BATCH {
        let single = JobDetail::builder(JobKey::named(format!("single-{round}-{i}")), "t");
        let single = single.disallow_concurrent_execution(true).build().unwrap();
        let its = trigger(single.key(), "single", i).build().unwrap();
        work.push((single, vec![its]));
    }
    let limited = JobDetail::builder(JobKey::new("limited", format!("limited-{round}")), "t").build().unwrap();
    let its = (0..4).map(|i| trigger(limited.key(), "limited", i).build().unwrap()).collect();
    work.push((limited, its));
    let crowd = JobDetail::builder(crowd(), "t").durable(true).build().unwrap();
    let skips = |i: usize| trigger(crowd.key(), "skips", i).overlap(Overlap::Skip).build().unwrap();
    let skipping = (0..BATCH).map(skips).collect();
    work.push((crowd, skipping));
    node.store.catalogue().schedule(work, true).unwrap();
}

/// New work that asks for nothing special: on PostgreSQL it goes by the function. There it is
/// stored when the call is explained, so that it is refused when it is made.
fn schedule_plain(node: &Node, kind: Kind, round: &str) {
    for (what, count) in [("lone", 1), ("many", BATCH)] {
        let key = |i: usize| TriggerKey::named(format!("{what}-plain-{round}-{i}"));
        let triggers = (0..count).map(|i| Trigger::builder(key(i), crowd()).build().unwrap()).collect::<Vec<_>>();
        let job = JobDetail::builder(JobKey::named(format!("{what}-plain-{round}")), "t");
        let job = job.disallow_concurrent_execution(true).build().unwrap();
        let own = |i: usize| TriggerKey::named(format!("{what}-own-{round}-{i}"));
        let own = (0..count).map(|i| Trigger::builder(own(i), job.key().clone()).build().unwrap()).collect();
        for stored in [
            triggers.into_iter().try_for_each(|trigger| node.store.catalogue().add_trigger(trigger, false).map(drop)),
            node.store.catalogue().schedule(vec![(job, own)], false).map(drop),
        ] {
            assert!(stored.is_ok() || kind == Kind::Postgres, "{stored:?}");
        }
    }
}

/// Runs whose ends end their triggers.
fn end_triggers(node: &Node, round: &str) {
    let hourly = |i: usize| {
        let trigger = Trigger::builder(TriggerKey::named(format!("ends-{round}-{i}")), crowd());
        trigger.schedule(SimpleSchedule::every(Duration::from_secs(3600))).build().unwrap()
    };
    let crowd = JobDetail::builder(crowd(), "t").durable(true).build().unwrap();
    node.store.catalogue().schedule(vec![(crowd, (0..BATCH).map(hourly).collect())], true).unwrap();
    let fired = node.store.firing().acquire(&node.owner, &node.request(0, &BTreeSet::new())).unwrap().fired;
    assert!(!fired.is_empty());
    let end = |f: &FireBundle| f.completion(CompletionInstruction::SetTriggerComplete, None);
    node.store.firing().complete(&node.owner, &fired.iter().map(end).collect::<Vec<_>>()).unwrap();
}

fn judge_fires(explained: &[Explained], place: &str) {
    let mut wrong = Vec::new();
    let mut looks = 0;
    for statement in explained {
        if statement.text.contains("CN_SCHEDULE") {
            let pages = statement.plans.iter().find_map(|plan| plan.split_once("\"Shared Hit Blocks\": ")).unwrap().1;
            let pages: u64 = pages.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap();
            if pages > MOST_PAGES * BATCH as u64 {
                wrong.push(format!("{place}: {pages} pages: {}", statement.plans.join("\n")));
            }
        }
        for read in reads(statement).iter().filter(|read| table_of(&statement.text, &read.table) == "fired_triggers") {
            looks += 1;
            let by_name_only = read.looked_up_by.as_deref().is_some_and(|columns| columns == ["sched_name"]);
            // Each check-in counts the fires of all nodes.
            let counts_all = statement.text.contains("GROUP BY f.instance_name");
            // SQLite: by the index of reservations, which has only those.
            let of_few = read.rows.is_none() && statement.text.contains("state = 'ACQUIRED'");
            let is_long = read.is_scan || by_name_only && !of_few || read.rows.is_some_and(|rows| rows > MOST_ROWS);
            if is_long && !counts_all {
                wrong.push(format!(
                    "{place}: {}: {read:?}\n{}\n{}",
                    statement.purpose,
                    statement.text,
                    statement.plans.join("\n")
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} reads of more than a batch:\n{}", wrong.len(), wrong.join("\n\n"));
    assert!(looks > 20, "{place}: only {looks} looks at fires");
    println!("plans {place}: {looks} looks at fires in {} statements", explained.len());
}

fn look(node: &mut Node, other: &mut Membership, kind: Kind, state: &str) {
    // The owner of the fires must not seem dead.
    node.store.upkeep().check_in(other).unwrap();
    node.store.upkeep().check_in(&mut node.me).unwrap();
    node.owner = node.me.owner().unwrap();
    node.database.plans().begin();
    schedule(node, state);
    schedule_plain(node, kind, state);
    let fires = node.work();
    end_triggers(node, state);
    let explained = node.database.plans().take();
    assert!(fires >= BATCH + BATCH + 4, "only {fires} fires");
    for asked in ["AS executing,", "AS trigger_executing", "trigger_state = 'COMPLETE'", "NOT is_durable", "AS alone"] {
        assert!(explained.iter().any(|statement| statement.text.contains(asked)), "nobody asks `{asked}`");
    }
    assert!(node.store.upkeep().fired_triggers().unwrap().len() >= crowd_size(), "the crowd has gone");
    judge_fires(&explained, state);
}

fn no_look_goes_through_the_fires_of_others(kind: Kind, server: impl Fn(usize) -> String) {
    let cases = ["without statistics", "with statistics of empty tables", "with statistics of the crowd alone"];
    for (number, then) in cases.into_iter().enumerate() {
        let place = Place::on(kind, server(number));
        let mut node = Node::open(&place.url, "crowded");
        match kind {
            Kind::Postgres => {
                run(kind, &place.url, "ALTER TABLE qrtz_fired_triggers SET (autovacuum_enabled = false)");
            }
            Kind::Mysql => run(kind, &place.url, "ALTER TABLE QRTZ_FIRED_TRIGGERS STATS_AUTO_RECALC = 0"),
            Kind::Sqlite => {}
        }
        if number == 1 {
            gather_statistics_of_fires(kind, &place.url);
        }
        let mut other = Membership::new("other");
        node.store.upkeep().check_in(&mut other).unwrap();
        node.store.placement().set_group_limit("limited", Some(1_000), Some(1_000), "test").unwrap();
        execute_a_crowd(kind, &place.url, "crowded");
        if number == 2 {
            gather_statistics_of_fires(kind, &place.url);
        }
        look(&mut node, &mut other, kind, then);
        if number == 0 {
            gather_statistics_of_fires(kind, &place.url);
            look(&mut node, &mut other, kind, "with statistics");
        }
        drop(node);
        place.end(kind);
    }
}

#[test]
fn no_look_goes_through_the_fires_of_others_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let url = |i| format!("sqlite:{}", folder.path().join(format!("plans{i}.db")).display());
    no_look_goes_through_the_fires_of_others(Kind::Sqlite, url);
}

#[test]
fn no_look_goes_through_the_fires_of_others_on_postgres() {
    no_look_goes_through_the_fires_of_others(Kind::Postgres, |_| support::postgres_url());
}

#[test]
fn no_look_goes_through_the_fires_of_others_on_mysql() {
    no_look_goes_through_the_fires_of_others(Kind::Mysql, |_| support::mysql_url());
}
