//! A node is killed with `kill -9` while its jobs run; a node of the other kind takes its work
//! over.

use super::Work;
use super::checker::Verdict;
use super::cluster::{Cluster, Config, Kind, SOON, WINDOW};
use super::history::text;
use super::support::wait_until;
use super::tables::Server;
use carnelian::FiredTrigger;
use carnelian::store::row::FiredState;
use carnelian::{JobDetail, JobKey};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Long enough for a node of ours to start meanwhile.
const MS: &str = "4000";

/// Both directions at a time, each with a cluster of its own.
pub fn run(server: Server) {
    std::thread::scope(|scope| {
        let one = scope.spawn(|| direction(server, Kind::Java, Kind::Rust));
        direction(server, Kind::Rust, Kind::Java);
        one.join().unwrap();
    });
}

fn direction(server: Server, victim: Kind, heir: Kind) {
    let mut cluster = Cluster::new("recovery", server, &Config::default());
    if heir == Kind::Java {
        // The heir stands by until the victim's workers are busy. The victim must know of the heir:
        // a fire of ours keeps its rows while a node of Quartz may have to recover it.
        cluster.start(&[Kind::Java, Kind::Rust]);
        cluster.java("standby");
        wait_until("our node knows of the other", SOON, || {
            !cluster.log_lines(Kind::Rust, &["a node of Quartz is in the cluster"]).is_empty()
        });
    } else {
        cluster.start(&[victim]);
    }
    let mut work = Work::default();
    let once = |name: &str, recover: bool| {
        let job = JobDetail::builder(JobKey::new("once", name), "demo.sleep").requests_recovery(recover).data("ms", MS);
        job.build().unwrap()
    };
    work.add(once("a", true), &[(("once", "a"), WINDOW, 1)]);
    work.add(once("b", true), &[(("once", "b"), WINDOW, 1)]);
    // Not asked to be run again: gone with its rows, in silence.
    let mut lost = Work::default();
    lost.add(once("lost", false), &[(("once", "lost"), WINDOW, 1)]);
    work.jobs.append(&mut lost.jobs);
    // One at a time: the second fire must wait for the first one's recovery, or run before that
    // recovery; never beside it.
    let alone = JobDetail::builder(JobKey::new("alone", "stubborn"), "demo.stubborn")
        .disallow_concurrent_execution(true)
        .requests_recovery(true)
        .data("ms", MS)
        .build()
        .unwrap();
    work.add(alone, &[(("alone", "stubborn"), WINDOW, 2)]);
    work.store(&cluster.store);
    let executing = |cluster: &Cluster| -> Vec<FiredTrigger> {
        cluster
            .store
            .upkeep()
            .fired_triggers()
            .unwrap()
            .into_iter()
            .filter(|f| f.state == FiredState::Executing)
            .collect()
    };
    wait_until("the four jobs have begun", SOON, || {
        cluster.events().iter().filter(|e| text(e, "event") == "START").count() == 4
    });
    if heir == Kind::Java {
        cluster.java("start");
    } else {
        cluster.start(&[heir]);
    }
    let interrupted = executing(&cluster);
    assert_eq!(interrupted.len(), 4, "the jobs ended before the other node was there: {interrupted:?}");
    let killed = cluster.kill(victim);
    let since = Instant::now();
    wait_until("the dead node is recovered", WINDOW + Duration::from_secs(20), || {
        !cluster.instances().contains(&killed)
    });
    let took = since.elapsed();
    cluster.wait_until_quiet(0, SOON);

    let mut verdict = Verdict::of(&cluster, &work.expected, &[]);
    verdict.may_be_lost(&["once.lost"]);
    verdict.one_at_a_time(&cluster, &["alone.stubborn".to_owned()], None);
    verdict.tables(&cluster);
    let starts: Vec<_> = cluster.events().into_iter().filter(|e| text(e, "event") == "START").collect();
    for fire in &interrupted {
        let trigger = fire.trigger.to_string();
        let keys = original_keys(fire);
        let again: Vec<_> = starts
            .iter()
            .filter(|e| e["recovering"] == true && keys.iter().all(|(key, value)| text(&e["data"], key) == value))
            .collect();
        let wanted = usize::from(fire.trigger.name() != "lost");
        verdict.expect(again.len() == wanted, || {
            format!("{trigger} was run again {} times with its four data keys, not {wanted}: {again:?}", again.len())
        });
        for run in again {
            let kind = cluster.kind_of(run["pid"].as_u64().unwrap());
            verdict.expect(kind == heir, || format!("{trigger} was run again by a {kind:?} node"));
            verdict.expect(text(&run["data"], "ms") == MS, || format!("{trigger} lost its job's data: {run}"));
            let stem = format!("RECOVERING_JOBS.recover_{killed}_");
            let name = text(run, "trigger");
            verdict.expect(name.starts_with(&stem), || format!("the recovery trigger is called {name}"));
        }
    }
    // Quartz knows nothing of our side rows.
    let swept = cluster.store.upkeep().audit().unwrap().swept;
    verdict.expect(heir == Kind::Rust || swept > 0, || "nothing was left of the killed node's side rows".to_owned());
    let jobs: Vec<_> =
        cluster.store.upkeep().snapshot().unwrap().jobs.into_iter().map(|job| job.key.to_string()).collect();
    verdict.expect(jobs.is_empty(), || format!("jobs that are not durable are left: {jobs:?}"));
    cluster.stop_all();
    let scene = format!("recovery-of-{victim:?}-by-{heir:?}").to_lowercase();
    verdict.conclude(&scene, server, cluster, &format!(" convicted after {took:.1?} swept={swept}"));
}

/// The four data keys by which both kinds name the fire that was interrupted.
fn original_keys(fire: &FiredTrigger) -> BTreeMap<String, String> {
    let key = |end: &str| format!("QRTZ_FAILED_JOB_ORIG_TRIGGER_{end}");
    BTreeMap::from([
        (key("NAME"), fire.trigger.name().to_owned()),
        (key("GROUP"), fire.trigger.group().to_owned()),
        (key("FIRETIME_IN_MILLISECONDS_AS_STRING"), fire.fire_time.timestamp_millis().to_string()),
        (key("SCHEDULED_FIRETIME_IN_MILLISECONDS_AS_STRING"), fire.scheduled_fire_time.timestamp_millis().to_string()),
    ])
}
