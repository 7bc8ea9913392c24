//! Jobs that disallow concurrent execution never overlap, whoever runs them; but for what Quartz
//! itself does.

use super::Work;
use super::checker::{Allowance, Verdict};
use super::cluster::{Cluster, Config, Kind};
use super::history::text;
use super::tables::Server;
use carnelian::{JobDetail, JobKey};
use std::time::Duration;

const FIRES: u32 = 20;
const EVERY: Duration = Duration::from_millis(100);

pub fn run(server: Server) {
    // More jobs than workers, so that every node has work all the time.
    let mut cluster = Cluster::new("alone", server, &Config { threads: 2, ..Config::default() });
    cluster.start(&[Kind::Java, Kind::Java, Kind::Rust, Kind::Rust]);
    let mut work = Work::default();
    let alone = |group: &str, name: &str, job_type: &str| {
        let job = JobDetail::builder(JobKey::new(group, name), job_type).disallow_concurrent_execution(true);
        job.data("ms", "120").data("poll_ms", "20").build().unwrap()
    };
    // One trigger each, due again before the run is over.
    for name in ["a", "b", "c", "d", "e", "f"] {
        work.add(alone("single", name, "demo.stubborn"), &[(("single", name), EVERY, FIRES)]);
    }
    // Four triggers of one job, due at the same moments: what Quartz gets wrong (H4).
    for name in ["a", "b", "c", "d"] {
        let keys: Vec<String> = (0..4).map(|i| format!("{name}{i}")).collect();
        let triggers: Vec<_> = keys.iter().map(|key| (("several", key.as_str()), EVERY * 5, FIRES / 3)).collect();
        work.add(alone("several", name, "demo.stubborn"), &triggers);
    }
    // The row says it, the annotation of the Java class does not.
    for name in ["a", "b", "c", "d"] {
        let keys = [format!("{name}0"), format!("{name}1")];
        let triggers = [(("bare", keys[0].as_str()), EVERY, FIRES / 2), (("bare", keys[1].as_str()), EVERY, FIRES / 2)];
        work.add(alone("bare", name, "demo.sleep"), &triggers);
    }
    work.store(&cluster.store);
    cluster.wait_until_quiet(0, Duration::from_secs(120));

    let allowances = [Allowance::H4OverlapBegunByQuartz, Allowance::NotAnnotated];
    let mut verdict = Verdict::of(&cluster, &work.expected, &allowances);
    verdict.tables(&cluster);
    let jobs = |group: &str, names: &[&str]| -> Vec<String> { names.iter().map(|n| format!("{group}.{n}")).collect() };
    verdict.one_at_a_time(&cluster, &jobs("single", &["a", "b", "c", "d", "e", "f"]), None);
    verdict.one_at_a_time(&cluster, &jobs("several", &["a", "b", "c", "d"]), Some(Allowance::H4OverlapBegunByQuartz));
    verdict.one_at_a_time(&cluster, &jobs("bare", &["a", "b", "c", "d"]), Some(Allowance::NotAnnotated));
    let mut figures = String::new();
    for group in ["single", "several", "bare"] {
        let mut starts = cluster.events();
        starts.retain(|e| text(e, "event") == "START" && text(e, "job").starts_with(group));
        let shares = cluster.shares(&starts);
        verdict.expect(shares.values().all(|share| *share > 0), || {
            format!("{group} was run by one kind only: {shares:?}")
        });
        figures += &format!(" {group}: java={} rust={}", shares[&Kind::Java], shares[&Kind::Rust]);
    }
    cluster.stop_all();
    verdict.conclude("exclusion", server, cluster, &figures);
}
