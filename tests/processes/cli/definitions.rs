//! Jobs that no node can run, and jobs that get other keys and types.

use super::{Place, text, write_config};
use crate::cli::node::{Node, until};
use serde_json::{Value, json};

fn jobs(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|one| text(one, "job")).collect()
}

#[test]
fn orphans_are_listed_named_by_doctor_and_deleted() {
    let place = Place::new();
    write_config(&place.path("carnelian.properties"), "");
    place.fine("migrate");
    place.fine("schedule --job g.gone --type demo.gone --trigger g.gone --at 2040-01-01T00:00:00Z");
    place.fine("job add g.idle --type demo.gone");
    place.fine("schedule --job g.run --type command --trigger g.run --at 2040-01-01T00:00:00Z --data argv=true");
    // Without a node nobody knows who would come back.
    let complaint = place.refused(1, "orphans");
    assert!(complaint.contains("no node is alive"), "{complaint}");
    assert_eq!(place.json("doctor"), json!({"findings": []}));

    let node = Node::start(&place);
    let found = place.json("orphans");
    assert_eq!(jobs(&found), ["g.gone", "g.idle"]);
    let first = &found[0];
    assert_eq!((text(first, "type"), text(first, "reason")), ("demo.gone", "no live node has job type `demo.gone`"));
    assert_eq!((&first["triggers"], &first["next_fire_ms"]), (&json!(1), &json!(2_208_988_800_000_i64)));
    assert!(first["since_ms"].is_i64() && first["deleted"] == json!(false), "{first}");
    assert!(place.fine("orphans").contains("no live node has job type"));
    assert!(place.fine("orphans --older-than 1h").contains("no job is without a node that can run it for 1 h 0 min"));

    let doctor = place.run(&["doctor", "--json"]).with(1, "doctor");
    let doctor: Value = serde_json::from_str(&doctor.out).unwrap();
    let findings: Vec<_> =
        doctor["findings"].as_array().unwrap().iter().map(|f| (text(f, "kind"), text(f, "subject"))).collect();
    assert_eq!(findings, [("unknown_type", "g.gone"), ("unknown_type", "g.idle")]);
    assert!(text(&doctor["findings"][0], "detail").contains("due 2040-01-01T00:00:00.000Z"), "{doctor}");

    let why = place.json("explain g.gone");
    assert!(why["reasons"].to_string().contains("nobody will take it: no live node has job type"), "{why}");

    assert_eq!(place.json("orphans --older-than 1h --delete"), json!([]));
    // A node that has their type may be just about to start again.
    assert_eq!(place.json("orphans --delete"), json!([]));
    assert!(
        place.fine("orphans --delete --dry-run").contains("no job is without a node that can run it for 1 h 0 min")
    );
    assert_eq!(jobs(&place.json("orphans --delete --older-than 0s")), ["g.gone", "g.idle"]);
    assert_eq!(jobs(&place.json("job list")), ["g.run"]);
    assert_eq!(place.json("orphans"), json!([]));
    assert_eq!(place.json("doctor --invariants"), json!({"findings": []}));
    assert_eq!(node.stop(), Some(0));
}

#[test]
fn a_job_is_renamed_with_its_triggers() {
    let place = Place::new();
    place.fine("migrate");
    place.fine("schedule --job g.old --type t --trigger g.one --every 1h --data a=1");
    place.fine("schedule --job g.old --type t --trigger g.two --every 2h --data a=1");
    let looked = place.json("job rename g.old h.new --dry-run");
    assert_eq!(looked, json!({"old": "g.old", "new": "h.new", "triggers": 2, "dry_run": true}));
    assert_eq!(jobs(&place.json("job list")), ["g.old"]);
    assert_eq!(place.fine("job rename g.old h.new"), "renamed g.old to h.new, with 2 triggers\n");
    let job = place.json("job show h.new");
    assert_eq!((&job["triggers"], &job["data"]), (&json!(["g.one", "g.two"]), &json!({"a": "1"})));
    assert!(place.refused(1, "job rename g.old h.newer").contains("job `g.old` does not exist"));
    place.fine("job add g.other --type t");
    assert!(place.refused(1, "job rename g.other h.new").contains("h.new"));
}

#[test]
fn jobs_of_a_type_get_another() {
    let place = Place::new();
    write_config(&place.path("carnelian.properties"), "");
    place.fine("migrate");
    for name in ["a", "b"] {
        place.fine(&format!("job add g.{name} --type old --data n={name}"));
    }
    place.fine("job add g.c --type other --data-version 3");
    let looked = place.json("job migrate --type old new --dry-run");
    assert_eq!((&looked["changed"], &looked["dry_run"]), (&json!(["g.a", "g.b"]), &json!(true)));
    assert_eq!(text(&place.json("job show g.a"), "type"), "old");
    let said = place.fine("job migrate --type old new");
    assert_eq!(said, "changed g.a\nchanged g.b\nchanged 2 jobs from type old to new\n");
    let job = place.json("job show g.b");
    assert_eq!((text(&job, "type"), &job["data"], &job["data_version"]), ("new", &json!({"n": "b"}), &json!(1)));
    assert_eq!(place.json("job show g.c")["data_version"], json!(3));
    place.refused(2, "job migrate --type old");

    // The command warns if no node has the new type.
    let node = Node::start(&place);
    let ran = place.run(&["job", "migrate", "--type", "new", "newer"]).with(0, "migrate");
    assert!(ran.err.contains("warning: no live node has job type `newer`"), "{}", ran.err);
    let ran = place.run(&["job", "migrate", "--type", "newer", "command"]).with(0, "migrate");
    assert_eq!(ran.err, "");
    assert_eq!(node.stop(), Some(0));
}

