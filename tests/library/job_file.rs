//! Job files from outside: every element with its value, every kind of mistake with its line,
//! hostile input.
#![cfg(feature = "job-files")]

use carnelian::job_file::{JobFile, JobFileError, JobFileErrors, JobFlags};
use carnelian::{DataValue, JobKey, MisfireInstruction, Schedule, Trigger, TriggerKey};
use chrono_tz::{Tz, UTC};

/// The job file of a Java service, unchanged.
const QUARTZ_DATA: &str = include_str!("../testdata/quartz_data.xml");

const NAMESPACE: &str = "http://www.quartz-scheduler.org/xml/JobSchedulingData";

fn parse_in(text: &str, zone: Tz) -> Result<JobFile, JobFileErrors> {
    JobFile::parse("jobs.xml", text.as_bytes(), zone)
}

/// A document with these parts; they begin in line 2.
fn document(parts: &str) -> String {
    format!("<job-scheduling-data xmlns='{NAMESPACE}' version='2.0'>\n{parts}</job-scheduling-data>")
}

/// A file with one trigger; `trigger` begins in line 2.
fn one(trigger: &str) -> Result<JobFile, JobFileErrors> {
    parse_in(&document(&format!("<schedule><trigger>{trigger}</trigger></schedule>")), UTC)
}

fn simple(more: &str) -> Result<JobFile, JobFileErrors> {
    one(&format!("<simple><name>t</name><job-name>j</job-name>{more}</simple>"))
}

fn cron(more: &str) -> Result<JobFile, JobFileErrors> {
    one(&format!("<cron><name>t</name><job-name>j</job-name>{more}</cron>"))
}

fn only(file: &JobFile) -> &Trigger {
    let triggers: Vec<_> = file.triggers().collect();
    assert_eq!(triggers.len(), 1);
    triggers[0]
}

fn complaints(file: Result<JobFile, JobFileErrors>) -> Vec<String> {
    file.expect_err("a mistake").errors().iter().map(JobFileError::to_string).collect()
}

#[test]
fn the_file_of_a_java_service_is_read_unchanged() {
    let file = parse_in(QUARTZ_DATA, chrono_tz::Europe::Berlin).unwrap_or_else(|errors| panic!("{errors}"));
    assert!(file.overwrites_existing_data() && !file.ignores_duplicates());
    let jobs: Vec<_> = file.jobs().collect();
    let report = jobs[0];
    assert_eq!(report.key(), &JobKey::new("warehouse", "StockReport"));
    assert_eq!(report.job_type(), "com.example.warehouse.jobs.StockReportJob");
    assert_eq!(report.description(), Some("Mails the stock to whoever asked for it & keeps a copy"));
    assert!(report.is_durable() && !report.requests_recovery());
    assert_eq!(report.data().text("query"), Some("select * from stock where amount < 10 && open"));
    assert_eq!(report.data().value("cc"), Some(&DataValue::Null));
    assert!(report.data().text("recipients").unwrap().contains(",\n"));
    assert_eq!(jobs[1].key(), &JobKey::named("Heartbeat"));
    assert!(!jobs[2].is_durable() && jobs[2].requests_recovery());

    let triggers: Vec<_> = file.triggers().collect();
    let keys: Vec<_> = triggers.iter().map(|trigger| trigger.key().to_string()).collect();
    let expected =
        ["DEFAULT.heartbeat", "warehouse.weekdays", "warehouse.inventory", "DEFAULT.once", "warehouse.expired"];
    assert_eq!(keys, expected);
    let Schedule::Simple(heartbeat) = triggers[0].schedule() else { panic!() };
    assert_eq!((heartbeat.repeat_count(), heartbeat.interval().as_secs()), (None, 5));
    let weekdays = triggers[1];
    let Schedule::Cron(schedule) = weekdays.schedule() else { panic!() };
    assert_eq!((schedule.expression().text(), schedule.zone()), ("0 45 5 ? * MON-FRI", chrono_tz::Europe::Berlin));
    assert_eq!((weekdays.priority(), weekdays.misfire_instruction()), (8, MisfireInstruction::DoNothing));
    assert_eq!(weekdays.data().text("recipients"), Some("shift@example.com"));
    assert_eq!(weekdays.description(), Some("every weekday, before the first shift"));
    let inventory = triggers[2];
    assert_eq!(inventory.start_time().to_rfc3339(), "2020-02-09T09:15:00+00:00", "local time");
    assert_eq!(inventory.end_time().unwrap().to_rfc3339(), "2199-12-31T22:59:59+00:00");
    assert_eq!(inventory.misfire_instruction(), MisfireInstruction::RescheduleNowWithExistingCount);
    assert_eq!(triggers[4].job_key(), inventory.job_key());
}

