//! A recurrence rule: its times on a clock that never changes.
//!
//! The crate `rrule` computes the times, asked in UTC only: in a zone the crate doubles times and
//! leaves others out where clocks change. Rules of minutes and seconds are computed here, since the
//! crate passes over some of their times.

#[cfg(feature = "recurrence")]
use chrono::{Datelike, Months, TimeDelta, TimeZone};
use chrono::{NaiveDate, NaiveDateTime};
/// The format of a time on a clock in iCalendar.
pub(super) const TIME: &str = "%Y%m%dT%H%M%S";

#[cfg(feature = "recurrence")]
use rrule::{Frequency, RRule, RRuleSet, Tz, Unvalidated};
#[cfg(feature = "recurrence")]
use std::sync::Arc;

/// The most times a rule may count: each search goes over all of them.
#[cfg(feature = "recurrence")]
const MAX_COUNT: u32 = 10_000;

/// The most times that a rule may have in one period: `rrule` makes all of them for the first.
#[cfg(feature = "recurrence")]
const MAX_IN_PERIOD: usize = 50_000;

/// The end of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// With this time on the clock.
    Shown(NaiveDateTime),
    /// With this moment, in UTC.
    Moment(NaiveDateTime),
}

#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub(super) text: String,
    pub(super) until: Option<Until>,
    #[cfg(feature = "recurrence")]
    endless: Arc<RRule<Unvalidated>>,
}

/// Equal rules have equal texts, and the text says all.
impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

#[cfg(not(feature = "recurrence"))]
impl Rule {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let without = Rule { text: text.to_owned(), until: None };
        Err(format!("`{}`: this program was built without the feature `recurrence`", without.text))
    }

    pub(super) fn times(&self, _: NaiveDateTime, _: NaiveDateTime) -> impl Iterator<Item = NaiveDateTime> + use<> {
        std::iter::empty()
    }
}

/// The most times that a rule can have in one of its periods: on each of its days, or in its hour.
#[cfg(feature = "recurrence")]
fn times_of_period(rule: &RRule<Unvalidated>) -> usize {
    // Each part that names days leaves fewer; none adds any.
    let of = |named: usize, most: usize| if named == 0 { most } else { named.min(most) };
    let weekdays = of(rule.get_by_weekday().len(), 7);
    let days = match rule.get_freq() {
        Frequency::Yearly => {
            let months = of(rule.get_by_month().len(), 12);
            let of_months = of(rule.get_by_month_day().len(), 31) * months;
            let of_weeks = of(rule.get_by_week_no().len(), 54) * weekdays;
            of(rule.get_by_year_day().len(), 366).min(of_months).min(of_weeks)
        }
        Frequency::Monthly => of(rule.get_by_month_day().len(), 31).min(6 * weekdays),
        Frequency::Weekly => weekdays,
        _ => 1,
    };
    let hours = if rule.get_freq() == Frequency::Hourly { 1 } else { rule.get_by_hour().len().max(1) };
    days * hours * rule.get_by_minute().len().max(1) * rule.get_by_second().len().max(1)
}

