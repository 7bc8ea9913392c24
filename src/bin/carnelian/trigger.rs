//! `trigger`: lists, shows, deletes, pauses, resumes and resets triggers.

use crate::args::TriggerCommand;
use crate::backfill;
use crate::failure::{Failure, Outcome};
use crate::marks::Filter;
use crate::output::{Output, fields, time};
use crate::page::{Paging, Part, token};
use crate::value::{self, With, epoch_ms};
use carnelian::TriggerSummary;
use carnelian::listing::{ListOrder, TriggerQuery};
use carnelian::report::{self, misfire_in_words};
use carnelian::store::JobStore;
use carnelian::trigger::TriggerOption;
use carnelian::{JobKey, Overlap, Schedule, TriggerKey, TriggerState};
use chrono::DateTime;
use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::json;

/// Runs one of the `trigger` commands.
pub fn run(store: &JobStore, output: Output, command: &TriggerCommand) -> Outcome {
    match command {
        TriggerCommand::List(options) => list(store, output, options),
        TriggerCommand::Show { trigger } => show(store, output, trigger),
        TriggerCommand::Delete { trigger } => {
            if store.catalogue().unschedule(std::slice::from_ref(trigger))? == 0 {
                return Err(missing(store, trigger));
            }
            done(output, trigger, "deleted")
        }
        TriggerCommand::Pause { trigger } => {
            existing(store, trigger)?;
            store.catalogue().pause_triggers(std::slice::from_ref(trigger))?;
            moved(store, trigger, true)?;
            done(output, trigger, "paused")
        }
        TriggerCommand::Resume { trigger } => {
            existing(store, trigger)?;
            store.catalogue().resume_triggers(std::slice::from_ref(trigger), true)?;
            moved(store, trigger, false)?;
            done(output, trigger, "resumed")
        }
        TriggerCommand::Reset { trigger } => {
            existing(store, trigger)?;
            if !store.catalogue().reset_from_error(trigger)? {
                return Err(Failure::Refused(format!("trigger `{trigger}` is not in the error state")));
            }
            done(output, trigger, "reset")
        }
        TriggerCommand::Backfill(options) => backfill::run(store, output, options),
    }
}

fn done(output: Output, trigger: &TriggerKey, what: &str) -> Outcome {
    output.done(json!({"trigger": trigger.to_string(), "done": what}), &format!("{what} {trigger}"))
}

fn missing(store: &JobStore, trigger: &TriggerKey) -> Failure {
    Failure::missing(store, "trigger", trigger)
}

fn existing(store: &JobStore, trigger: &TriggerKey) -> Outcome {
    match store.catalogue().trigger_state(trigger)? {
        Some(_) => Ok(()),
        None => Err(missing(store, trigger)),
    }
}

/// Refuses if a pause or its end has left the trigger as it was.
fn moved(store: &JobStore, trigger: &TriggerKey, is_pause: bool) -> Outcome {
    let Some(state) = store.catalogue().trigger_state(trigger)? else { return Ok(()) };
    let is_paused = matches!(state, TriggerState::Paused | TriggerState::PausedBlocked);
    let way_out = match state {
        TriggerState::Error => "`carnelian explain` says why, and `carnelian trigger reset` frees it",
        _ if is_paused != is_pause => "it has no time to come",
        _ => return Ok(()),
    };
    Err(Failure::Refused(format!("trigger `{trigger}` is in state {} as before: {way_out}", state.name())))
}

// The triggers that are shown; as a doc comment it would be the help of the command.
#[derive(Args)]
pub struct List {
    /// Only triggers of this job, `group.name`
    #[arg(long, value_name = "G.N")]
    pub job: Option<JobKey>,
    /// Only triggers in this state
    #[arg(long, value_name = "STATE", ignore_case = true, value_parser = value::named(TriggerState::ALL, TriggerState::name))]
    pub state: Option<TriggerState>,
    /// Only triggers of this kind
    #[arg(long = "type", value_name = "KIND", ignore_case = true, value_parser = PossibleValuesParser::new(Schedule::KINDS))]
    pub kind: Option<String>,
    /// The order: by key, or by the next fire time
    #[arg(long, value_name = "BY", default_value = "key", value_parser = ["key", "next"])]
    pub sort: String,
    #[command(flatten)]
    pub filter: Filter,
    #[command(flatten)]
    pub paging: Paging,
}

