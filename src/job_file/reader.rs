//! Reader: from elements to the values they hold, with every problem on the way.

use super::Start;
use super::document::Element;
use super::problem::JobFileError;
use super::shape::{self, Fields, Shape};
use crate::data_map::{DataValue, JobDataMap};
use crate::key::DEFAULT_GROUP;
use chrono_tz::Tz;

pub(super) struct Reader<'a> {
    pub(super) file: &'a str,
    pub(super) zone: Tz,
    pub(super) problems: Vec<JobFileError>,
}

impl Reader<'_> {
    /// A name, and a group that is `DEFAULT` if it is not given.
    pub(super) fn name_and_group(&mut self, fields: &Fields<'_>, name: &str, group: &str) -> (Option<String>, String) {
        let name = fields.get(name).and_then(|element| self.needed_text(element));
        (name, self.text_of(fields, group).unwrap_or_else(|| DEFAULT_GROUP.to_owned()))
    }

    /// The entries of `job-data-map`. As in Quartz all are texts, and an empty one is null.
    pub(super) fn data(&mut self, fields: &Fields<'_>) -> JobDataMap {
        let mut data = JobDataMap::new();
        let Some(map) = fields.get("job-data-map") else { return data };
        self.no_text(map);
        for entry in &map.children {
            if entry.name != "entry" {
                self.refuse(entry, shape::unknown(&entry.name, "entry"));
                continue;
            }
            let fields = self.fields(&shape::ENTRY, entry);
            let Some(key) = fields.get("key").and_then(|key| self.needed_text(key)) else { continue };
            let value = self.text_of(&fields, "value").map_or(DataValue::Null, DataValue::String);
            data.put(key, value);
        }
        data
    }

    pub(super) fn text_of(&mut self, fields: &Fields<'_>, name: &str) -> Option<String> {
        fields.get(name).and_then(|element| self.text(element))
    }

    /// The text of an element, without blanks at both ends; none if that leaves nothing.
    pub(super) fn text(&mut self, element: &Element) -> Option<String> {
        if let Some(child) = element.children.first() {
            self.refuse(child, format!("not known here: expected a text in <{}>", element.name));
        }
        Some(element.trimmed().to_owned()).filter(|text| !text.is_empty())
    }

    pub(super) fn needed_text(&mut self, element: &Element) -> Option<String> {
        let text = self.text(element);
        if text.is_none() {
            self.refuse(element, "expected a text");
        }
        text
    }

    /// A whole number of this range.
    pub(super) fn number(&mut self, element: &Element, least: i64, most: i64) -> Option<i64> {
        let number = element.trimmed().parse().ok().filter(|number| (least..=most).contains(number));
        if number.is_none() {
            self.refuse_value(element, format!("expected a whole number from {least} to {most}"));
        }
        number
    }

    /// `true` or `false`; nothing is the default.
    pub(super) fn truth(&mut self, element: &Element) -> Option<bool> {
        match element.trimmed() {
            "" => None,
            "true" => Some(true),
            "false" | "0" => Some(false),
            // Legal by the schema, and false to Quartz's reader of it.
            "1" => {
                self.refuse_value(element, "expected true or false: write true (Quartz takes 1 for false)");
                None
            }
            _ => {
                self.refuse_value(element, "expected true or false");
                None
            }
        }
    }

    pub(super) fn start_or_end(&mut self, element: &Element) -> Option<i64> {
        let time = super::time::date_time(element.trimmed(), self.zone);
        if time.is_none() {
            self.refuse_value(element, "expected a moment such as 2030-01-31T08:00:00+01:00");
        }
        time
    }

    pub(super) fn start(&mut self, fields: &Fields<'_>) -> Start {
        if let Some(seconds) = fields.get("start-time-seconds-in-future") {
            return match self.number(seconds, 0, i64::from(i32::MAX)) {
                Some(seconds) => Start::After(seconds.saturating_mul(1000)),
                None => Start::Now,
            };
        }
        let at = fields.get("start-time").filter(|time| !time.trimmed().is_empty());
        at.and_then(|time| self.start_or_end(time)).map_or(Start::Now, Start::At)
    }

    pub(super) fn fields<'e>(&mut self, shape: &Shape, element: &'e Element) -> Fields<'e> {
        shape.fields(self.file, element, &mut self.problems)
    }

    pub(super) fn no_text(&mut self, element: &Element) {
        if !element.trimmed().is_empty() {
            self.refuse(element, "expected no text between its elements");
        }
    }

    pub(super) fn refuse(&mut self, element: &Element, why: impl AsRef<str>) {
        self.problems.push(JobFileError::new(self.file, element.line, &element.name, why.as_ref()));
    }

    pub(super) fn refuse_value(&mut self, element: &Element, why: impl AsRef<str>) {
        let problem = JobFileError::new(self.file, element.line, &element.name, why.as_ref());
        self.problems.push(problem.with_value(element.trimmed()));
    }
}
