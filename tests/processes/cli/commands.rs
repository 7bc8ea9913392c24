//! The commands that store, list, pause, explain and check.

use super::{Place, text};
use serde_json::{Value, json};

fn only(list: &Value) -> &Value {
    match list.as_array().map(Vec::as_slice) {
        Some([one]) => one,
        _ => panic!("not one element: {list}"),
    }
}

#[test]
fn a_scheduled_trigger_is_listed_with_the_fields_scripts_rely_on() {
    let place = Place::new();
    place.fine("migrate");
    place.fine(
        "schedule --job g.work --type demo.sleep --trigger g.soon --at 2040-01-01T00:00:00+01:00 --priority 7 \
         --data ms=100 --recover --misfire fire-now",
    );
    let expected = json!([{
        "trigger": "g.soon", "job": "g.work", "type": "SIMPLE", "state": "WAITING",
        "next_fire_ms": 2_208_985_200_000_i64, "prev_fire_ms": null, "priority": 7, "misfire": "fire-now",
    }]);
    assert_eq!(place.json("trigger list"), expected);
    assert_eq!(place.json("trigger list --group other"), json!([]));
    let job = place.json("job show g.work");
    assert_eq!((&job["data"], &job["recover"], &job["durable"]), (&json!({"ms": "100"}), &json!(true), &json!(false)));
    assert_eq!(job["triggers"], json!(["g.soon"]));
    assert!(place.fine("trigger list").contains("2039-12-31T23:00:00.000Z"));
    assert_eq!(text(&place.json("trigger show g.soon"), "schedule"), "once");
}

#[test]
fn a_request_is_taken_once_whoever_asks_again() {
    let place = Place::new();
    let ask =
        "schedule --job g.work --type demo.sleep --trigger g.soon --at 2040-01-01T00:00:00Z --request-id order-17";
    let first = place.json(ask);
    assert_eq!((&first["is_new"], text(&first, "trigger")), (&json!(true), "g.soon"));
    // A script that runs again, and makes up other names, is told what stands for its request.
    let other = ask.replace("g.work", "g.again").replace("g.soon", "g.later");
    let second = place.json(&other);
    assert_eq!(
        (&second["is_new"], text(&second, "trigger"), text(&second, "job")),
        (&json!(false), "g.soon", "g.work")
    );
    assert_eq!(second["next_fire_ms"], json!(2_208_988_800_000_i64));
    assert_eq!(only(&place.json("trigger list"))["trigger"], json!("g.soon"));
    // Another request of the same job adds a trigger to it, and is taken once too.
    let more = ask.replace("g.soon", "g.more").replace("order-17", "order-18");
    for is_new in [true, false] {
        let third = place.json(&more);
        assert_eq!(
            (&third["is_new"], text(&third, "trigger"), text(&third, "job")),
            (&json!(is_new), "g.more", "g.work")
        );
    }
    assert_eq!(place.json("job show g.work")["triggers"], json!(["g.more", "g.soon"]));
    let complaint = place.refused(1, &more.replace("demo.sleep", "demo.append").replace("order-18", "order-19"));
    assert!(complaint.contains("differs in: type;"), "{complaint}");
}

#[test]
fn an_existing_job_gets_another_trigger_but_no_other_definition() {
    let place = Place::new();
    let job = "schedule --job g.work --type demo.append --data a=1";
    place.fine(&format!("{job} --trigger g.one --every 1h"));
    place.fine(&format!("{job} --trigger g.two --every 1h --repeat 3"));
    let complaint = place.refused(1, &format!("{job} --trigger g.two --every 2h"));
    assert!(complaint.starts_with("carnelian: ") && complaint.contains("g.two"), "{complaint}");
    let complaint = place.refused(1, "schedule --job g.work --type demo.sleep --trigger g.three --every 1h");
    assert!(complaint.contains("differs in: type, data;"), "{complaint}");
    place.fine("schedule --job g.work --type demo.sleep --trigger g.two --every 2h --replace");
    assert_eq!(text(&place.json("job show g.work"), "type"), "demo.sleep");
    assert!(text(&place.json("trigger show g.two"), "schedule").starts_with("every 2 hours, 0 times"));
    assert_eq!(place.json("trigger list").as_array().unwrap().len(), 2);
}

