//! The stand-alone node with its `command` jobs, and the bench.

use super::{Place, text, write_config};
use crate::support::wait_until;
use diesel::SqliteConnection;
use diesel::connection::{Connection as _, SimpleConnection as _};
use rustix::process::{Pid, Signal, kill_process, test_kill_process_group};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A running `carnelian node`; killed if the test fails.
pub struct Node(Child);

impl Node {
    pub fn start(place: &Place) -> Self {
        Self::spawn(&mut place.command(&["node"]))
    }

    pub fn spawn(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        assert!(ready.starts_with("READY "), "{ready}");
        Self(child)
    }

    /// SIGKILL.
    pub fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    /// SIGTERM; gives the exit code.
    pub fn stop(self) -> Option<i32> {
        self.signal(Signal::TERM);
        self.code()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.0.id().try_into().unwrap()).unwrap(), signal).unwrap();
    }

    /// Waits for the end; gives the exit code.
    fn code(mut self) -> Option<i32> {
        let mut code = None;
        until("the node stops", || {
            code = self.0.try_wait().unwrap();
            code.is_some()
        });
        code.unwrap().code()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn until(what: &str, reached: impl FnMut() -> bool) {
    wait_until(what, Duration::from_secs(30), reached);
}

#[test]
fn a_node_runs_commands_and_stops_on_a_signal() {
    let place = Place::new();
    write_config(
        &place.path("carnelian.properties"),
        "carnelian.shutdown.deadline = 10s\ncarnelian.scheduler.heartbeatInterval = 200ms\n\
         scheduler.interruptJobsOnShutdownWithWait = true\n",
    );
    place.fine("migrate");
    let node = Node::start(&place);
    let nodes = place.json("cluster");
    assert_eq!((nodes[0]["alive"].as_bool(), nodes[0]["running"].as_i64()), (Some(true), Some(0)));
    place.fine("check --min-nodes 1");

    let schedule = |name: &str, argv: &str, more: &[&str]| {
        let (key, argv) = (format!("c.{name}"), format!("argv={argv}"));
        let words = ["schedule", "--job", &key, "--type", "command", "--trigger", &key, "--at", "now", "--data", &argv];
        place.run(&words.into_iter().chain(more.iter().copied()).collect::<Vec<_>>()).with(0, name);
    };
    let folder = format!("cwd={}", place.folder.path().display());
    schedule("words", "sh -c 'echo $GREETING > words'", &["--data", "env.GREETING=hello", "--data", &folder]);
    schedule("array", r#"["touch", "a file"]"#, &["--data", &folder]);
    until("both commands have run", || place.path("words").exists() && place.path("a file").exists());
    until("the words are written", || std::fs::read_to_string(place.path("words")).unwrap() == "hello\n");

    // The timeout ends a command with all it has started.
    schedule("slow", "sh -c 'sleep 60 & wait; touch survived'", &["--data", "timeout=300ms", "--data", &folder]);
    until("the slow command is stopped", || place.json("trigger list").as_array().is_some_and(Vec::is_empty));
    assert!(!place.path("survived").exists());

    // One is cancelled by its fire, once its heartbeat is seen.
    schedule("endless", "sh -c 'sleep 60'", &["--timeout", "1h", "--data", &folder]);
    let endless = |fire: &&Value| text(fire, "job") == "c.endless" && fire["last_beat_ms"].is_i64();
    let mut fire = String::new();
    until("its heartbeat is seen", || {
        let running = place.json("running");
        let found = running.as_array().and_then(|fires| fires.iter().find(endless));
        fire = found.map_or("", |found| text(found, "fire_id")).to_owned();
        !fire.is_empty()
    });
    place.run(&["cancel", &fire]).with(0, "asked fire");
    until("it has ended", || place.json("running") == serde_json::json!([]));
    place.run(&["cancel", &fire]).with(1, "does not run");
    until("its job is gone", || place.json("job list").as_array().is_some_and(Vec::is_empty));

    // The end of the node stops the run too, by the settings of this file.
    schedule("long", "sh -c 'touch begun; sleep 60'", &["--data", &folder]);
    until("the long command has begun", || place.path("begun").exists());
    let running = place.json("running");
    assert_eq!((text(&running[0], "job"), text(&running[0], "state")), ("c.long", "EXECUTING"));
    assert_eq!(place.json("explain c.long")["running"], Value::Bool(true));
    let begun = Instant::now();
    assert_eq!(node.stop(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert_eq!(place.json("running"), serde_json::json!([]));
    assert_eq!(place.json("doctor --invariants"), serde_json::json!({"findings": []}));
}

/// A shell dies of SIGTERM at once; what it has started may have something to tidy up.
#[test]
fn what_a_command_has_started_has_its_time_to_end() {
    let place = Place::new();
    write_config(&place.path("carnelian.properties"), "");
    place.fine("migrate");
    let node = Node::start(&place);
    let script = "trap 'sleep 1; touch tidy; exit' TERM\ntouch begun\nwhile :; do sleep 0.1; done\n";
    std::fs::write(place.path("script"), script).unwrap();
    let folder = format!("cwd={}", place.folder.path().display());
    let argv = "argv=sh -c 'sh script; true'";
    let words = ["schedule", "--job", "c.j", "--type", "command", "--trigger", "c.t", "--at", "now", "--data", argv];
    place.run(&words.into_iter().chain(["--data", &folder, "--data", "timeout=1s"]).collect::<Vec<_>>()).with(0, "c.t");
    let ended = || place.json("history --job c.j").as_array().is_some_and(|rows| !rows.is_empty());
    until("it has timed out", ended);
    assert!(place.path("begun").exists() && place.path("tidy").exists());
    let error = text(&place.json("history --job c.j")[0], "error").to_owned();
    assert!(error.contains("stopped after its timeout of 1000 ms"), "{error}");

    let words = ["schedule", "--job", "c.k", "--type", "command", "--trigger", "c.u", "--at", "now"];
    let nowhere = ["--data", "argv=true", "--data", "cwd=/no/such/folder"];
    place.run(&words.into_iter().chain(nowhere).collect::<Vec<_>>()).with(0, "c.u");
    until("it has failed", || place.json("history --job c.k").as_array().is_some_and(|rows| !rows.is_empty()));
    let error = text(&place.json("history --job c.k")[0], "error").to_owned();
    assert!(error.contains("cwd") && error.contains("/no/such/folder"), "{error}");
    assert_eq!(node.stop(), Some(0));
}

#[test]
fn the_history_tells_how_fires_ended() {
    let place = Place::new();
    write_config(&place.path("carnelian.properties"), "");
    place.fine("migrate");
    let node = Node::start(&place);
    assert_eq!(place.json("history"), serde_json::json!([]));
    for (name, argv) in [("good", "argv=echo done"), ("bad", "argv=sh -c 'echo no paper; exit 3'")] {
        let key = format!("h.{name}");
        let words = ["schedule", "--job", &key, "--type", "command", "--trigger", &key, "--at", "now", "--data", argv];
        place.run(&words).with(0, name);
    }
    until("both have ended", || place.json("history").as_array().is_some_and(|rows| rows.len() == 2));
    let good = &place.json("history --job h.good --outcome succeeded --since -1h --limit 5")[0];
    assert_eq!((text(good, "trigger"), text(good, "job"), text(good, "type")), ("h.good", "h.good", "command"));
    assert_eq!(
        (good["attempt"].as_i64(), &good["origin_fire_id"], &good["error"]),
        (Some(0), &Value::Null, &Value::Null)
    );
    assert_eq!(text(good, "result"), "done\n");
    let times = ["scheduled_ms", "fired_ms", "started_ms", "ended_ms"].map(|key| good[key].as_i64().unwrap());
    assert!(times.is_sorted(), "{times:?}");
    let bad = &place.json("history --outcome failed")[0];
    assert_eq!(text(bad, "job"), "h.bad");
    assert!(text(bad, "error").contains("no paper"), "{bad}");
    assert_eq!(place.json(&format!("history --fire {}", text(bad, "fire_id")))[0], *bad);
    assert_eq!(place.json("history --trigger h.other"), serde_json::json!([]));
    assert!(place.fine("history").contains("succeeded"));
    assert!(place.refused(2, "history --outcome splendid").contains("misfired"));
    assert_eq!(node.stop(), Some(0));
}

/// LT-08.
#[test]
fn a_command_that_fails_is_tried_again_by_its_policy_and_by_hand() {
    let place = Place::new();
    write_config(&place.path("carnelian.properties"), "");
    place.fine("migrate");
    let argv = format!("argv=test -e {}", place.path("paper").display());
    let key = "r.print";
    let words = [
        "schedule",
        "--job",
        key,
        "--type",
        "command",
        "--trigger",
        key,
        "--at",
        "now",
        "--data",
        &argv,
        "--durable",
        "--retry-max",
        "2",
        "--retry-delay",
        "10ms",
        "--retry-backoff",
        "2",
        "--retry-cap",
        "1s",
    ];
    place.run(&words).with(0, "schedule");
    let retry = &place.json("job show r.print")["policy"]["retry"];
    assert_eq!((retry["maxAttempts"].as_i64(), &retry["backoff"]["exponential"]["first"]), (Some(2), &10.into()));
    assert!(
        place.refused(2, "schedule --job r.x --type t --trigger r.x --at now --retry-max 2").contains("--retry-delay")
    );
    let refused = place.refused(1, "schedule --job r.print --type command --trigger r.y --at now --durable");
    assert!(refused.contains("policy"), "{refused}");

    let node = Node::start(&place);
    let ends = |outcome: &str| place.json(&format!("history --outcome {outcome}")).as_array().map_or(0, Vec::len);
    until("both attempts have failed", || ends("failed") == 2);
    let rows = place.json("history");
    assert_eq!((rows[0]["attempt"].as_i64(), rows[1]["attempt"].as_i64()), (Some(1), Some(0)));
    assert_eq!(rows[0]["origin_fire_id"], rows[1]["fire_id"]);
    assert!(text(&rows[0], "trigger").starts_with("RETRYING_JOBS.retry_"));
    until("nothing more comes", || place.json("trigger list") == serde_json::json!([]));

    std::fs::write(place.path("paper"), "").unwrap();
    let last = text(&rows[0], "fire_id");
    // The trigger is gone, and the program is in the data of the job.
    let answer = place.json(&format!("retry {last}"));
    assert!(text(&answer, "trigger").starts_with("RETRYING_JOBS."));
    until("it has succeeded", || ends("succeeded") == 1);
    let good = &place.json("history --outcome succeeded")[0];
    assert_eq!((good["attempt"].as_i64(), &good["origin_fire_id"]), (Some(2), &rows[1]["fire_id"]));
    let refused = place.refused(1, &format!("retry {}", text(good, "fire_id")));
    assert!(refused.contains("has succeeded"), "{refused}");
    assert!(place.refused(1, "retry nobody").contains("does not exist"));
    assert_eq!(node.stop(), Some(0));
}

#[test]
fn a_node_loads_its_job_files_and_does_not_wait_for_jobs_if_its_shutdown_hook_says_so() {
    let place = Place::new();
    let plugins = "plugin.files.class = org.quartz.plugins.xml.XMLSchedulingDataProcessorPlugin\n\
         plugin.files.fileNames = jobs.xml, more.xml\n\
         plugin.hook.class = org.quartz.plugins.management.ShutdownHookPlugin\n\
         plugin.hook.cleanShutdown = false\n\
         carnelian.shutdown.deadline = 20s\n";
    write_config(&place.path("carnelian.properties"), plugins);
    place.fine("migrate");
    let missing = place.refused(2, "node");
    assert!(missing.contains("`jobs.xml`") && missing.contains("`more.xml`"), "{missing}");

    let file = |name: &str, argv: &str| {
        let text = format!(
            "<job-scheduling-data xmlns='http://www.quartz-scheduler.org/xml/JobSchedulingData'><schedule>\
             <job><name>{name}</name><job-class>command</job-class><job-data-map>\
             <entry><key>argv</key><value>{argv}</value></entry>\
             <entry><key>cwd</key><value>{}</value></entry></job-data-map></job>\
             <trigger><simple><name>{name}</name><job-name>{name}</job-name></simple></trigger>\
             </schedule></job-scheduling-data>",
            place.folder.path().display()
        );
        std::fs::write(place.path(&format!("{name}.xml")), text).unwrap();
    };
    file("jobs", "touch done");
    file("more", "sh -c 'touch begun; sleep 60'");
    let log = std::fs::File::create(place.path("log")).unwrap();
    let node = Node::spawn(place.command(&["node"]).env("RUST_LOG", "carnelian=info").stderr(log));
    until("both commands have begun", || place.path("done").exists() && place.path("begun").exists());
    assert_eq!(node.stop(), Some(0));
    let log = std::fs::read_to_string(place.path("log")).unwrap();
    assert!(log.contains("loaded job file file=\"jobs.xml\" jobs=1 triggers=1"), "{log}");
    assert!(log.lines().any(|line| line.contains("shutting down") && line.contains("wait=false")), "{log}");
}

/// LT-56: 64 KiB of what a command writes are its result, and how much more there was.
#[test]
fn as_much_of_the_output_as_is_promised_is_the_result() {
    let place = Place::new();
    write_config(&place.path("carnelian.properties"), "");
    place.fine("migrate");
    let node = Node::start(&place);
    for (name, bytes) in [("all", 65_535), ("more", 70_000)] {
        let (key, argv) = (format!("o.{name}"), format!("argv=sh -c 'head -c {bytes} /dev/zero | tr \"\\000\" x'"));
        let words = ["schedule", "--job", &key, "--type", "command", "--trigger", &key, "--at", "now", "--data", &argv];
        place.run(&words).with(0, name);
    }
    until("both have ended", || place.json("history").as_array().is_some_and(|rows| rows.len() == 2));
    let result = |job: &str| text(&place.json(&format!("history --job {job}"))[0], "result").to_owned();
    assert_eq!(result("o.all"), "x".repeat(65_535));
    let more = result("o.more");
    assert!(more.len() > 65_400 && more.starts_with("xxx") && more.ends_with(" bytes more\n"), "{}", more.len());
    assert_eq!(node.stop(), Some(0));
}

/// LT-89: `cleanShutdown` is the usual: a command that runs when the signal comes runs to its end.
#[test]
fn a_command_that_runs_is_finished_at_a_graceful_end() {
    let place = Place::new();
    write_config(&place.path("carnelian.properties"), "");
    place.fine("migrate");
    let node = Node::start(&place);
    let argv = "argv=sh -c 'touch begun; sleep 2; touch finished'";
    let folder = format!("cwd={}", place.folder.path().display());
    let words = ["schedule", "--job", "c.j", "--type", "command", "--trigger", "c.t", "--at", "now", "--data", argv];
    place.run(&words.into_iter().chain(["--data", &folder]).collect::<Vec<_>>()).with(0, "c.t");
    until("it has begun", || place.path("begun").exists());
    assert_eq!(node.stop(), Some(0));
    assert!(place.path("finished").exists());
    assert_eq!(text(&place.json("history")[0], "outcome"), "succeeded");
}

/// Nobody can write for a while: the node doubts its lease, and has its command stopped. The fire
/// was its own all the time. The run had failed then, and a job that requests recovery was not run
/// again.
#[test]
fn a_command_that_a_doubt_has_stopped_runs_again() {
    let place = Place::new();
    write_config(
        &place.path("carnelian.properties"),
        "jobStore.clusterCheckinInterval = 1000\njobStore.clusterCheckinMisfireThreshold = 1000\n\
         carnelian.scheduler.heartbeatInterval = 200ms\n",
    );
    place.fine("migrate");
    let node = Node::start(&place);
    let script = "if [ -e told ]; then exit 0; fi\n\
                  trap 'touch told; while [ ! -e go ]; do sleep 0.05; done; exit 1' TERM\n\
                  touch begun\nwhile :; do sleep 0.05; done\n";
    std::fs::write(place.path("script"), script).unwrap();
    let folder = format!("cwd={}", place.folder.path().display());
    let words = ["schedule", "--job", "c.j", "--type", "command", "--trigger", "c.t", "--at", "now", "--recover"];
    let words = words.into_iter().chain(["--data", "argv=sh script", "--data", &folder]);
    place.run(&words.collect::<Vec<_>>()).with(0, "c.t");
    until("it has begun", || place.path("begun").exists());

    let database = place.path("carnelian.db");
    let mut writer = SqliteConnection::establish(database.to_str().unwrap()).unwrap();
    writer.batch_execute("PRAGMA busy_timeout = 10000; BEGIN IMMEDIATE").unwrap();
    until("it is told to end", || place.path("told").exists());
    writer.batch_execute("COMMIT").unwrap();
    let beats = || place.json("running")[0]["last_beat_ms"].as_i64();
    let before = beats();
    until("its node is sure again", || beats() > before);
    std::fs::write(place.path("go"), "").unwrap();
    let outcomes = || -> Vec<String> {
        let rows = place.json("history --job c.j");
        rows.as_array().unwrap().iter().map(|row| text(row, "outcome").to_owned()).collect()
    };
    until("it has run again", || outcomes().len() == 2);
    assert_eq!(outcomes(), ["succeeded", "interrupted"]);
    assert_eq!(node.stop(), Some(0));
}

/// People who cannot wait end the node at once; the command would go on beside its recovery.
#[test]
fn a_second_signal_ends_the_node_and_its_commands_at_once() {
    let place = Place::new();
    write_config(&place.path("carnelian.properties"), "carnelian.shutdown.deadline = 10m\n");
    place.fine("migrate");
    let log = std::fs::File::create(place.path("log")).unwrap();
    let node = Node::spawn(place.command(&["node"]).env("RUST_LOG", "carnelian=info").stderr(log));
    let argv = "argv=sh -c 'echo $$ > begun.new; mv begun.new begun; sleep 600 & wait'";
    let folder = format!("cwd={}", place.folder.path().display());
    let words = ["schedule", "--job", "c.j", "--type", "command", "--trigger", "c.t", "--at", "now", "--data", argv];
    place.run(&words.into_iter().chain(["--data", &folder]).collect::<Vec<_>>()).with(0, "c.t");
    until("it has begun", || place.path("begun").exists());
    let group: i32 = std::fs::read_to_string(place.path("begun")).unwrap().trim().parse().unwrap();
    node.signal(Signal::TERM);
    let step = || std::fs::read_to_string(place.path("log")).unwrap();
    until("the node waits for its jobs", || step().lines().any(|line| line.contains("step=jobs")));
    assert!(is_alive(group), "the first signal lets it go on");
    node.signal(Signal::INT);
    assert_eq!(node.code(), Some(130));
    until("the command is gone", || !is_alive(group));
}

/// True if the leader of the process group runs; a zombie does not.
fn is_alive(group: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{group}/stat")).unwrap_or_default();
    test_kill_process_group(Pid::from_raw(group).unwrap()).is_ok() && !stat.is_empty() && !stat.contains(") Z ")
}
