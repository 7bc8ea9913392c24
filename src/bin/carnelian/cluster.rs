//! `running` and `cancel`: the cluster as the database shows it.

use crate::failure::Outcome;
use crate::marks::Filter;
use crate::output::{Output, ago, or_dash, time};
use crate::page::{Paging, Part, ordered};
use crate::value::epoch_ms;
use crate::watch::Watch;
use carnelian::report::{self, progress_in_words};
use carnelian::store::{FireQuery, JobStore};
use carnelian::{FiredTrigger, JobKey};
use clap::Args;
use serde_json::json;

// The fires that are shown; as a doc comment it would be the help of the command.
#[derive(Args)]
pub struct Running {
    /// Also those that are reserved for a moment to come
    #[arg(long)]
    pub reserved: bool,
    /// Only fires of this job, `group.name`
    #[arg(long, value_name = "G.N")]
    pub job: Option<JobKey>,
    /// Only fires on this instance
    #[arg(long, value_name = "NAME")]
    pub instance: Option<String>,
    #[command(flatten)]
    pub filter: Filter,
    #[command(flatten)]
    pub paging: Paging,
    #[command(flatten)]
    pub watch: Watch,
}

/// The fires that are running, and with `reserved` those to come.
pub fn running(store: &JobStore, output: Output, options: &Running) -> Outcome {
    let now_ms = store.now_ms()?;
    let query = FireQuery {
        filter: options.filter.filter(),
        job: options.job.clone(),
        instance: options.instance.clone(),
        reserved: options.reserved,
    };
    let (fired_ms, [fire_id]) = options.paging.time_and_place()?;
    let page = store.catalogue().fire_page(&query, (fired_ms, &fire_id), options.paging.most())?;
    let part = Part::of(page, |fire: &FiredTrigger| [ordered(epoch_ms(fire.fire_time)), fire.fire_id.clone()]);
    #[rustfmt::skip] // One line, like the row.
    let heading = ["JOB", "TRIGGER", "INSTANCE", "STATE", "SCHEDULED", "FIRED", "LAST BEAT", "LAST PROGRESS", "PROGRESS", "FIRE"];
    output.part("nothing is running", heading, &part, report::fire, |fire| {
        [
            or_dash(fire.job.as_ref()),
            fire.trigger.to_string(),
            fire.instance.clone(),
            fire.state.name().to_owned(),
            time(Some(epoch_ms(fire.scheduled_fire_time))),
            time(Some(epoch_ms(fire.fire_time))),
            or_dash(fire.heartbeat.as_ref().map(|beat| ago(epoch_ms(beat.time), now_ms))),
            or_dash(
                fire.heartbeat.as_ref().and_then(|beat| beat.progress_time).map(|time| ago(epoch_ms(time), now_ms)),
            ),
            or_dash(progress_in_words(fire)),
            fire.fire_id.clone(),
        ]
    })
}

/// Leaves an order to stop for whichever node runs the fire.
pub fn cancel(store: &JobStore, output: Output, fire_id: &str) -> Outcome {
    let asked = store.upkeep().request_cancels(&[fire_id.to_owned()], store.actor())? > 0;
    let text = match asked {
        true => format!("asked fire {fire_id} to stop: its node learns it at once, or with its next poll"),
        false => format!("fire {fire_id} does not run, or was asked before"),
    };
    output.verdict(json!({"fire_id": fire_id, "asked": asked}), &text, asked)
}
