//! `actions`: the log of actions: who did what.

use crate::failure::Outcome;
use crate::output::{Output, or_dash, time};
use crate::page::{Paging, Part, no_place};
use crate::value::{self, Moment, With, epoch_ms, resolved};
use carnelian::history::{ActionQuery, ActionRow};
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
    #[command(flatten)]
    pub paging: Paging,
}

/// Lists actions, the newest first.
pub fn run(store: &JobStore, output: Output, options: &Actions) -> Outcome {
    // Ids are written in hexadecimal digits, the time first.
    if let Some(after) = options.paging.after.as_ref().filter(|id| !id.bytes().all(|byte| byte.is_ascii_hexdigit())) {
        return Err(no_place(after));
    }
    let moment = |moment: Option<Moment>| moment.map(|moment| resolved(store, moment)).transpose();
    let query = ActionQuery::new()
        .with(options.subject.as_ref(), ActionQuery::subject)
        .with(options.kind.as_ref(), ActionQuery::kind)
        .with(options.actor.as_ref(), ActionQuery::actor)
        .with(options.action.as_ref(), ActionQuery::action)
        .with(moment(options.since)?, ActionQuery::since)
        .with(moment(options.until)?, ActionQuery::until)
        .with(options.paging.after.as_ref(), ActionQuery::after);
    let part = Part::of_queries(
        &options.paging,
        |row: &ActionRow| row.action_id.clone(),
        |last, limit| {
            let after = last.map(|row| &row.action_id);
            Ok(store.history().actions(&query.clone().with(after, ActionQuery::after).limit(limit))?)
        },
    )?;
    let heading = ["TIME", "ACTOR", "NODE", "ACTION", "KIND", "SUBJECT", "DETAIL", "ID"];
    output.part("no action is known", heading, &part, report::action, |row| {
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
    let named = ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok()).filter(|user| !user.is_empty());
    let user = named.unwrap_or_else(|| format!("uid-{}", rustix::process::getuid().as_raw()));
    let at_host = || format!("{user}@{}", host());
    settings.node.actor.clone().unwrap_or_else(at_host)
}

fn host() -> String {
    MachineFiles::default().host().unwrap_or_else(|| "unknown".to_owned())
}
