//! The first day: README's program as a crate of its own, and what the command line says of zones,
//! of types that nobody has, of a cluster without nodes, and of commands that run when their node
//! ends.

use crate::cli::node::{Node, until};
use crate::cli::{Place, text, write_config};
use crate::support::wait_until;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The text between two others.
fn between<'a>(text: &'a str, begin: &str, end: &str) -> &'a str {
    let (_, rest) = text.split_once(begin).unwrap_or_else(|| panic!("no {begin}"));
    rest.split_once(end).unwrap_or_else(|| panic!("no {end}")).0
}

/// The lines that cargo says of the library of this build. The library is compiled already, with
/// the features that the dependencies of the example have.
fn library() -> Vec<Value> {
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--lib", "--example", "demo_node", "--all-features", "--offline"]);
    build.arg("--message-format=json-render-diagnostics");
    let built = build.current_dir(ROOT).env("CARGO_TARGET_DIR", target()).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    built.stdout.lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect()
}

fn target() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_carnelian")).parent().and_then(Path::parent).unwrap()
}

/// The program, in a crate of its own that sees the library and nothing else. Cargo would compile
/// the library once more for it.
fn compile(folder: &Path, program: &str) -> PathBuf {
    let (source, binary) = (folder.join("main.rs"), folder.join("reports"));
    std::fs::write(&source, program).unwrap();
    let said = library();
    let texts = |of: &'static str| said.iter().filter_map(move |line| line[of].as_array()).flatten();
    let is_ours = |line: &&Value| line["target"]["name"] == "carnelian" && line["target"]["kind"][0] == "lib";
    let ours = said.iter().filter(is_ours).find_map(|line| line["filenames"][0].as_str());
    let library = ours.expect("the library is an artifact");
    let mut compile = Command::new(Path::new(env!("CARGO")).with_file_name("rustc"));
    compile.args(["--edition", "2024", "--crate-name", "reports", "-o"]).arg(&binary).arg(&source);
    compile.arg("--extern").arg(format!("carnelian={library}"));
    compile.arg("-L").arg(format!("dependency={}", target().join("debug/deps").display()));
    compile.args(texts("linked_paths").filter_map(Value::as_str).flat_map(|path| ["-L", path]));
    let compiled = compile.output().unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    binary
}

fn terminate(child: &Child) {
    kill_process(Pid::from_raw(child.id().try_into().unwrap()).unwrap(), Signal::TERM).unwrap();
}

