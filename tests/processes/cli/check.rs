//! `carnelian check`, as a monitor calls it.

use super::{Place, configuration::sql};
use serde_json::{Value, json};

/// The answer of `check` when a bound is broken.
fn refused(place: &Place, line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    place.run(&words).with(1, line).out
}

/// DS-80, DS-81: with no node alive the database says so, and what waits.
#[test]
fn with_the_whole_cluster_down_it_answers_from_the_database() {
    let place = Place::new();
    place.fine("migrate");
    let answer = place.json("check");
    let nothing = json!({"ok": true, "problems": [], "overdue": 0, "oldest_overdue_ms": null, "nodes": 0, "working_nodes": 0,
        "newest_checkin_age_ms": null, "stuck": null, "orphans": null, "failed": null});
    assert_eq!(answer, nothing);
    assert!(refused(&place, "check --min-nodes 1").contains("0 nodes are alive and take work, at least 1 are needed"));
    assert!(refused(&place, "check --max-age 1m").contains("no node that takes work has checked in"));
    assert!(refused(&place, "check --max-orphans 0").contains("it cannot be told"));
    place.fine("check --max-overdue 0 --max-stuck 0 --max-failed 0");

    place.fine("schedule --job g.work --type t --trigger g.late --at 2020-01-01T00:00:00Z");
    assert!(refused(&place, "check --max-overdue 0").contains("1 triggers are overdue, at most 0 are allowed"));
    place.fine("check --max-overdue 0 --overdue-after 36500d");
    place.fine("trigger pause g.late");
    place.fine("check --max-overdue 0");
}

/// A node that died years ago, its run, and what failed just now, as rows.
#[test]
fn each_bound_has_its_problem() {
    let place = Place::new();
    place.fine("schedule --job g.work --type t --trigger g.t --every 1h");
    let rows = [
        "INSERT INTO QRTZ_SCHEDULER_STATE VALUES ('QuartzScheduler', 'dead', 1000, 15000)",
        "INSERT INTO QRTZ_CN_INSTANCES (SCHED_NAME, INSTANCE_NAME, INCARNATION, JOINED) \
         VALUES ('QuartzScheduler', 'dead', '0123456789abcdef', 1)",
        "INSERT INTO QRTZ_FIRED_TRIGGERS (SCHED_NAME, ENTRY_ID, TRIGGER_NAME, TRIGGER_GROUP, INSTANCE_NAME, FIRED_TIME, \
         SCHED_TIME, PRIORITY, STATE, JOB_NAME, JOB_GROUP, IS_NONCONCURRENT, REQUESTS_RECOVERY) VALUES \
         ('QuartzScheduler', 'f1', 't', 'g', 'dead', 1000, 1000, 5, 'EXECUTING', 'work', 'g', 0, 0)",
        "INSERT INTO QRTZ_CN_BEATS (SCHED_NAME, ENTRY_ID, INSTANCE_NAME, BEAT_MS, LIMIT_MS) \
         VALUES ('QuartzScheduler', 'f1', 'dead', 1000, 15000)",
    ];
    rows.iter().for_each(|row| sql(&place, row));
    let now_ms = place.json("check")["newest_checkin_age_ms"].as_i64().unwrap() + 1000;
    for (id, outcome, ended_ms) in
        [("h1", "failed", now_ms), ("h2", "lost", now_ms), ("h3", "failed", 5), ("h4", "succeeded", now_ms)]
    {
        sql(
            &place,
            &format!(
                "INSERT INTO QRTZ_CN_HISTORY (SCHED_NAME, FIRE_ID, JOB_NAME, JOB_GROUP, TRIGGER_NAME, TRIGGER_GROUP, \
                 INSTANCE_NAME, SCHED_MS, FIRED_MS, ENDED_MS, OUTCOME, ATTEMPT) \
                 VALUES ('QuartzScheduler', '{id}', 'work', 'g', 't', 'g', 'dead', 1, 1, {ended_ms}, '{outcome}', 0)"
            ),
        );
    }
    assert!(refused(&place, "check --max-age 1m").contains("the newest check-in is"));
    assert!(refused(&place, "check --max-stuck 0").contains("1 running fires have missed all their heartbeats"));
    assert!(refused(&place, "check --max-failed 1").contains("2 fires or more have failed lately"));
    place.fine("check --max-failed 2 --max-stuck 1 --max-age 36500d");
    let all = ["check", "--json", "--max-stuck", "0", "--max-failed", "0", "--min-nodes", "2", "--max-age", "1s"];
    let ran = place.run(&all).with(1, "check");
    let answer: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&answer["ok"], answer["problems"].as_array().unwrap().len()), (&json!(false), 4));
    assert_eq!((&answer["stuck"], &answer["nodes"]), (&json!(1), &json!(0)));
    place.refused(2, "check --max-failed 10000");
}

/// DS-80, DS-81: an observer is alive, and does no work.
#[test]
fn an_observer_does_not_count_as_a_node_that_takes_work() {
    let place = Place::new();
    place.fine("migrate");
    let live = i64::MAX / 4; // it has checked in a moment ago, by any clock
    sql(&place, &format!("INSERT INTO QRTZ_SCHEDULER_STATE VALUES ('QuartzScheduler', 'admin', {live}, 15000)"));
    sql(
        &place,
        "INSERT INTO QRTZ_CN_INSTANCES (SCHED_NAME, INSTANCE_NAME, INCARNATION, JOINED) \
         VALUES ('QuartzScheduler', 'admin', '0123456789abcdef', 9223372036854775807)",
    );
    place.fine("check --min-nodes 1");
    sql(
        &place,
        &format!(
            "INSERT INTO QRTZ_CN_NODES (SCHED_NAME, INSTANCE_NAME, NODE_NAME, DISPLAY_NAME, APPLICATION, LIBRARY_VERSION, LABELS, \
         NODE_ROLE, ACTIVITY, PID, POOL_SIZE, FREE_WORKERS, RUNNING, STARTED_MS, SEEN_MS) \
         VALUES ('QuartzScheduler', 'admin', 'admin', 'admin', 'app', '1', '', 'observer', 'observing', 1, 1, 1, 0, 1, {live})"
        ),
    );
    assert_eq!(place.json("check")["nodes"], json!(1));
    assert!(refused(&place, "check --min-nodes 1").contains("0 nodes"));
    assert!(refused(&place, "check --max-age 36500d").contains("has checked in"));
}
