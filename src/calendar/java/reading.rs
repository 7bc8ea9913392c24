//! A stream becomes a graph of Java's objects, and the graph a calendar.

use super::classes::*;
use crate::calendar::{
    AnnualDays, Calendar, CalendarRule, CronTimes, DailyRange, Holidays, MAX_CALENDAR_DEPTH, MonthDays, Weekdays,
};
use crate::java::{Content, Graph, Object, Value};
use crate::java_text::{JavaText, is_stream};
use crate::local;
use chrono::{Datelike, NaiveTime, Weekday};
use chrono_tz::Tz;

pub(super) fn read(bytes: &[u8]) -> Result<Calendar, String> {
    if !is_stream(bytes) {
        return Err("it is no Java object stream".to_owned());
    }
    let (graph, root) = Graph::read(bytes)?;
    Objects { graph }.calendar(root, 0)
}

struct Objects {
    graph: Graph,
}

impl Objects {
    fn calendar(&self, value: Value, depth: usize) -> Result<Calendar, String> {
        if depth >= MAX_CALENDAR_DEPTH {
            return Err(format!("more than {MAX_CALENDAR_DEPTH} calendars lie upon each other"));
        }
        let class = self.graph.class_name_of(value);
        let unknown = || format!("it is of class {class}, which is not known here");
        let object = self.graph.object(value).filter(|_| CALENDARS.contains(&class)).ok_or_else(unknown)?;
        let mut zone = self.zone(self.field(object, BASE, "timeZone")?)?;
        let rule = match class {
            BASE => CalendarRule::Nothing,
            ANNUAL => self.annual(object)?,
            CRON => {
                let (times, its_zone) = self.cron(object)?;
                zone = its_zone;
                times.into()
            }
            DAILY => self.daily(object)?,
            HOLIDAY => self.holiday(object)?,
            MONTHLY => MonthDays::excluding(self.excluded_days(object, MONTHLY, 1)?).map_err(|e| e.to_string())?.into(),
            WEEKLY => {
                let days = self.excluded_days(object, WEEKLY, 0)?;
                Weekdays::excluding(days.into_iter().filter_map(weekday)).into()
            }
            _ => return Err(unknown()),
        };
        let mut calendar = Calendar::new(rule);
        if let Some(zone) = zone {
            calendar = calendar.in_zone(zone);
        }
        match self.field(object, BASE, "description")? {
            Value::Null => {}
            text => calendar = calendar.describe(self.text(text, "description")?),
        }
        match self.field(object, BASE, "baseCalendar")? {
            Value::Null => {}
            base => calendar = calendar.over(self.calendar(base, depth + 1)?),
        }
        Ok(calendar)
    }

    fn annual(&self, object: &Object) -> Result<CalendarRule, String> {
        let list = self.field(object, ANNUAL, "excludeDays")?;
        let days = self.elements(list, ARRAY_LIST, "excludeDays")?;
        let days = days.into_iter().map(|day| self.day_of_year(day)).collect::<Result<Vec<_>, _>>()?;
        Ok(AnnualDays::excluding(days).map_err(|error| error.to_string())?.into())
    }

    /// Month and day of a moment, which is what Java looks at.
    fn day_of_year(&self, value: Value) -> Result<(u32, u32), String> {
        let unexpected =
            || format!("an excluded day is of class {}, no java.util.Calendar", self.graph.class_name_of(value));
        let day = self.graph.object(value).ok_or_else(unexpected)?;
        let Some(Value::Long(time)) = self.graph.field(day, JAVA_CALENDAR, "time") else { return Err(unexpected()) };
        // The zone itself comes behind the fields. One field is its approximation for the first
        // JVMs.
        let real = self.graph.extra(day, JAVA_CALENDAR).and_then(|extra| match extra.last()? {
            Content::Value(zone) => Some(*zone),
            Content::Block(_) => None,
        });
        let zone = real.filter(|zone| *zone != Value::Null).or(self.graph.field(day, JAVA_CALENDAR, "zone"));
        let zone = self.zone(zone.unwrap_or(Value::Null))?.unwrap_or(Tz::UTC);
        let date = local::date_at(time, zone).ok_or_else(|| format!("{time} ms is no day that can be shown"))?;
        Ok((date.month(), date.day()))
    }