impl List {
    fn query(&self) -> TriggerQuery {
        let by_next = self.sort == "next";
        TriggerQuery::new()
            .filter(self.filter.filter())
            .order(if by_next { ListOrder::NextFireTime } else { ListOrder::Key })
            .with(self.job.clone(), TriggerQuery::job)
            .with(self.state, TriggerQuery::state)
            .with(self.kind.as_ref().map(|kind| kind.to_ascii_uppercase()), TriggerQuery::kind)
    }

    /// The query behind the place that the token names.
    fn query_after(&self) -> Outcome<TriggerQuery> {
        let query = self.query().with(self.paging.most(), TriggerQuery::limit);
        let Some([sort, next, group, name]) = self.paging.place()? else { return Ok(query) };
        let time = next.parse().ok().and_then(DateTime::from_timestamp_millis);
        if sort != self.sort || (time.is_none() && !next.is_empty()) {
            return Err(Failure::Usage(format!("--after is a place in a list with --sort {sort}")));
        }
        Ok(query.after(TriggerKey::new(group, name), time))
    }

    fn token(&self, last: &TriggerSummary) -> String {
        let next = last.next_fire_time.filter(|_| self.sort == "next");
        let next = next.map_or(String::new(), |time| epoch_ms(time).to_string());
        place(&self.sort, next, &last.key)
    }
}

/// The token of the place of a trigger in the list that is sorted so.
pub fn place(sort: &str, next: String, key: &TriggerKey) -> String {
    token(&[sort.to_owned(), next, key.group().to_owned(), key.name().to_owned()])
}

fn list(store: &JobStore, output: Output, options: &List) -> Outcome {
    let page = store.catalogue().list_triggers(&options.query_after()?)?;
    let total = match page.has_more && !output.is_json() {
        true => Some(store.catalogue().count_triggers(&options.query())?),
        false => None,
    };
    let next = page.items.last().filter(|_| page.has_more).map(|last| options.token(last));
    let part = Part { items: page.items, next, total };
    let heading = ["TRIGGER", "JOB", "TYPE", "STATE", "NEXT FIRE", "PREVIOUS FIRE", "PRIORITY", "MISFIRE"];
    output.part("no such trigger is stored", heading, &part, report::trigger_summary, |trigger| {
        [
            trigger.key.to_string(),
            trigger.job.to_string(),
            trigger.kind.clone(),
            trigger.state.clone(),
            time(trigger.next_fire_time.map(epoch_ms)),
            time(trigger.previous_fire_time.map(epoch_ms)),
            trigger.priority.to_string(),
            misfire_in_words(trigger),
        ]
    })
}

fn show(store: &JobStore, output: Output, key: &TriggerKey) -> Outcome {
    let trigger = store.catalogue().trigger(key)?.ok_or_else(|| missing(store, key))?;
    let state = store.catalogue().trigger_state(key)?.ok_or_else(|| missing(store, key))?;
    let (start, end) = (epoch_ms(trigger.start_time()), trigger.end_time().map(epoch_ms));
    let options: Vec<_> = trigger.schedule().options().into_iter().map(TriggerOption::name).collect();
    let (next, previous) = (trigger.next_fire_time().map(epoch_ms), trigger.previous_fire_time().map(epoch_ms));
    let window = trigger.catch_up_window();
    output.answer(report::trigger(&trigger, state), || {
        let mut shown = vec![
            ("trigger", Some(key.to_string())),
            ("job", Some(trigger.job_key().to_string())),
            ("schedule", Some(trigger.schedule().in_words())),
            ("options", (!options.is_empty()).then(|| options.join(", "))),
            ("description", trigger.description().map(str::to_owned)),
            ("state", Some(state.name().to_owned())),
            ("next fire", Some(time(next))),
            ("previous fire", Some(time(previous))),
            ("start", Some(time(Some(start)))),
            ("end", end.map(|end| time(Some(end)))),
            ("priority", Some(trigger.priority().to_string())),
            ("misfire", Some(trigger.misfire_instruction().name().to_owned())),
            ("overlap", (trigger.overlap() != Overlap::AllowAll).then(|| trigger.overlap().name().to_owned())),
            ("catch up", window.map(|window| format!("what is at most {} ms late", window.as_millis()))),
            ("on failure", trigger.pauses_on_failure().then(|| "paused".to_owned())),
            ("calendar", trigger.calendar_name().map(str::to_owned)),
        ];
        for (name, value) in trigger.data().iter() {
            shown.push(("data", Some(format!("{name} = {value}"))));
        }
        fields(&shown)
    })
}
