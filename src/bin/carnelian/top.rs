//! `top`: the overview in a terminal, drawn again and again.

use crate::failure::Outcome;
use crate::look::{look, window};
use crate::output::{Output, ago, or_dash, write};
use crate::shown::count;
use crate::table::unfolded;
use crate::value::{self, epoch_ms};
use crate::watch::pause;
use carnelian::history::{FireOutcome, HistoryQuery, HistoryRow};
use carnelian::monitoring::{FiredState, InstanceStatus};
use carnelian::report::{self, alarms_in_words, node_state, percent, progress_in_words};
use carnelian::store::row::TrendSample;
use carnelian::store::{ClusterLoad, FiredTrigger, JobStore, TriggerSummary, span};
use clap::Args;
use console::truncate_str;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::time::Duration;

/// The minutes of the small charts.
const MINUTES: i64 = 30;
/// The most fires that they are made from, the newest; and those looked through for failures.
const MOST_SAMPLES: usize = 5_000;
const LAST_FIRES: usize = 500;
/// The most overdue triggers and parked work that are counted.
const MOST_COUNTED: usize = 10_000;
/// The rows of each list.
const FEW: usize = 8;
const MINUTE_MS: i64 = 60_000;

// The repetition; as a doc comment it would be the help of the command.
#[derive(Args)]
pub struct Top {
    /// The time between two looks
    #[arg(long, value_name = "DUR", default_value = "2s", value_parser = value::duration)]
    pub interval: Duration,
    /// Shows it once, as where no terminal is
    #[arg(long)]
    pub once: bool,
}

/// The findings of one look.
struct Seen {
    name: String,
    now_ms: i64,
    load: std::sync::Arc<ClusterLoad>,
    nodes: Vec<InstanceStatus>,
    fires: Vec<FiredTrigger>,
    due: Vec<TriggerSummary>,
    failures: Vec<HistoryRow>,
    samples: Vec<TrendSample>,
}

/// Shows the overview until Ctrl-C, or once.
pub fn run(store: &JobStore, output: Output, options: &Top) -> Outcome {
    if options.once || output.is_json() || !look().is_person {
        let seen = Seen::now(store)?;
        return output.answer(seen.document(), || format!("{}\n", seen.text(FEW).trim_end()));
    }
    write("\u{1b}[2J")?;
    loop {
        // The screen is overwritten line by line, so that it does not flicker.
        let seen = Seen::now(store)?;
        let window = window().unwrap_or((usize::MAX, usize::MAX));
        let text = framed(&seen.text(rows_of_lists(window.1, seen.nodes.len())), window).join("\u{1b}[K\n");
        write(&format!("\u{1b}[H{text}\u{1b}[J"))?;
        pause(options.interval);
    }
}

impl Seen {
    fn now(store: &JobStore) -> Outcome<Self> {
        let now_ms = store.now_ms()?;
        let mut failures = store.history().find(&HistoryQuery::new().limit(LAST_FIRES))?;
        failures.retain(|row| FireOutcome::BAD.contains(&row.outcome));
        failures.truncate(FEW);
        Ok(Self {
            name: store.settings().scheduler.instance_name.clone(),
            now_ms,
            load: store.upkeep().cluster_load(store.settings().monitor.overdue_after, MOST_COUNTED)?.into(),
            nodes: store.upkeep().instances()?,
            fires: store.upkeep().fired_triggers()?,
            due: store.catalogue().due_next(FEW)?,
            failures,
            samples: store.history().samples_since(now_ms - MINUTES * MINUTE_MS, MOST_SAMPLES)?,
        })
    }

    fn running(&self) -> impl Iterator<Item = &FiredTrigger> {
        self.fires.iter().filter(|fire| fire.state == FiredState::Executing)
    }

    fn document(&self) -> Value {
        json!({
            "scheduler": self.name,
            "now_ms": self.now_ms,
            "overdue": self.load.overdue,
            "parked": self.load.parked,
            "nodes": self.nodes.iter().map(report::node).collect::<Vec<_>>(),
            "running": self.running().map(report::fire).collect::<Vec<_>>(),
            "due": self.due.iter().map(report::trigger_summary).collect::<Vec<_>>(),
            "failures": self.failures.iter().map(report::run).collect::<Vec<_>>(),
        })
    }

    /// The overview, with at most so many rows in each list but that of nodes.
    fn text(&self, rows: usize) -> String {
        let running = self.running().count();
        [
            self.head(running),
            self.charts(),
            unfolded(
                ["NODE", "STATE", "CHECK-IN", "RUNS", "WORKERS", "CPU", "ALARMS"],
                self.nodes.iter().map(|node| {
                    let info = node.node.as_ref().map(|row| &row.info);
                    [
                        node.instance.clone(),
                        node_state(node),
                        ago(epoch_ms(node.last_checkin), self.now_ms),
                        node.running.to_string(),
                        or_dash(info.map(|info| format!("{} of {}", info.busy_workers(), info.pool_size))),
                        or_dash(info.and_then(|info| percent(info.load.host_cpu_permille))),
                        info.and_then(alarms_in_words).unwrap_or_default(),
                    ]
                }),
            ),
            unfolded(
                ["RUNNING", "ON", "FOR", "PROGRESS"],
                self.running().take(rows).map(|fire| {
                    [
                        or_dash(fire.job.as_ref()),
                        fire.instance.clone(),
                        span(self.now_ms - epoch_ms(fire.fire_time)),
                        or_dash(progress_in_words(fire)),
                    ]
                }),
            ),
            unfolded(
                ["DUE NEXT", "JOB", "IN"],
                self.due.iter().take(rows).map(|trigger| {
                    let next = trigger.next_fire_time.map(|time| epoch_ms(time) - self.now_ms);
                    let late = |ms: i64| if ms < 0 { format!("{} ago", span(ms)) } else { span(ms) };
                    [trigger.key.to_string(), trigger.job.to_string(), or_dash(next.map(late))]
                }),
            ),
            unfolded(
                ["LAST FAILURES", "OUTCOME", "ENDED", "ERROR"],
                self.failures.iter().take(rows).map(|row| {
                    let error = row.error.as_deref().unwrap_or_default();
                    [
                        or_dash(row.job.as_ref()),
                        row.outcome.name().to_owned(),
                        ago(row.ended_ms, self.now_ms),
                        error.lines().next().unwrap_or_default().to_owned(),
                    ]
                }),
            ),
        ]
        .join("\n")
    }