    fn cron(&self, object: &Object) -> Result<(CronTimes, Option<Tz>), String> {
        let expression = self.field(object, CRON, "cronExpression")?;
        let expression = self.graph.object(expression).ok_or("its cronExpression is null")?;
        let text = self.text(self.field(expression, CRON_EXPRESSION, "cronExpression")?, "cronExpression")?;
        let zone = self.zone(self.field(expression, CRON_EXPRESSION, "timeZone")?)?;
        Ok((CronTimes::excluding(text).map_err(|error| error.to_string())?, zone))
    }

    fn daily(&self, object: &Object) -> Result<CalendarRule, String> {
        let number = |name: &'static str| match self.field(object, DAILY, name)? {
            Value::Int(number) => Ok(u32::try_from(number).unwrap_or(u32::MAX)),
            _ => Err(format!("its {name} is no int")),
        };
        let time = |[hour, minute, second, millisecond]: [&'static str; 4]| {
            let (hour, minute) = (number(hour)?, number(minute)?);
            let time = NaiveTime::from_hms_milli_opt(hour, minute, number(second)?, number(millisecond)?);
            time.ok_or_else(|| format!("its range begins or ends at {hour}:{minute}, which no clock shows"))
        };
        let inverted = self.field(object, DAILY, "invertTimeRange")? == Value::Bool(true);
        let new = if inverted { DailyRange::including_only } else { DailyRange::excluding };
        Ok(new(time(RANGE_START)?, time(RANGE_END)?).map_err(|error| error.to_string())?.into())
    }

    fn holiday(&self, object: &Object) -> Result<CalendarRule, String> {
        let dates = self.elements(self.field(object, HOLIDAY, "dates")?, TREE_SET, "dates")?;
        let start = |date| {
            let bytes = self.graph.object(date).and_then(|date| match self.graph.extra(date, DATE)? {
                [Content::Block(bytes), ..] => bytes.first_chunk(),
                _ => None,
            });
            let unexpected = || format!("a date is of class {}, no java.util.Date", self.graph.class_name_of(date));
            bytes.map(|bytes| i64::from_be_bytes(*bytes)).ok_or_else(unexpected)
        };
        Ok(Holidays::beginning_at_ms(dates.into_iter().map(start).collect::<Result<Vec<_>, _>>()?).into())
    }

    /// The places of the flags that are set, counted from `first`.
    fn excluded_days(&self, object: &Object, class: &str, first: u32) -> Result<Vec<u32>, String> {
        let flags = self.graph.bytes(self.field(object, class, "excludeDays")?);
        let flags = flags.ok_or("its excludeDays is no boolean[]")?;
        Ok((first..).zip(flags).filter(|(_, flag)| **flag != 0).map(|(day, _)| day).collect())
    }

    /// The elements of a list or a set.
    fn elements(&self, value: Value, class: &str, field: &str) -> Result<Vec<Value>, String> {
        let content = self.graph.object(value).and_then(|object| self.graph.extra(object, class));
        let content = content.ok_or_else(|| format!("its {field} is no {class}"))?;
        // Behind the size.
        let elements = content.iter().skip_while(|content| !matches!(content, Content::Block(_)));
        Ok(elements
            .filter_map(|content| if let Content::Value(value) = content { Some(*value) } else { None })
            .collect())
    }

    fn field(&self, object: &Object, class: &str, name: &str) -> Result<Value, String> {
        self.graph.field(object, class, name).ok_or_else(|| format!("its class has no field {name}"))
    }

    fn text(&self, value: Value, field: &str) -> Result<&str, String> {
        self.graph.text(value).and_then(JavaText::as_str).ok_or_else(|| format!("its {field} is no text"))
    }

    fn zone(&self, value: Value) -> Result<Option<Tz>, String> {
        if value == Value::Null {
            return Ok(None);
        }
        let id = self.graph.object(value).and_then(|zone| self.graph.field(zone, TIME_ZONE, "ID"));
        let id = self.text(id.unwrap_or(Value::Null), "time zone's ID")?;
        let known = crate::zone::named(id);
        known.map(Some).ok_or_else(|| format!("its time zone `{id}` is not known here"))
    }
}

/// 1 is Sunday.
fn weekday(number: u32) -> Option<Weekday> {
    let from_monday = number.checked_sub(1).filter(|number| *number < 7)? + 6;
    Weekday::try_from(u8::try_from(from_monday % 7).ok()?).ok()
}
