//! `group` and `all`: pauses and resumes many triggers at once.

use crate::args::{AllCommand, GroupCommand};
use crate::failure::Outcome;
use crate::output::Output;
use carnelian::GroupMatcher;
use carnelian::store::JobStore;
use serde_json::json;

/// Runs one of the `group` commands.
pub fn group(store: &JobStore, output: Output, command: &GroupCommand) -> Outcome {
    let (groups, what) = match command {
        GroupCommand::Pause { group } => {
            (store.catalogue().pause_trigger_groups(&GroupMatcher::equals(group))?, "paused")
        }
        GroupCommand::Resume { group } => {
            (store.catalogue().resume_trigger_groups(&GroupMatcher::equals(group), true)?, "resumed")
        }
    };
    let line = match groups.as_slice() {
        [] => "no such group".to_owned(),
        groups => format!("{what} {}", groups.join(", ")),
    };
    output.done(json!({"groups": groups, "done": what}), &line)
}

/// Runs one of the `all` commands.
pub fn all(store: &JobStore, output: Output, command: &AllCommand) -> Outcome {
    let what = match command {
        AllCommand::Pause => {
            store.catalogue().pause_all()?;
            "paused"
        }
        AllCommand::Resume => {
            store.catalogue().resume_all(true)?;
            "resumed"
        }
    };
    output.done(json!({"done": what}), &format!("{what} all triggers"))
}
