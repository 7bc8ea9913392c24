//! Placement by hand: drained nodes, the blacklist, limits, placements, and a preferred node that
//! is killed.

use super::{Place, text, write_config};
use crate::cli::node::{Node, until};
use serde_json::{Value, json};

const QUICK: &str = "org.quartz.jobStore.clusterCheckinInterval = 300\n\
    org.quartz.jobStore.clusterCheckinMisfireThreshold = 1500\n";

/// A place with the tables, and the configurations `a.properties` and `b.properties` of two nodes.
fn two_nodes() -> Place {
    let place = Place::new();
    write_config(&place.path("carnelian.properties"), QUICK);
    let common = std::fs::read_to_string(place.path("carnelian.properties")).unwrap();
    for name in ["a", "b"] {
        let config = format!("{common}org.quartz.scheduler.instanceId = {name}\n");
        std::fs::write(place.path(&format!("{name}.properties")), config).unwrap();
    }
    place.fine("migrate");
    place
}

fn node(place: &Place, name: &str) -> Node {
    Node::spawn(&mut place.command(&["--config", &format!("{name}.properties"), "node"]))
}

fn history(place: &Place) -> Vec<(String, String)> {
    let runs = place.json("history");
    runs.as_array().unwrap().iter().map(|run| (text(run, "job").to_owned(), text(run, "instance").to_owned())).collect()
}

#[test]
fn nodes_are_drained_and_blacklisted_and_groups_limited() {
    let place = Place::new();
    place.fine("migrate");
    assert_eq!(place.json("blacklist list"), json!([]));
    assert!(place.fine("blacklist list").contains("every node takes work"));
    let added = place.run(&["blacklist", "add", "n1", "--reason", "disk full", "--for", "1h", "--who", "ann"]);
    assert!(added.with(0, "added").out.contains("n1 is on the blacklist"));
    assert!(
        place.fine("drain n2 --stop").contains("n2 takes no work from its next check-in on; what it runs is asked")
    );
    let blacklist = place.json("blacklist list");
    let shown = |n: usize| {
        (text(&blacklist[n], "node").to_owned(), text(&blacklist[n], "kind").to_owned(), blacklist[n]["stop"].clone())
    };
    assert_eq!(shown(0), ("n1".to_owned(), "blacklist".to_owned(), json!(false)));
    assert_eq!(shown(1), ("n2".to_owned(), "drain-stop".to_owned(), json!(true)));
    let lasts = blacklist[0]["until_ms"].as_i64().unwrap() - blacklist[0]["made_ms"].as_i64().unwrap();
    assert_eq!((text(&blacklist[0], "who"), text(&blacklist[0], "reason"), lasts), ("ann", "disk full", 3_600_000));
    let drained = &place.json("actions --action drain")[0];
    assert_eq!(text(&blacklist[1], "who"), text(drained, "actor"), "who is the person that the actions name");
    place.fine("undrain n2");
    place.fine("blacklist remove n1");
    assert_eq!(place.json("blacklist list"), json!([]));
    place.run(&["undrain", "n2"]).with(1, "n2 is not drained");
    place.run(&["blacklist", "remove", "n1"]).with(1, "n1 is not on the blacklist");

    place.fine("limit set reports --per-node 1 --per-cluster 3");
    place.fine("limit set mails --per-cluster 5");
    let limits = place.json("limit list");
    assert_eq!(
        (&limits[0]["group"], &limits[0]["per_node"], &limits[0]["per_cluster"]),
        (&json!("mails"), &Value::Null, &json!(5))
    );
    assert_eq!((&limits[1]["per_node"], &limits[1]["per_cluster"]), (&json!(1), &json!(3)));
    assert!(place.fine("limit list").contains("reports"));
    assert_eq!(text(&limits[0], "who"), text(drained, "actor"));
    place.fine("limit remove mails");
    place.run(&["limit", "remove", "mails"]).with(1, "has no limit");
    place.refused(2, "limit set mails");
}

#[test]
fn a_placement_is_stored_and_explained() {
    let place = two_nodes();
    let a = node(&place, "a");
    place.fine(
        "schedule --job g.away --type command --trigger g.away --at now --data argv=true --allow-node c --prefer-node c",
    );
    place.fine("job add g.idle --type command --data argv=true --require-label zone=eu --require-label !spot");
    let policy = |job: &str| place.json(&format!("job show {job}"))["policy"]["placement"].clone();
    assert_eq!(policy("g.away"), json!({"allow": ["c"], "prefer": "c"}));
    assert_eq!(policy("g.idle"), json!({"labels": ["zone=eu", "!spot"]}));
    place.refused(2, "job add g.bad --type command --require-label zone=a,b");

    let why = place.json("explain g.away");
    let reasons = why["reasons"].to_string();
    assert!(reasons.contains("the job allows c only") && reasons.contains("no living node may run it"), "{why}");
    assert_eq!((&why["nodes"][0]["instance"], &why["nodes"][0]["may_run"]), (&json!("a"), &json!(false)));
    place.fine("drain a");
    place.fine("schedule --job g.any --type command --trigger g.any --at +1h --data argv=true");
    let why = place.json("explain g.any");
    assert!(why["reasons"].to_string().contains("`a` is drained by "), "{why}");
    let doctor = place.run(&["doctor", "--json"]).with(1, "doctor");
    assert!(doctor.out.contains("\"no_place\"") && doctor.out.contains("is drained by "), "{}", doctor.out);
    place.fine("undrain a");
    assert_eq!(a.stop(), Some(0));
}

/// QZ-22 beside it: the work of a preferred node that is killed is taken by another, long before
/// its grace is over.
#[test]
fn the_work_of_a_killed_preferred_node_runs_elsewhere() {
    let place = two_nodes();
    let (a, b) = (node(&place, "a"), node(&place, "b"));
    until("each has seen the other", || place.json("cluster").as_array().is_some_and(|nodes| nodes.len() == 2));
    let prefer = |name: &str| {
        place.fine(&format!(
            "schedule --job g.{name} --type command --trigger g.{name} --at now --data argv=true --prefer-node b \
             --prefer-grace 1h"
        ));
    };
    let checkin = || {
        let nodes = place.json("cluster");
        let of_a = nodes.as_array().unwrap().iter().find(|node| text(node, "instance") == "a").unwrap();
        of_a["last_checkin_ms"].as_i64()
    };
    // One may have been under way; with the next `a` knows all that was known before.
    for _ in 0..2 {
        let before = checkin();
        until("a has checked in", || checkin() > before);
    }
    for n in 0..5 {
        prefer(&format!("first{n}"));
    }
    until("all have run", || history(&place).len() == 5);
    assert!(history(&place).iter().all(|(_, instance)| instance == "b"), "{:?}", history(&place));
    b.kill();
    for n in 0..5 {
        prefer(&format!("then{n}"));
    }
    until("all have run", || history(&place).len() == 10);
    assert_eq!(history(&place).iter().filter(|(_, instance)| instance == "a").count(), 5);
    assert_eq!(a.stop(), Some(0));
}
