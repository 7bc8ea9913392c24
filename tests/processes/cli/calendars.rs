//! Calendars: put, listed, shown, deleted, named by triggers, and explained by `explain` and
//! `doctor`.

use super::{Place, text};
use serde_json::json;

const HOLIDAYS: &str = r#"{
  "type": "holiday", "tz": "Europe/Berlin", "description": "no work",
  "dates": ["2040-01-02"],
  "base": { "type": "weekly", "tz": "Europe/Berlin", "days": ["SUN", "SAT"] }
}"#;

/// A place with tables, and files of these names with these definitions.
fn place(files: &[(&str, &str)]) -> Place {
    let place = Place::new();
    place.fine("migrate");
    for (name, definition) in files {
        std::fs::write(place.path(name), definition).unwrap();
    }
    place
}

#[test]
fn a_calendar_is_put_listed_shown_and_deleted() {
    let place =
        place(&[("holidays.json", HOLIDAYS), ("nights.json", r#"{"type": "daily", "from": "08:00", "to": "18:00"}"#)]);
    assert_eq!(place.json("calendar list"), json!([]));
    assert!(place.fine("calendar put work holidays.json").contains("holiday in Europe/Berlin over weekly"));
    place.fine("calendar put nights nights.json");
    assert_eq!(
        place.json("calendar list"),
        json!([
            {"calendar": "nights", "type": "daily", "tz": null, "description": null, "error": null},
            {"calendar": "work", "type": "holiday", "tz": "Europe/Berlin", "description": "no work", "error": null},
        ])
    );
    assert!(place.fine("calendar list").contains("no work"));

    // A shown definition can be put again.
    let shown = place.json("calendar show work");
    assert_eq!(shown["calendar"], json!("work"));
    assert_eq!(shown["definition"], serde_json::from_str::<serde_json::Value>(HOLIDAYS).unwrap());
    assert!(place.fine("calendar show work").contains("\"2040-01-02\""));
    std::fs::write(place.path("again.json"), shown["definition"].to_string()).unwrap();
    assert!(place.refused(1, "calendar put work again.json").contains("calendar `work`"));
    place.fine("calendar put work again.json --replace");
    assert_eq!(place.json("calendar show work"), shown);

    place.fine("calendar delete nights");
    assert!(place.refused(1, "calendar delete nights").contains("calendar `nights` does not exist"));
    assert!(place.refused(1, "calendar show nights").contains("does not exist"));
}

#[test]
fn a_bad_definition_is_refused_with_what_is_wrong() {
    let place = place(&[("bad.json", r#"{"type": "weekly", "days": ["SAMSTAG"]}"#)]);
    let complaint = place.refused(2, "calendar put work bad.json");
    assert!(
        complaint.contains("bad.json") && complaint.contains("SAMSTAG") && complaint.contains("SAT"),
        "{complaint}"
    );
    assert!(place.refused(2, "calendar put work missing.json").contains("missing.json"));
    assert!(place.refused(2, "calendar put work bad.json --update-triggers").contains("--replace"));
    assert_eq!(place.json("calendar list"), json!([]));
}

#[test]
fn a_trigger_leaves_out_what_its_calendar_excludes() {
    let place = place(&[("holidays.json", HOLIDAYS), ("none.json", r#"{"type": "base"}"#)]);
    // 2040-01-01 is a Sunday.
    let start = "schedule --job g.work --type t --trigger g.daily --every 1d --start 2040-01-01T08:00:00+01:00";
    let complaint = place.refused(1, &format!("{start} --calendar work"));
    assert!(complaint.contains("calendar `work` does not exist"), "{complaint}");
    place.fine("calendar put work holidays.json");
    place.fine(&format!("{start} --calendar work"));
    let trigger = place.json("trigger show g.daily");
    assert_eq!(text(&trigger, "calendar"), "work");
    assert_eq!(trigger["next_fire_ms"], json!(2_209_186_800_000_i64), "Tuesday, 2040-01-03T08:00+01:00");

    let complaint = place.refused(1, "calendar delete work");
    assert!(complaint.contains("`g.daily`"), "{complaint}");
    place.fine("trigger pause g.daily");
    place.fine("calendar put work none.json --replace --update-triggers");
    let trigger = place.json("trigger show g.daily");
    assert_eq!(trigger["next_fire_ms"], json!(2_209_014_000_000_i64), "Sunday, 2040-01-01T08:00+01:00");
    assert_eq!(text(&trigger, "state"), "WAITING");
}

#[test]
fn doctor_and_explain_name_calendars_that_nobody_can_use() {
    use carnelian::calendar::{Calendar, Weekdays};
    use carnelian::settings::Settings;
    use carnelian::store::row::CalendarRow;
    use carnelian::store::{Database as _, Lock, SqlDatabase, TxMode};
    use std::sync::Arc;

    let place = place(&[("holidays.json", HOLIDAYS)]);
    for name in ["odd", "gone", "full"] {
        place.fine(&format!("calendar put {name} holidays.json"));
        place.fine(&format!("schedule --job g.{name} --type t --trigger g.{name} --every 1d --calendar {name}"));
    }
    place.json("doctor --invariants");

    let bytes = Calendar::new(Weekdays::weekend()).to_java_bytes().unwrap();
    let (ours, theirs) = (&b"WeeklyCalendar"[..], &b"MoonlyCalendar"[..]);
    let at = bytes.windows(ours.len()).position(|window| window == ours).unwrap();
    let bytes = [&bytes[..at], theirs, &bytes[at + ours.len()..]].concat();
    let url = format!("sqlite:{}", place.path("carnelian.db").display()).parse().unwrap();
    let clock = Arc::new(carnelian::clock::SystemClock::default());
    let database = SqlDatabase::open(&Settings::in_database("QuartzScheduler", url), clock).unwrap();
    let odd = CalendarRow { name: "odd".to_owned(), bytes };
    database
        .transact("tamper", TxMode::Exclusive(Lock::TriggerAccess), &mut |s| {
            s.rows::<CalendarRow>().with("name", "odd").write(&odd)?;
            s.rows::<CalendarRow>().with("name", "gone").delete().map(drop)
        })
        .unwrap();
    let never = json!({"type": "monthly", "days": (1..=31).collect::<Vec<_>>()});
    std::fs::write(place.path("never.json"), never.to_string()).unwrap();
    place.fine("calendar put full never.json --replace --update-triggers");

    let list = place.json("calendar list");
    assert!(text(&list[1], "error").contains("org.quartz.impl.calendar.MoonlyCalendar"), "{list}");
    assert!(place.refused(1, "calendar show odd").contains("MoonlyCalendar"));
    let ran = place.run(&["doctor", "--invariants", "--json"]).with(1, "doctor");
    let findings: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let mut found: Vec<(&str, &str)> = findings["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| (text(finding, "kind"), text(finding, "subject")))
        .collect();
    found.sort_unstable();
    assert_eq!(found, [("missing_calendar", "g.gone"), ("no_time_left", "g.full"), ("unreadable_calendar", "odd")]);
    assert!(place.fine("explain g.gone").contains("calendar `gone` does not exist"));
    assert!(place.fine("explain g.odd").contains("MoonlyCalendar"));
}