#[cfg(feature = "recurrence")]
impl Rule {
    /// Reads `FREQ=…;…`; letters may be of either case. An error says what was expected.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim().to_ascii_uppercase();
        // The crate panics where it cuts a letter of several bytes.
        if !text.is_ascii() {
            return Err("expected letters, digits and signs of ASCII".to_owned());
        }
        // The crate would pass over what is before a second name.
        if text.contains(':') {
            return Err("expected parts such as INTERVAL=2 without a colon".to_owned());
        }
        // The crate would read an end without a zone by that of this machine.
        let (ends, parts): (Vec<&str>, Vec<&str>) = text.split(';').partition(|part| part.starts_with("UNTIL="));
        let end = ends.first().and_then(|part| part.strip_prefix("UNTIL="));
        let until = end.map(until).transpose()?;
        let endless: RRule<Unvalidated> =
            parts.join(";").parse().map_err(|error: rrule::RRuleError| error.to_string())?;
        if matches!(endless.get_freq(), Frequency::Minutely | Frequency::Secondly) {
            let expected = "expected HOURLY, DAILY, WEEKLY, MONTHLY or YEARLY";
            return Err(format!("FREQ: {expected}; what is shorter is a simple or a cron schedule"));
        }
        if endless.get_interval() == 0 {
            return Err("INTERVAL: expected at least 1".to_owned());
        }
        match endless.get_count() {
            Some(_) if until.is_some() => return Err("expected UNTIL or COUNT, found both".to_owned()),
            Some(count) if !(1..=MAX_COUNT).contains(&count) => {
                return Err(format!("COUNT: expected 1 to {MAX_COUNT}"));
            }
            _ => {}
        }
        let of_period = times_of_period(&endless);
        if of_period > MAX_IN_PERIOD {
            return Err(format!(
                "BYHOUR, BYMINUTE and BYSECOND: expected at most {MAX_IN_PERIOD} times in a period, found up to \
                 {of_period}: what fires so often is a simple or a cron schedule"
            ));
        }
        // A rule that is right for one start is right for all.
        let epoch = Tz::UTC.from_utc_datetime(&NaiveDateTime::default());
        endless.clone().validate(epoch).map_err(|error| error.to_string())?;
        Ok(Rule { until, endless: Arc::new(endless), text })
    }

    /// True if times that the clock shows twice fire twice: hours pass whatever the clock shows.
    pub(super) fn counts_hours(&self) -> bool {
        self.endless.get_freq() == Frequency::Hourly
    }

    /// The times of a rule that begins with `start`, from `from` on at the latest.
    pub(super) fn times(
        &self,
        start: NaiveDateTime,
        from: NaiveDateTime,
    ) -> impl Iterator<Item = NaiveDateTime> + use<> {
        let begin = self.begin(start, from);
        let begin =
            begin.filter(|begin| (0..9_000).contains(&begin.year())).map(|begin| Tz::UTC.from_utc_datetime(&begin));
        let rule = begin.and_then(|begin| Some((begin, RRule::clone(&self.endless).validate(begin).ok()?)));
        let set = rule.map(|(begin, rule)| RRuleSet::new(begin).rrule(rule).limit());
        set.into_iter().flat_map(|set| (&set).into_iter()).map(|time| time.naive_utc())
    }

    /// A later start from which the same times follow: whole intervals later, and not after `from`.
    fn begin(&self, start: NaiveDateTime, from: NaiveDateTime) -> Option<NaiveDateTime> {
        if self.endless.get_count().is_some() || from <= start {
            return Some(start);
        }
        let interval = i64::from(self.endless.get_interval());
        let span = match self.endless.get_freq() {
            Frequency::Weekly => TimeDelta::try_days(7 * interval)?,
            Frequency::Daily => TimeDelta::try_days(interval)?,
            Frequency::Hourly => TimeDelta::try_hours(interval)?,
            freq => {
                return self.begin_of_months(start, from, interval * if freq == Frequency::Yearly { 12 } else { 1 });
            }
        };
        let passed = (from - start).num_seconds() / span.num_seconds();
        start.checked_add_signed(TimeDelta::try_seconds(span.num_seconds().checked_mul(passed)?)?)
    }

    /// The begin for intervals of months: on the same day of the month, which the rule may go by.
    fn begin_of_months(&self, start: NaiveDateTime, from: NaiveDateTime, interval: i64) -> Option<NaiveDateTime> {
        let months = |time: NaiveDateTime| i64::from(time.year()) * 12 + i64::from(time.month0());
        let passed = (months(from) - months(start)) / interval;
        let later = |count: i64| {
            let time = start.checked_add_months(Months::new(u32::try_from(count * interval).ok()?))?;
            (time.day() == start.day() && time <= from).then_some(time)
        };
        (0..=passed).rev().find_map(later).or(Some(start))
    }
}

#[cfg(not(feature = "recurrence"))]
impl Rule {
    pub(super) fn counts_hours(&self) -> bool {
        false
    }
}

