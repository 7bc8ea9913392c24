//! `carnelian history`: runs in full and in sum, and the rows that are deleted.

use super::node::{Node, until};
use super::{Place, text, write_config};
use crate::support::node::NodeProcess;
use serde_json::Value;

const FAST: &str = "carnelian.history.log = info\ncarnelian.scheduler.pollInterval = 50ms\n\
     carnelian.shutdown.deadline = 10s\n";

fn migrated() -> Place {
    let place = Place::new();
    write_config(&place.path("carnelian.properties"), FAST);
    place.fine("migrate");
    place
}

fn rows(place: &Place, line: &str) -> Vec<Value> {
    let shown = place.json(line);
    shown.as_array().or(shown["items"].as_array()).unwrap().clone()
}

fn messages(record: &Value) -> Vec<&str> {
    record["log"].as_array().unwrap().iter().map(|line| text(line, "message")).collect()
}

/// LT-106: a run of a real node with its chain and what it logged, also through the program's
/// logger.
#[test]
fn a_run_of_a_demo_node_is_shown_with_all_there_is_to_it() {
    let place = migrated();
    place.fine(
        "schedule --job d.fails --type demo.fail --trigger d.fails --at now --data times=1 --description twice --durable \
         --retry-delay 10ms --retry-max 2",
    );
    let mut node = NodeProcess::demo(&place.path("carnelian.properties"), &place.path("errors"));
    node.ready();
    until("both runs have ended", || rows(&place, "history --job d.fails").len() == 2);
    let found = rows(&place, "history --job d.fails --attempt 0");
    assert_eq!(found.len(), 1);
    let first = text(&found[0], "fire_id");
    let shown = place.json(&format!("history show {first}"));
    let outcome = (text(&shown, "outcome"), text(&shown, "type"), text(&shown, "description"));
    assert_eq!(outcome, ("failed", "demo.fail", "twice"));
    assert_eq!(messages(&shown), ["demo.fail begins, attempt 0", "demo.fail is about to fail attempt=0"]);
    assert_eq!((text(&shown["log"][1], "level"), &shown["waiting"]), ("warn", &serde_json::json!([])));
    let times = ["scheduled_ms", "fired_ms", "started_ms", "ended_ms"].map(|key| shown[key].as_i64().unwrap());
    assert!(times.is_sorted(), "{times:?}");
    let chain: Vec<_> = shown["chain"].as_array().unwrap().iter().map(|run| text(run, "outcome")).collect();
    assert_eq!(chain, ["failed", "succeeded"]);

    let page = place.fine(&format!("history show {first}"));
    for part in ["description:  twice", "the runs of this work:", "about to fail attempt=0", "ATTEMPT"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let complaint = place.refused(1, "history show nobody");
    assert!(complaint.contains("nothing is known of fire nobody"), "{complaint}");
}

#[test]
fn runs_of_a_node_are_listed_summed_up_and_forgotten() {
    let place = migrated();
    let node = Node::start(&place);
    let schedule = |key: &str, argv: &str, more: &[&str]| {
        let argv = format!("argv={argv}");
        let words = ["schedule", "--job", key, "--type", "command", "--trigger", key, "--at", "now", "--data", &argv];
        place.run(&words.into_iter().chain(more.iter().copied()).collect::<Vec<_>>()).with(0, key);
    };
    schedule("c.says", "sh -c 'echo one; echo two'", &["--biz-key", "order-17", "--owner", "ada"]);
    schedule("c.quiet", "sh -c 'echo one'", &["--capture-log", "off"]);
    schedule("c.fails", "sh -c 'echo no paper; exit 3'", &[]);
    schedule("c.waits", "sh -c 'sleep 60'", &["--keep-history", "5", "--log-max-bytes", "2000"]);
    until("three have ended", || rows(&place, "history").len() == 3);

    // The one that runs is shown if it is asked for.
    let running = rows(&place, "history --running");
    assert_eq!((running.len(), text(&running[0], "outcome"), text(&running[0], "job")), (4, "running", "c.waits"));
    assert!(running[0]["ended_ms"].is_null() && running[0]["fired_ms"].is_i64());
    assert_eq!(rows(&place, "history --outcome running").len(), 1);
    let policy = place.json("job show c.waits")["policy"].to_string();
    assert_eq!(policy, r#"{"keepHistory":5,"logMaxBytes":2000}"#);

    let fire = |line: &str| text(&rows(&place, line)[0], "fire_id").to_owned();
    assert_eq!(messages(&place.json(&format!("history show {}", fire("history --job c.says")))), ["one", "two"]);
    assert!(messages(&place.json(&format!("history show {}", fire("history --job c.quiet")))).is_empty());
    let failed = rows(&place, "history --error paper");
    assert_eq!((failed.len(), text(&failed[0], "job")), (1, "c.fails"));
    // PA-01, LT-50: by what the job was known by.
    let known = rows(&place, "history --business-key order-17");
    assert_eq!((known.len(), text(&known[0], "job"), text(&known[0], "owner")), (1, "c.says", "ada"));
    assert_eq!(rows(&place, "history --trace 0af7651916cd43dd8448eb211c80319c").len(), 0);
    assert_eq!(rows(&place, "history --instance nobody").len(), 0);
    assert_eq!(rows(&place, "history --until -1h").len(), 0);

    // Pages.
    let all: Vec<String> = rows(&place, "history").iter().map(|row| text(row, "fire_id").to_owned()).collect();
    let mut paged = vec![fire("history --limit 1")];
    for _ in 0..2 {
        let line = format!("history --limit 1 --after {}", paged[paged.len() - 1]);
        paged.push(fire(&line));
    }
    assert_eq!(paged, all);
    place.refused(1, "history --after nobody");

    let summary = place.json("history --summary");
    assert_eq!((summary["fires"].as_i64(), summary["complete"].as_bool()), (Some(3), Some(true)));
    let of_fails = summary["rows"].as_array().unwrap().iter().find(|row| row["job"] == "c.fails").unwrap();
    assert_eq!((text(of_fails, "outcome"), of_fails["fires"].as_i64()), ("failed", Some(1)));
    assert!(of_fails["run_ms"]["p99"].is_i64(), "{of_fails}");
    assert!(place.fine("history --summary --job c.says").contains("succeeded"));
    assert_eq!(node.stop(), Some(0));

    // Rows that are too old are deleted.
    let pruned = |line: &str| place.json(line)["rows"].as_i64();
    assert_eq!(pruned("history prune"), Some(0));
    assert_eq!(pruned("history prune --job c.says --older-than 0ms --dry-run"), Some(1));
    assert_eq!(pruned("history prune --job c.says --older-than 0ms"), Some(1));
    assert_eq!(rows(&place, "history --job c.says").len(), 0);
    assert!(place.fine("history prune --older-than 0ms").contains("rows deleted"));
    assert_eq!(rows(&place, "history").len(), 0);
    place.refused(2, "history --job c.says prune");
}
