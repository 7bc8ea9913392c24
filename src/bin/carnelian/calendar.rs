//! `calendar`: lists, shows, puts and deletes calendars.

use crate::args::CalendarCommand;
use crate::definition;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, fields};
use crate::page::{Paging, Part};
use carnelian::report::{self, calendar_in_words};
use carnelian::store::JobStore;
use serde_json::json;
use std::io::Read;
use std::path::Path;

/// A definition is never longer.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Runs one of the `calendar` commands.
pub fn run(store: &JobStore, output: Output, command: &CalendarCommand) -> Outcome {
    match command {
        CalendarCommand::List(paging) => list(store, output, paging),
        CalendarCommand::Show { name } => show(store, output, name),
        CalendarCommand::Put { name, file, replace, update_triggers } => {
            let text = contents(file)?;
            let calendar = definition::read(&text)
                .map_err(|reason| Failure::Usage(format!("calendar definition {}: {reason}", file.display())))?;
            store.catalogue().add_calendar(name, &calendar, *replace, *update_triggers)?;
            output.done(json!({"calendar": name}), &format!("stored calendar {name}: {}", calendar_in_words(&calendar)))
        }
        CalendarCommand::Delete { name } => {
            if !store.catalogue().delete_calendar(name)? {
                return Err(missing(name));
            }
            output.done(json!({"calendar": name, "deleted": true}), &format!("deleted calendar {name}"))
        }
    }
}

/// The error for a calendar that is not there.
pub fn missing(name: &str) -> Failure {
    Failure::Refused(format!("calendar `{name}` does not exist"))
}

fn contents(file: &Path) -> Outcome<String> {
    let failed = |error: std::io::Error| Failure::Usage(format!("{}: {error}", file.display()));
    let mut text = String::new();
    let read = match file.to_str() {
        Some("-") => std::io::stdin().lock().take(MAX_FILE_BYTES + 1).read_to_string(&mut text),
        _ => std::fs::File::open(file).map_err(failed)?.take(MAX_FILE_BYTES + 1).read_to_string(&mut text),
    };
    match read.map_err(failed)? as u64 {
        ..=MAX_FILE_BYTES => Ok(text),
        _ => Err(Failure::Usage(format!("{}: larger than {MAX_FILE_BYTES} bytes", file.display()))),
    }
}

fn list(store: &JobStore, output: Output, paging: &Paging) -> Outcome {
    let part = paging.cut(store.catalogue().calendar_names()?, |name| [name.clone()])?;
    let calendars = report::calendars(store, part.items)?;
    let part = Part { items: calendars, next: part.next, total: part.total };
    let heading = ["CALENDAR", "TYPE", "DESCRIPTION"];
    output.part("no calendar is stored", heading, &part, report::calendar, |(name, calendar)| match calendar {
        Ok(calendar) => {
            [name.clone(), calendar_in_words(calendar), calendar.description().unwrap_or_default().to_owned()]
        }
        Err(error) => [name.clone(), "unreadable".to_owned(), error.to_string()],
    })
}

fn show(store: &JobStore, output: Output, name: &str) -> Outcome {
    let calendar = store.catalogue().calendar(name)?.ok_or_else(|| missing(name))?;
    let definition = definition::show(&calendar);
    let text = format!("{definition:#}\n");
    output.answer(json!({"calendar": name, "definition": definition}), || {
        let heading = fields(&[("calendar", Some(name.to_owned())), ("type", Some(calendar_in_words(&calendar)))]);
        format!("{heading}{text}")
    })
}
