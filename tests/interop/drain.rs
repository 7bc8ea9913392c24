//! Two nodes of each kind drain 2,000 one-shots, in a run of a minute, and a grid of repeating
//! triggers: each due time once, by both kinds.

use super::Work;
use super::checker::{Allowance, Verdict};
use super::cluster::{Cluster, Config, Kind};
use super::tables::Server;
use carnelian::{JobDetail, JobKey};
use std::time::Duration;

const PER_JOB: u32 = 100;
const GRID: Duration = Duration::from_millis(500);

/// As one should set nodes of Quartz: nothing is allowed.
pub fn with_the_lock(server: Server) {
    run("drain", server, true, seconds(server), &[]);
}

/// Nodes of Quartz with the settings that they have by default; a short run, in which they may fire
/// again what was fired.
pub fn without_the_lock(server: Server) {
    run(
        "drain-unlocked",
        server,
        false,
        5.min(seconds(server)),
        &[Allowance::H1FiredAgainByQuartz, Allowance::H1LostByQuartz],
    );
}

fn seconds(server: Server) -> u32 {
    let of_server = format!("CARNELIAN_INTEROP_SECONDS_{}", server.name().to_uppercase());
    let given = std::env::var(of_server).or_else(|_| std::env::var("CARNELIAN_INTEROP_SECONDS"));
    given.ok().and_then(|text| text.parse().ok()).unwrap_or(60)
}

/// The number of one-shots: fewer in a short run.
fn one_shots(server: Server) -> u32 {
    (2_000 * seconds(server).min(60) / 60).max(400).next_multiple_of(PER_JOB)
}

fn run(scene: &str, server: Server, within_lock: bool, seconds: u32, allowances: &[Allowance]) {
    let one_shots = one_shots(server);
    let mut cluster = Cluster::new("drain", server, &Config { within_lock, ..Config::default() });
    cluster.start(&[Kind::Java, Kind::Java, Kind::Rust, Kind::Rust]);
    let mut work = Work::default();
    for i in 0..12 {
        // Every third asks for recovery: its row stays until its end, as all rows of Quartz do.
        let key = ("grid", format!("g{i}"));
        let fires = seconds * 1000 / u32::try_from(GRID.as_millis()).unwrap();
        let job = JobDetail::builder(JobKey::new(key.0, &key.1), "demo.append").requests_recovery(i % 3 == 0);
        work.add(job.build().unwrap(), &[((key.0, &key.1), GRID, fires)]);
    }
    for i in 0..one_shots / PER_JOB {
        let job =
            JobDetail::builder(JobKey::new("once", format!("job{i}")), "demo.append").requests_recovery(i % 2 == 0);
        let keys: Vec<String> = (0..PER_JOB).map(|k| format!("t{i}-{k}")).collect();
        let triggers: Vec<_> = keys.iter().map(|key| (("once", key.as_str()), GRID, 1)).collect();
        work.add(job.build().unwrap(), &triggers);
    }
    work.store(&cluster.store);
    cluster.wait_until_quiet(0, Duration::from_secs(u64::from(seconds) + 120));

    let mut verdict = Verdict::of(&cluster, &work.expected, allowances);
    verdict.tables(&cluster);
    let all = usize::try_from(one_shots + 12 * seconds * 2).unwrap();
    for kind in [Kind::Java, Kind::Rust] {
        let share = verdict.runs[&kind];
        verdict.expect(share * 50 >= all, || {
            format!("{kind:?} nodes ran {share} of {all} fires: not really a mixed cluster")
        });
    }
    let overtaken = cluster.log_lines(Kind::Rust, &["overtaken", "service failed"]).len();
    let jobs = cluster.store.upkeep().snapshot().unwrap().jobs.len();
    verdict.expect(jobs == 0, || format!("{jobs} jobs that are not durable are left"));
    let errors = cluster.log_lines(Kind::Java, &["ERROR"]);
    errors.iter().for_each(|line| println!("  Quartz says: {line}"));
    let errors = errors.len();
    cluster.stop_all();
    let figures = format!(" of {all} due, grid {seconds} s, services_failed={overtaken} quartz_error_lines={errors}");
    verdict.conclude(scene, server, cluster, &figures);
}
