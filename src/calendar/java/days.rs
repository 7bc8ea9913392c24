//! A day of the year as Java keeps it: a `GregorianCalendar` at noon of that day in 2024, a leap
//! year.

use super::writing::Objects;
use super::zone::{Clock, DaylightRule, RuleDay, ZoneTable};
use crate::java::{Content, PartSpec, Value};
use crate::local::{self, DAY, HOUR};
use chrono::{Datelike, NaiveDate};
use chrono_tz::Tz;

const LEAP_YEAR: i32 = 2024;
/// The beginning of the Gregorian calendar, in epoch milliseconds.
const CUTOVER: i64 = -12_219_292_800_000;
/// The fields (year, month, day, hour, minute, second and so on) that were set by hand.
const IS_SET: [u8; 17] = [0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0];
const MONTH_LENGTHS: [u8; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const HOUR_MS: i32 = 3_600_000;
const DAY_MS: i32 = 24 * HOUR_MS;

impl Objects {
    /// Noon of a day; `zone_info` is the object of `zone`.
    pub(super) fn day_of_year(&mut self, month: u32, day: u32, zone: Tz, zone_info: Value) -> Result<Value, String> {
        let date = NaiveDate::from_ymd_opt(LEAP_YEAR, month, day);
        let noon = date.and_then(|date| Some((date, local::instant(date, DAY / 2, zone)?)));
        let Some((date, time)) = noon else { return Err(format!("there is no day {month}-{day}")) };
        let number = |n: u32| i32::try_from(n).unwrap_or(0);
        let weekday = number(date.weekday().number_from_sunday());
        let half_day = number(u32::from(DAY / 2 >= 12 * HOUR));
        let fields =
            [1, LEAP_YEAR, number(date.month0()), 0, 0, number(day), 0, weekday, 0, half_day, 0, 12, 0, 0, 0, 0, 0];
        let simple_zone = self.simple_time_zone(zone);
        let ints = self.classes.ints;
        let fields = self.graph.add_array(ints, fields.map(i32::to_be_bytes));
        let is_set = self.graph.add_array(self.classes.booleans, IS_SET.map(|flag| [flag]));
        let calendar = PartSpec {
            class: self.classes.calendar,
            fields: vec![
                Value::Bool(true),
                Value::Int(1),
                Value::Bool(true),
                Value::Bool(true),
                Value::Int(1),
                Value::Int(8),
                Value::Int(1),
                Value::Long(time),
                fields,
                is_set,
                simple_zone,
            ],
            extra: Some(vec![Content::Value(zone_info)]),
        };
        let class = self.classes.gregorian;
        let gregorian = PartSpec { class, fields: vec![Value::Long(CUTOVER)], extra: None };
        Ok(self.graph.add_object(class, vec![calendar, gregorian]))
    }

    /// The zone in the form that a calendar stores beside the real one, for JVMs that do not know
    /// the zone.
    fn simple_time_zone(&mut self, zone: Tz) -> Value {
        let table = ZoneTable::of(zone);
        let rule = table.rule.as_ref();
        let savings = rule.map_or(HOUR_MS, |rule| rule.savings);
        let start = rule.map_or(NONE, |rule| compatible(&rule.start, table.raw_offset, 0));
        let end = rule.map_or(NONE, |rule| compatible(&rule.end, table.raw_offset, savings));
        let month_lengths = match self.month_lengths {
            Some(known) => known,
            None => self.graph.add_array(self.classes.bytes, MONTH_LENGTHS.map(|length| [length])),
        };
        self.month_lengths = Some(month_lengths);
        let id = self.graph.add_text(zone.name());

        let [end_day, end_weekday, end_mode, end_month, end_time, end_clock] = end;
        let [start_day, start_weekday, start_mode, start_month, start_time, start_clock] = start;
        let numbers = [
            [savings, end_day, end_weekday, end_mode, end_month, end_time, end_clock],
            [table.raw_offset, 2, start_day, start_weekday, start_mode, start_month, start_time],
        ];
        let mut fields: Vec<Value> = numbers.concat().into_iter().map(Value::Int).collect();
        fields.extend([Value::Int(start_clock), Value::Int(0), Value::Bool(rule.is_some()), month_lengths]);
        let (packed, times) = rule.map_or(([0; 6], [0; 2]), packed);
        let packed = [&[0, 0, 0, 6], &packed[..]].concat();
        let times = self.graph.add_array(self.classes.ints, times.map(i32::to_be_bytes));
        let class = self.classes.simple_time_zone;
        let parent = PartSpec { class: self.classes.time_zone, fields: vec![id], extra: None };
        let own = PartSpec { class, fields, extra: Some(vec![Content::Block(packed), Content::Value(times)]) };
        self.graph.add_object(class, vec![parent, own])
    }
}

/// Day, weekday, mode, month, time and clock where there is no rule.
const NONE: [i32; 6] = [0; 6];

/// Day, weekday, mode, month, time and clock in the terms of the first JVMs. These JVMs knew only
/// the n-th weekday of a month, and times on the clock in force.
fn compatible(at: &RuleDay, raw_offset: i32, savings: i32) -> [i32; 6] {
    let (nth_weekday, weekday_from_day) = (2, 3);
    let (day, mode) = match at.day {
        -1 => (-1, nth_weekday),
        1 => (1, weekday_from_day),
        day => (1 + day / 7, weekday_from_day),
    };
    let time = match at.clock {
        Clock::Wall => at.time,
        Clock::Standard => at.time + savings,
        Clock::Utc => at.time + raw_offset + savings,
    };
    // At a day's end counts as the next day, before its beginning as the one before.
    let weekday = (at.weekday - 1 + time.div_euclid(DAY_MS)).rem_euclid(7) + 1;
    [day, weekday, mode, at.month, time.rem_euclid(DAY_MS), at.clock as i32]
}

/// The days and clocks, and the times, as they really are.
fn packed(rule: &DaylightRule) -> ([u8; 6], [i32; 2]) {
    let (start, end) = (&rule.start, &rule.end);
    let numbers = [start.day, start.weekday, end.day, end.weekday, start.clock as i32, end.clock as i32];
    (numbers.map(|number| number.to_le_bytes()[0]), [start.time, end.time])
}