#[test]
fn cron_triggers_keep_their_zone_and_misfire() {
    let place = Place::new();
    let words = [
        "schedule",
        "--job",
        "work",
        "--type",
        "t",
        "--trigger",
        "noon",
        "--cron",
        "0 0 12 * * ?",
        "--tz",
        "Europe/Paris",
        "--misfire",
        "do-nothing",
        "--start",
        "2040-06-30T23:00:00Z",
        "--end",
        "2041-01-01T00:00:00Z",
    ];
    place.run(&words).with(0, "schedule");
    let trigger = place.json("trigger show noon");
    assert_eq!(trigger["next_fire_ms"], json!(2_224_749_600_000_i64));
    assert_eq!(text(&trigger, "schedule"), "cron 0 0 12 * * ? in Europe/Paris");
    assert_eq!(text(&trigger, "misfire"), "do-nothing");
    assert_eq!(text(&trigger, "trigger"), "DEFAULT.noon");
}

#[test]
fn calendar_intervals_count_by_the_calendar_of_their_zone() {
    let place = Place::new();
    let start = "schedule --job work --type t --trigger monthly --start 2040-03-01T08:00:00Z";
    place.fine(&format!("{start} --calendar-interval 1month --tz Europe/Paris --misfire do-nothing"));
    let trigger = place.json("trigger show monthly");
    assert_eq!((text(&trigger, "type"), trigger["next_fire_ms"].as_i64()), ("CAL_INT", Some(2_214_201_600_000)));
    assert_eq!(text(&trigger, "schedule"), "every month of the calendar in Europe/Paris, 0 times are over");
    place.fine(&format!("{start} --calendar-interval 2weeks --preserve-hour --skip-day --replace"));
    let trigger = place.json("trigger show monthly");
    let expected = "every 2 weeks of the calendar in UTC, at the same hour or not at all, 0 times are over";
    assert_eq!(text(&trigger, "schedule"), expected);
    assert!(place.json("explain monthly")["reasons"].to_string().contains("its time has not come"));
}

#[test]
fn recurrences_are_read_told_and_named_by_doctor_beside_quartz() {
    let place = Place::new();
    let words = [
        "schedule",
        "--job",
        "work",
        "--type",
        "t",
        "--trigger",
        "fridays",
        "--start",
        "2040-01-06T08:00:00Z",
        "--tz",
        "Europe/Paris",
        "--misfire",
        "do-nothing",
        "--rrule",
        "FREQ=WEEKLY;BYDAY=FR\nEXDATE:20400113T090000",
    ];
    place.run(&words).with(0, "schedule");
    let trigger = place.json("trigger show fridays");
    assert_eq!((text(&trigger, "type"), trigger["next_fire_ms"].as_i64()), ("RRULE", Some(2_209_449_600_000)));
    assert_eq!(text(&trigger, "misfire"), "do-nothing");
    let expected = "recurs by FREQ=WEEKLY;BYDAY=FR in Europe/Paris, but not 2040-01-13 09:00:00";
    assert_eq!(text(&trigger, "schedule"), expected);
    assert_eq!(place.json("doctor --invariants"), json!({"findings": []}));
    let start = "schedule --job work --type t --trigger other --rrule";
    assert!(place.refused(2, &format!("{start} FREQ=MINUTELY")).contains("a simple or a cron schedule"));
    assert!(place.refused(2, &format!("{start} FREQ=DAILY --repeat 3")).contains("--repeat"));

    super::configuration::sql(
        &place,
        "INSERT INTO QRTZ_SCHEDULER_STATE (SCHED_NAME, INSTANCE_NAME, LAST_CHECKIN_TIME, CHECKIN_INTERVAL) \
         SELECT SCHED_NAME, 'java', 9999999999999, 15000 FROM QRTZ_TRIGGERS",
    );
    let ran = place.run(&["doctor", "--json"]).with(1, "doctor");
    assert!(ran.out.contains("\"unknown_to_quartz\"") && ran.out.contains("fridays"), "{}", ran.out);
}

