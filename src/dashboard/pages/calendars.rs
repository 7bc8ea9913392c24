//! Calendars: the days and hours on which nothing fires.

use crate::dashboard::components::{badge, card, table};
use crate::dashboard::view::{Page, View};
use crate::error::Result;
use crate::report::{calendar_in_words, calendars};
use maud::{Markup, html};

pub(super) fn page(view: &View<'_>) -> Result<Option<Page>> {
    let rows: Vec<Markup> = calendars(view.store, view.store.catalogue().calendar_names()?)?.iter().map(|(name, calendar)| html! {
        tr {
            td { (name) }
            @match calendar {
                Ok(calendar) => { td { (calendar_in_words(calendar)) } td.wide { (calendar.description().unwrap_or_default()) } }
                Err(error) => { td { (badge("bad", "unreadable")) } td.wide { (error.to_string()) } }
            }
        }
    }).collect();
    Ok(Some(Page::new(
        "Calendars",
        card(
            "calendars",
            "In order of name",
            &table(&["Calendar", "Type", "Description"], &rows, "No calendar is stored."),
        ),
    )))
}