/// `20270131` (all of that day), `20270131T235959` on the clock, or `20270131T225959Z`.
#[cfg_attr(not(feature = "recurrence"), expect(dead_code, reason = "rules are not read"))]
fn until(text: &str) -> Result<Until, String> {
    let time = |text| NaiveDateTime::parse_from_str(text, TIME).ok();
    let day = || NaiveDate::parse_from_str(text, "%Y%m%d").ok()?.and_hms_opt(23, 59, 59);
    let moment = text.strip_suffix('Z').and_then(time).map(Until::Moment);
    moment.or_else(|| time(text).or_else(day).map(Until::Shown)).ok_or_else(|| {
        format!("UNTIL: `{text}`: expected a day, a time on the clock or a moment: 20270131, 20270131T180000, 20270131T170000Z")
    })
}

#[cfg(test)]
#[cfg(feature = "recurrence")]
mod tests {
    use super::*;

    fn time(text: &str) -> NaiveDateTime {
        NaiveDateTime::parse_from_str(text, super::TIME).unwrap()
    }

    fn times(rule: &str, start: &str, count: usize) -> Vec<String> {
        let start = time(start);
        let times = Rule::parse(rule).unwrap().times(start, start);
        times.take(count).map(|time| time.format("%y-%m-%d %H:%M").to_string()).collect()
    }

    /// Examples of RFC 5545, section 3.8.5.3.
    #[test]
    fn the_examples_of_the_standard_come_out() {
        let start = "19970902T090000";
        for (rule, expected) in [
            ("FREQ=DAILY;INTERVAL=10;COUNT=5", "97-09-02 97-09-12 97-09-22 97-10-02 97-10-12"),
            ("FREQ=WEEKLY;INTERVAL=2;WKST=SU;COUNT=4;BYDAY=TU,TH", "97-09-02 97-09-04 97-09-16 97-09-18"),
            ("FREQ=MONTHLY;BYDAY=TU;BYMONTHDAY=2", "97-09-02 97-12-02 98-06-02 99-02-02"),
            ("FREQ=MONTHLY;BYMONTHDAY=-3", "97-09-28 97-10-29 97-11-28 97-12-29"),
            ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-2", "97-09-29 97-10-30 97-11-27 97-12-30"),
            ("FREQ=YEARLY;INTERVAL=3;COUNT=10;BYYEARDAY=1,100,200", "00-01-01 00-04-09 00-07-18 03-01-01"),
            ("FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO", "98-05-11 99-05-17 00-05-15 01-05-14"),
            (
                "FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8",
                "97-11-04 01-11-06 05-11-08 09-11-03",
            ),
        ] {
            let expected: Vec<String> = expected.split(' ').map(|day| format!("{day} 09:00")).collect();
            assert_eq!(times(rule, start, expected.len()), expected, "{rule}");
        }
        let hours = times("FREQ=HOURLY;INTERVAL=3;COUNT=3", start, 9);
        assert_eq!(hours, ["97-09-02 09:00", "97-09-02 12:00", "97-09-02 15:00"]);
        assert_eq!(times("FREQ=YEARLY", "20240229T120000", 2), ["24-02-29 12:00", "28-02-29 12:00"]);
        assert_eq!(times("FREQ=MONTHLY", "20270131T120000", 2), ["27-01-31 12:00", "27-03-31 12:00"]);
    }

