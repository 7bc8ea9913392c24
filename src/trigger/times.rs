//! Fire times of a trigger: its first, the time after another, its last, each stepped over what a
//! calendar excludes.

use super::interval_unit::YEARS_AHEAD;
use super::{START_WHEN_STORED, Schedule, Trigger};
use crate::calendar::Calendar;
use crate::epoch::moment;
use crate::local;
use chrono::Datelike;

/// The excluded spans that a trigger is stepped over before it counts as without a time left:
/// centuries of days; the spans of a cron calendar are seconds to days.
const MAX_STEPS: usize = 100_000;

/// As many of the times that only single steps find, each of which costs a search from the start: a
/// decade of days.
const MAX_SINGLE_STEPS: usize = 4_000;

/// The times of a trigger, in epoch milliseconds as the tables keep them. All are pure: the present
/// moment is an argument, and so is the calendar, of which a trigger knows only the name.
impl Trigger {
    /// As [`Trigger::fire_time_after`], in epoch milliseconds.
    pub(crate) fn fire_ms_after(&self, after_ms: i64, now_ms: i64) -> Option<i64> {
        let start = if self.start_ms == START_WHEN_STORED { self.start_at_now(now_ms) } else { self.start_ms };
        match &self.schedule {
            Schedule::Simple(simple) => simple.fire_time_after(start, self.end_ms, after_ms),
            Schedule::Cron(cron) => cron.fire_time_after(start, self.end_ms, after_ms, year_of(now_ms)),
            Schedule::CalendarInterval(interval) => {
                interval.fire_time_after(start, self.end_ms, after_ms, year_of(now_ms))
            }
            Schedule::DailyTimeInterval(daily) => daily.fire_time_after(start, self.end_ms, after_ms),
            Schedule::Recurrence(recurrence) => {
                recurrence.fire_time_after(start, self.end_ms, after_ms, year_of(now_ms))
            }
        }
    }

    /// As [`Trigger::compute_first_fire_time`], in epoch milliseconds.
    pub(crate) fn compute_first_ms(&mut self, calendar: Option<&Calendar>, now_ms: i64) -> Option<i64> {
        if self.start_ms == START_WHEN_STORED {
            self.start_ms = self.start_at_now(now_ms);
        }
        let first = match &self.schedule {
            Schedule::Simple(_) | Schedule::CalendarInterval(_) => Some(self.start_ms),
            Schedule::Cron(_) | Schedule::DailyTimeInterval(_) | Schedule::Recurrence(_) => {
                self.start_ms.checked_sub(1000).and_then(|ms| self.fire_ms_after(ms, now_ms))
            }
        };
        self.next_ms = self.step_over_excluded(first, calendar, now_ms);
        self.next_ms
    }

    /// True if the trigger is due as soon as it is stored.
    pub(crate) fn fires_when_stored(&self) -> bool {
        let at_its_start = matches!(self.schedule, Schedule::Simple(_) | Schedule::CalendarInterval(_));
        at_its_start && self.start_ms == START_WHEN_STORED && self.calendar_name.is_none()
    }

    /// As [`Trigger::triggered`], in epoch milliseconds.
    pub(crate) fn move_on(&mut self, calendar: Option<&Calendar>, now_ms: i64) {
        self.schedule.count_fires(1);
        self.previous_ms = self.next_ms;
        // A run of this fire cannot end before now.
        let end_ms = |fired: i64| if self.schedule.is_fixed_delay() { fired.max(now_ms) } else { fired };
        self.next_ms = self.previous_ms.and_then(|fired| self.included_time_after(end_ms(fired), calendar, now_ms));
    }

    /// Takes the last fire back, which was at this time; the one before was at `previous_ms`.
    pub(crate) fn unfire(&mut self, scheduled_ms: i64, previous_ms: Option<i64>) {
        if let Some(times) = self.schedule.times_triggered_mut() {
            *times = times.saturating_sub(1);
        }
        (self.next_ms, self.previous_ms) = (Some(scheduled_ms), previous_ms);
    }

    /// The last time it can fire: [`Trigger::final_fire_time`].
    pub(crate) fn final_ms(&self) -> Option<i64> {
        match &self.schedule {
            Schedule::Simple(simple) => simple.final_fire_time(self.start_ms, self.end_ms),
            Schedule::Cron(_) | Schedule::Recurrence(_) => None,
            Schedule::CalendarInterval(interval) => interval.final_fire_time(self.start_ms, self.end_ms),
            Schedule::DailyTimeInterval(daily) => {
                daily.final_fire_time(self.end_ms, self.next_ms.is_none() && daily.times_triggered > 0)
            }
        }
    }

