//! Marks of jobs (PA-01, DS-99, LT-03, LT-14), fires that are declared failed (DS-120), and pauses
//! that stop runs (LT-83).

use super::{Place, text};
use crate::cli::node::Node;
use serde_json::{Value, json};

fn names(list: &Value, key: &str) -> Vec<String> {
    list.as_array().unwrap().iter().map(|one| text(one, key).to_owned()).collect()
}

#[test]
fn jobs_and_triggers_are_listed_by_what_they_are_known_by() {
    let place = Place::new();
    place.fine("migrate");
    place.fine(
        "schedule --job g.bill --type demo.sleep --trigger g.bill --at 2040-01-01T00:00:00Z --biz-key order-17 \
         --owner ada --tag billing --tag v2 --name Invoice --meta team=books",
    );
    place.fine("job add g.mail --type demo.sleep --tag billing");
    place.fine("job add g.plain --type demo.sleep");
    assert_eq!(names(&place.json("job list"), "job"), ["g.bill", "g.mail", "g.plain"]);
    assert_eq!(names(&place.json("job list --tag billing"), "job"), ["g.bill", "g.mail"]);
    assert_eq!(names(&place.json("job list --tag billing --tag v2"), "job"), ["g.bill"]);
    assert_eq!(names(&place.json("job list --owner ada --group g"), "job"), ["g.bill"]);
    assert_eq!(names(&place.json("job list --biz-key order-18"), "job"), [""; 0]);
    assert_eq!(names(&place.json("trigger list --biz-key order-17"), "trigger"), ["g.bill"]);
    assert_eq!(place.json("trigger list --tag nothing"), json!([]));
    assert_eq!(place.json("running --reserved --owner ada"), json!([]));
    let job = place.json("job show g.bill");
    assert_eq!((text(&job, "biz_key"), text(&job, "owner"), text(&job, "name")), ("order-17", "ada", "Invoice"));
    assert_eq!((&job["tags"], &job["metadata"]), (&json!(["billing", "v2"]), &json!({"team": "books"})));
    let shown = place.fine("job show g.bill");
    assert!(shown.contains("billing v2") && shown.contains("team = books"), "{shown}");
    assert!(place.fine("job list").contains("billing v2"));
    // A second call with the same definition adds a trigger to the job. Other marks make another
    // job, which is refused.
    let again = "schedule --job g.mail --type demo.sleep --durable --at 2040-01-01T00:00:00Z";
    place.fine(&format!("{again} --trigger g.m1 --tag billing"));
    let complaint = place.refused(1, &format!("{again} --trigger g.m2 --tag other"));
    assert!(complaint.contains("differs in: marks;"), "{complaint}");
    let complaint = place.refused(2, &format!("job add g.x --type demo.sleep --owner {}", "x".repeat(191)));
    assert!(complaint.contains("at most 190"), "{complaint}");
    assert_eq!(place.json("doctor --invariants"), json!({"findings": []}));
}

#[test]
fn a_fire_is_declared_failed_and_a_paused_job_is_stopped() {
    let place = Place::new();
    super::write_config(&place.path("carnelian.properties"), "carnelian.scheduler.heartbeatInterval = 200ms\n");
    place.fine("migrate");
    place.fine("schedule --job g.hung --type command --trigger g.hung --at now --data argv=[\"sleep\",\"600\"]");
    place.fine("schedule --job g.paused --type command --trigger g.paused --every 1h --data argv=[\"sleep\",\"600\"]");
    assert!(place.refused(1, "fail nothing").is_empty(), "the answer is on standard output");
    let node = Node::start(&place);
    let running = || place.json("running");
    super::node::until("both run", || running().as_array().is_some_and(|all| all.len() == 2));
    let all = running();
    let hung = all.as_array().unwrap().iter().find(|fire| text(fire, "job") == "g.hung").unwrap();
    let failed = place.run(&["fail", text(hung, "fire_id"), "--reason", "the disk is full", "--json"]).with(0, "fail");
    let failed: Value = serde_json::from_str(&failed.out).unwrap();
    assert_eq!((&failed["failed"], &failed["retried_after_ms"]), (&json!(true), &Value::Null));
    assert_eq!(names(&running(), "job"), ["g.paused"]);
    let history = place.json("history --job g.hung");
    assert_eq!((text(&history[0], "outcome"), text(&history[0], "error")), ("failed", "the disk is full"));

    let paused = place.json("job pause g.paused --stop");
    assert_eq!((&paused["triggers"], &paused["stopped"]), (&json!(1), &json!(1)));
    super::node::until("it has stopped", || running() == json!([]));
    let history = place.json("history --job g.paused");
    assert_eq!(text(&history[0], "outcome"), "cancelled");
    assert!(text(&history[0], "error").starts_with("paused: "), "{history}");
    assert_eq!(text(&place.json("trigger show g.paused"), "state"), "PAUSED");
    assert_eq!(node.stop(), Some(0));
}
