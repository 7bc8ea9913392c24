//! Nodes of ours join a cluster of Quartz and leave it again, and disturb nobody.

use super::Work;
use super::checker::Verdict;
use super::cluster::{Cluster, Config, Kind, SOON};
use super::support::wait_until;
use super::tables::Server;
use std::time::Duration;

const VISITS: u32 = 3;

pub fn run(server: Server) {
    let mut cluster = Cluster::new("visitors", server, &Config::default());
    cluster.start(&[Kind::Java, Kind::Java]);
    let mut work = Work::default();
    for i in 0..6 {
        work.grid(("grid", &format!("g{i}")), "demo.sleep", Duration::from_millis(500), 20, &[("ms", "150")]);
    }
    work.store(&cluster.store);
    let mut visits = 0;
    while visits < VISITS {
        let before = cluster.shares(&cluster.starts("type", "demo.sleep"))[&Kind::Rust];
        cluster.start(&[Kind::Rust]);
        wait_until("the visitor has worked", SOON, || {
            cluster.shares(&cluster.starts("type", "demo.sleep"))[&Kind::Rust] >= before + 3
        });
        let visitor = cluster.stop(Kind::Rust);
        assert!(!cluster.instances().contains(&visitor), "{visitor} left its row behind");
        visits += 1;
    }
    cluster.wait_until_quiet(0, SOON);

    let mut verdict = Verdict::of(&cluster, &work.expected, &[]);
    verdict.tables(&cluster);
    let recovered: usize = verdict.recoveries.values().sum();
    verdict.expect(recovered == 0, || format!("{recovered} runs were repeated, and nobody had died"));
    for node in &mut cluster.nodes {
        let alive = node.is_alive();
        verdict.expect(alive, || format!("{} has ended", node.instance));
        // Quartz says of a node that it takes for failed: "detected … failed or restarted
        // instances".
        for word in ["ERROR", "failed or restarted", "Exception"] {
            let lines: Vec<String> = node.said().lines().filter(|l| l.contains(word)).map(str::to_owned).collect();
            verdict.expect(lines.is_empty(), || format!("{} says {lines:?}", node.instance));
        }
    }
    cluster.stop_all();
    verdict.conclude("visitors", server, cluster, &format!(" visits={visits}"));
}
