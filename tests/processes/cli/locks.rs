//! `carnelian lock`: the holders of locks, and a lock taken from a holder that is gone.

use super::{Place, text};
use carnelian::Scheduler;
use carnelian::settings::Settings;
use serde_json::json;
use std::time::Duration;

#[test]
fn locks_are_listed_and_taken_away() {
    let place = Place::new();
    place.fine("migrate");
    assert_eq!(place.json("lock list"), json!([]));
    assert!(place.fine("lock list").contains("no lock is held"));
    place.run(&["lock", "release", "stock"]).with(1, "nobody holds it");

    let file = place.path("carnelian.db").display().to_string();
    let properties =
        format!("jobStore.class = JobStoreTX\njobStore.dataSource = db\ndataSource.db.URL = sqlite:{file}\n");
    let settings = Settings::from_text("test", &properties, |_| None).unwrap();
    let scheduler = Scheduler::builder().settings(settings).instance_id("holder").build().unwrap();
    let guard = scheduler.lock("stock", Duration::from_secs(60)).unwrap();
    let list = place.json("lock list");
    assert_eq!((text(&list[0], "name"), text(&list[0], "instance")), ("stock", "holder"));
    assert_eq!((list[0]["fence"].as_i64(), list[0]["ttl_ms"].as_i64()), (Some(guard.fence()), Some(60_000)));
    assert!(place.fine("lock list").contains("stock"));

    assert_eq!(text(&place.json("lock release stock"), "instance"), "holder");
    assert_eq!(place.json("lock list"), json!([]));
    assert!(!guard.release().unwrap());
}
