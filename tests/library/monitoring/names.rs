//! The names of metrics: promised names exist, and the page has all names.

use crate::scheduler::fixture::{Cluster, LONG, job, now};
use crate::support::wait_until;
use carnelian::JobContext;
use carnelian::monitoring::AlarmKind;
use std::collections::BTreeSet;

/// Every metric that the outer contract names, with its kind and its label.
const PROMISED: &[(&str, &str, Option<&str>)] = &[
    ("fires_total", "counter", Some("outcome")),
    ("fire_duration_seconds", "histogram", None),
    ("trigger_lateness_seconds", "histogram", None),
    ("worker_wait_seconds", "histogram", None),
    ("running", "gauge", None),
    ("workers", "gauge", Some("state")),
    ("triggers", "gauge", Some("state")),
    ("overdue_triggers", "gauge", None),
    ("misfires_total", "counter", None),
    ("acquire_seconds", "histogram", None),
    ("lock_wait_seconds", "histogram", Some("lock")),
    ("checkin_seconds", "histogram", None),
    ("checkin_failures_total", "counter", None),
    ("instances", "gauge", Some("state")),
    ("clock_skew_seconds", "gauge", None),
    ("recoveries_total", "counter", Some("kind")),
    ("convictions_total", "counter", None),
    ("failed_out_total", "counter", None),
    ("fenced_writes_total", "counter", None),
    ("orphans_total", "counter", None),
    ("quarantined_rows", "gauge", None),
    ("stuck_fires", "gauge", None),
    ("db_retries_total", "counter", Some("class")),
    // QZ-21: recoveries are timed apart from check-ins that only look.
    ("recovery_seconds", "histogram", None),
    // DS-74
    ("dead_executions_total", "counter", None),
];

/// The text of a node that has run a job and looked at the cluster.
pub fn text_after_a_run() -> String {
    let cluster = Cluster::new();
    let node = cluster.node("n1", 2).job_fn("fine", |_: &mut JobContext| Ok(())).build().unwrap();
    node.start().unwrap();
    let detail = job("j", "fine");
    node.schedule_job(detail.clone(), now("t", &detail)).unwrap();
    wait_until("it has run", LONG, || node.health().completed == 1);
    wait_until("triggers are counted", LONG, || node.metrics_text().contains("carnelian_triggers{"));
    node.metrics_text()
}

#[test]
fn every_promised_metric_is_in_the_text_with_its_kind_and_label() {
    let text = text_after_a_run();
    for (name, kind, label) in PROMISED {
        let typed = format!("# TYPE carnelian_{name} {kind}\n");
        assert!(text.contains(&typed), "{typed} is not in\n{text}");
        let beginning = match (*kind, label) {
            ("histogram", Some(label)) => format!("\ncarnelian_{name}_bucket{{{label}=\""),
            ("histogram", None) => format!("\ncarnelian_{name}_bucket{{le=\""),
            (_, Some(label)) => format!("\ncarnelian_{name}{{{label}=\""),
            (_, None) => format!("\ncarnelian_{name} "),
        };
        assert!(text.contains(&beginning), "{beginning} is not in\n{text}");
    }
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        assert!(line.starts_with("carnelian_"), "{line}");
    }
}

/// Names of metrics in a text: words that begin as they do.
fn names(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("carnelian_")).map(str::to_owned).collect()
}

#[test]
fn the_page_and_the_rules_speak_of_the_metrics_that_there_are() {
    let text = text_after_a_run();
    let there: BTreeSet<String> =
        text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next().map(str::to_owned)).collect();
    let page = std::fs::read_to_string("docs/monitoring.md").unwrap();
    let named = names(&page);
    let silent: Vec<_> = there.difference(&named).collect();
    assert!(silent.is_empty(), "docs/monitoring.md does not name {silent:?}");
    let rules = std::fs::read_to_string("docs/monitoring/alerts.yml").unwrap();
    for name in named.iter().chain(&names(&rules)) {
        let base = ["_bucket", "_sum", "_count"].iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name);
        assert!(there.contains(name) || there.contains(base), "there is no metric {name}");
    }
    for kind in AlarmKind::ALL {
        assert!(page.contains(&format!("| `{kind}` |")), "docs/monitoring.md does not explain the alarm {kind}");
    }
}