    /// The first time after an instant that the calendar includes.
    pub(crate) fn included_time_after(&self, after_ms: i64, calendar: Option<&Calendar>, now_ms: i64) -> Option<i64> {
        self.step_over_excluded(self.fire_ms_after(after_ms, now_ms), calendar, now_ms)
    }

    /// The candidate, or the first of its own times after it that the calendar includes.
    ///
    /// Quartz goes from each excluded time to the next one, for as long as that takes. Here whole
    /// excluded spans are left behind at once, with the same result, and a bound keeps the store's
    /// lock from being held for ever.
    fn step_over_excluded(&self, candidate: Option<i64>, calendar: Option<&Calendar>, now_ms: i64) -> Option<i64> {
        let Some(calendar) = calendar else {
            return candidate;
        };
        let last_year = year_of(now_ms).saturating_add(YEARS_AHEAD);
        let most = match &self.schedule {
            Schedule::CalendarInterval(interval) if !interval.is_even() => MAX_SINGLE_STEPS,
            _ => MAX_STEPS,
        };
        let mut at = candidate?;
        for _ in 0..most {
            if calendar.includes(at) {
                return Some(at);
            }
            let excluded_until = calendar.skip(at)?.checked_sub(1)?;
            at = self.fire_ms_after(self.leave_behind(at, excluded_until), now_ms)?;
            if year_of(at) > last_year {
                return None;
            }
        }
        None
    }

    /// The time from which the search goes on after an excluded span, so that it finds the first
    /// time that single steps from `at`, a time within the span, would find.
    fn leave_behind(&self, at: i64, excluded_until: i64) -> i64 {
        match &self.schedule {
            // From there the search would go on within the second pass, and leave out its
            // beginning.
            Schedule::Cron(cron) if local::is_first_pass(excluded_until, cron.zone) => at,
            // The moves of such times by a clock change depend on how far the search goes.
            Schedule::CalendarInterval(interval) if !interval.is_even() => at,
            Schedule::DailyTimeInterval(daily) => daily.leave_behind(at, excluded_until, self.end_ms),
            _ => excluded_until.max(at),
        }
    }

    /// The start of a trigger that was given none.
    fn start_at_now(&self, now_ms: i64) -> i64 {
        if self.schedule.starts_with_the_second() { now_ms.saturating_sub(now_ms.rem_euclid(1000)) } else { now_ms }
    }
}