    /// The state of the cluster in a line.
    fn head(&self, running: usize) -> String {
        let load = &self.load;
        let working = load.instances.iter().filter(|node| node.is_working()).count();
        let silent = load.instances.iter().filter(|node| !node.alive).count();
        let take = if working == 1 { "takes" } else { "take" };
        let mut line = format!("{}: {} {take} work, {}", self.name, count(working, "node"), count(running, "run"));
        if load.overdue > 0 {
            line.push_str(&format!(", {}", count(load.overdue, "overdue trigger")));
        }
        for (number, what) in [(silent, "silent"), (load.parked, "parked")] {
            if number > 0 {
                line.push_str(&format!(", {number} {what}"));
            }
        }
        if let Some(since_ms) = load.recovery_since_ms {
            line.push_str(&format!(", in recovery mode for {}", span(self.now_ms - since_ms)));
        }
        line + "\n"
    }

    /// The fires and failures of each of the last minutes, and their lateness.
    fn charts(&self) -> String {
        let first = self.now_ms.div_euclid(MINUTE_MS) - MINUTES + 1;
        let by_minute = |is_counted: fn(FireOutcome) -> bool| {
            let mut minutes = vec![0_u64; usize::try_from(MINUTES).unwrap_or(0)];
            for sample in self.samples.iter().filter(|sample| is_counted(sample.outcome)) {
                let minute = usize::try_from(sample.ended_ms.div_euclid(MINUTE_MS) - first);
                if let Some(count) = minute.ok().and_then(|minute| minutes.get_mut(minute)) {
                    *count += 1;
                }
            }
            minutes
        };
        let (fires, failed) = (by_minute(|_| true), by_minute(|outcome| outcome != FireOutcome::Succeeded));
        let mut late_ms: Vec<i64> = self
            .samples
            .iter()
            .filter(|sample| sample.ended_ms > self.now_ms - 5 * MINUTE_MS)
            .filter_map(TrendSample::late_ms)
            .collect();
        late_ms.sort_unstable();
        let late = |percent: usize| {
            let at = (late_ms.len() * percent).div_ceil(100).saturating_sub(1);
            or_dash(late_ms.get(at).map(|ms| span(*ms)))
        };
        let last = |minutes: &[u64]| minutes.iter().rev().nth(1).copied().unwrap_or(0);
        format!(
            "fires a minute  {} {}\nnot succeeded   {} {}\nlate            {} typical, {} slowest of 100, in the last 5 min\n",
            bars(&fires),
            last(&fires),
            bars(&failed),
            last(&failed),
            late(50),
            late(99)
        )
    }
}

/// The rows for each of the three lists in a window of so many lines: 13 lines are head, charts,
/// headings and what is between them.
fn rows_of_lists(lines: usize, nodes: usize) -> usize {
    (lines.saturating_sub(13 + nodes) / 3).clamp(1, FEW)
}

/// The lines that a window shows whole, the last one without an end: what is wider is cut, and what
/// comes after them is left out, since a screen that scrolls cannot be overwritten.
fn framed(text: &str, (columns, rows): (usize, usize)) -> Vec<Cow<'_, str>> {
    // A terminal keeps the cursor on its last column, which the end of the line would erase.
    text.lines().take(rows).map(|line| truncate_str(line, columns - 1, "…")).collect()
}

/// A bar for each value, the highest for the largest.
fn bars(values: &[u64]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = values.iter().copied().max().unwrap_or(0).max(1);
    let bar = |value: &u64| BARS.get(usize::try_from(value * 7 / most).unwrap_or(0)).copied().unwrap_or(' ');
    values.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_fits_into_the_window() {
        let text = "a line\n\u{1b}[31mfailed\u{1b}[0m\nthe last\n";
        assert_eq!(framed(text, (6, 2)), ["a li…", "\u{1b}[31mfail…\u{1b}[0m"]);
        assert_eq!(framed(text, (80, 24)).len(), 3);
        assert_eq!((rows_of_lists(24, 3), rows_of_lists(10, 3), rows_of_lists(usize::MAX, 3)), (2, 1, FEW));
    }

    #[test]
    fn bars_are_as_high_as_their_values() {
        assert_eq!(bars(&[0, 1, 7, 14]), "▁▁▄█");
        assert_eq!(bars(&[0, 0]), "▁▁");
    }
}
