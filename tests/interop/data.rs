//! Job data: what either side has stored, the other reads and updates, in both stored forms.

use super::Work;
use super::checker::Verdict;
use super::cluster::{Cluster, Config, Kind, SOON};
use super::support::wait_until;
use super::tables::Server;
use carnelian::{DataValue, JobDetail, JobKey};
use std::time::Duration;

const EVERY: Duration = Duration::from_millis(100);
/// The number of times that each kind must have raised each counter.
const EACH: usize = 5;

/// Both forms at a time, each with a cluster of its own.
pub fn run(server: Server) {
    std::thread::scope(|scope| {
        let one = scope.spawn(|| as_text(server));
        as_objects(server);
        one.join().unwrap();
    });
}

/// `useProperties=true`: texts.
fn as_text(server: Server) {
    let stored = "n=text:0 wide=text:a=b:c plain=text:7";
    let ours = [("n", DataValue::from("0")), ("umlaut", "Grüße 💎".into()), ("plain", "7".into())];
    let expected = [
        ("java", "n=java.lang.String:N plain=java.lang.String:7 wide=java.lang.String:a=b:c"),
        ("rust", "n=java.lang.String:N plain=java.lang.String:7 umlaut=java.lang.String:Grüße 💎"),
    ];
    form("data-text", server, true, stored, &ours, expected);
}

/// `useProperties=false`: serialised objects, also of classes that only Java knows.
fn as_objects(server: Server) {
    let stored = "n=int:0 long=long:5000000000 half=double:0.5 yes=bool:true at=date:1700000000000 list=list:a,b";
    let ours = [
        ("n", DataValue::Long(0)),
        ("int", 7.into()),
        ("half", 0.5.into()),
        ("yes", true.into()),
        ("umlaut", "Grüße 💎".into()),
    ];
    let expected = [
        (
            "java",
            "at=java.util.Date:1700000000000 half=java.lang.Double:0.5 list=java.util.ArrayList:[a, b] \
             long=java.lang.Long:5000000000 n=java.lang.Integer:N yes=java.lang.Boolean:true",
        ),
        (
            "rust",
            "half=java.lang.Double:0.5 int=java.lang.Integer:7 n=java.lang.Long:N \
             umlaut=java.lang.String:Grüße 💎 yes=java.lang.Boolean:true",
        ),
    ];
    form("data-objects", server, false, stored, &ours, expected);
}

/// Waits until a node of this kind has raised each counter some times more.
fn raise(cluster: &Cluster, kind: Kind) {
    let counts = || ["data.java", "data.rust"].map(|job| cluster.shares(&cluster.starts("job", job))[&kind]);
    let before = counts();
    wait_until(&format!("{kind:?} has raised both counters"), SOON, || {
        counts().iter().zip(before).all(|(now, before)| *now >= before + EACH)
    });
}

fn form(
    scene: &str,
    server: Server,
    use_properties: bool,
    stored_by_java: &str,
    ours: &[(&str, DataValue)],
    expected: [(&str, &str); 2],
) {
    let mut cluster = Cluster::new("data", server, &Config { use_properties, ..Config::default() });
    cluster.start(&[Kind::Java]);
    cluster.java(&format!("schedule data.java {} 1000000 demo.counter {stored_by_java}", EVERY.as_millis()));
    let mut job = JobDetail::builder(JobKey::new("data", "rust"), "demo.counter")
        .disallow_concurrent_execution(true)
        .persist_job_data_after_execution(true)
        .durable(true);
    for (key, value) in ours {
        job = job.data(*key, value.clone());
    }
    let mut work = Work::default();
    work.add(job.build().unwrap(), &[(("data", "rust"), EVERY, 1_000_000)]);
    work.store(&cluster.store);
    // The kinds take turns: a node that has completed a fire is the first to reserve the next, and
    // would go on so.
    raise(&cluster, Kind::Java);
    cluster.start(&[Kind::Rust]);
    cluster.java("standby");
    raise(&cluster, Kind::Rust);
    cluster.java("start");
    cluster.stop(Kind::Rust);
    raise(&cluster, Kind::Java);
    let keys: Vec<JobKey> = expected.iter().map(|(name, _)| JobKey::new("data", *name)).collect();
    cluster.store.catalogue().pause_jobs(&keys).unwrap();
    cluster.wait_until_quiet(2, SOON);

    let mut verdict = Verdict::of(&cluster, &[], &[]);
    verdict.tables(&cluster);
    let mut counts = Vec::new();
    for (name, expected) in expected {
        let key = format!("data.{name}");
        let starts = cluster.starts("job", &key);
        let runs = starts.len();
        // Each run saw what the one before it, on whichever node, had stored.
        let seen: Vec<i64> = starts.iter().map(|s| s["data"]["n"].as_str().unwrap().parse().unwrap()).collect();
        let in_order = seen.iter().copied().eq(0..i64::try_from(runs).unwrap());
        verdict.expect(in_order, || format!("{key}: the runs saw n = {seen:?}"));
        let expected = expected.replace(":N", &format!(":{runs}"));
        let by_java = cluster.java(&format!("data {key}"));
        verdict.expect(by_java == expected, || format!("{key}: Java reads {by_java:?}, expected {expected:?}"));
        let ours = cluster.store.catalogue().job(&JobKey::new("data", name)).unwrap().unwrap();
        let n = ours.data().integer("n");
        verdict.expect(n == i64::try_from(runs).ok(), || format!("{key}: n is {n:?} after {runs} runs"));
        let shares = cluster.shares(&starts);
        counts.push(format!(" {key}: n={runs} java={} rust={}", shares[&Kind::Java], shares[&Kind::Rust]));
    }
    cluster.stop_all();
    verdict.conclude(scene, server, cluster, &counts.concat());
}
