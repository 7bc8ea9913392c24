//! The checker: reads what the jobs themselves logged and says what went wrong. The checker knows
//! nothing of the store.

use super::cluster::{Cluster, Death};
use super::history::{History, text};
use carnelian::Schedule;
use carnelian::store::violations;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// The findings in the log and in the final state of the store.
#[derive(Debug, Default)]
pub struct Verdict {
    pub starts: usize,
    pub recoveries: usize,
    pub problems: Vec<String>,
}

/// Checks every fire of the grids: run once, and once more for each interruption, and to the end.
pub fn check(events: &[Value], expected: &[(String, Schedule)]) -> Verdict {
    let history = History::of(events);
    let (starts, recoveries) = (history.runs().count(), history.runs().filter(|run| run.recovering).count());
    let problems = history.problems(expected).iter().map(ToString::to_string).collect();
    Verdict { starts, recoveries, problems }
}

impl Verdict {
    /// Panics with everything that is wrong: in the log, and in the tables at the end.
    pub fn assert_clean(&self, cluster: &Cluster) {
        let mut problems = self.problems.clone();
        let snapshot = cluster.store.upkeep().snapshot().unwrap();
        problems.extend(violations(&snapshot).iter().map(ToString::to_string));
        if !snapshot.instances.is_empty() {
            problems.push(format!("nodes that stopped left their rows: {:?}", snapshot.instances));
        }
        let shown = problems.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
        assert!(
            problems.is_empty(),
            "{} problems, seed {}, folder {}:\n{shown}",
            problems.len(),
            cluster.seed,
            cluster.folder.display()
        );
    }
}

/// For each death: from its last check-in to the first recovery of what it had interrupted. Nodes
/// are known by their names: of a thousand processes some have the pid of one before.
fn recoveries<'a>(events: &'a [Value], deaths: &'a [Death]) -> Vec<(&'a Death, Duration)> {
    let starts = || events.iter().filter(|event| text(event, "event") == "START");
    let begun: BTreeMap<&str, &str> = starts()
        .filter(|event| event["recovering"] == false)
        .map(|event| (text(event, "fire_id"), text(event, "instance")))
        .collect();
    let mut first: BTreeMap<&str, i64> = BTreeMap::new();
    for event in starts().filter(|event| event["attempt"] == 1) {
        let (Some(dead), Some(at)) = (begun.get(text(event, "root_fire_id")), event["wall_ms"].as_i64()) else {
            continue;
        };
        first.entry(dead).and_modify(|first| *first = at.min(*first)).or_insert(at);
    }
    let after = |death: &Death| Some(first.get(death.instance.as_str())? - death.last_checkin_ms?);
    let known = deaths.iter().filter_map(|death| Some((death, after(death)?)));
    known.map(|(death, ms)| (death, Duration::from_millis(u64::try_from(ms).unwrap_or(0)))).collect()
}

/// Panics if a recovery began later after the last check-in than `limit`.
pub fn check_latency(events: &[Value], deaths: &[Death], limit: Duration) {
    for (Death { instance, .. }, latency) in recoveries(events, deaths) {
        assert!(
            latency <= limit,
            "the work of {instance} was recovered {latency:?} after its last check-in, limit {limit:?}"
        );
    }
}

/// The shortest and the longest time from a last check-in to the recovery.
pub fn fastest_and_longest_recovery(events: &[Value], deaths: &[Death]) -> Option<(Duration, Duration)> {
    let times = || recoveries(events, deaths).into_iter().map(|(_, latency)| latency);
    Some((times().min()?, times().max()?))
}

/// The longest time from a last check-in to the recovery.
pub fn longest_recovery(events: &[Value], deaths: &[Death]) -> Option<Duration> {
    Some(fastest_and_longest_recovery(events, deaths)?.1)
}

/// Runs of `demo.checkpoint` that began before the last checkpoint of the run that they go on from:
/// `(fire, first step)`. A step counts as kept when the next one was begun.
pub fn repeated_steps(events: &[Value]) -> Vec<(String, i64)> {
    let steps: Vec<(&str, &str, i64)> = events
        .iter()
        .filter_map(|event| {
            let step = event["step"].as_i64()?;
            let fire = event["fire_id"].as_str()?;
            Some((event["root_fire_id"].as_str().unwrap_or(fire), fire, step))
        })
        .collect();
    let mut repeated = Vec::new();
    let mut kept: BTreeMap<&str, i64> = BTreeMap::new();
    let mut last: BTreeMap<&str, &str> = BTreeMap::new();
    for (root, fire, step) in steps {
        let begins = last.insert(root, fire) != Some(fire);
        if begins && step < kept.get(root).copied().unwrap_or(0) {
            repeated.push((fire.to_owned(), step));
        }
        let known = kept.entry(root).or_insert(0);
        *known = (*known).max(step);
    }
    repeated
}
