//! A calendar becomes a graph of Java's objects, and the graph a stream.

use super::classes::{Classes, RANGE_END, RANGE_START, by_name};
use super::zone::ZoneTable;
use crate::calendar::{AnnualDays, Calendar, CalendarRule, CronTimes, DailyRange, Holidays, MonthDays, Weekdays};
use crate::java::{Content, Graph, NodeId, PartSpec, Value, Writer};
use crate::local::{HOUR, MINUTE, SECOND};
use chrono_tz::Tz;
use std::collections::HashMap;
use std::sync::Arc;

pub(super) fn write(calendar: &Calendar) -> Result<Vec<u8>, String> {
    let mut graph = Graph::default();
    let classes = Classes::add_to(&mut graph);
    let mut objects = Objects { graph, classes, tables: HashMap::new(), month_lengths: None };
    let root = objects.calendar(calendar)?;
    let mut writer = Writer::new();
    writer.value(&Arc::new(objects.graph), root)?;
    Ok(writer.into_bytes())
}

/// The objects made so far, and those that Java has only once.
pub(super) struct Objects {
    pub(super) graph: Graph,
    pub(super) classes: Classes,
    /// Offsets, parameters and transitions of a zone: all its `ZoneInfo` objects share them.
    tables: HashMap<Tz, [Value; 3]>,
    pub(super) month_lengths: Option<Value>,
}

impl Objects {
    fn calendar(&mut self, calendar: &Calendar) -> Result<Value, String> {
        let base = match calendar.base() {
            Some(base) => self.calendar(base)?,
            None => Value::Null,
        };
        let description = calendar.description().map_or(Value::Null, |text| self.graph.add_text(text));
        let zone = calendar.zone.map_or(Value::Null, |zone| self.zone_info(zone));
        // A cron calendar's zone is that of its expression.
        let own_zone = if matches!(calendar.rule, CalendarRule::Cron(_)) { Value::Null } else { zone };
        let mut parts =
            vec![PartSpec { class: self.classes.base, fields: vec![base, description, own_zone], extra: None }];
        let (class, fields) = match &calendar.rule {
            CalendarRule::Nothing => (self.classes.base, None),
            CalendarRule::Annual(days) => (self.classes.annual, Some(self.annual(calendar, days, zone)?)),
            CalendarRule::Cron(times) => (self.classes.cron, Some(self.cron(times, zone))),
            CalendarRule::Daily(range) => (self.classes.daily, Some(daily(range))),
            CalendarRule::Holiday(days) => (self.classes.holiday, Some(self.holiday(days, calendar.effective_zone())?)),
            CalendarRule::Monthly(days) => (self.classes.monthly, Some(self.monthly(days))),
            CalendarRule::Weekly(days) => (self.classes.weekly, Some(self.weekly(days))),
        };
        parts.extend(fields.map(|fields| PartSpec { class, fields, extra: None }));
        Ok(self.graph.add_object(class, parts))
    }

    fn annual(&mut self, calendar: &Calendar, days: &AnnualDays, own_zone: Value) -> Result<Vec<Value>, String> {
        let zone = calendar.effective_zone();
        // Java keeps a whole moment for each day. The zone of the moment is the calendar's, or the
        // default zone of the JVM.
        let zone_info = if own_zone == Value::Null { self.zone_info(zone) } else { own_zone };
        let mut content = Vec::new();
        for (month, day) in days.days() {
            content.push(Content::Value(self.day_of_year(month, day, zone, zone_info)?));
        }
        let list = self.collection(self.classes.array_list, content, true)?;
        Ok(vec![Value::Bool(false), list])
    }

    fn cron(&mut self, times: &CronTimes, zone: Value) -> Vec<Value> {
        let text = self.graph.add_text(times.expression().text());
        let class = self.classes.cron_expression;
        vec![self.graph.add_object(class, vec![PartSpec { class, fields: vec![text, zone], extra: None }])]
    }