#[test]
fn options_are_told_and_named_by_doctor_while_quartz_suspends_them() {
    let place = Place::new();
    let start = "schedule --job work --type com.acme.Work --trigger monthly --calendar-interval 1month";
    place.fine(&format!("{start} --start 2040-01-31T08:00:00Z --without-drift"));
    let shown = || place.json("trigger show monthly")["options"].clone();
    assert_eq!(shown(), json!(["without-drift"]));
    assert!(place.fine("trigger show monthly").contains("without-drift"));
    assert_eq!(place.json("doctor --invariants"), json!({"findings": []}));

    super::configuration::sql(
        &place,
        "INSERT INTO QRTZ_SCHEDULER_STATE (SCHED_NAME, INSTANCE_NAME, LAST_CHECKIN_TIME, CHECKIN_INTERVAL) \
         SELECT SCHED_NAME, 'java', 9999999999999, 15000 FROM QRTZ_TRIGGERS",
    );
    let ran = place.run(&["doctor", "--json"]).with(1, "doctor");
    let found = "its options `without-drift` have no effect while `java` is a node of Quartz";
    assert!(ran.out.contains("\"suspended_options\"") && ran.out.contains(found), "{}", ran.out);
    assert_eq!(shown(), json!([]), "what has no effect is not shown");
    let complaint = place.refused(1, &format!("{start} --without-drift --replace"));
    assert!(complaint.contains("without-drift") && complaint.contains("`java` is a node of Quartz"), "{complaint}");

    super::configuration::sql(
        &place,
        "DELETE FROM QRTZ_SCHEDULER_STATE; UPDATE QRTZ_CN_TRIGGER_OPTIONS SET OPTIONS = 'x'",
    );
    let ran = place.run(&["doctor", "--json"]).with(1, "doctor");
    assert!(ran.out.contains("\"unreadable_row\"") && ran.out.contains("OPTIONS = `x`"), "{}", ran.out);
}

#[test]
fn daily_intervals_are_read_in_the_scheduler_s_zone() {
    let place = Place::new();
    super::write_config(&place.path("carnelian.properties"), "carnelian.scheduler.timeZone = Europe/Paris\n");
    place.fine("migrate");
    place.fine(
        "schedule --job work --type t --trigger office --daily-every 15m --from 09:00 --to 17:00 --days mon-fri \
         --repeat 7 --start 2040-06-02T00:00:00Z",
    );
    // The 2nd is a Saturday; nine in Paris is seven in UTC.
    let trigger = place.json("trigger show office");
    assert_eq!((text(&trigger, "type"), trigger["next_fire_ms"].as_i64()), ("DAILY_I", Some(2_222_406_000_000)));
    let expected = "every 15 minutes from 09:00:00 to 17:00:00 on Mon, Tue, Wed, Thu, Fri in Europe/Paris, \
                    0 of 8 times are over";
    assert_eq!(text(&trigger, "schedule"), expected);
    assert!(place.fine("trigger list").contains("DAILY_I"));
}