#[test]
fn the_program_of_the_readme_runs_in_a_new_crate_and_ends_in_order() {
    let readme = std::fs::read_to_string(Path::new(ROOT).join("README.md")).unwrap();
    let program = between(&readme, "```rust,no_run\n", "```");
    let imports = program.lines().filter(|line| line.starts_with("use "));
    assert!(imports.clone().all(|line| line.starts_with("use carnelian::") || line.starts_with("use std::")));
    // Shorter, so that nobody waits for it.
    let quick = program.replace("0/30 * * * * ?", "* * * * * ?").replace("1..=20", "1..=2");
    assert_ne!(quick, program);
    let folder = tempfile::tempdir().unwrap();
    let binary = compile(folder.path(), &quick);

    let mut command = Command::new(binary);
    let mut child = command.current_dir(folder.path()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let first = lines.next().expect("a report");
    assert!(first.contains("in CHF: page 1"), "{first}");
    assert!(folder.path().join("reports.db").exists());
    terminate(&child);
    // The report that runs goes on to its end.
    let rest: Vec<String> = lines.collect();
    assert!(rest.last().is_some_and(|line| line.contains("page 2")), "{rest:?}");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// A program that goes on after its scheduler has ended, and whose last work hangs.
#[test]
fn a_program_whose_scheduler_has_ended_can_be_ended_by_a_signal() {
    const CHILD: &str = "CARNELIAN_TEST_SIGNALLED";
    if std::env::var_os(CHILD).is_some() {
        drop(carnelian::StopSignals::catch().unwrap());
        println!("caught no longer");
        // Until the test is over.
        std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
        return;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    let name = "first_day::a_program_whose_scheduler_has_ended_can_be_ended_by_a_signal";
    command.args(["--exact", name, "--nocapture"]).env(CHILD, "yes").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.ends_with("caught no longer")));
    terminate(&child);
    let mut ended = None;
    wait_until("the signal ends the process", Duration::from_secs(20), || {
        ended = child.try_wait().unwrap();
        ended.is_some()
    });
    assert_eq!(ended.unwrap().code(), Some(128 + 15));
}

#[test]
fn a_cron_expression_without_a_zone_is_read_in_the_zone_of_the_file() {
    let place = Place::new();
    write_config(&place.path("carnelian.properties"), "carnelian.scheduler.timeZone = America/New_York\n");
    place.fine("migrate");
    let schedule = |name: &str, more: &[&str]| {
        let words = ["schedule", "--job", "g.j", "--type", "t", "--trigger", name, "--cron", "0 0 3 1 7 ?"];
        let words: Vec<&str> = words.into_iter().chain(more.iter().copied()).chain(["--json"]).collect();
        let answer: Value = serde_json::from_str(&place.run(&words).with(0, name).out).unwrap();
        let next = chrono::DateTime::from_timestamp_millis(answer["next_fire_ms"].as_i64().unwrap()).unwrap();
        next.format("%H:%M").to_string()
    };
    assert_eq!(schedule("g.own", &[]), "07:00");
    assert_eq!(schedule("g.utc", &["--tz", "UTC"]), "03:00");
    let why = place.json("explain g.own");
    assert!(text(&why, "schedule").ends_with("in America/New_York"), "{why}");
    let zone = (text(&why, "scheduler_zone"), text(&why, "scheduler_zone_from"));
    assert_eq!(zone, ("America/New_York", "carnelian.scheduler.timeZone"));
    assert!(place.fine("explain g.utc").contains("America/New_York, from carnelian.scheduler.timeZone"));
    let next =
        place.run(&["cron", "next", "0 0 3 1 7 ?", "--from", "2026-01-01T00:00:00Z", "--count", "1"]).with(0, "cron");
    assert_eq!(next.out, "2026-07-01T03:00:00-04:00\n");
}

#[test]
fn a_job_of_a_type_that_nobody_has_is_named_when_it_is_stored() {
    let place = Place::new();
    let mistyped = "schedule --job g.j --type comand --trigger g.t --at +1h";
    let warning = "no live node has job type `comand`";
    let words: Vec<&str> = mistyped.split(' ').collect();
    let ran = place.run(&words).with(0, "schedule");
    assert!(ran.err.contains(warning) && !ran.out.contains(warning), "{} {}", ran.out, ran.err);
    let once = place.json("schedule --job g.k --type comand --trigger g.u --at +1h --request-id r1");
    assert!(text(&once, "warning").contains(warning), "{once}");
    assert!(text(&place.json("job add g.l --type comand"), "warning").contains(warning));
    let node = Node::start(&place);
    let known = place.json("schedule --job g.m --type command --trigger g.v --at +1h --data argv=true");
    assert_eq!(known["warning"], Value::Null);
    assert_eq!(node.stop(), Some(0));
}

/// A message tells people to use what is there to be used.
#[test]
fn the_commands_that_warnings_of_a_quartz_file_name_exist() {
    let place = Place::new();
    write_config(
        &place.path("carnelian.properties"),
        "org.quartz.scheduler.jmx.objectName = x\norg.quartz.dataSource.db.validationQuery = SELECT 1\n\
         org.quartz.plugin.hook.class = org.quartz.plugins.management.ShutdownHookPlugin\n",
    );
    let complaints = place.run(&["migrate"]).with(0, "migrate").err;
    let named: Vec<&str> = complaints.split('`').filter(|text| text.starts_with("carnelian ")).collect();
    assert!(named.contains(&"carnelian dashboard"), "{complaints}");
    for command in named {
        place.fine(&format!("{} --help", command.trim_start_matches("carnelian ")));
    }
}

/// A shell with the functions of `tests/run`, in which a package is missing and nothing is
/// installed.
fn shell_without_packages() -> String {
    let functions = Path::new(ROOT).join("tests/servers.sh");
    format!(
        "set -u; . '{}'; id() {{ echo 0; }}; missing_packages() {{ echo no-such-package; }}; env() {{ echo INSTALLS; }}; \
         apt-get() {{ echo UPDATES; }}; need_packages build",
        functions.display()
    )
}

/// The tests ask a person before they change the machine; where nobody sits, they install.
#[test]
fn the_tests_ask_before_they_install_anything() {
    let answer = |word: &str| {
        // With a terminal of its own.
        let words = ["-q", "-e", "-c", "exec bash -c \"$SHELL_WITHOUT_PACKAGES\"", "/dev/null"];
        let mut asked = Command::new("script")
            .args(words)
            .env("SHELL_WITHOUT_PACKAGES", shell_without_packages())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        writeln!(asked.stdin.as_mut().unwrap(), "{word}").unwrap();
        let output = asked.wait_with_output().unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    let refused = answer("n");
    assert!(refused.contains("[y/N]") && refused.contains("sudo apt-get install no-such-package"), "{refused}");
    assert!(!refused.contains("UPDATES") && !refused.contains("INSTALLS"), "{refused}");
    let agreed = answer("y");
    assert!(agreed.contains("UPDATES") && agreed.contains("INSTALLS"), "{agreed}");

    let alone = Command::new("bash").args(["-c", &shell_without_packages()]).stdin(Stdio::null()).output().unwrap();
    let told = String::from_utf8(alone.stderr).unwrap();
    assert!(!told.contains("[y/N]") && told.contains("INSTALLS"), "{told}");
}

#[test]
fn doctor_finds_a_cluster_without_nodes() {
    let place = Place::new();
    place.fine("schedule --job g.j --type t --trigger g.t --every 1h");
    assert_eq!(place.json("doctor"), json!({"findings": []}));
    crate::cli::configuration::sql(
        &place,
        "UPDATE QRTZ_TRIGGERS SET PREV_FIRE_TIME = START_TIME, NEXT_FIRE_TIME = START_TIME - 600000",
    );
    let ran = place.run(&["doctor", "--json"]).with(1, "doctor");
    let answer: Value = serde_json::from_str(&ran.out).unwrap();
    let kinds: Vec<&str> = answer["findings"].as_array().unwrap().iter().map(|one| text(one, "kind")).collect();
    assert_eq!(kinds, ["no_node"], "{answer}");
    assert!(text(&answer["findings"][0], "detail").contains("1 triggers are overdue"), "{answer}");
}

/// A node with a command that has begun, by these lines of its file.
fn with_running_command(place: &Place, lines: &str, script: &str) -> Node {
    write_config(&place.path("carnelian.properties"), lines);
    place.fine("migrate");
    let node = Node::start(place);
    let argv = format!("argv=sh -c '{script}'");
    let folder = format!("cwd={}", place.path("").display());
    let words = ["schedule", "--job", "c.c", "--type", "command", "--trigger", "c.c", "--at", "now", "--data", &argv];
    place.run(&words.into_iter().chain(["--data", &folder]).collect::<Vec<_>>()).with(0, "schedule");
    until("the command has begun", || place.path("begun").exists());
    node
}

#[test]
fn a_command_that_runs_when_its_node_ends_goes_on_to_its_end() {
    let place = Place::new();
    let node = with_running_command(&place, "", "echo $$ > begun; sleep 2; touch ended");
    assert_eq!(node.stop(), Some(0));
    assert!(place.path("ended").exists());
    assert_eq!(text(&place.json("history")[0], "outcome"), "succeeded");
}

#[test]
fn no_command_outlives_the_node_that_ran_it() {
    let place = Place::new();
    // The command ignores SIGTERM, and does not end before the deadline.
    let script = "trap \"\" TERM; echo $$ > begun.new; mv begun.new begun; sleep 60; sleep 60";
    let node = with_running_command(&place, "carnelian.shutdown.deadline = 1s\n", script);
    assert_eq!(node.stop(), Some(0));
    let pid = std::fs::read_to_string(place.path("begun")).unwrap().trim().to_owned();
    let runs = || std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
    wait_until("the command is gone", Duration::from_secs(5), || !runs());
}
