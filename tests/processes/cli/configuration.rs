//! The settings that the command uses, and the errors of wrong ones.

use super::{Place, write_config};
use serde_json::{Value, json};
use std::io::Read;
use std::process::Stdio;

/// Changes the embedded database behind the program's back.
pub fn sql(place: &Place, statement: &str) {
    use diesel::connection::{Connection, SimpleConnection};
    let path = place.path("carnelian.db");
    let mut connection = diesel::SqliteConnection::establish(path.to_str().unwrap()).unwrap();
    connection.batch_execute(statement).unwrap();
}

#[test]
fn without_a_file_there_is_an_embedded_database_made_on_demand() {
    let place = Place::new();
    assert_eq!(place.json("trigger list"), json!([]));
    assert!(place.path("carnelian.db").exists());
}

#[test]
fn the_option_goes_before_the_variable_and_that_before_the_file_in_place() {
    let place = Place::new();
    for name in ["option", "variable", "carnelian"] {
        let config = place.path(&format!("{name}.properties"));
        write_config(&config, "");
        let config = config.to_str().unwrap().to_owned();
        place.run(&["--config", &config, "migrate"]).with(0, "migrate");
        let job = format!("from.{name}");
        place.run(&["--config", &config, "job", "add", &job, "--type", "t"]).with(0, "job add");
    }
    let variable = place.path("variable.properties");
    let list = |words: &[&str], set: bool| {
        let mut command = place.command(words);
        if set {
            command.env("CARNELIAN_CONFIG", &variable);
        }
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let option = place.path("option.properties");
    assert!(list(&["job", "list", "--config", option.to_str().unwrap()], true).contains("from.option"));
    assert!(list(&["job", "list"], true).contains("from.variable"));
    assert!(list(&["job", "list"], false).contains("from.carnelian"));
}

#[test]
fn all_problems_of_a_file_are_listed_with_code_2_and_no_password_is_shown() {
    let place = Place::new();
    let config = place.path("carnelian.properties");
    write_config(
        &config,
        "org.quartz.threadPool.threadCont = 5\norg.quartz.jobStore.misfireThreshold = soon\n\
         org.quartz.dataSource.db.password = S3NT\n",
    );
    let ran = place.run(&["trigger", "list"]).with(2, "trigger list");
    assert!(ran.err.contains("threadPool.threadCount") && ran.err.contains("misfireThreshold"), "{}", ran.err);
    assert!(ran.err.lines().all(|line| line.starts_with("carnelian: ")), "{}", ran.err);
    assert!(!format!("{}{}", ran.out, ran.err).contains("S3NT"));
    place.refused(2, "--config nowhere.properties trigger list");
}

/// Programs that read JSON had nothing to read of a "no".
#[test]
fn a_no_is_a_document_too() {
    let place = Place::new();
    for line in ["explain no.such", "job show no.such", "trigger show no.such", "orphans"] {
        let words: Vec<&str> = ["--json"].into_iter().chain(line.split(' ')).chain(["--json"]).collect();
        let ran = place.run(&words).with(1, line);
        let answer: Value = serde_json::from_str(&ran.out).unwrap();
        assert!(answer["error"].as_str().is_some_and(|text| ran.err.contains(text)), "{line}: {}", ran.out);
    }
}

#[test]
fn jobs_in_memory_are_nothing_to_operate() {
    let place = Place::new();
    std::fs::write(place.path("carnelian.properties"), "org.quartz.jobStore.class = RAMJobStore\n").unwrap();
    assert!(place.refused(2, "trigger list").contains("memory"));
}

#[test]
fn a_database_without_tables_or_out_of_reach_has_code_3() {
    let place = Place::new();
    let config = place.path("carnelian.properties");
    write_config(&config, "");
    place.refused(3, "trigger list");
    // `doctor` says what is wrong instead of failing.
    assert!(place.run(&["doctor"]).with(1, "doctor").out.contains("tables"));
    place.fine("migrate");
    place.fine("migrate");
    place.fine("trigger list");
    std::fs::remove_file(config.with_extension("db")).unwrap();
    std::fs::create_dir(config.with_extension("db")).unwrap();
    place.refused(3, "trigger list");
}

#[test]
fn a_reader_that_goes_away_is_no_reason_to_panic() {
    let place = Place::new();
    let mut command = place.command(&["cron", "next", "* * * * * ?", "--count", "200000"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut complaint = String::new();
    child.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(complaint, "");
}
