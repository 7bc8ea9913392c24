//! Commands that wait for a run: `job run --wait`, `history logs --follow`; and the state of work
//! that is over.

use super::node::{Node, until};
use super::{Place, text, write_config};
use std::io::{BufRead, BufReader};
use std::process::Stdio;

#[test]
fn a_run_is_waited_for_and_its_outcome_is_the_exit_code() {
    let place = Place::new();
    write_config(&place.path("carnelian.properties"), "");
    place.fine("migrate");
    let node = Node::start(&place);
    for (name, argv) in [("good", "true"), ("bad", "false"), ("slow", "sh -c 'echo said; sleep 1'")] {
        let (key, argv) = (format!("c.{name}"), format!("argv={argv}"));
        place.run(&["job", "add", &key, "--type", "command", "--data", &argv]).with(0, name);
    }
    let good = place.json("job run c.good --wait");
    assert_eq!((text(&good["run"], "outcome"), text(&good, "job")), ("succeeded", "c.good"));
    let bad = place.run(&["job", "run", "c.bad", "--wait"]).with(1, "it fails");
    assert!(bad.out.starts_with("c.bad failed after ") && bad.out.contains("\nerror: "), "{}", bad.out);
    assert!(place.run(&["job", "run", "c.none", "--wait"]).with(1, "no such job").err.contains("c.none"));

    place.fine("job run c.slow");
    let mut fire = String::new();
    until("it runs", || {
        let running = place.json("running --job c.slow");
        fire = running[0]["fire_id"].as_str().unwrap_or_default().to_owned();
        !fire.is_empty()
    });
    assert!(place.fine(&format!("history logs {fire}")).contains("its lines are kept when it has ended"));
    place.fine(&format!("history logs {fire} --follow"));
    assert_eq!(text(&place.json(&format!("history --fire {fire}"))[0], "outcome"), "succeeded");
    assert!(place.refused(1, "history logs nope").contains("nothing is known"));
    assert_eq!(place.json("history --type command --limit 1")["items"].as_array().unwrap().len(), 1);
    assert_eq!(place.json("history --type none"), serde_json::json!([]));

    place.fine("schedule --job c.once --type command --trigger c.once --at now --data argv=true --request-id once-1");
    until("it is over", || place.json("submission show once-1")["is_over"] == serde_json::json!(true));
    let over = place.json("submission show once-1");
    assert_eq!((text(&over, "state"), text(&over["last_run"], "job")), ("succeeded", "c.once"));
    assert_eq!(node.stop(), Some(0));
}

/// A run that succeeds leaves no row where only problems are kept.
#[test]
fn a_run_is_waited_for_by_what_the_history_keeps() {
    let place = Place::new();
    write_config(&place.path("carnelian.properties"), "carnelian.history.record = problems\n");
    place.fine("migrate");
    let node = Node::start(&place);
    for (name, argv) in [("good", "argv=true"), ("bad", "argv=false")] {
        place.run(&["job", "add", &format!("c.{name}"), "--type", "command", "--data", argv]).with(0, name);
    }
    let good = place.json("job run c.good --wait");
    assert_eq!((text(&good, "job"), &good["run"]), ("c.good", &serde_json::Value::Null));
    place.refused(1, "job run c.bad --wait");
    assert_eq!(node.stop(), Some(0));

    place.fine("all pause");
    assert!(place.refused(1, "job run c.good --wait").contains("is paused"));
    place.fine("all resume");
    write_config(&place.path("carnelian.properties"), "carnelian.history.record = none\n");
    let triggers = place.json("trigger list");
    assert!(place.refused(2, "job run c.good --wait").contains("carnelian.history.record"));
    assert_eq!(place.json("trigger list"), triggers, "nothing was begun");
}

#[test]
fn what_is_watched_is_shown_again_and_again() {
    let place = Place::new();
    place.fine("migrate");
    let mut command = place.command(&["running", "--watch=100ms"]);
    let mut watching = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut shown = BufReader::new(watching.stdout.take().unwrap()).lines();
    for _ in 0..3 {
        let mut line = || shown.next().unwrap().unwrap();
        let (time, what, end) = (line(), line(), line());
        assert!(time.starts_with("20") && time.ends_with('Z'), "{time}");
        assert_eq!((what.as_str(), end.as_str()), ("nothing is running", ""));
    }
    watching.kill().unwrap();
    watching.wait().unwrap();
}