#[test]
fn usage_errors_have_code_2_and_say_what_is_accepted() {
    let place = Place::new();
    place.fine("migrate");
    let start = "schedule --job g.j --type t --trigger g.t";
    for (line, hint) in [
        (start.to_owned(), "--cron"),
        (format!("{start} --every 5s --at now"), "cannot be used"),
        (format!("{start} --every 5"), "30s"),
        (format!("{start} --every 0s"), "at least 1 ms"),
        (format!("{start} --at tomorrow"), "ISO 8601"),
        (format!("{start} --every 5s --misfire do-nothing"), "SIMPLE"),
        (format!("{start} --every 5s --misfire never"), "do-nothing"),
        (format!("{start} --every 5s --tz Mars/Base"), "--tz"),
        (format!("{start} --every 5s --data novalue"), "KEY=VALUE"),
        (format!("{start} --daily-every 5m --tz UTC"), "cannot be used"),
        (format!("{start} --calendar-interval 1month --repeat 2"), "cannot be used"),
        (format!("{start} --calendar-interval 1m"), "1month"),
        (format!("{start} --calendar-interval 0days"), "1 to 2147483647"),
        (format!("{start} --every 5m --from 09:00"), "cannot be used"),
        (format!("{start} --at now --preserve-hour"), "cannot be used"),
        (format!("{start} --calendar-interval 1day --skip-day"), "--preserve-hour"),
        (format!("{start} --daily-every 25h"), "at most 24 hours"),
        (format!("{start} --daily-every 5m --from 10:00 --to 9:00"), "10:00:00"),
        (format!("{start} --daily-every 5m --days someday"), "no day of the week"),
        (format!("{start} --cron bad"), "cron"),
        (format!("{start} --at 2040-01-01T00:00:00Z --end 2039-01-01T00:00:00Z"), "never fire"),
        ("trigger show".to_owned(), "Usage"),
        ("fly".to_owned(), "unrecognized"),
    ] {
        let complaint = place.refused(2, &line);
        assert!(complaint.contains(hint), "{line}: {complaint}");
    }
    assert_eq!(place.json("trigger list"), json!([]));
}

#[test]
fn pauses_are_seen_in_states_and_explained() {
    let place = Place::new();
    place.fine("schedule --job g.work --type t --trigger g.a --every 1h --start +1h");
    let state = |key: &str| text(&place.json(&format!("trigger show {key}")), "state").to_owned();
    let reasons = |key: &str| place.json(&format!("explain {key}"))["reasons"].to_string();

    assert!(reasons("g.a").contains("its time has not come") && reasons("g.a").contains("no node is alive"));
    place.fine("trigger pause g.a");
    assert_eq!(state("g.a"), "PAUSED");
    assert!(reasons("g.a").contains("carnelian trigger resume g.a"));
    place.fine("trigger resume g.a");
    assert_eq!(state("g.a"), "WAITING");

    place.fine("group pause g");
    place.fine("schedule --job g.work --type t --trigger g.b --every 1h");
    assert_eq!((state("g.a"), state("g.b")), ("PAUSED".to_owned(), "PAUSED".to_owned()));
    assert!(reasons("g.b").contains("carnelian group resume g"));
    place.fine("group resume g");
    place.fine("job pause g.work");
    assert_eq!(state("g.b"), "PAUSED");
    place.fine("job resume g.work");

    place.fine("all pause");
    assert!(reasons("g.b").contains("carnelian all resume"));
    place.fine("all resume");
    assert_eq!((state("g.a"), state("g.b")), ("WAITING".to_owned(), "WAITING".to_owned()));
    place.refused(1, "trigger reset g.a");
    place.refused(1, "explain g.none");

    // Neither moves a trigger in the error state, and neither says that it did.
    super::configuration::sql(&place, "UPDATE QRTZ_TRIGGERS SET TRIGGER_STATE = 'ERROR' WHERE TRIGGER_NAME = 'a'");
    for word in ["pause", "resume"] {
        let refused = place.refused(1, &format!("trigger {word} g.a"));
        assert!(refused.contains("ERROR") && refused.contains("trigger reset"), "{refused}");
    }
    place.fine("trigger pause g.b");
    place.fine("trigger pause g.b");
    place.fine("trigger resume g.b");
    place.fine("trigger resume g.b");
}