fn year_of(ms: i64) -> i32 {
    moment(ms).year()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::{AnnualDays, CronTimes, Holidays, MonthDays, Weekdays};
    use crate::key::{JobKey, TriggerKey};
    use crate::trigger::{
        CalendarIntervalSchedule, CronSchedule, DailyTimeIntervalSchedule, IntervalUnit, SimpleSchedule,
    };
    use chrono::NaiveTime;
    use chrono::{DateTime, Utc};
    use std::time::Duration;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    fn ms(text: &str) -> i64 {
        at(text).timestamp_millis()
    }

    fn simple(start: &str, end: Option<&str>, schedule: SimpleSchedule) -> Trigger {
        let builder =
            Trigger::builder(TriggerKey::named("t"), JobKey::named("j")).schedule(schedule).start_at(at(start));
        match end {
            Some(end) => builder.end_at(at(end)).build().unwrap(),
            None => builder.build().unwrap(),
        }
    }

    fn cron(start: &str, end: Option<&str>, expression: &str) -> Trigger {
        let schedule = CronSchedule::new(expression).unwrap();
        let builder =
            Trigger::builder(TriggerKey::named("t"), JobKey::named("j")).schedule(schedule).start_at(at(start));
        match end {
            Some(end) => builder.end_at(at(end)).build().unwrap(),
            None => builder.build().unwrap(),
        }
    }

    fn hourly() -> SimpleSchedule {
        SimpleSchedule::every(Duration::from_secs(3600))
    }

    const NOW: &str = "2026-03-01T12:00:00Z";

    fn times(trigger: &Trigger, calendar: Option<&Calendar>) -> Vec<String> {
        let format = |time: DateTime<Utc>| time.format("%d %H:%M").to_string();
        trigger.upcoming(calendar, at(NOW)).take(4).map(format).collect()
    }

    #[test]
    fn a_count_of_two_fires_three_times() {
        let trigger = simple(NOW, None, hourly().repeat(2));
        assert_eq!(times(&trigger, None), ["01 12:00", "01 13:00", "01 14:00"]);
        assert_eq!(trigger.final_ms(), Some(ms("2026-03-01T14:00:00Z")));
    }

    #[test]
    fn a_simple_trigger_does_not_fire_at_its_end_but_a_cron_trigger_does() {
        let end = Some("2026-03-01T13:00:00Z");
        assert_eq!(times(&simple(NOW, end, hourly()), None), ["01 12:00"]);
        assert_eq!(times(&cron(NOW, end, "0 0 * * * ?"), None), ["01 12:00", "01 13:00"]);
    }

    #[test]
    fn a_trigger_without_a_start_begins_now() {
        let mut trigger = Trigger::builder(TriggerKey::named("t"), JobKey::named("j")).build().unwrap();
        assert_eq!(trigger.fire_ms_after(ms(NOW) - 1, ms(NOW)), Some(ms(NOW)));
        assert_eq!(trigger.compute_first_ms(None, ms(NOW)), Some(ms(NOW)));
        assert_eq!(trigger.start_time(), at(NOW));
    }

    #[test]
    fn a_cron_trigger_may_fire_at_its_start() {
        assert_eq!(times(&cron(NOW, None, "0 0 12 * * ?"), None).first().unwrap(), "01 12:00");
    }

    #[test]
    fn excluded_times_are_left_out_and_the_phase_is_kept() {
        let trigger = simple("2026-03-06T22:30:00Z", None, hourly());
        let weekend = Calendar::new(Weekdays::weekend());
        assert_eq!(times(&trigger, Some(&weekend)), ["06 22:30", "06 23:30", "09 00:30", "09 01:30"]);
    }

    #[test]
    fn a_first_time_that_is_excluded_is_not_the_first() {
        let mut trigger = cron(NOW, None, "0 0 12 * * ?");
        let holiday = Calendar::new(Holidays::on([at(NOW).date_naive()]));
        assert_eq!(trigger.compute_first_ms(Some(&holiday), ms(NOW)), Some(ms("2026-03-02T12:00:00Z")));
    }

    #[test]
    fn a_trigger_that_fired_for_the_last_time_has_no_next() {
        let mut trigger = simple(NOW, None, SimpleSchedule::once());
        trigger.compute_first_ms(None, ms(NOW));
        trigger.move_on(None, ms(NOW));
        assert!(!trigger.may_fire_again());
        assert_eq!(trigger.previous_fire_time(), Some(at(NOW)));
        trigger.move_on(None, ms(NOW));
        assert_eq!((trigger.next_fire_time(), trigger.previous_fire_time()), (None, None));
    }

    #[test]
    fn a_search_ends_though_a_calendar_excludes_everything() {
        let days = Calendar::new(AnnualDays::excluding((1..=12).flat_map(|m| (1..=28).map(move |d| (m, d)))).unwrap())
            .over(Calendar::new(MonthDays::excluding(29..=31).unwrap()));
        let never = [
            Calendar::new(CronTimes::excluding("* * * * * ?").unwrap()),
            Calendar::new(CronTimes::excluding("0-59 0-59 * * * ?").unwrap()),
            Calendar::new(MonthDays::excluding(1..=31).unwrap()),
        ];
        let every = |unit| CalendarIntervalSchedule::every(1, unit);
        let schedules: [Schedule; 4] = [
            CronSchedule::new("* * * * * ?").unwrap().into(),
            SimpleSchedule::every(MS).into(),
            every(IntervalUnit::Second).into(),
            DailyTimeIntervalSchedule::every(1, IntervalUnit::Second).into(),
        ];
        let finds_nothing = |schedule: Schedule, calendar: &Calendar| {
            let builder = Trigger::builder(TriggerKey::named("t"), JobKey::named("j")).schedule(schedule);
            let mut trigger = builder.start_at(at(NOW)).build().unwrap();
            assert_eq!(trigger.compute_first_ms(Some(calendar), ms(NOW)), None);
        };
        for schedule in schedules {
            never.iter().chain([&days]).for_each(|calendar| finds_nothing(schedule.clone(), calendar));
        }
        finds_nothing(every(IntervalUnit::Day).into(), &days);
        finds_nothing(every(IntervalUnit::Month).into(), &days);
    }

    const MS: Duration = Duration::from_millis(1);

    /// An expression may name each second, or the second at which a trigger fires.
    #[test]
    fn a_trigger_gets_past_hours_of_seconds_and_a_month_of_minutes() {
        let every_second = cron("2026-03-02T08:59:58Z", None, "* * * * * ?");
        for by_day in ["0-59 0-59 9-17 ? * *", "*/1 0/1 9-17 ? * *", "* * 9-17 ? * *"] {
            let mut trigger = every_second.clone();
            let calendar = Calendar::new(CronTimes::excluding(by_day).unwrap());
            let first = trigger.compute_first_ms(Some(&calendar), ms("2026-03-02T08:00:00Z"));
            assert_eq!(first, Some(ms("2026-03-02T08:59:58Z")));
            let next =
                trigger.included_time_after(ms("2026-03-02T08:59:59Z"), Some(&calendar), ms("2026-03-02T08:00:00Z"));
            assert_eq!(next, Some(ms("2026-03-02T18:00:00Z")), "{by_day}");
        }
        let every_minute = cron("2026-03-02T08:00:00Z", None, "0 * * * * ?");
        let august = Calendar::new(CronTimes::excluding("0 * * * 8 ?").unwrap());
        let next =
            every_minute.included_time_after(ms("2026-07-31T23:59:00Z"), Some(&august), ms("2026-07-31T23:59:00Z"));
        assert_eq!(next, Some(ms("2026-09-01T00:00:00Z")));
    }

    #[test]
    fn a_trigger_of_every_second_gets_past_a_year_that_is_excluded() {
        let year = Calendar::new(CronTimes::excluding("* * * * * ? 2026").unwrap());
        let mut trigger = cron(NOW, None, "* * * * * ?");
        assert_eq!(trigger.compute_first_ms(Some(&year), ms(NOW)), Some(ms("2027-01-01T00:00:00Z")));
    }

    #[test]
    fn leaving_whole_spans_behind_gives_the_time_that_single_steps_give() {
        let zone = chrono_tz::Europe::Berlin;
        let calendars = [
            Calendar::new(CronTimes::excluding("* 10-50 * * * ?").unwrap()).in_zone(zone),
            Calendar::new(CronTimes::excluding("* * 1-2 * * ?").unwrap()).in_zone(zone),
            Calendar::new(Weekdays::weekend()).in_zone(zone),
        ];
        let cron = |text: &str| Schedule::from(CronSchedule::new(text).unwrap().in_zone(zone));
        let interval = |interval, unit| CalendarIntervalSchedule::every(interval, unit).in_zone(zone);
        let clock = |hour| NaiveTime::from_hms_opt(hour, 0, 0).unwrap();
        let daily = DailyTimeIntervalSchedule::every(7, IntervalUnit::Minute).with_default_zone(zone);
        let schedules = [
            cron("0 0/5 * * * ?"),
            cron("30 0/7 * * * ?"),
            cron("0 55 0/3 * * ?"),
            interval(7, IntervalUnit::Minute).into(),
            interval(1, IntervalUnit::Day).into(),
            interval(1, IntervalUnit::Week).preserve_hour(true).into(),
            daily.clone().into(),
            daily.starting_daily_at(clock(2)).ending_daily_at(clock(20)).into(),
        ];
        for schedule in schedules {
            for start in ["2026-03-27T12:05:00Z", "2026-10-23T12:05:00Z"] {
                for hours in [None, Some(61)] {
                    let builder = Trigger::builder(TriggerKey::named("t"), JobKey::named("j"));
                    let mut trigger = builder.schedule(schedule.clone()).start_at(at(start)).build().unwrap();
                    trigger.end_ms = hours.map(|hours| ms(start) + hours * local::HOUR);
                    for calendar in &calendars {
                        let mut from = ms(start);
                        for _ in 0..100 {
                            let mut single = trigger.fire_ms_after(from, from);
                            while let Some(time) = single.filter(|time| !calendar.includes(*time)) {
                                single = trigger.fire_ms_after(time, from);
                            }
                            let whole = trigger.included_time_after(from, Some(calendar), from);
                            assert_eq!(whole, single, "{schedule:?} after {} until {hours:?}", moment(from));
                            let Some(next) = whole else { break };
                            from = next;
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn times_beyond_all_dates_are_none() {
        let trigger = simple(NOW, None, SimpleSchedule::every(Duration::from_millis(u64::MAX)));
        assert_eq!(trigger.fire_ms_after(ms(NOW), ms(NOW)), None);
        for schedule in [hourly(), SimpleSchedule::once(), hourly().repeat(i32::MAX.unsigned_abs())] {
            for extreme in [i64::MIN, i64::MAX] {
                simple(NOW, None, schedule.clone()).fire_ms_after(extreme, extreme);
                simple(NOW, None, schedule.clone()).apply_misfire(None, moment(extreme));
            }
        }
        assert_eq!(cron(NOW, None, "0 0 12 * * ?").fire_ms_after(i64::MAX, ms(NOW)), None);
    }
}
