//! `trigger backfill`: makes up for the fires of a trigger in a range of the past.

use crate::bar::Bar;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, table, time};
use crate::value::{self, Moment};
use carnelian::TriggerKey;
use carnelian::backfill::BackfilledFire;
use carnelian::store::JobStore;
use chrono::DateTime;
use clap::Args;
use serde_json::json;

#[derive(Args)]
pub struct Backfill {
    pub trigger: TriggerKey,
    /// The first moment of the range: ISO 8601 with offset, or so long ago, such as `-2h`
    #[arg(long, value_name = "TIME", value_parser = value::past, allow_hyphen_values = true)]
    pub from: Moment,
    /// The last moment of the range: ISO 8601 with offset, `now`, or so long ago
    #[arg(long, value_name = "TIME", value_parser = value::past, allow_hyphen_values = true)]
    pub to: Moment,
    /// Refused if there are more fires than this, 10000 at most
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub most: usize,
    /// The fires may run side by side although the trigger's --overlap does not let its own
    #[arg(long)]
    pub may_overlap: bool,
    /// Says what would be stored, and stores nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Stores a one-shot trigger for each fire of the range, and says which.
pub fn run(store: &JobStore, output: Output, options: &Backfill) -> Outcome {
    let now_ms = store.now_ms()?;
    let moment = |moment: Moment| {
        let given = moment.resolve(|| Ok(now_ms))?;
        Ok::<_, Failure>(given.or_else(|| DateTime::from_timestamp_millis(now_ms)).unwrap_or_default())
    };
    let wanted =
        carnelian::backfill::Backfill::new(options.trigger.clone(), moment(options.from)?, moment(options.to)?);
    let wanted = wanted.most(options.most).may_overlap(options.may_overlap).dry_run(options.dry_run);
    let bar = Bar::new(output);
    bar.begin(if options.dry_run { "planning the fires" } else { "storing the fires" }, None);
    let done = store.catalogue().backfill(&wanted).map_err(|error| Failure::of(store, error))?;
    drop(bar);
    let fires = done.fires.iter().map(|fire| {
        json!({
            "scheduled_fire_ms": fire.scheduled_fire_time.timestamp_millis(),
            "trigger": fire.trigger.to_string(),
            "is_new": fire.is_new,
        })
    });
    let new = done.fires.iter().filter(|fire| fire.is_new).count();
    let document = json!({
        "trigger": options.trigger.to_string(),
        "dry_run": options.dry_run,
        "new": new,
        "fires": fires.collect::<Vec<_>>(),
    });
    output.answer(document, || {
        if done.fires.is_empty() {
            return format!("{} has no fire in this range\n", options.trigger);
        }
        let what = |is_new: bool| match (is_new, options.dry_run) {
            (true, false) => "stored",
            (true, true) => "would be stored",
            (false, _) => "stored before",
        };
        let row = |fire: &BackfilledFire| {
            let time_ms = fire.scheduled_fire_time.timestamp_millis();
            [time(Some(time_ms)), what(fire.is_new).to_owned(), fire.trigger.to_string()]
        };
        let mut text = table(["FIRE TIME", "WHAT", "TRIGGER"], done.fires.iter().map(row));
        text.push_str(&format!("{new} of {} fires of {}: {}\n", done.fires.len(), options.trigger, what(true)));
        text
    })
}