    /// The begin of the search makes no difference, though it may be years after the start.
    #[test]
    fn a_later_begin_has_the_same_times() {
        for rule in [
            "FREQ=HOURLY;INTERVAL=7",
            "FREQ=HOURLY;INTERVAL=5;BYDAY=MO,SU",
            "FREQ=DAILY;INTERVAL=3;BYHOUR=3,15",
            "FREQ=WEEKLY;INTERVAL=2;BYDAY=SU,MO;WKST=SU",
            "FREQ=WEEKLY;INTERVAL=2;BYDAY=SU,MO;WKST=MO;BYSETPOS=-1",
            "FREQ=MONTHLY;INTERVAL=5",
            "FREQ=MONTHLY;INTERVAL=2;BYDAY=-1FR,2MO",
            "FREQ=MONTHLY;BYDAY=MO,TU;BYSETPOS=2",
            "FREQ=YEARLY;INTERVAL=3",
            "FREQ=YEARLY;INTERVAL=2;BYWEEKNO=1,53",
            "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29",
        ] {
            let rule = Rule::parse(rule).unwrap();
            for start in ["20240229T233000", "20231231T001500", "20270115T080000"].map(time) {
                let all: Vec<_> = rule.times(start, start).take_while(|at| at.year() < 2060).take(2_000).collect();
                for from in (0..40).map(|i| start + TimeDelta::hours(i * 2_777)) {
                    let expected: Vec<_> = all.iter().copied().filter(|at| *at >= from).take(5).collect();
                    if expected.len() == 5 {
                        let later: Vec<_> = rule.times(start, from).filter(|at| *at >= from).take(5).collect();
                        assert_eq!(later, expected, "{} from {from}", rule.text);
                        assert!(
                            rule.begin(start, from).is_some_and(|begin| start <= begin && begin <= from.max(start))
                        );
                    }
                }
            }
        }
    }

    /// The crate makes all times of a period before it gives the first: here 31 million, at each
    /// fire, of a rule that fits into its column.
    #[test]
    fn a_rule_of_very_many_times_in_a_period_is_refused() {
        let all = |count: u32| (0..count).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
        let often = format!("BYHOUR={};BYMINUTE={};BYSECOND={}", all(24), all(60), all(60));
        let error = Rule::parse(&format!("FREQ=YEARLY;BYDAY=MO,TU,WE,TH,FR,SA,SU;{often}")).unwrap_err();
        assert!(error.contains("at most 50000 times in a period, found up to 31622400"), "{error}");
        let hours = format!("BYHOUR={}", all(24));
        for rule in [
            format!("FREQ=DAILY;{hours};BYMINUTE={}", all(60)),
            format!("FREQ=HOURLY;{hours};BYMINUTE={};BYSECOND=0,30", all(60)),
            format!("FREQ=YEARLY;BYMONTH=12;BYMONTHDAY=24,25,26;{hours};BYMINUTE={}", all(60)),
            format!("FREQ=WEEKLY;BYDAY=MO;{hours};BYMINUTE={};BYSECOND={}", all(60), all(10)),
        ] {
            assert!(Rule::parse(&rule).is_ok(), "{rule}");
        }
    }

    /// Rules as they may come, also those that never recur: an answer, and no panic.
    #[test]
    fn every_search_ends() {
        let starts = ["20270131T080000", "20240229T000000"].map(time);
        for freq in ["HOURLY", "DAILY", "WEEKLY", "MONTHLY", "YEARLY"] {
            for interval in [1, 13, 65_535] {
                for part in [
                    "",
                    ";BYMONTH=2;BYMONTHDAY=30",
                    ";BYMONTHDAY=-31",
                    ";BYYEARDAY=366",
                    ";BYYEARDAY=-366",
                    ";BYWEEKNO=53",
                    ";BYWEEKNO=-53;BYDAY=SU",
                    ";BYDAY=5MO",
                    ";BYDAY=53SU",
                    ";BYHOUR=0,23;BYSETPOS=-1",
                    ";BYSECOND=59",
                    ";BYMONTH=2;BYDAY=MO;BYSETPOS=5",
                    ";WKST=SU;BYDAY=MO",
                ] {
                    let Ok(rule) = Rule::parse(&format!("FREQ={freq};INTERVAL={interval}{part}")) else { continue };
                    for start in starts {
                        let found: Vec<_> =
                            rule.times(start, start).take_while(|at| at.year() < 2100).take(3).collect();
                        assert!(found.is_sorted_by(|a, b| a < b) && found.iter().all(|at| *at >= start), "{rule:?}");
                    }
                }
            }
        }
        let daily = Rule::parse("FREQ=DAILY").unwrap();
        for far in [NaiveDateTime::MIN, NaiveDateTime::MAX] {
            assert_eq!(daily.times(far, far).next(), None);
            assert_eq!(daily.times(starts[0], far).next().is_some(), far == NaiveDateTime::MIN);
        }
    }
}
