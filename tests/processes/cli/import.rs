//! `carnelian import`: job files into a database that no node works on.

use super::{Place, text};
use serde_json::json;

const QUARTZ_DATA: &str = include_str!("../../testdata/quartz_data.xml");

fn write(place: &Place, name: &str, contents: &str) {
    std::fs::write(place.path(name), contents).unwrap();
}

#[test]
fn a_file_of_quartz_is_stored_and_shown() {
    let place = Place::new();
    write(&place, "quartz_data.xml", QUARTZ_DATA);
    let ran = place.run(&["import", "quartz_data.xml", "--json"]).with(0, "import");
    assert!(ran.err.starts_with("carnelian: warning: quartz_data.xml:"), "{}", ran.err);
    let answer: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(text(&answer[0], "file"), "quartz_data.xml");
    assert_eq!(answer[0]["jobs"], json!(["DEFAULT.Heartbeat", "warehouse.Inventory", "warehouse.StockReport"]));
    assert_eq!(answer[0]["triggers"].as_array().unwrap().len(), 4);
    assert!(answer[0]["triggers"][0]["next_fire_ms"].is_i64());
    assert_eq!(answer[0]["remarks"].as_array().unwrap().len(), 1);
    assert_eq!(place.json("trigger list").as_array().unwrap().len(), 4);
    assert_eq!(place.json("doctor --invariants"), json!({"findings": []}));

    assert!(place.fine("import quartz_data.xml").contains("stored job warehouse.Inventory"));
    let kept = place.json("import quartz_data.xml --keep-unchanged");
    // Also the one that starts a while after it is stored: when that was does not count.
    assert_eq!((kept[0]["jobs"].clone(), kept[0]["unchanged"].as_array().unwrap().len()), (json!([]), 4));
}

#[test]
fn flags_and_protected_groups_are_options() {
    let place = Place::new();
    write(&place, "quartz_data.xml", QUARTZ_DATA);
    let class = "com.example.warehouse.jobs.InventoryJob";
    place.fine(&format!("import quartz_data.xml --non-concurrent {class} --persist-data {class}"));
    let job = place.json("job show warehouse.Inventory");
    assert_eq!(
        (&job["non_concurrent"], &job["persist_data"], &job["recover"]),
        (&json!(true), &json!(true), &json!(true))
    );
    place.fine("job add warehouse-legacy.a --type t");
    place.fine("import quartz_data.xml --protect warehouse-legacy");
    place.fine("job show warehouse-legacy.a");
    place.fine("import quartz_data.xml");
    place.refused(1, "job show warehouse-legacy.a");
}

#[test]
fn nothing_is_stored_if_any_file_cannot_be_read() {
    let place = Place::new();
    write(&place, "good.xml", QUARTZ_DATA);
    write(&place, "bad.xml", &QUARTZ_DATA.replace("<recover>", "<recoverd>"));
    write(&place, "worse.xml", "<jobs>");
    let complaint = place.refused(2, "import good.xml bad.xml worse.xml none.xml");
    for problem in ["bad.xml:", "worse.xml:1: <jobs>", "none.xml: cannot be read"] {
        assert!(complaint.contains(problem), "{complaint}");
    }
    assert_eq!(place.json("job list"), json!([]));
    place.refused(2, "import");
}

#[test]
fn a_refusal_names_every_reason_and_changes_nothing() {
    let place = Place::new();
    let keep = QUARTZ_DATA.replace("<overwrite-existing-data>true", "<overwrite-existing-data>false");
    write(&place, "quartz_data.xml", &keep);
    place.fine("import quartz_data.xml");
    let before = place.json("trigger list");
    let complaint = place.refused(1, "import quartz_data.xml");
    assert_eq!(complaint.lines().filter(|line| line.contains("exists already")).count(), 7, "{complaint}");
    assert!(complaint.lines().all(|line| line.starts_with("carnelian: quartz_data.xml:")), "{complaint}");
    assert_eq!(place.json("trigger list"), before);
    write(&place, "skip.xml", &keep.replace("<ignore-duplicates>false", "<ignore-duplicates>true"));
    assert!(place.fine("import skip.xml").contains("passed over trigger warehouse.weekdays"));
    assert_eq!(place.json("trigger list"), before);
}