/// LT-12: continuations are made, shown and taken away.
#[test]
fn jobs_follow_others() {
    let place = Place::new();
    place.fine("migrate");
    place.fine("schedule --job g.load --type command --trigger g.load --at 2040-01-01T00:00:00Z --data argv=true");
    place.fine("job add g.report --type command --data argv=true");
    assert_eq!(place.fine("job follow g.load g.report"), "g.report follows g.load on success\n");
    let said = place.json("job follow g.load g.report --on any --data to=ops");
    assert_eq!(said, json!({"parent": "g.load", "child": "g.report", "on": "any", "per_tick": false}));
    let child = json!([{"job": "g.report", "on": "any", "per_tick": false, "data": {"to": "ops"}}]);
    assert_eq!(place.json("job show g.load")["children"], child);
    assert_eq!(place.json("job show g.report")["parents"][0]["job"], json!("g.load"));
    assert!(place.fine("job show g.load").contains("g.report on any"));
    assert!(place.fine("job show g.report").contains("g.load on any"));
    assert_eq!(place.json("job list")[0]["children"], child);
    assert_eq!(place.json("explain g.load")["children"], child);
    assert!(place.fine("explain g.load").contains("g.report on any"));

    assert!(place.refused(1, "job follow g.report g.load").contains("not durable"));
    assert!(place.refused(1, "job follow g.report g.report").contains("--allow-cycle"));
    assert!(place.refused(1, "job follow g.report g.nobody").contains("job `g.nobody` does not exist"));
    place.refused(2, "job follow g.load g.report --on full-moon");
    place.fine("job follow g.report g.report --on failure --allow-cycle");
    place.fine("job unfollow g.report g.report");
    place.fine("job add g.last --type command --data argv=true");
    place.fine("job follow g.report g.last");

    // A node runs the parent by hand, and its children.
    place.fine("job run g.load");
    let node = Node::start(&place);
    until("the last of them has run", || {
        place.json("history --job g.last").as_array().is_some_and(|rows| !rows.is_empty())
    });
    assert_eq!(node.stop(), Some(0));
    for job in ["g.load", "g.report", "g.last"] {
        let rows = place.json(&format!("history --job {job}"));
        let outcomes: Vec<&str> = rows.as_array().unwrap().iter().map(|row| text(row, "outcome")).collect();
        assert_eq!(outcomes, ["succeeded"], "{job}");
    }
    // A waiting trigger names the job that it follows.
    place.fine("group pause FOLLOWING_JOBS");
    place.fine("job run g.report");
    let node = Node::start(&place);
    until("it has run", || place.json("history --job g.report").as_array().is_some_and(|r| r.len() > 1));
    assert_eq!(node.stop(), Some(0));
    let triggers = place.json("trigger list --group FOLLOWING_JOBS");
    let why = place.json(&format!("explain {}", text(&triggers[0], "trigger")));
    assert_eq!((text(&why["follows"], "job"), text(&why["follows"], "outcome")), ("g.report", "succeeded"));
    assert!(place.fine(&format!("explain {}", text(&triggers[0], "trigger"))).contains("g.report, whose fire"));

    assert_eq!(place.fine("job unfollow g.load g.report"), "g.report follows g.load no longer\n");
    assert!(place.refused(1, "job unfollow g.load g.report").contains("does not follow"));
}

/// LT-102: what a program has defined in code is listed with its source.
#[test]
fn definitions_of_programs_are_listed() {
    use carnelian::{JobDefinition, JobDetail, JobKey, Scheduler};
    let place = Place::new();
    let config = place.path("carnelian.properties");
    write_config(&config, "carnelian.definitions.source=billing\n");
    place.fine("migrate");
    assert!(place.fine("definitions").contains("no program has defined jobs"));
    let job = JobDetail::builder(JobKey::new("g", "nightly"), "command").build().unwrap();
    let defined = JobDefinition::new(job).cron("0 0 3 * * ?").unwrap().revision(4);
    let scheduler = Scheduler::builder().settings_file(&config).define(defined).build().unwrap();
    scheduler.sync_definitions().unwrap();
    let listed = place.json("definitions");
    assert_eq!((text(&listed[0], "job"), text(&listed[0], "source")), ("g.nightly", "billing"));
    assert_eq!((&listed[0]["revision"], &listed[0]["triggers"]), (&json!(4), &json!(["g.nightly"])));
    assert!(place.fine("definitions").contains("g.nightly"));
}