#[test]
fn what_is_not_given_has_the_defaults_of_quartz() {
    let file = simple("").unwrap();
    assert!(file.overwrites_existing_data() && !file.ignores_duplicates());
    let trigger = only(&file);
    assert_eq!(trigger.key(), &TriggerKey::named("t"));
    assert_eq!(trigger.job_key(), &JobKey::named("j"));
    assert_eq!((trigger.priority(), trigger.misfire_instruction()), (5, MisfireInstruction::Smart));
    let Schedule::Simple(schedule) = trigger.schedule() else { panic!() };
    assert_eq!((schedule.repeat_count(), schedule.interval().as_millis()), (Some(0), 0));
    let zoned = parse_in(
        &document(
            "<schedule><trigger><cron><name>t</name><job-name>j</job-name><cron-expression>0 0 12 * * ?</cron-expression></cron></trigger></schedule>",
        ),
        chrono_tz::Asia::Tokyo,
    );
    let Schedule::Cron(schedule) = only(&zoned.unwrap()).schedule().clone() else { panic!() };
    assert_eq!(schedule.zone(), chrono_tz::Asia::Tokyo, "the machine's");
    assert!(parse_in(&document(""), UTC).unwrap().jobs().next().is_none());
    // The default of the schema for an element without a text.
    let empty = "<processing-directives><overwrite-existing-data/></processing-directives>";
    assert!(parse_in(&document(empty), UTC).unwrap().overwrites_existing_data());
}

#[test]
fn files_that_say_version_1_8_and_files_with_prefixes_are_read() {
    let old = QUARTZ_DATA.replace("version=\"2.0\"", "version=\"1.8\"").replace("_2_0.xsd", "_1_8.xsd");
    assert_eq!(parse_in(&old, UTC).unwrap().jobs().count(), 3);
    let prefixed = format!("<q:job-scheduling-data xmlns:q='{NAMESPACE}'><q:schedule/></q:job-scheduling-data>");
    assert!(parse_in(&prefixed, UTC).is_ok());
}

#[test]
fn every_misfire_instruction_of_the_schema_is_known_to_its_kind() {
    let misfire = |name: &str| format!("<misfire-instruction>MISFIRE_INSTRUCTION_{name}</misfire-instruction>");
    use MisfireInstruction::*;
    for (name, instruction) in [
        ("SMART_POLICY", Smart),
        ("FIRE_NOW", FireNow),
        ("RESCHEDULE_NOW_WITH_EXISTING_REPEAT_COUNT", RescheduleNowWithExistingCount),
        ("RESCHEDULE_NOW_WITH_REMAINING_REPEAT_COUNT", RescheduleNowWithRemainingCount),
        ("RESCHEDULE_NEXT_WITH_EXISTING_COUNT", RescheduleNextWithExistingCount),
        ("RESCHEDULE_NEXT_WITH_REMAINING_COUNT", RescheduleNextWithRemainingCount),
    ] {
        assert_eq!(only(&simple(&misfire(name)).unwrap()).misfire_instruction(), instruction);
    }
    let noon = "<cron-expression>0 0 12 * * ?</cron-expression>";
    for (name, instruction) in [("SMART_POLICY", Smart), ("FIRE_ONCE_NOW", FireOnceNow), ("DO_NOTHING", DoNothing)] {
        assert_eq!(only(&cron(&(misfire(name) + noon)).unwrap()).misfire_instruction(), instruction);
    }
    for wrong in [simple(&misfire("DO_NOTHING")), cron(&(misfire("FIRE_NOW") + noon))] {
        assert_eq!(complaints(wrong).len(), 1);
    }
    let ignored = complaints(simple(&misfire("IGNORE_MISFIRE_POLICY")));
    assert!(ignored[0].contains("expected one of MISFIRE_INSTRUCTION_SMART_POLICY"), "{ignored:?}");
}

