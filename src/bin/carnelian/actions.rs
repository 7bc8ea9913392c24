//! `actions`: the log of actions: who did what.

use crate::failure::Outcome;
use crate::output::{Output, or_dash, time};
use crate::value::{self, Moment, With, epoch_ms, resolved};
use carnelian::history::ActionQuery;
use carnelian::machine::{Machine, MachineFiles};
use carnelian::report;
use carnelian::settings::Settings;
use carnelian::store::JobStore;
use clap::Args;

// The filter of actions.
#[derive(Args)]
pub struct Actions {
    /// Only actions on this job, trigger, node …: `group.name`, or its name
    #[arg(long, value_name = "NAME")]
    pub subject: Option<String>,
    /// Only actions on things of this kind, such as `trigger`
    #[arg(long, value_name = "KIND")]
    pub kind: Option<String>,
    /// Only actions of this person or program
    #[arg(long, value_name = "NAME")]
    pub actor: Option<String>,
    /// Only actions of this word, such as `pause`
    #[arg(long, value_name = "WORD")]
    pub action: Option<String>,
    /// Only actions at this time or later: ISO 8601 with offset, `now`, or so long ago, such as
    /// `-2h`
    #[arg(long, value_name = "TIME", value_parser = value::past, allow_hyphen_values = true)]
    pub since: Option<Moment>,
    /// Only actions before this time
    #[arg(long, value_name = "TIME", value_parser = value::past, allow_hyphen_values = true)]
    pub until: Option<Moment>,
    /// Only actions older than this one: the last of a page, for the next page
    #[arg(long, value_name = "ID")]
    pub after: Option<String>,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub limit: usize,
}

/// Lists actions, the newest first.
pub fn run(store: &JobStore, output: Output, options: &Actions) -> Outcome {
    let moment = |moment: Option<Moment>| moment.map(|moment| resolved(store, moment)).transpose();
    let query = ActionQuery::new()
        .limit(options.limit)
        .with(options.subject.as_ref(), ActionQuery::subject)
        .with(options.kind.as_ref(), ActionQuery::kind)
        .with(options.actor.as_ref(), ActionQuery::actor)
        .with(options.action.as_ref(), ActionQuery::action)
        .with(moment(options.since)?, ActionQuery::since)
        .with(moment(options.until)?, ActionQuery::until)
        .with(options.after.as_ref(), ActionQuery::after);
    let rows = store.history().actions(&query)?;
    let heading = ["TIME", "ACTOR", "NODE", "ACTION", "KIND", "SUBJECT", "DETAIL", "ID"];
    output.list("no action is known", heading, &rows, report::action, |row| {
        [
            time(Some(epoch_ms(row.time()))),
            row.actor.clone(),
            row.node.clone(),
            row.action.clone(),
            row.kind.clone(),
            row.subject.clone(),
            or_dash(row.detail.as_ref()),
            row.action_id.clone(),
        ]
    })
}

/// The store through which the person at this terminal acts.
pub fn by_person(store: JobStore, settings: &Settings) -> JobStore {
    store.acting_as(&person(settings), &host())
}

/// The name of the person at this terminal.
pub fn person(settings: &Settings) -> String {
    let user = ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok()).filter(|user| !user.is_empty());
    let at_host = || format!("{}@{}", user.as_deref().unwrap_or("unknown"), host());
    settings.node.actor.clone().unwrap_or_else(at_host)
}

fn host() -> String {
    MachineFiles::default().host().unwrap_or_else(|| "unknown".to_owned())
}
