//! The checker: reads what the jobs themselves logged and says what went wrong. It knows nothing of the store.

use super::cluster::{Cluster, Death};
use carnelian::Schedule;
use carnelian::store::violations;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// What the log and the final state of the store showed.
#[derive(Debug, Default)]
pub struct Verdict {
    pub starts: usize,
    pub recoveries: usize,
    pub problems: Vec<String>,
}

/// One run, from its START and END lines.
#[derive(Debug)]
struct Run {
    fire_id: String,
    attempt: i64,
    recovering: bool,
    ended: Option<String>,
}

fn text<'a>(event: &'a Value, field: &str) -> &'a str {
    event[field].as_str().unwrap_or_default()
}

/// Checks every fire of the grids: run once, and once more for each interruption, and to the end.
pub fn check(events: &[Value], expected: &[(String, Schedule)]) -> Verdict {
    let mut verdict = Verdict::default();
    // A chain is a due fire with its recoveries: the trigger it was due for and the time it was due.
    let mut chains: BTreeMap<(String, i64), Vec<Run>> = BTreeMap::new();
    let mut place: BTreeMap<String, (String, i64)> = BTreeMap::new();
    for event in events {
        let fire_id = text(event, "fire_id").to_owned();
        match text(event, "event") {
            "START" => {
                verdict.starts += 1;
                let recovering = event["recovering"].as_bool().unwrap_or_default();
                verdict.recoveries += usize::from(recovering);
                let trigger = match recovering {
                    true => {
                        let data = &event["data"];
                        let part = |key: &str| text(data, &format!("QRTZ_FAILED_JOB_ORIG_TRIGGER_{key}")).to_owned();
                        format!("{}.{}", part("GROUP"), part("NAME"))
                    }
                    false => text(event, "trigger").to_owned(),
                };
                let due = event["original_scheduled_ms"].as_i64().unwrap_or_default();
                let run = Run {
                    fire_id: fire_id.clone(),
                    attempt: event["attempt"].as_i64().unwrap_or_default(),
                    recovering,
                    ended: None,
                };
                if place.insert(fire_id.clone(), (trigger.clone(), due)).is_some() {
                    verdict.problems.push(format!("fire {fire_id} was started twice"));
                }
                chains.entry((trigger, due)).or_default().push(run);
            }
            "END" => match place.get(&fire_id).and_then(|place| chains.get_mut(place)) {
                Some(runs) => {
                    if let Some(run) = runs.iter_mut().find(|run| run.fire_id == fire_id) {
                        run.ended = Some(text(event, "outcome").to_owned());
                    }
                }
                None => verdict.problems.push(format!("END without START: {fire_id}")),
            },
            _ => {}
        }
    }
    for ((trigger, due), runs) in &chains {
        let first = runs.iter().filter(|run| !run.recovering).count();
        if first > 1 {
            verdict.problems.push(format!("{trigger} at {due} was fired {first} times: {runs:?}"));
        }
        let attempts: BTreeSet<i64> = runs.iter().map(|run| run.attempt).collect();
        if attempts.len() != runs.len() {
            verdict.problems.push(format!("{trigger} at {due} was recovered twice for one interruption: {runs:?}"));
        }
        // An interruption without a START (killed between firing and starting) leaves a gap in the attempts, no more.
        if !runs.iter().any(|run| run.ended.as_deref() == Some("succeeded")) {
            verdict.problems.push(format!("{trigger} at {due} never came to its end: {runs:?}"));
        }
    }
    for (trigger, schedule) in expected {
        let Schedule::Simple(simple) = schedule else { continue };
        let seen: Vec<i64> = chains.keys().filter(|(key, _)| key == trigger).map(|(_, due)| *due).collect();
        let Some(start) = seen.first().copied() else {
            verdict.problems.push(format!("{trigger} never fired"));
            continue;
        };
        let step = i64::try_from(simple.interval().as_millis()).unwrap();
        let count = i64::try_from(simple.repeat_count().unwrap()).unwrap();
        let grid: BTreeSet<i64> = (0..=count).map(|k| start + k * step).collect();
        let seen: BTreeSet<i64> = seen.into_iter().collect();
        for lost in grid.difference(&seen) {
            verdict.problems.push(format!("{trigger} at {lost} was lost"));
        }
        for alien in seen.difference(&grid) {
            verdict.problems.push(format!("{trigger} fired at {alien}, which it never was due"));
        }
    }
    verdict
}

impl Verdict {
    /// Panics with everything that is wrong: in the log, and in the tables at the end.
    pub fn assert_clean(&self, cluster: &Cluster) {
        let mut problems = self.problems.clone();
        let snapshot = cluster.store.snapshot().unwrap();
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

/// For each death: from its last check-in to the first recovery of what it had interrupted.
fn recoveries<'a>(events: &'a [Value], deaths: &'a [Death]) -> impl Iterator<Item = (u32, Duration)> + 'a {
    deaths.iter().filter_map(|death| {
        let last_checkin = death.last_checkin_ms?;
        let started = |e: &&Value| text(e, "event") == "START";
        let of_the_dead: BTreeSet<&str> = events
            .iter()
            .filter(started)
            .filter(|e| e["pid"].as_u64() == Some(u64::from(death.pid)))
            .filter(|e| !e["recovering"].as_bool().unwrap_or_default())
            .map(|e| text(e, "fire_id"))
            .collect();
        let recovered = events
            .iter()
            .filter(started)
            .filter(|e| e["attempt"].as_i64() == Some(1) && of_the_dead.contains(text(e, "origin_fire_id")))
            .filter_map(|e| e["wall_ms"].as_i64())
            .min()?;
        let millis = u64::try_from(recovered - last_checkin).unwrap_or(0);
        Some((death.pid, Duration::from_millis(millis)))
    })
}

/// Panics if a recovery began later after the last check-in than `limit`.
pub fn check_latency(events: &[Value], deaths: &[Death], limit: Duration) {
    for (pid, latency) in recoveries(events, deaths) {
        assert!(
            latency <= limit,
            "the work of node {pid} was recovered {latency:?} after its last check-in, limit {limit:?}"
        );
    }
}

/// The longest time from a last check-in to the recovery.
pub fn longest_recovery(events: &[Value], deaths: &[Death]) -> Option<Duration> {
    recoveries(events, deaths).map(|(_, latency)| latency).max()
}