#[test]
fn a_mistake_is_named_with_file_line_element_and_value() {
    let start = "jobs.xml:2: ";
    for (file, expected) in [
        (simple("<priority>high</priority>"), "<priority> \"high\": expected a whole number from 0 to 2147483647"),
        (simple("<priority>-1</priority>"), "<priority> \"-1\": expected"),
        (simple("<end-time>2030-01-01T00:00:00Z</end-time>"), "<simple>: <end-time> is given without <start-time> or"),
        (simple("<start-time>tomorrow</start-time>"), "<start-time> \"tomorrow\": expected a moment such as"),
        (
            simple("<start-time>2030-01-02T00:00:00Z</start-time><end-time>2030-01-01T00:00:00Z</end-time>"),
            "<simple>: trigger `DEFAULT.t` will never fire",
        ),
        (
            simple(
                "<start-time>2030-01-02T00:00:00Z</start-time><start-time-seconds-in-future>1</start-time-seconds-in-future>",
            ),
            "<start-time-seconds-in-future>: expected either this or <start-time>, not both",
        ),
        (simple("<repeat-count>2</repeat-count>"), "<simple>: <repeat-count> is given without <repeat-interval>"),
        (
            simple("<repeat-count>2</repeat-count><repeat-interval>0</repeat-interval>"),
            "<repeat-interval> \"0\": expected at least 1",
        ),
        (
            simple("<repeat-count>-2</repeat-count><repeat-interval>1</repeat-interval>"),
            "<repeat-count> \"-2\": expected",
        ),
        (simple("<job-group>g</job-group><group>g</group>"), "<group>: expected before <job-group>"),
        (simple("<name>u</name>"), "<name>: expected before <job-name>"),
        (simple("<priority>1</priority><priority>2</priority>"), "<priority>: given twice in <simple>"),
        (simple("<colour>red</colour>"), "<colour>: not known here: expected name, group, description"),
        (simple("<volatility>false</volatility>"), "<volatility>: not known here, it is of Quartz 1: delete it"),
        (simple("text"), "<simple>: expected no text between its elements"),
        (simple("<priority><b>1</b></priority>"), "<priority> \"\": expected a whole number"),
        (simple("<calendar-name><b>1</b></calendar-name>"), "<b>: not known here: expected a text in <calendar-name>"),
        (simple("<job-data-map><item/></job-data-map>"), "<item>: not known here: expected entry"),
        (simple("<job-data-map><entry><key>a</key></entry></job-data-map>"), "<entry>: expected <value> in it"),
        (simple("<job-data-map><entry><key> </key><value/></entry></job-data-map>"), "<key>: expected a text"),
        (simple("<priority level='3'>1</priority>"), "<priority>: attribute `level` is not known here"),
        (cron(""), "<cron>: expected <cron-expression> in it"),
        (cron("<cron-expression>0 0 25 * * ?</cron-expression>"), "<cron-expression>: "),
        (
            cron("<cron-expression>0 0 12 * * ?</cron-expression><time-zone>Mars/Base</time-zone>"),
            "<time-zone> \"Mars/Base\": expected the name of a time zone",
        ),
        (one("<simple><name>t</name></simple>"), "<simple>: expected <job-name> in it"),
        (one("<simple><name> </name><job-name>j</job-name></simple>"), "<name>: expected a text"),
        (one(""), "<trigger>: expected one of <simple>, <cron> and <calendar-interval>"),
        (one("<date-interval/>"), "<date-interval>: not known here, version 2.0 calls it calendar-interval"),
        (one("<simple><name>t\u{7f}</name><job-name>j</job-name></simple>"), "<simple>: trigger name"),
    ] {
        let complaints = complaints(file);
        assert_eq!(complaints.len(), 1, "{complaints:#?}");
        assert!(complaints[0].starts_with(&format!("{start}{expected}")), "{} / {expected}", complaints[0]);
    }
    for (parts, expected) in [
        ("<jobs/>", "<jobs>: not known here: expected pre-processing-commands, processing-directives or schedule"),
        ("<schedule><task/></schedule>", "<task>: not known here: expected job or trigger"),
        ("<schedule><job><name>a</name></job></schedule>", "<job>: expected <job-class> in it"),
        (
            "<schedule><job><name>a</name><job-class>x</job-class><durability>true</durability></job></schedule>",
            "<job>: <durability> is given without <recover>",
        ),
        (
            "<schedule><job><name>a</name><job-class>x</job-class><durability>1</durability><recover>0</recover></job></schedule>",
            "<durability> \"1\": expected true or false: write true (Quartz takes 1 for false)",
        ),
        ("<pre-processing-commands><delete-all/></pre-processing-commands>", "<delete-all>: not known here"),
        (
            "<pre-processing-commands><delete-job><group>g</group></delete-job></pre-processing-commands>",
            "<delete-job>: expected <name>",
        ),
        (
            "<processing-directives><overwrite-existing-data>yes</overwrite-existing-data></processing-directives>",
            "<overwrite-existing-data> \"yes\": expected true or false",
        ),
    ] {
        let complaints = complaints(parse_in(&document(parts), UTC));
        assert_eq!(complaints.len(), 1, "{parts}: {complaints:#?}");
        assert!(complaints[0].starts_with(&format!("{start}{expected}")), "{} / {expected}", complaints[0]);
    }
    let elsewhere = complaints(parse_in("<jobs/>", UTC));
    assert_eq!(elsewhere, ["jobs.xml:1: <jobs>: expected <job-scheduling-data>"]);
    assert!(complaints(parse_in("<quartz/>", UTC))[0].contains("the format of Quartz 1.5"));
    let without = complaints(parse_in("<job-scheduling-data><schedule/></job-scheduling-data>", UTC));
    assert_eq!(without.len(), 1);
    assert!(without[0].contains(&format!("write xmlns=\"{NAMESPACE}\"")), "{without:?}");
}