#[test]
fn warnings_limits_and_differences_are_told_as_they_are() {
    let place = Place::new();
    place.fine("schedule --job g.work --type t --trigger g.a --every 1h --start +1h --data a=1 --durable");
    let warned = place.run(&["drain", "nobody"]).with(0, "drain").err;
    assert!(warned.contains("no node `nobody` has checked in"), "{warned}");
    assert_eq!(place.run(&["drain", "nobody", "--quiet"]).with(0, "drain --quiet").err, "");
    assert!(place.refused(2, "trigger list --limit 0").contains("--limit"));

    let add = ["schedule", "--job", "g.work", "--type", "t", "--every", "1h", "--durable", "--trigger"];
    let with = |trigger: &str, data: &[&str]| place.run(&[&add[..], &[trigger], data].concat());
    with("g.b", &["--data", "a=1"]).with(0, "the same data");
    place.run(&["job", "add", "g.two", "--type", "t", "--data", "a=1", "--data", "b=2"]).with(0, "two");
    let other = ["schedule", "--job", "g.two", "--type", "t", "--every", "1h", "--durable", "--trigger", "g.c"];
    let refused = place.run(&[&other[..], &["--data", "a=1 b=2"]].concat()).with(1, "one entry, not two").err;
    assert!(refused.contains("data"), "{refused}");

    std::fs::write(place.path("large"), " ".repeat(1 << 20) + "{}").unwrap();
    let refused = place.refused(2, "calendar put large large");
    assert!(refused.contains("larger than"), "{refused}");
}

#[test]
fn jobs_are_added_run_and_deleted() {
    let place = Place::new();
    place.fine("job add g.work --type demo.append --data a=1 --description work --non-concurrent");
    place.refused(1, "job add g.work --type demo.append");
    let list = place.json("job list");
    let job = only(&list);
    assert_eq!((text(job, "job"), text(job, "type"), &job["durable"]), ("g.work", "demo.append", &json!(true)));
    place.fine("job run g.work --data b=2");
    let list = place.json("trigger list");
    assert_eq!(text(only(&list), "job"), "g.work");
    place.fine("job delete g.work");
    place.refused(1, "job delete g.work");
    place.refused(1, "job show g.work");
    place.refused(1, "job run g.work");
    place.refused(1, "job pause g.work");
    assert_eq!(place.json("trigger list"), json!([]));
}

#[test]
fn deleting_the_last_trigger_deletes_a_job_that_is_not_durable() {
    let place = Place::new();
    place.fine("schedule --job g.work --type t --trigger g.t --every 1h");
    place.fine("schedule --job g.kept --type t --trigger g.u --every 1h --durable");
    place.fine("trigger delete g.t");
    place.fine("trigger delete g.u");
    place.refused(1, "trigger delete g.t");
    let list = place.json("job list");
    assert_eq!(text(only(&list), "job"), "g.kept");
}

#[test]
fn a_monitor_gets_its_answer_by_exit_code() {
    let place = Place::new();
    place.fine("schedule --job g.work --type t --trigger g.late --at 2020-01-01T00:00:00Z");
    place.fine("schedule --job g.work --type t --trigger g.early --at +1h");
    place.fine("check --max-overdue 1");
    place.refused(1, "check --max-overdue 0");
    place.refused(1, "check --min-nodes 1");
    let answer = place.json("check");
    assert_eq!((&answer["ok"], &answer["overdue"], &answer["nodes"]), (&json!(true), &json!(1), &json!(0)));
    assert_eq!(place.json("cluster"), json!([]));
    assert_eq!(place.json("running"), json!([]));
}

#[test]
fn doctor_finds_nothing_in_a_sound_store_and_names_what_is_wrong_in_another() {
    let place = Place::new();
    place.fine("schedule --job g.work --type t --trigger g.t --every 1h --non-concurrent");
    assert_eq!(place.json("doctor --invariants"), json!({"findings": []}));
    super::configuration::sql(&place, "UPDATE QRTZ_TRIGGERS SET TRIGGER_STATE = 'BLOCKED'");
    let ran = place.run(&["doctor", "--json"]).with(1, "doctor");
    let answer: Value = serde_json::from_str(&ran.out).unwrap();
    let finding = only(&answer["findings"]);
    assert_eq!((text(finding, "kind"), text(finding, "subject")), ("stuck", "g.t"));
    assert_eq!(finding["repairable"], json!(true));
    assert!(text(finding, "detail").contains("BLOCKED"));
}

