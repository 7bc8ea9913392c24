//! The example rules of alerts, as Prometheus reads them.

use crate::monitoring::names::text_after_a_run;
use std::io::Write as _;
use std::process::{Command, Output, Stdio};

/// Runs Prometheus's checker with these arguments and this input.
fn promtool(arguments: &[&str], input: &str) -> Output {
    let mut command = Command::new("promtool");
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|why| {
        panic!(
            "promtool cannot be started ({why}): install it (Debian: the package `prometheus`; no server needs to run)"
        )
    });
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[track_caller]
fn fine(arguments: &[&str], input: &str) -> String {
    let ran = promtool(arguments, input);
    let words = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "promtool {arguments:?}:\n{words}");
    words
}

/// DS-80: they load.
#[test]
fn prometheus_loads_the_example_rules() {
    let words = fine(&["check", "rules", "docs/monitoring/alerts.yml"], "");
    assert!(words.contains("rules found") && !words.contains(" 0 rules"), "{words}");
}

/// Alerts fire when they should, and are silent when they should.
#[test]
fn the_example_rules_fire_on_the_series_they_are_meant_for() {
    fine(&["test", "rules", "docs/monitoring/alerts_test.yml"], "");
}

/// The text of a node is what Prometheus calls metrics.
#[test]
fn prometheus_reads_the_text_of_a_node() {
    let ran = promtool(&["check", "metrics"], &text_after_a_run());
    let words = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    // The linter ends with 1 for errors of the format, and with 3 for its opinions of names.
    assert!(matches!(ran.status.code(), Some(0 | 3)), "{words}");
    assert!(!words.contains("error while linting"), "{words}");
}
