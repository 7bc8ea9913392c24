//! Parked work: it is listed, shown, named by `doctor`, run again and deleted.

use super::{Place, text, write_config};
use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};
use serde_json::{Value, json};

/// As a node leaves it that has taken the work of `g.NAME` over ten times.
fn park(place: &Place, name: &str) {
    let path = place.path("carnelian.db");
    let mut db = SqliteConnection::establish(path.to_str().unwrap()).unwrap();
    db.batch_execute(&format!(
        "UPDATE QRTZ_TRIGGERS SET TRIGGER_STATE = 'ERROR' WHERE TRIGGER_NAME = '{name}'; \
         INSERT INTO QRTZ_CN_PARKED SELECT SCHED_NAME, TRIGGER_NAME, TRIGGER_GROUP, 'f-1', 'taken over 10 times', 10, 1234567890123 \
         FROM QRTZ_TRIGGERS WHERE TRIGGER_NAME = '{name}'"
    ))
    .unwrap();
}

#[test]
fn parked_work_is_listed_named_by_doctor_retried_and_deleted() {
    let place = Place::new();
    write_config(&place.path("carnelian.properties"), "");
    place.fine("migrate");
    assert_eq!(place.json("parked list"), json!([]));
    for name in ["a", "b"] {
        place.fine(&format!(
            "schedule --job g.{name} --type command --trigger g.{name} --at 2040-01-01T00:00:00Z --data argv=true \
             --recover --max-takeovers 10"
        ));
        park(&place, name);
    }
    let parked = place.json("parked list");
    assert_eq!(parked.as_array().unwrap().len(), 2);
    let expected = json!({"key": "g.a", "trigger": "g.a", "job": "g.a", "fire_id": "f-1", "reason": "taken over 10 times", "takeovers": 10,
        "since_ms": 1_234_567_890_123_i64});
    assert_eq!(parked[0], expected);
    assert_eq!(place.json("parked show g.a"), expected);
    assert!(place.fine("parked list").contains("taken over 10 times"));
    let reasons = place.json("explain g.a")["reasons"].to_string();
    assert!(reasons.contains("it is parked: taken over 10 times") && reasons.contains("parked retry"), "{reasons}");

    let doctor = place.run(&["doctor", "--json"]).with(1, "doctor");
    let doctor: Value = serde_json::from_str(&doctor.out).unwrap();
    let findings: Vec<_> =
        doctor["findings"].as_array().unwrap().iter().map(|f| (text(f, "kind"), text(f, "subject"))).collect();
    assert_eq!(findings, [("parked", "g.a"), ("parked", "g.b")]);

    place.fine("parked retry g.a");
    place.refused(1, "parked retry g.a");
    place.refused(1, "parked show g.a");
    place.fine("parked delete g.b");
    assert_eq!(place.json("parked list"), json!([]));
    let triggers = place.json("trigger list");
    assert_eq!((triggers.as_array().unwrap().len(), text(&triggers[0], "state")), (1, "WAITING"));
    assert_eq!(place.json("doctor --invariants"), json!({"findings": []}));
}