#[test]
fn all_mistakes_are_listed_at_once_in_the_order_of_lines() {
    let wrong = QUARTZ_DATA
        .replace("<recover>false</recover>", "<recover>maybe</recover>")
        .replace("0 45 5 ? * MON-FRI", "0 45 5 * * MON-FRI")
        .replace("<priority>8</priority>", "<priority>urgent</priority>")
        .replace("<name>once</name>", "<name></name>");
    let errors = parse_in(&wrong, UTC).unwrap_err();
    let line_of = |text: &str| wrong.lines().position(|line| line.contains(text)).unwrap() + 1;
    let lines: Vec<_> = errors.errors().iter().filter_map(JobFileError::line).collect();
    let expected = ["maybe", "urgent", "0 45 5 * *", "<name></name>"].map(line_of);
    assert_eq!(lines, expected, "{errors}");
    let first = &errors.errors()[0];
    assert_eq!((first.file(), first.element(), first.value()), ("jobs.xml", Some("recover"), Some("maybe")));
    assert_eq!(errors.to_string().lines().count(), 4);
}

#[test]
fn a_calendar_interval_trigger_is_read_and_names_what_is_missing() {
    let with =
        |more: &str| one(&format!("<calendar-interval><name>t</name><job-name>j</job-name>{more}</calendar-interval>"));
    let weekly = "<repeat-interval>2</repeat-interval><repeat-interval-unit>WEEK</repeat-interval-unit>";
    let file = with(weekly).expect("a good file");
    assert_eq!(file.triggers().next().expect("a trigger").schedule().kind(), "CAL_INT");
    for (more, expected) in [
        ("<repeat-interval>2</repeat-interval>", "expected <repeat-interval-unit> in it"),
        (
            "<repeat-interval>2</repeat-interval><repeat-interval-unit>CENTURY</repeat-interval-unit>",
            "<repeat-interval-unit> \"CENTURY\": expected one of SECOND, MINUTE, HOUR, DAY, WEEK, MONTH, YEAR",
        ),
        (
            "<repeat-interval>0</repeat-interval><repeat-interval-unit>DAY</repeat-interval-unit>",
            "<repeat-interval> \"0\": expected a whole number from 1",
        ),
    ] {
        let complaints = complaints(with(more));
        assert!(complaints.len() == 1 && complaints[0].contains(expected), "{complaints:?}");
    }
}

