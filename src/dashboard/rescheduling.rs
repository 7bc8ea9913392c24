//! Rescheduling: the form for another schedule of a trigger, and what it would mean.

use super::keys::Subject;
use super::layout::hidden;
use super::new_schedule::{KINDS, NewSchedule, stored};
use super::view::View;
use crate::epoch::moment;
use crate::error::{Error, Result};
use crate::trigger::{Schedule, Trigger};
use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use maud::{Markup, html};

/// The number of times to come that a confirmation shows.
const TIMES: usize = 5;

/// The consequence of a new schedule for the first of the triggers: the schedule that it has, and
/// the times to come by the new one.
pub(super) fn preview(view: &View<'_>, subjects: &[Subject], new_schedule: Option<&NewSchedule>) -> Result<Markup> {
    let (Some(subject), Some(new_schedule)) = (subjects.first(), new_schedule) else {
        return Err(Error::Refused("expected a new schedule: `kind` and `when`".to_owned()));
    };
    let old = stored(view.store, &subject.key()?)?;
    let new = new_schedule.trigger(&old, moment(view.now_ms), view.store.settings().scheduler.time_zone)?;
    let calendar = new.calendar_name().and_then(|name| view.store.catalogue().calendar(name).ok()?);
    let zone = zone(new.schedule());
    let times: Vec<_> = new.upcoming(calendar.as_ref(), moment(view.now_ms - 1)).take(TIMES).collect();
    Ok(html! {
        dl.facts {
            div { dt { "Until now" } dd { (old.schedule().in_words()) } }
            div { dt { "From now on" } dd { (new.schedule().in_words()) } }
            div { dt { "Next times" } dd {
                @if times.is_empty() { "There are none." }
                ol.times { @for moment in &times { li { (in_zone(*moment, zone)) } } }
            } }
        }
    })
}

/// The form for another schedule, with the present one in it.
pub(super) fn form(view: &View<'_>, trigger: &Trigger) -> Markup {
    let now = NewSchedule::of(trigger);
    let value = |field: fn(&NewSchedule) -> Option<&str>| now.as_ref().and_then(field);
    html! {
        form.filter method="post" action="act" {
            (hidden(view, "trigger.reschedule", &[trigger.key().into()]))
            label { "Kind" select name="kind" {
                @for (kind, _) in KINDS { option value=(kind) selected[value(|new_schedule| Some(&new_schedule.kind)) == Some(kind)] { (kind) } }
            } }
            label { "When" input name="when" required value=[value(|new_schedule| Some(&new_schedule.when))]; }
            label { "Zone, for cron" input name="zone" value=[value(|new_schedule| new_schedule.zone.as_deref())]; }
            button.plain { "Reschedule" }
        }
        ul.reasons.dim { @for (kind, example) in KINDS { li { (kind) ": " code { (example) } } } }
    }
}

/// The zone in which the times of a schedule are told.
pub(super) fn zone(schedule: &Schedule) -> Tz {
    match schedule {
        Schedule::Cron(cron) => cron.zone(),
        Schedule::CalendarInterval(interval) => interval.zone(),
        Schedule::DailyTimeInterval(daily) => daily.default_zone(),
        Schedule::Recurrence(recurrence) => recurrence.zone(),
        Schedule::Simple(_) => Tz::UTC,
    }
}

/// A moment in a zone, with its day of the week.
pub(super) fn in_zone(moment: DateTime<Utc>, zone: Tz) -> Markup {
    let text = moment.with_timezone(&zone).format("%a %Y-%m-%d %H:%M:%S %Z").to_string();
    html! { time datetime=(moment.to_rfc3339()) { (text) } }
}
