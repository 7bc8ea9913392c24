//! The shape of a job file: the place of each element, as in the schema
//! `job_scheduling_data_2_0.xsd`.

use super::document::Element;
use super::problem::JobFileError;
use Need::{Always, Optional, With};

/// Contents of an element: children in this order.
#[derive(Debug)]
pub(super) struct Shape(pub(super) &'static [Field]);

/// A child, and when it must be there. Two fields of one `place` are alternatives.
#[derive(Debug)]
pub(super) struct Field {
    name: &'static str,
    place: usize,
    need: Need,
}

#[derive(Debug)]
enum Need {
    Optional,
    Always,
    /// If it is there, one of these must be there too.
    With(&'static [&'static str]),
}

const fn field(name: &'static str, place: usize, need: Need) -> Field {
    Field { name, place, need }
}

pub(super) const KEY: Shape = Shape(&[field("name", 0, Always), field("group", 1, Optional)]);

pub(super) const DIRECTIVES: Shape = Shape(&[
    field("overwrite-existing-data", 0, Optional),
    field("ignore-duplicates", 1, Optional),
    // Of Quartz.NET; Java's schema has no such element.
    field("schedule-trigger-relative-to-replaced-trigger", 2, Optional),
]);

pub(super) const JOB: Shape = Shape(&[
    field("name", 0, Always),
    field("group", 1, Optional),
    field("description", 2, Optional),
    field("job-class", 3, Always),
    field("durability", 4, With(&["recover"])),
    field("recover", 5, With(&["durability"])),
    field("job-data-map", 6, Optional),
]);

pub(super) const ENTRY: Shape = Shape(&[field("key", 0, Always), field("value", 1, Always)]);

/// Elements that all triggers have, followed by those of the kind.
macro_rules! trigger {
    ($($kind:expr),* $(,)?) => {
        Shape(&[
            field("name", 0, Always),
            field("group", 1, Optional),
            field("description", 2, Optional),
            field("job-name", 3, Always),
            field("job-group", 4, Optional),
            field("priority", 5, Optional),
            field("calendar-name", 6, Optional),
            field("job-data-map", 7, Optional),
            field("start-time", 8, Optional),
            field("start-time-seconds-in-future", 8, Optional),
            field("end-time", 9, With(&["start-time", "start-time-seconds-in-future"])),
            field("misfire-instruction", 10, Optional),
            $($kind),*
        ])
    };
}

pub(super) const SIMPLE: Shape = trigger![
    field("repeat-count", 11, With(&["repeat-interval"])),
    field("repeat-interval", 12, With(&["repeat-count"])),
];

pub(super) const CRON: Shape = trigger![field("cron-expression", 11, Always), field("time-zone", 12, Optional)];

pub(super) const CALENDAR_INTERVAL: Shape =
    trigger![field("repeat-interval", 11, Always), field("repeat-interval-unit", 12, Always)];

/// Elements of other versions and of other programs, and what to do about them.
const ELSEWHERE: &[(&str, &str)] = &[
    ("volatility", "it is of Quartz 1: delete it"),
    ("stateful", "it is of Quartz 1: delete it; the job's type says whether its runs may overlap"),
    ("job-listener-ref", "it is of Quartz 1: delete it, and register the listener in the program"),
    ("trigger-listener-ref", "it is of Quartz 1: delete it, and register the listener in the program"),
    ("date-interval", "version 2.0 calls it calendar-interval"),
    ("daily-time-interval", "a job file has simple, cron and calendar-interval triggers only"),
    ("job-type", "Quartz.NET calls it so: write job-class"),
    ("durable", "Quartz.NET calls it so: write durability"),
];

/// The sentence about an element that does not belong where it stands.
pub(super) fn unknown(name: &str, expected: &str) -> String {
    match ELSEWHERE.iter().find(|(elsewhere, _)| *elsewhere == name) {
        Some((_, advice)) => format!("not known here, {advice}"),
        None => format!("not known here: expected {expected}"),
    }
}

impl Shape {
    /// The children by their fields; everything that the schema forbids is a problem.
    pub(super) fn fields<'e>(&self, file: &str, element: &'e Element, problems: &mut Vec<JobFileError>) -> Fields<'e> {
        let mut complain = |child: &Element, why: String| {
            problems.push(JobFileError::new(file, child.line, &child.name, why));
        };
        let mut found: Vec<&'e Element> = Vec::new();
        let mut reached: Option<&Field> = None;
        for child in &element.children {
            let Some(field) = self.0.iter().find(|field| field.name == child.name) else {
                let names: Vec<_> = self.0.iter().map(|field| field.name).collect();
                complain(child, format!("{} in <{}>", unknown(&child.name, &names.join(", ")), element.name));
                continue;
            };
            match reached {
                Some(last) if last.name == field.name => complain(child, format!("given twice in <{}>", element.name)),
                Some(last) if last.place == field.place => {
                    complain(child, format!("expected either this or <{}>, not both", last.name));
                }
                Some(last) if last.place > field.place => {
                    complain(child, format!("expected before <{}>: the schema sets the order", last.name));
                }
                _ => reached = Some(field),
            }
            found.push(child);
        }
        let fields = Fields(found);
        let mut is_incomplete = |why: String| problems.push(JobFileError::new(file, element.line, &element.name, why));
        for field in self.0 {
            match &field.need {
                Always if fields.get(field.name).is_none() => {
                    is_incomplete(format!("expected <{}> in it", field.name));
                }
                With(others) if fields.get(field.name).is_some() && others.iter().all(|o| fields.get(o).is_none()) => {
                    let others = others.join("> or <");
                    is_incomplete(format!("<{}> is given without <{others}>: the schema wants both", field.name));
                }
                _ => {}
            }
        }
        if !element.trimmed().is_empty() {
            is_incomplete("expected no text between its elements".to_owned());
        }
        fields
    }
}

/// The children of one element, by name.
pub(super) struct Fields<'e>(Vec<&'e Element>);

impl<'e> Fields<'e> {
    /// The first child of this name.
    pub(super) fn get(&self, name: &str) -> Option<&'e Element> {
        self.0.iter().copied().find(|child| child.name == name)
    }
}