#[test]
fn flags_that_no_file_says_can_be_said() {
    let file = parse_in(QUARTZ_DATA, UTC).unwrap();
    let alone = JobFlags { disallow_concurrent_execution: true, ..JobFlags::default() };
    // Seen when it is stored: tests/store/suite/import.rs.
    drop(file.with_flags(|job_type| job_type.ends_with("InventoryJob").then_some(alone)));
}

#[test]
fn hostile_files_are_refused_without_a_panic_and_in_few_words() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jobs.xml");
    let read = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        JobFile::read(&path)
    };
    assert!(read(QUARTZ_DATA.as_bytes()).is_ok());
    for bytes in [
        b"".to_vec(),
        b"\0\0\0\0".to_vec(),
        b"<".repeat(1_000_000),
        b"<a>".repeat(1_000_000),
        [b"<a ".as_slice(), &b"x='1' ".repeat(100_000), b"/>"].concat(),
        document(&"x".repeat(1_000_000)).into_bytes(),
        document(&format!("<{}/>", "x".repeat(100_000))).into_bytes(),
        document(&format!("<schedule a{}='1'/>", "x".repeat(100_000))).into_bytes(),
        format!("<!DOCTYPE a [{}]><a>&e9;</a>", "<!ENTITY e9 '&e8;&e8;'>".repeat(1_000)).into_bytes(),
        format!("<job-scheduling-data xmlns='{NAMESPACE}'><schedule>&#xD800;</schedule></job-scheduling-data>").into(),
        vec![b' '; 17 * 1024 * 1024],
    ] {
        let errors = read(&bytes).unwrap_err().to_string();
        assert!(errors.len() < 1_000, "{} bytes", errors.len());
    }
    let many = document(&format!("<schedule>{}</schedule>", "<x/>".repeat(20_000)));
    let errors = read(many.as_bytes()).unwrap_err();
    assert_eq!((errors.errors().len(), errors.left_out()), (1_000, 19_000));
    assert!(JobFile::read(folder.path().join("none")).unwrap_err().to_string().contains("cannot be read"));
}

#[test]
fn mutated_files_are_read_without_a_panic() {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut below = |limit: usize| {
        // xorshift: the same mutations in every run.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % limit as u64).unwrap()
    };
    let pieces: [&[u8]; 16] = [
        b"<",
        b">",
        b"/",
        b"&",
        b"&amp;",
        b"<!--",
        b"-->",
        b"<![CDATA[",
        b"]]>",
        b"\xff",
        b"\"",
        b"'",
        b"=",
        b"<?",
        b"\0",
        b"<name>",
    ];
    let mut good = 0;
    for _ in 0..1_000 {
        let mut bytes = QUARTZ_DATA.as_bytes().to_vec();
        for _ in 0..=below(3) {
            let at = below(bytes.len());
            let end = (at + below(6)).min(bytes.len());
            bytes.splice(at..end, pieces[below(pieces.len())].iter().copied());
        }
        match JobFile::parse("jobs.xml", &bytes, UTC) {
            Ok(_) => good += 1,
            Err(errors) => assert!(!errors.errors().is_empty()),
        }
    }
    assert!(good > 0, "no mutation is harmless");
}
