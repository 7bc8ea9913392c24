//! Recurrences, which Quartz does not know, stand among the triggers of a mixed cluster and disturb
//! no node of Quartz.

use super::Work;
use super::checker::Verdict;
use super::cluster::{Cluster, Config, Kind, SOON};
use super::support::wait_until;
use super::tables::Server;
use carnelian::{JobDetail, JobKey, MisfireInstruction, RecurrenceSchedule, Trigger, TriggerKey};
use chrono::{DateTime, TimeDelta};
use std::time::Duration;

/// The number of times of a recurrence: one a second.
const TIMES: i64 = 60;
const FIRES: u32 = 20;

pub fn run(server: Server) {
    let mut cluster = Cluster::new("recurrences", server, &Config::default());
    cluster.start(&[Kind::Rust]);
    let keys = store(&cluster);
    cluster.start(&[Kind::Java]);

    // While there are nodes of both kinds, ours fire it.
    let recurring = |cluster: &Cluster| cluster.starts("trigger", &keys[0].to_string());
    let seen = recurring(&cluster).len();
    wait_until("the recurrence goes on", SOON, || recurring(&cluster).len() >= seen + 3);

    // Nodes of Quartz alone find it due, first of all, and go on with the rest.
    cluster.stop(Kind::Rust);
    let mut work = Work::default();
    work.grid(("grid", "g"), "demo.append", Duration::from_millis(500), FIRES, &[]);
    work.store(&cluster.store);
    wait_until("the grid is done", SOON, || {
        cluster.starts("trigger", "grid.g").len() >= usize::try_from(FIRES).unwrap()
    });
    let waiting = cluster.store.upkeep().snapshot().unwrap();
    cluster.start(&[Kind::Rust]);
    let before = recurring(&cluster).len();
    wait_until("what was missed is fired", SOON, || recurring(&cluster).len() > before);
    cluster.store.catalogue().unschedule(&keys).unwrap();
    cluster.wait_until_quiet(0, SOON);

    let mut verdict = Verdict::of(&cluster, &work.expected, &[]);
    verdict.tables(&cluster);
    for key in &keys {
        let row = waiting.triggers.iter().find(|row| row.key == *key);
        let state = row.map(|row| row.state.as_str());
        verdict.expect(state == Some("WAITING"), || format!("{key} was {state:?} while nodes of Quartz were alone"));
    }
    let shares = cluster.shares(&recurring(&cluster));
    verdict.expect(shares[&Kind::Java] == 0, || format!("nodes of Quartz have fired the recurrence: {shares:?}"));
    let complaints = cluster.log_lines(Kind::Java, &["ERROR", "Exception"]);
    verdict.expect(complaints.is_empty(), || format!("nodes of Quartz say {complaints:?}"));
    cluster.stop_all();
    verdict.conclude("recurrences", server, cluster, &format!(" recurred={}", shares[&Kind::Rust]));
}

/// Two recurrences of which one ignores misfires, due every second from now on. Quartz tells
/// triggers apart by that.
fn store(cluster: &Cluster) -> [TriggerKey; 2] {
    let now = DateTime::from_timestamp(cluster.store.now_ms().unwrap() / 1000, 0).unwrap();
    let seconds = (1..TIMES).map(|i| now.naive_utc() + TimeDelta::seconds(i));
    let schedule = RecurrenceSchedule::new("FREQ=DAILY").unwrap().also_at(seconds);
    let store = |name: &str, misfire| {
        let job = JobDetail::builder(JobKey::new("recurs", name), "demo.append").build().unwrap();
        let builder = Trigger::builder(TriggerKey::new("recurs", name), job.key().clone());
        let trigger = builder.schedule(schedule.clone()).start_at(now).misfire(misfire).build().unwrap();
        cluster.store.catalogue().schedule(vec![(job, vec![trigger])], false).unwrap();
        TriggerKey::new("recurs", name)
    };
    [store("each", MisfireInstruction::Ignore), store("once", MisfireInstruction::FireOnceNow)]
}