#[test]
fn a_row_that_cannot_be_read_is_named_by_its_key() {
    let place = Place::new();
    place.fine("schedule --job g.work --type t --trigger g.t --every 1h");
    super::configuration::sql(&place, "DELETE FROM QRTZ_SIMPLE_TRIGGERS");
    let ran = place.run(&["doctor", "--json"]).with(1, "doctor");
    assert!(ran.out.contains("\"unreadable_row\"") && ran.out.contains("g.t"), "{}", ran.out);
    let reasons = place.json("explain g.t")["reasons"].to_string();
    assert!(reasons.contains("cannot be read"), "{reasons}");
}

#[test]
fn a_trigger_of_a_kind_that_only_java_knows_is_listed_and_named() {
    let place = Place::new();
    place.fine("schedule --job g.work --type t --trigger g.t --calendar-interval 1day");
    super::configuration::sql(&place, "UPDATE QRTZ_TRIGGERS SET TRIGGER_TYPE = 'BLOB'");
    assert_eq!(text(only(&place.json("trigger list")), "type"), "BLOB");
    let ran = place.run(&["doctor", "--json"]).with(1, "doctor");
    assert!(ran.out.contains("kind BLOB: this program does not know the kind"), "{}", ran.out);
    let reasons = place.json("explain g.t")["reasons"].to_string();
    assert!(reasons.contains("nodes leave it alone") && reasons.contains("knows SIMPLE, CRON, CAL_INT"), "{reasons}");
    place.refused(1, "trigger show g.t");
    place.fine("trigger delete g.t");
    assert_eq!(place.json("doctor --invariants"), json!({"findings": []}));
}

#[test]
fn cron_commands_need_no_database() {
    let place = Place::new();
    let noon = ["cron", "next", "0 0 12 ? * MON-FRI", "--tz", "Europe/Paris", "--from", "0", "--count", "2"];
    assert_eq!(place.run(&noon).with(0, "cron next").out, "1970-01-01T12:00:00+01:00\n1970-01-02T12:00:00+01:00\n");
    let words: Vec<&str> = noon.into_iter().chain(["--json"]).collect();
    assert_eq!(
        place.run(&words).with(0, "cron next").out.trim().replace(char::is_whitespace, ""),
        "[39600000,126000000]"
    );
    assert!(place.run(&["cron", "explain", "0 0 12 ? * MON-FRI"]).with(0, "explain").out.contains("12:00"));
    place.run(&["cron", "next", "0 0 12 1 1 ? 2020", "--from", "1700000000000"]).with(1, "no time left");
    place.run(&["cron", "next", "0 0 25 * * ?"]).with(2, "bad");
    assert!(!place.path("carnelian.db").exists());
}

#[test]
fn policies_are_stored_shown_and_explained() {
    let place = Place::new();
    place.fine(
        "schedule --job g.work --type t --trigger g.t --every 1h --overlap buffer-one --catch-up 90s --pause-on-failure",
    );
    place.fine("schedule --job g.work --type t --trigger g.plain --every 1h");
    let shown = place.json("trigger show g.t");
    assert_eq!(
        (&shown["overlap"], &shown["catch_up_ms"], &shown["pause_on_failure"]),
        (&json!("buffer-one"), &json!(90_000), &json!(true))
    );
    let shown = place.json("trigger show g.plain");
    assert_eq!(
        (&shown["overlap"], &shown["catch_up_ms"], &shown["pause_on_failure"]),
        (&json!("allow-all"), &Value::Null, &json!(false))
    );
    let table = place.fine("trigger show g.t");
    assert!(table.contains("buffer-one") && table.contains("90000 ms late") && table.contains("on failure"), "{table}");
    assert!(!place.fine("trigger show g.plain").contains("overlap"));
    place.fine("trigger pause g.t");
    assert!(place.fine("explain g.t").contains("a failed run of it, has paused it"));
    let complaint = place.refused(2, "schedule --job g.b --type t --trigger g.b --every 1h --overlap sometimes");
    assert!(complaint.contains("cancel-previous"), "{complaint}");
    let complaint = place.refused(2, "schedule --job g.b --type t --trigger g.b --every 1h --catch-up 10ms");
    assert!(complaint.contains("catch-up window"), "{complaint}");
    let lone = "schedule --job g.b --type t --trigger g.b --every 1h --overlap cancel-previous --non-concurrent";
    assert!(place.refused(1, lone).contains("disallows concurrent execution"));
}

