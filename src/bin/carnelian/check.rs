//! `check`: the cluster's answer for a monitor, from the database alone.

use crate::failure::Outcome;
use crate::output::{Output, fields, span, yes_or_no};
use crate::value::{self, With, millis};
use carnelian::monitoring::CheckBounds;
use carnelian::store::JobStore;
use clap::Args;
use clap::builder::RangedU64ValueParser;
use serde_json::{Value, json};
use std::time::Duration;

// The bounds of `check`; as a doc comment it would be the help of the command.
#[derive(Args)]
pub struct Check {
    /// At most so many triggers may be overdue
    #[arg(long, value_name = "N")]
    pub max_overdue: Option<usize>,
    /// At least so many nodes must be alive and take work: observers and nodes that are drained or
    /// stand by do not count
    #[arg(long, value_name = "M")]
    pub min_nodes: Option<usize>,
    /// The newest check-in of all nodes that take work may be so old at most
    #[arg(long, value_name = "DUR", value_parser = value::duration)]
    pub max_age: Option<Duration>,
    /// At most so many running fires may have missed all their heartbeats, or be without progress
    /// for longer than they may
    #[arg(long, value_name = "N")]
    pub max_stuck: Option<usize>,
    /// At most so many jobs may be without a living node that can run them; reads all jobs
    #[arg(long, value_name = "N")]
    pub max_orphans: Option<usize>,
    /// At most so many fires may have failed, timed out or been lost lately, up to 9999
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(0..10_000))]
    pub max_failed: Option<usize>,
    /// The time before now that `--max-failed` counts
    #[arg(long, value_name = "DUR", default_value = "1h", value_parser = value::duration)]
    pub failed_within: Duration,
    /// The lateness from which a waiting trigger counts as overdue
    #[arg(long, value_name = "DUR", default_value = "1s", value_parser = value::duration)]
    pub overdue_after: Duration,
}

impl Check {
    fn has_bound(&self) -> bool {
        let numbers = [self.max_overdue, self.min_nodes, self.max_stuck, self.max_orphans, self.max_failed];
        self.max_age.is_some() || numbers.iter().any(Option::is_some)
    }

    fn bounds(&self) -> CheckBounds {
        CheckBounds::new()
            .with(self.max_overdue, CheckBounds::max_overdue)
            .with(self.min_nodes, CheckBounds::min_nodes)
            .with(self.max_age, CheckBounds::max_age)
            .with(self.max_stuck, CheckBounds::max_stuck)
            .with(self.max_orphans, CheckBounds::max_orphans)
            .with(self.max_failed, CheckBounds::max_failed)
            .failed_within(self.failed_within)
            .overdue_after(self.overdue_after)
    }
}

/// Looks at what the bounds are for, and says no if one of them is broken.
pub fn run(store: &JobStore, output: Output, options: &Check) -> Outcome {
    let report = store.diagnosis().check(&options.bounds())?;
    let oldest_ms = report.oldest_overdue.map(millis);
    // The count ends at the bound: there may be more.
    let failed =
        |n: usize| if options.max_failed.is_some_and(|most| n > most) { format!("{n} or more") } else { n.to_string() };
    if !options.has_bound() {
        output.warn("no bound is given: the answer is yes, whatever the cluster does");
    }
    let age_ms = report.newest_checkin_age.map(millis);
    answer(
        output,
        &report.problems,
        &[
            ("overdue", "overdue", Some(report.overdue.to_string()), json!(report.overdue)),
            ("oldest", "oldest_overdue_ms", oldest_ms.map(span), json!(oldest_ms)),
            ("nodes alive", "nodes", Some(report.nodes.to_string()), json!(report.nodes)),
            ("that take work", "working_nodes", Some(report.working_nodes.to_string()), json!(report.working_nodes)),
            ("newest check-in", "newest_checkin_age_ms", age_ms.map(span), json!(age_ms)),
            ("stuck", "stuck", report.stuck.map(|n| n.to_string()), json!(report.stuck)),
            ("orphaned jobs", "orphans", report.orphans.map(|n| n.to_string()), json!(report.orphans)),
            ("failed lately", "failed", report.failed.map(failed), json!(report.failed)),
        ],
    )
}

/// The findings, each with its heading, its name in JSON, and its value in both.
type Found<'a> = (&'a str, &'a str, Option<String>, Value);

fn answer(output: Output, problems: &[String], found: &[Found<'_>]) -> Outcome {
    let mut document = json!({"ok": problems.is_empty(), "problems": problems});
    if let Some(document) = document.as_object_mut() {
        document.extend(found.iter().map(|(_, name, _, value)| ((*name).to_owned(), value.clone())));
    }
    output.answer(document, || {
        let rows: Vec<_> = found.iter().map(|(heading, _, text, _)| (*heading, text.clone())).collect();
        let mut text = fields(&rows);
        problems.iter().for_each(|problem| text.push_str(&format!("{problem}\n")));
        text
    })?;
    yes_or_no(problems.is_empty())
}
