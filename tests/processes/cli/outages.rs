//! `carnelian outages`, `recovery` and `drill`.

use super::{Place, text};
use crate::cli::node::until;
use carnelian::Scheduler;
use carnelian::settings::Settings;
use serde_json::json;

/// DS-82: the mode is begun, shown and ended by command.
#[test]
fn the_recovery_mode_is_begun_and_ended() {
    let place = Place::new();
    place.fine("migrate");
    assert_eq!(place.json("outages"), json!([]));
    assert!(place.fine("outages").contains("no total outage is known"));
    place.run(&["recovery", "stop"]).with(1, "not in recovery mode");
    assert!(place.fine("recovery show").contains("off"));

    let mode = place.json("recovery start");
    let person = &place.json("actions")[0]["actor"];
    assert_eq!((&mode["begun_by"], mode["backlog"].as_i64()), (person, Some(0)));
    assert_eq!(place.json("recovery start")["since_ms"], mode["since_ms"], "it is on already");
    assert_eq!(place.json("recovery show"), mode);
    assert!(place.fine("recovery show").contains("on"));
    assert_eq!(place.json("recovery stop"), json!({"stopped": true}));
    assert!(place.json("recovery show")["since_ms"].is_null());
}

/// DS-80: what a node has found when it came is listed.
#[test]
fn outages_are_listed() {
    let place = Place::new();
    place.fine("migrate");
    let file = place.path("carnelian.db").display().to_string();
    let properties = format!(
        "jobStore.class = JobStoreTX\njobStore.dataSource = db\ndataSource.db.URL = sqlite:{file}\n\
         jobStore.isClustered = true\njobStore.clusterCheckinInterval = 1000\n\
         jobStore.clusterCheckinMisfireThreshold = 1000\n"
    );
    let settings = Settings::from_text("test", &properties, |_| None).unwrap();
    let store =
        carnelian::store::open(&settings, std::sync::Arc::new(carnelian::clock::SystemClock::default())).unwrap();
    let mut gone = carnelian::store::Membership::new("gone");
    store.upkeep().check_in(&mut gone).unwrap();
    until("it is silent", || store.upkeep().instances().unwrap().iter().all(|node| !node.alive));
    let node = Scheduler::builder().settings(settings).instance_id("first").build().unwrap();
    node.start().unwrap();
    let list = place.json("outages");
    assert_eq!((list.as_array().unwrap().len(), text(&list[0], "instance")), (1, "first"));
    let lasted = list[0]["ended_ms"].as_i64().unwrap() - list[0]["began_ms"].as_i64().unwrap();
    assert!((2_001..60_000).contains(&lasted), "{lasted}");
    assert!(place.fine("outages").contains("first"));
    node.shutdown_and_wait();
}

/// DS-87: a small drill with two node processes that are killed; nothing is left of it.
#[test]
fn a_drill_loses_a_cluster_and_finds_everything_in_order() {
    let place = Place::new();
    place.fine("migrate");
    let ran = place.run(&["drill", "--triggers", "200", "--nodes", "2", "--json"]).with(0, "drill");
    assert!(!ran.err.contains("unsafe"), "its own settings are nobody's mistake: {}", ran.err);
    let checks: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let checks = checks.as_array().unwrap();
    assert_eq!(checks.len(), 7);
    assert!(checks.iter().all(|check| check["ok"] == json!(true)), "{checks:#?}");
    assert_eq!(place.json("outages"), json!([]), "it is another scheduler's");
    place.run(&["drill", "--triggers", "0"]).with(2, "at least one trigger");
}
