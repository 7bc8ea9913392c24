//! The search for the next fire time, in the steps that Quartz takes.
//!
//! The order matters around clock changes: the search goes along the wall clock, from second to
//! year, and each step that lands in a gap goes on from where [`Wall`] puts it. A time inside a gap
//! is therefore skipped, and during the first pass of a repeated hour nothing fires.

use chrono::NaiveDate;
use chrono_tz::Tz;

use super::day::DayStep;
use super::kind::LAST_YEAR;
use super::parse::Plan;
use super::wall::{Wall, lenient_date};

/// The number of years beyond the current one that Quartz searches.
const YEARS_AHEAD: i32 = 100;

/// More steps than any search needs that ends well: a rule whose day never comes takes five a
/// month.
const MAX_STEPS: usize = 20_000;

/// The result of a search in one field.
enum Look {
    /// The field fits the time at hand.
    Fits,
    /// The field does not match; begin again with the seconds of this time.
    Restart(Wall),
}

/// The first fire time after an instant, or none up to a hundred years after `now_year`.
pub(super) fn next_after(plan: &Plan, after_ms: i64, zone: Tz, now_year: i32) -> Option<i64> {
    let mut search = Search {
        plan,
        went_back_to: None,
        earliest_ms: after_ms.checked_add(1000)?.div_euclid(1000).checked_mul(1000)?,
        last_year: now_year.saturating_add(YEARS_AHEAD).min(LAST_YEAR),
    };
    let has_no_time = plan.seconds.is_empty() || plan.minutes.is_empty() || plan.hours.is_empty();
    if has_no_time || plan.months.is_empty() || plan.day.is_empty() {
        return None;
    }
    let mut wall = Wall::at(search.earliest_ms, zone)?;
    for _ in 0..MAX_STEPS {
        match search.pass(wall)? {
            Ok(found) => return found.instant(),
            Err(restart) => wall = restart,
        }
    }
    None
}

struct Search<'a> {
    plan: &'a Plan,
    /// The first whole second that may be the answer.
    earliest_ms: i64,
    last_year: i32,
    /// The last day before the one at hand that a nearest-weekday rule has sent the search to.
    went_back_to: Option<NaiveDate>,
}

impl Search<'_> {
    /// Looks at each field once: the time found, or where to begin again, or none at all.
    fn pass(&mut self, from: Wall) -> Option<Result<Wall, Wall>> {
        if from.year() > LAST_YEAR {
            return None;
        }
        let wall = self.second(from)?;
        let looks = [Self::minute, Self::hour, Self::day, Self::month, Self::year];
        for look in looks {
            if let Look::Restart(wall) = look(self, wall)? {
                return Some(Err(wall));
            }
        }
        Some(Ok(wall))
    }

    fn second(&mut self, wall: Wall) -> Option<Wall> {
        match self.plan.seconds.at_or_after(wall.second()) {
            Some(second) if second == wall.second() => Some(wall),
            Some(second) => wall.at_clock([wall.hour(), wall.minute(), second]),
            None => wall.at_clock([wall.hour(), wall.minute() + 1, self.plan.seconds.first()?]),
        }
    }

    fn minute(&mut self, wall: Wall) -> Option<Look> {
        let (hour, minute) = match self.plan.minutes.at_or_after(wall.minute()) {
            Some(minute) if minute == wall.minute() => return Some(Look::Fits),
            Some(minute) => (wall.hour(), minute),
            None => (wall.hour() + 1, self.plan.minutes.first()?),
        };
        restart_at_hour(wall.at_clock([hour, minute, 0])?, hour)
    }

    fn hour(&mut self, wall: Wall) -> Option<Look> {
        let (day, hour) = match self.plan.hours.at_or_after(wall.hour()) {
            Some(hour) if hour == wall.hour() => return Some(Look::Fits),
            Some(hour) => (wall.day(), hour),
            None => (wall.day() + 1, self.plan.hours.first()?),
        };
        restart_at_hour(wall.on(wall.year(), wall.month(), day, [hour, 0, 0])?, hour)
    }

    fn day(&mut self, wall: Wall) -> Option<Look> {
        let (year, month, today) = (wall.year(), wall.month(), wall.day());
        let clock = [wall.hour(), wall.minute(), wall.second()];
        let is_over = |day| {
            // Sent back to the same day again, Quartz goes round in circles: the month is too short
            // for the day (`L-30W`), or the clock has jumped over the time. Here the day is over.
            let in_circles = day < today && lenient_date(year, month, day) == self.went_back_to;
            let wanted = wall.on(year, month, day, clock).and_then(Wall::instant);
            in_circles || wanted.is_none_or(|wanted| wanted < self.earliest_ms)
        };
        let restart = match self.plan.day.step(wall.date(), is_over) {
            DayStep::Here => return Some(Look::Fits),
            DayStep::Day(day) => {
                if day < today {
                    self.went_back_to = lenient_date(year, month, day);
                }
                wall.on(year, month, day, [0, 0, 0])?
            }
            DayStep::NextMonth(day) => wall.on(year, month + 1, day, [0, 0, 0])?,
            DayStep::Never => return None,
        };
        Some(Look::Restart(restart))
    }

    fn month(&mut self, wall: Wall) -> Option<Look> {
        if wall.year() > self.last_year {
            return None;
        }
        let (year, month) = match self.plan.months.at_or_after(wall.month()) {
            Some(month) if month == wall.month() => return Some(Look::Fits),
            Some(month) => (wall.year(), month),
            None => (wall.year() + 1, self.plan.months.first()?),
        };
        wall.on(year, month, 1, [0, 0, 0]).map(Look::Restart)
    }

    fn year(&mut self, wall: Wall) -> Option<Look> {
        match self.plan.years.at_or_after(wall.year())? {
            year if year == wall.year() => Some(Look::Fits),
            year => wall.on(year, 1, 1, [0, 0, 0]).map(Look::Restart),
        }
    }
}

/// Goes on at `wall`; when a gap has moved it off `hour`, one hour after that, as Quartz does.
fn restart_at_hour(wall: Wall, hour: i32) -> Option<Look> {
    if wall.hour() == hour || hour == 24 {
        return Some(Look::Restart(wall));
    }
    wall.at_clock([hour + 1, wall.minute(), wall.second()]).map(Look::Restart)
}
