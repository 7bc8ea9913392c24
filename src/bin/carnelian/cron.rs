//! `cron`: the next times of an expression, and its meaning; needs no database.

use crate::args::CronCommand;
use crate::config;
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use carnelian::clock::{Clock, SystemClock};
use carnelian::{CronExpression, Error};
use chrono::{DateTime, Datelike, SecondsFormat};
use chrono_tz::Tz;
use serde_json::json;
use std::path::Path;

/// Runs one of the `cron` commands.
pub fn run(output: Output, command: &CronCommand, config: Option<&Path>) -> Outcome {
    match command {
        CronCommand::Next { expression, tz, from, count } => {
            let cron = parse(expression)?;
            let zone = tz.map_or_else(|| config::default_zone(config), Ok)?;
            let now_ms = SystemClock::default().wall_ms();
            let this_year = DateTime::from_timestamp_millis(now_ms).map_or(1970, |now| now.year());
            let mut after_ms = from.unwrap_or(now_ms);
            let mut times = Vec::new();
            while times.len() < usize::try_from(*count).unwrap_or(usize::MAX) {
                let Some(next_ms) = cron.next_after(after_ms, zone, this_year) else { break };
                times.push(next_ms);
                after_ms = next_ms;
            }
            output.answer(json!(times), || times.iter().map(|ms| shown(*ms, zone)).collect())?;
            if times.is_empty() && *count > 0 {
                return Err(Failure::Refused(format!("cron expression `{expression}` has no time left")));
            }
            Ok(())
        }
        CronCommand::Explain { expression } => {
            let cron = parse(expression)?;
            let words = cron.explain();
            output.done(json!({"expression": cron.text(), "explanation": words}), &words)
        }
    }
}

/// A line with the time as clocks in the zone show it.
fn shown(ms: i64, zone: Tz) -> String {
    match DateTime::from_timestamp_millis(ms) {
        Some(time) => format!("{}\n", time.with_timezone(&zone).to_rfc3339_opts(SecondsFormat::Secs, false)),
        None => format!("{ms} ms\n"),
    }
}

fn parse(expression: &str) -> Outcome<CronExpression> {
    Ok(CronExpression::parse(expression).map_err(Error::from)?)
}
