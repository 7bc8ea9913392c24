//! `outages` and `recovery`: times in which no node ran, and how the backlog after them is drained.

use crate::failure::{Failure, Outcome};
use crate::output::{Output, fields, span, time};
use crate::page::{Paging, ordered};
use carnelian::recovery::{Outage, RecoveryModeRow};
use carnelian::report;
use carnelian::store::JobStore;
use clap::Subcommand;
use serde_json::json;
use std::time::Duration;

/// Overdue triggers beyond so many are not counted.
const MOST_COUNTED: usize = 10_000;

#[derive(Subcommand)]
pub enum RecoveryCommand {
    /// Has the cluster drain its backlog; ends by itself when nothing is overdue
    Start,
    /// Ends it; exit code 1 if it is not on
    Stop,
    /// Shows if it is on, since when, and how much is left
    Show,
}

/// Lists the outages.
pub fn list(store: &JobStore, output: Output, paging: &Paging) -> Outcome {
    // The newest comes first.
    let place = |outage: &Outage| [ordered(i64::MAX - outage.ended_ms), outage.instance.clone()];
    let part = paging.cut(store.outages().list()?, place)?;
    let heading = ["FROM", "TO", "FOR", "ENDED BY", "OVERDUE", "FIRE NOW", "FIRE EACH", "SKIPPED", "INTERRUPTED"];
    output.part("no total outage is known", heading, &part, report::outage, |outage| {
        [
            time(Some(outage.began_ms)),
            time(Some(outage.ended_ms)),
            span(outage.ended_ms - outage.began_ms),
            outage.instance.clone(),
            format!("{}{}", outage.overdue, if outage.uncounted { "+" } else { "" }),
            outage.fire_now.to_string(),
            outage.fire_each.to_string(),
            outage.skipped.to_string(),
            outage.interrupted.to_string(),
        ]
    })
}

/// Begins, ends or shows the recovery mode.
pub fn recovery(store: &JobStore, output: Output, command: &RecoveryCommand) -> Outcome {
    match command {
        RecoveryCommand::Start => show(store, output, Some(store.outages().start_recovery(store.actor())?)),
        RecoveryCommand::Stop if store.outages().stop_recovery(None)? => {
            output.done(json!({"stopped": true}), "the recovery mode is ended")
        }
        RecoveryCommand::Stop => {
            Err(Failure::Refused("the cluster is not in recovery mode: see `carnelian recovery show`".to_owned()))
        }
        RecoveryCommand::Show => show(store, output, store.outages().recovery_mode()?),
    }
}

fn show(store: &JobStore, output: Output, mode: Option<RecoveryModeRow>) -> Outcome {
    let overdue = store.upkeep().cluster_load(Duration::ZERO, MOST_COUNTED)?.overdue;
    let document = json!({
        "since_ms": mode.as_ref().and_then(|mode| mode.since_ms),
        "begun_by": mode.as_ref().map(|mode| &mode.begun_by),
        "backlog": mode.as_ref().map(|mode| mode.backlog),
        "overdue": overdue,
    });
    output.answer(document, || {
        fields(&[
            ("recovery mode", Some(if mode.is_some() { "on" } else { "off" }.to_owned())),
            ("since", mode.as_ref().map(|mode| time(mode.since_ms))),
            ("begun by", mode.as_ref().map(|mode| mode.begun_by.clone())),
            ("overdue then", mode.as_ref().map(|mode| mode.backlog.to_string())),
            ("overdue now", Some(overdue.to_string())),
        ])
    })
}
