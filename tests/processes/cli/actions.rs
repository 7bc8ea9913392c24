//! `carnelian actions`: who did what by the command line, found and paged (DS-97).

use super::{Place, text, write_config};
use serde_json::{Value, json};

fn subjects(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|one| text(one, "subject")).collect()
}

#[test]
fn actions_of_the_command_line_are_listed_with_who_did_them() {
    let place = Place::new();
    write_config(&place.path("carnelian.properties"), "carnelian.actor = ada\n");
    place.fine("migrate");
    assert_eq!(place.json("actions"), json!([]));
    assert!(place.fine("actions").contains("no action is known"));
    for name in ["a", "b"] {
        place.fine(&format!("schedule --job g.{name} --type t --trigger g.{name} --at 2040-01-01T00:00:00Z --durable"));
    }
    assert_eq!(place.json("actions"), json!([]), "to store new work is none");
    place.fine("trigger pause g.a");
    place.fine("job run g.b");
    place.fine("job delete g.b");
    place.fine("drain rack7");
    let all = place.json("actions");
    assert_eq!(subjects(&all), ["rack7", "g.b", "g.b", "g.a"]);
    let words: Vec<_> = all.as_array().unwrap().iter().map(|one| (text(one, "action"), text(one, "kind"))).collect();
    assert_eq!(words, [("drain", "node"), ("delete", "job"), ("run", "job"), ("pause", "trigger")]);
    assert!(all.as_array().unwrap().iter().all(|one| text(one, "actor") == "ada" && one["ms"].is_i64()), "{all}");
    assert_eq!(subjects(&place.json("actions --subject g.b --action delete")), ["g.b"]);
    assert_eq!(subjects(&place.json("actions --kind node --since -1h")), ["rack7"]);
    assert_eq!(place.json("actions --actor bob"), json!([]));
    assert_eq!(place.json("actions --until -1h"), json!([]));
    let first = place.json("actions --limit 3");
    let after = text(&first, "next");
    assert_eq!((subjects(&first["items"]).len(), after), (3, text(&first["items"][2], "action_id")));
    assert_eq!(subjects(&place.json(&format!("actions --after {after}"))), ["g.a"]);
    assert_eq!(place.json("actions --limit 4"), all);
    assert_eq!(place.json("actions --all"), all);
    let table = place.fine("actions --limit 3");
    assert!(
        table.contains("rack7") && table.contains(&format!("3 shown; --all shows all, --after {after}")),
        "{table}"
    );
    place.fine("job resume g.a");
    let shown = place.json("job show g.a");
    assert_eq!((text(&shown["last_action"], "action"), &shown["last_runs"]), ("resume", &json!([])));
}

/// Without a name in the settings it is the user at the host.
#[test]
fn an_action_is_by_the_user_at_the_host() {
    let place = Place::new();
    place.fine("migrate");
    let ran = place.command(&["drain", "rack7"]).env("USER", "bob").status().unwrap();
    assert!(ran.success());
    let all = place.json("actions");
    let (actor, node) = (text(&all[0], "actor"), text(&all[0], "node"));
    assert_eq!(actor, format!("bob@{node}"));
}