    fn holiday(&mut self, days: &Holidays, zone: Tz) -> Result<Vec<Value>, String> {
        let class = self.classes.date;
        let date = |ms: i64| {
            let extra = Some(vec![Content::Block(ms.to_be_bytes().to_vec())]);
            Content::Value(self.graph.add_object(class, vec![PartSpec { class, fields: Vec::new(), extra }]))
        };
        let dates = days.starts_ms(zone).into_iter().map(date).collect();
        Ok(vec![self.collection(self.classes.tree_set, dates, false)?])
    }

    fn monthly(&mut self, days: &MonthDays) -> Vec<Value> {
        let excluded: Vec<u32> = days.days().collect();
        let flags = (1..=31).map(|day| [u8::from(excluded.contains(&day))]);
        vec![Value::Bool(days.excludes_all()), self.graph.add_array(self.classes.booleans, flags)]
    }

    fn weekly(&mut self, days: &Weekdays) -> Vec<Value> {
        let excluded: Vec<u32> = days.days().map(|day| day.number_from_sunday()).collect();
        let flags = (0..=7).map(|day| [u8::from(excluded.contains(&day))]);
        vec![Value::Bool(days.excludes_all()), self.graph.add_array(self.classes.booleans, flags)]
    }

    /// An `ArrayList`, with its size as a field too, or a `TreeSet`, with a comparator or none.
    fn collection(&mut self, class: NodeId, content: Vec<Content>, is_list: bool) -> Result<Value, String> {
        let size = i32::try_from(content.len()).map_err(|_| "too many days".to_owned())?;
        let mut extra = if is_list { Vec::new() } else { vec![Content::Value(Value::Null)] };
        extra.push(Content::Block(size.to_be_bytes().to_vec()));
        extra.extend(content);
        let fields = if is_list { vec![Value::Int(size)] } else { Vec::new() };
        Ok(self.graph.add_object(class, vec![PartSpec { class, fields, extra: Some(extra) }]))
    }

    fn zone_info(&mut self, zone: Tz) -> Value {
        let table = ZoneTable::of(zone);
        let [offsets, params, transitions] = self.table(zone, &table);
        let id = self.graph.add_text(zone.name());
        let fields = vec![
            Value::Int(table.checksum),
            Value::Int(table.dst_savings),
            Value::Int(table.raw_offset),
            Value::Int(0),
            Value::Bool(false),
            offsets,
            params,
            transitions,
        ];
        let (class, parent) = (self.classes.zone_info, self.classes.time_zone);
        self.graph.add_object(
            class,
            vec![PartSpec { class: parent, fields: vec![id], extra: None }, PartSpec { class, fields, extra: None }],
        )
    }

    fn table(&mut self, zone: Tz, table: &ZoneTable) -> [Value; 3] {
        if let Some(known) = self.tables.get(&zone) {
            return *known;
        }
        let (ints, longs) = (self.classes.ints, self.classes.longs);
        let mut numbers = |numbers: &[i32]| self.graph.add_array(ints, numbers.iter().map(|n| n.to_be_bytes()));
        let offsets = table.transitions.as_ref().map_or(Value::Null, |table| numbers(&table.offsets));
        let params = table.rule.as_ref().map_or(Value::Null, |rule| numbers(&rule.coded()));
        let transitions = table
            .transitions
            .as_ref()
            .map_or(Value::Null, |table| self.graph.add_array(longs, table.coded.iter().map(|n| n.to_be_bytes())));
        let made = [offsets, params, transitions];
        self.tables.insert(zone, made);
        made
    }
}

fn daily(range: &DailyRange) -> Vec<Value> {
    let number = |ms: i64| Value::Int(i32::try_from(ms).unwrap_or(0));
    let parts = |ms: i64| by_name([ms / HOUR, ms % HOUR / MINUTE, ms % MINUTE / SECOND, ms % SECOND]).map(number);
    debug_assert!(by_name(RANGE_END).is_sorted() && by_name(RANGE_START).is_sorted(), "as Java orders fields");
    [vec![Value::Bool(range.includes_only_range())], parts(range.to_ms).into(), parts(range.from_ms).into()].concat()
}
