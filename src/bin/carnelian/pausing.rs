//! `group` and `all`: pauses and resumes many triggers at once.

use crate::args::{AllCommand, GroupCommand};
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use crate::shown::count;
use carnelian::listing::TriggerQuery;
use carnelian::store::JobStore;
use carnelian::{GroupMatcher, JobFilter};
use serde_json::json;

/// Runs one of the `group` commands.
pub fn group(store: &JobStore, output: Output, command: &GroupCommand) -> Outcome {
    let (groups, triggers, what) = match command {
        GroupCommand::Pause { group, confirm } => {
            if confirm.is_asked() {
                let of_group = JobFilter::new().groups(GroupMatcher::equals(group));
                let triggers = store.catalogue().count_triggers(&TriggerQuery::new().filter(of_group))?;
                confirm
                    .ask(|| format!("pause the {} of group {group}, and those to come", count(triggers, "trigger")))?;
            }
            let (groups, paused) = store.catalogue().pause_and_count_groups(&GroupMatcher::equals(group))?;
            (groups, paused, "paused")
        }
        GroupCommand::Resume { group } => {
            let (groups, resumed) = store.catalogue().resume_and_count_groups(&GroupMatcher::equals(group), true)?;
            if groups.is_empty() {
                return Err(Failure::Refused(format!("group `{group}` does not exist, and is not paused")));
            }
            (groups, resumed, "resumed")
        }
    };
    let line = format!("{what} {}: {}", groups.join(", "), count(triggers, "trigger"));
    output.done(json!({"groups": groups, "done": what, "triggers": triggers}), &line)
}

/// Runs one of the `all` commands.
pub fn all(store: &JobStore, output: Output, command: &AllCommand) -> Outcome {
    let (triggers, what) = match command {
        AllCommand::Pause { confirm } => {
            if confirm.is_asked() {
                let triggers = store.catalogue().count_triggers(&TriggerQuery::new())?;
                confirm.ask(|| format!("pause all {}, and those to come", count(triggers, "trigger")))?;
            }
            (store.catalogue().pause_and_count_all()?, "paused")
        }
        AllCommand::Resume => (store.catalogue().resume_and_count_all(true)?, "resumed"),
    };
    let line = format!("{what} all triggers: {} changed", count(triggers, "trigger"));
    output.done(json!({"done": what, "triggers": triggers}), &line)
}