#[test]
fn a_backfill_is_planned_stored_and_not_repeated() {
    let place = Place::new();
    place.fine("schedule --job g.work --type t --trigger g.t --calendar-interval 1day --start 2026-01-01T12:00:00Z");
    // The trigger has still to fire all of its times itself.
    let range = "trigger backfill g.t --from 2026-01-01T00:00:00Z --to 2026-01-03T23:00:00Z";
    assert_eq!(place.json(range)["fires"], json!([]));
    assert_eq!(place.fine(range), "g.t has no fire in this range\n");
    assert_eq!(place.json("trigger backfill g.t --from -2h --to -1h")["fires"], json!([]));
    let mut words = "schedule --job g.noon --type t --trigger g.noon --cron".split(' ').collect::<Vec<_>>();
    words.push("0 0 12 * * ?");
    place.run(&words).with(0, "schedule");
    let range = range.replace("g.t", "g.noon");
    let plan = place.json(&format!("{range} --dry-run"));
    assert_eq!((&plan["new"], &plan["dry_run"]), (&json!(3), &json!(true)));
    assert_eq!(place.json("trigger list --group BACKFILL"), json!([]));
    assert!(place.fine(&format!("{range} --dry-run")).contains("3 of 3 fires of g.noon: would be stored"));
    let done = place.json(&range);
    assert_eq!(done["fires"][0]["scheduled_fire_ms"], json!(1_767_268_800_000_i64));
    assert_eq!(done["fires"][0]["trigger"], json!("BACKFILL.g.noon-2026-01-01T12:00:00.000Z"));
    assert_eq!(place.json("trigger list --group BACKFILL").as_array().unwrap().len(), 3);
    assert!(place.fine(&range).contains("0 of 3 fires of g.noon: stored"));
    let complaint = place.refused(2, &format!("{range} --most 2"));
    let told = "at most 2 fires, and there are 3: give a shorter range, or allow more (`--most`)";
    assert!(complaint.contains(told), "{complaint}");
    assert!(place.refused(1, &range.replace("g.noon", "g.none")).contains("g.none"));
}

/// Groups of Quartz are often Java packages.
#[test]
fn a_group_with_dots_is_named_by_json() {
    let place = Place::new();
    place.fine("migrate");
    let (job, trigger) = (r#"["com.acme.billing","nightly"]"#, r#"["com.acme","t.1"]"#);
    place.fine(&format!("schedule --job {job} --type t --trigger {trigger} --at 2040-01-01T00:00:00Z --durable"));
    let shown = place.json(&format!("job show {job}"));
    assert_eq!((text(&shown, "job"), &shown["triggers"]), ("com.acme.billing.nightly", &json!(["com.acme.t.1"])));
    assert_eq!(place.json(&format!("trigger list --job {job}")).as_array().unwrap().len(), 1);
    for (key, way_out) in [("job delete com.acme.billing.nightly", job), ("trigger pause com.acme.t.1", trigger)] {
        let complaint = place.refused(1, key);
        assert!(complaint.contains(way_out), "{complaint}");
    }
    place.fine(&format!("trigger pause {trigger}"));
    place.fine(&format!("job delete {job}"));
    assert_eq!(place.json("job list"), json!([]));
}
