//! `cron`: the next times of an expression, and its meaning; needs no database.

use crate::args::CronCommand;
use crate::config;
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use carnelian::clock::{Clock, SystemClock};
use carnelian::{CronExpression, Error};
use chrono::{DateTime, Datelike, SecondsFormat, Utc};
use chrono_tz::Tz;
use serde_json::json;
use std::path::Path;

/// Runs one of the `cron` commands.
pub fn run(output: Output, command: &CronCommand, config: Option<&Path>) -> Outcome {
    match command {
        CronCommand::Next { expression, tz, from, count } => {
            let cron = parse(expression)?;
            let zone = tz.map_or_else(|| config::default_zone(config), Ok)?;
            let now = SystemClock::default().wall_time();
            let mut after = from.map_or(Some(now), DateTime::from_timestamp_millis);
            let mut times = Vec::new();
            while times.len() < usize::try_from(*count).unwrap_or(usize::MAX) {
                after = after.and_then(|after| cron.next_after(after, zone, now.year()));
                let Some(next) = after else { break };
                times.push(next);
            }
            let ms: Vec<i64> = times.iter().map(DateTime::timestamp_millis).collect();
            output.answer(json!(ms), || times.iter().map(|time| shown(*time, zone)).collect())?;
            if times.is_empty() && *count > 0 {
                return Err(Failure::Refused(format!("cron expression `{expression}` has no time left")));
            }
            Ok(())
        }
        CronCommand::Explain { expression } => {
            let cron = parse(expression)?;
            let words = cron.explain();
            output.answer(json!({"expression": cron.text(), "explanation": words}), || format!("{words}\n"))
        }
    }
}

/// A line with the time as clocks in the zone show it.
fn shown(time: DateTime<Utc>, zone: Tz) -> String {
    format!("{}\n", time.with_timezone(&zone).to_rfc3339_opts(SecondsFormat::Secs, false))
}

fn parse(expression: &str) -> Outcome<CronExpression> {
    Ok(CronExpression::parse(expression).map_err(Error::from)?)
}
