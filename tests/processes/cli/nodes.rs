//! `carnelian cluster`: the table, one node, and what scripts read of it.

use super::node::Node;
use super::{Place, text, write_config};
use serde_json::json;

/// LT-30…37, QZ-49: what scripts relied on stays, and the rest is there too.
#[test]
fn a_node_is_shown_with_everything_it_says() {
    let place = Place::new();
    write_config(
        &place.path("carnelian.properties"),
        "org.quartz.scheduler.instanceId = n1\ncarnelian.scheduler.nodeName = rack7\n\
         carnelian.node.labels = zone=eu, gpu=yes\ncarnelian.application.version = 3.1.4\n\
         org.quartz.threadPool.threadCount = 4\ncarnelian.shutdown.deadline = 10s\n",
    );
    place.fine("migrate");
    assert!(place.refused(1, "cluster n1").contains("there is no node `n1`"));
    let node = Node::start(&place);
    let nodes = place.json("cluster");
    let one = &nodes[0];
    for field in ["last_checkin_ms", "checkin_interval_ms", "running"] {
        assert!(one[field].is_i64() || one[field].is_u64(), "{field} in {one}");
    }
    assert_eq!((text(one, "instance"), &one["alive"], &one["foreign"]), ("n1", &json!(true), &json!(false)));
    assert_eq!(place.json("cluster n1"), *one);
    let said = &one["node"];
    assert_eq!((text(said, "node_name"), text(said, "application")), ("rack7", "cli-test"));
    assert_eq!((text(said, "role"), &said["labels"]), ("worker", &json!({"gpu": "yes", "zone": "eu"})));
    assert_eq!((&said["workers"], &said["free_workers"], &said["busy_workers"]), (&json!(4), &json!(4), &json!(0)));
    assert!(said["pid"].as_u64().is_some_and(|pid| pid > 1) && said["cores"].as_u64().is_some_and(|cores| cores > 0));
    if cfg!(target_os = "linux") {
        assert!(said["process_memory_bytes"].as_u64().is_some_and(|bytes| bytes > 1 << 20), "{said}");
        assert!(said["memory_used_bytes"].as_u64() < said["memory_bytes"].as_u64(), "{said}");
    }
    let table = place.fine("cluster");
    assert!(table.contains("gpu=yes, zone=eu") && table.contains("0 of 4") && table.contains("rack7"), "{table}");
    let shown = place.fine("cluster n1");
    assert!(shown.contains("3.1.4") && shown.contains("4, 4 of them free"), "{shown}");
    let column = |line: &str| line.find(':').map(|at| line[at..].find(|c| c != ':' && c != ' ').unwrap_or(0) + at);
    let widths: std::collections::BTreeSet<_> = shown.lines().map(column).collect();
    assert_eq!(widths.len(), 1, "one block: {shown}");

    // The command shows the node, also if somebody has written nonsense into its row by hand.
    super::configuration::sql(
        &place,
        "UPDATE QRTZ_CN_NODES SET LABELS = 'nonsense', NODE_ROLE = 'boss', ACTIVITY = '?', PID = -1, THREADS = -7",
    );
    let damaged = &place.json("cluster n1")["node"];
    assert_eq!((&damaged["labels"], text(damaged, "role"), &damaged["threads"]), (&json!({}), "worker", &json!(null)));
    assert_eq!(node.stop(), Some(0));
    assert_eq!(place.json("cluster"), json!([]));
}

/// A node that is silent is no answer to who asks whether it is there.
#[test]
fn a_silent_node_is_shown_and_ends_with_no() {
    let place = Place::new();
    write_config(&place.path("carnelian.properties"), "");
    place.fine("migrate");
    super::configuration::sql(
        &place,
        "INSERT INTO QRTZ_SCHEDULER_STATE (SCHED_NAME, INSTANCE_NAME, LAST_CHECKIN_TIME, CHECKIN_INTERVAL) \
         VALUES ('cli-test', 'java', 1000, 15000)",
    );
    let ran = place.run(&["cluster", "java", "--json"]).with(1, "cluster java");
    let shown: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&shown["alive"], &shown["foreign"], &shown["node"]), (&json!(false), &json!(true), &json!(null)));
    assert!(place.fine("cluster").contains("silent"));
}
