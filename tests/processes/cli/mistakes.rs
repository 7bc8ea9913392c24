//! Mistakes at the command line: each error names the thing, the value and the way out.

use super::{Place, configuration::sql, write_config};
use crate::cli::node::Node;
use std::io::Write;
use std::process::Stdio;

/// A key that is copied from a list, where a group with dots does not show where it ends.
#[test]
fn a_key_that_was_split_at_a_wrong_dot_is_named_as_it_must_be_written() {
    let place = Place::new();
    let (job, trigger) = (r#"["com.acme","t"]"#, r#"["com.acme","t.1"]"#);
    place.fine(&format!("schedule --job {job} --type t --trigger {trigger} --at 2040-01-01T00:00:00Z"));
    for line in ["trigger show com.acme.t.1", "trigger resume com.acme.t.1", "explain com.acme.t.1"] {
        let complaint = place.refused(1, line);
        let way_out = "trigger `com.acme.t.1` does not exist: a key is split at its first dot, so write the trigger of \
                       group `com.acme` as '[\"com.acme\",\"t.1\"]'";
        assert!(complaint.contains(way_out), "{line}: {complaint}");
    }
    let range = "--from 2020-01-01T00:00:00Z --to 2020-01-02T00:00:00Z";
    let of_jobs = ["job show com.acme.t", "job run com.acme.t", "job rename com.acme.t x.y", "job delete com.acme.t"];
    for line in of_jobs.into_iter().chain(["job follow com.acme.t com.acme.t"]) {
        let complaint = place.refused(1, line);
        assert!(complaint.contains(r#"as '["com.acme","t"]'"#), "{line}: {complaint}");
    }
    assert!(place.refused(1, &format!("trigger backfill com.acme.t.1 {range}")).contains(r#"as '["com.acme","t.1"]'"#));
    // No advice is given where nothing of that name is stored.
    assert_eq!(place.refused(1, "job show com.acme.x"), "carnelian: job `com.acme.x` does not exist\n");
}

#[test]
fn errors_speak_of_commands_and_not_of_the_library() {
    let place = Place::new();
    place.fine("job add g.a --type t --durable");
    place.fine("job add g.b --type t");
    let complaint = place.refused(1, "job add g.a --type t");
    assert!(complaint.contains("replace it (`--replace`)") && !complaint.contains("IfExists"), "{complaint}");
    let complaint = place.refused(1, "job rename g.a g.b");
    assert!(complaint.contains("choose another name for `g.a`") && !complaint.contains("--replace"), "{complaint}");
    assert!(place.refused(1, "job migrate --type nope.t new.t").contains("no job has type `nope.t`"));
    assert!(!place.fine("job add --help").contains("--durable"), "it always is");
}

#[test]
fn options_say_what_they_take() {
    let place = Place::new();
    write_config(&place.path("carnelian.properties"), "");
    place.fine("migrate");
    for (line, told) in [
        ("limit set d", "<--per-node <N>|--per-cluster <N>>"),
        ("job delete", "<JOB|--type <TYPE>>"),
        ("trigger list --limit 0", "expected 1 or more"),
        ("trigger list --limit -1", "expected 1 or more"),
        ("schedule --job a --type t --trigger a --every -5s", "invalid value '-5s' for '--every <DUR>'"),
        ("dashboard --listen example.org:8080", "expected an IP address and a port, such as 127.0.0.1:8080"),
        ("history --trace xyz", "expected 32 hexadecimal digits"),
        ("actions --after zzz", "`zzz` is no place in this list"),
        ("man carnelian.properties", "cannot be made: `carnelian.properties`"),
        ("import cal.json", "this is no XML"),
    ] {
        std::fs::write(place.path("cal.json"), "{\"type\": \"annual\"}").unwrap();
        let complaint = place.refused(2, line);
        assert!(complaint.contains(told), "{line}: {complaint}");
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let complaint = place.refused(2, &format!("dashboard --listen {}", taken.local_addr().unwrap()));
    assert!(complaint.contains("choose another (`--listen`"), "{complaint}");
}

#[test]
fn a_place_behind_the_end_of_a_list_is_no_empty_list() {
    let place = Place::new();
    place.fine("migrate");
    sql(&place, "INSERT INTO QRTZ_SCHEDULER_STATE VALUES ('QuartzScheduler', 'n', 1000, 15000)");
    assert_eq!(place.fine("cluster --after zz"), "nothing comes after this place\n");
}

/// Nobody looks at a job that waits until somebody misses what it does.
#[test]
fn orders_that_come_to_nothing_are_warned_of() {
    let place = Place::new();
    write_config(&place.path("carnelian.properties"), "org.quartz.scheduler.instanceId = n1\n");
    place.fine("migrate");
    assert!(warning(&place, &["blacklist", "add", "nosuch"]).contains("no node `nosuch` has checked in"));
    let node = Node::start(&place);
    let at = ["--at", "2040-01-01T00:00:00Z"];
    let schedule = |name: &str, more: &[&str]| {
        let words = [&["schedule", "--job", name, "--type", "command", "--trigger", name][..], &at, more].concat();
        warning(&place, &words)
    };
    assert_eq!(schedule("a", &["--data", "argv=true"]), "");
    let told = schedule("b", &["--data", "argv=true", "--require-label", "gpu"]);
    assert!(told.contains("no live node may run it") && told.contains("n1: "), "{told}");
    assert!(schedule("c", &[]).contains("its runs will fail: data `argv` is missing"));
    assert!(schedule("d", &["--data", "argv=echo \""]).contains("data `argv` has an open quote"));
    let told = schedule("v", &["--data", "argv=true", "--data", "env=A=1"]);
    assert!(told.contains("data `env` has no effect: a variable of the program is written `env.NAME`"), "{told}");
    assert!(schedule("e", &["--data", "argv=true", "--data", "timeout=xyz"]).contains("data `timeout`: expected"));
    assert_eq!(node.stop(), Some(0));
}

fn warning(place: &Place, words: &[&str]) -> String {
    place.run(words).with(0, &words.join(" ")).err
}

#[test]
fn job_files_come_from_standard_input_and_their_unknown_types_are_warned_of() {
    let place = Place::new();
    place.fine("migrate");
    let xml = "<job-scheduling-data xmlns=\"http://www.quartz-scheduler.org/xml/JobSchedulingData\" version=\"2.0\">\
               <schedule><job><name>a</name><job-class>com.acme.Unknown</job-class><durability>true</durability><recover>false</recover></job></schedule></job-scheduling-data>";
    let mut command = place.command(&["import", "-"]);
    let mut import = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    import.stdin.take().unwrap().write_all(xml.as_bytes()).unwrap();
    let ended = import.wait_with_output().unwrap();
    let (out, err) = (String::from_utf8(ended.stdout).unwrap(), String::from_utf8(ended.stderr).unwrap());
    assert!(out.contains("stored job"), "{out}{err}");
    assert!(err.contains("no live node has job type `com.acme.Unknown`"), "{err}");
}

/// A monitor that names no bound would be green for ever.
#[test]
fn a_check_without_bounds_is_warned_of_and_a_count_that_ends_at_the_bound_says_so() {
    let place = Place::new();
    write_config(&place.path("carnelian.properties"), "");
    place.fine("migrate");
    assert!(place.run(&["check"]).with(0, "check").err.contains("no bound is given"));
    assert_eq!(place.run(&["check", "--max-overdue", "0"]).with(0, "check").err, "");
    for fire in 0..3 {
        sql(
            &place,
            &format!(
                "INSERT INTO QRTZ_CN_HISTORY (SCHED_NAME, FIRE_ID, TRIGGER_NAME, TRIGGER_GROUP, SCHED_MS, ENDED_MS, OUTCOME, ATTEMPT) \
                 VALUES ('cli-test', 'f-{fire}', 't', 'g', 1, unixepoch() * 1000, 'failed', 0)"
            ),
        );
    }
    let told = place.run(&["check", "--max-failed", "0"]).with(1, "check").out;
    assert!(told.contains("1 or more"), "{told}");
}

#[test]
fn doctor_says_what_to_do_about_rows_that_point_nowhere() {
    let place = Place::new();
    place.fine("schedule --job g.a --type t --trigger g.a --every 1h");
    place.fine("schedule --job g.b --type t --trigger g.b --every 1h");
    sql(
        &place,
        "PRAGMA foreign_keys = OFF; UPDATE QRTZ_TRIGGERS SET TRIGGER_STATE = 'NAP' WHERE TRIGGER_NAME = 'a'; \
                 UPDATE QRTZ_TRIGGERS SET CALENDAR_NAME = 'gone' WHERE TRIGGER_NAME = 'b'",
    );
    let told = place.run(&["doctor"]).with(1, "doctor").out;
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("set TRIGGER_STATE to one of Quartz's states"), "{told}");
    assert!(told.contains("`carnelian calendar put`"), "{told}");
}

/// Looks made the rows of a new scheduler, or failed of a right that a look does not need.
#[test]
fn commands_that_only_look_make_no_rows_of_a_mistyped_scheduler() {
    let place = Place::new();
    place.fine("migrate");
    let file = place.path("typo.properties");
    std::fs::write(
        &file,
        "scheduler.instanceName = typo\njobStore.dataSource = d\ndataSource.d.URL = sqlite:carnelian.db\n",
    )
    .unwrap();
    let config = file.display().to_string();
    for command in ["job list", "trigger list", "history", "cluster", "check", "running", "doctor", "lock list"] {
        let words: Vec<&str> = ["--config", &config].into_iter().chain(command.split(' ')).collect();
        let ran = place.run(&words);
        assert!(ran.code == 0 || command == "doctor", "{command}: {}{}", ran.out, ran.err);
    }
    sql(&place, "INSERT INTO QRTZ_LOCKS (SCHED_NAME, LOCK_NAME) VALUES ('typo', 'STATE_ACCESS')");
    place.run(&["--config", &config, "all", "resume"]).with(0, "a command that writes makes them");
}
