//! Contents: what the elements of a job file hold, with every problem on the way.

use super::document::{Element, NAMESPACE};
use super::reader::Reader;
use super::shape;
use super::{Commands, Directives, FileJob, FileTrigger, reader_trigger};
use crate::job::JobDetail;
use crate::key::{JobKey, TriggerKey};

/// The contents of one file, as far as they are read.
#[derive(Default)]
pub(super) struct Contents {
    pub commands: Commands,
    pub directives: Directives,
    pub jobs: Vec<FileJob>,
    pub triggers: Vec<FileTrigger>,
}

impl Reader<'_> {
    /// Everything below the root; what is wrong is in `problems`.
    pub(super) fn contents(&mut self, root: &Element) -> Contents {
        let mut contents = Contents::default();
        if root.name != "job-scheduling-data" {
            let hint = if root.name == "quartz" {
                ": this is the format of Quartz 1.5, which Quartz 2 does not read"
            } else {
                ""
            };
            self.refuse(root, format!("expected <job-scheduling-data>{hint}"));
            return contents;
        }
        self.look_through(root, true);
        self.no_text(root);
        for part in &root.children {
            match part.name.as_str() {
                "pre-processing-commands" => self.commands(part, &mut contents.commands),
                "processing-directives" => self.directives(part, &mut contents.directives),
                "schedule" => self.schedule(part, &mut contents),
                name => {
                    let expected = "pre-processing-commands, processing-directives or schedule";
                    self.refuse(part, shape::unknown(name, expected));
                }
            }
        }
        contents
    }

    /// Namespace and attributes of all elements. One missing namespace is one problem.
    fn look_through(&mut self, element: &Element, is_root: bool) {
        if !element.is_ours {
            self.refuse(element, format!("not of the namespace of job files: write xmlns=\"{NAMESPACE}\""));
            return;
        }
        if let Some(name) = element.attributes.iter().find(|name| !(is_root && *name == "version")) {
            let name = crate::error::shorten(&name.escape_default().to_string(), 40);
            self.refuse(element, format!("attribute `{name}` is not known here: expected none"));
        }
        element.children.iter().for_each(|child| self.look_through(child, false));
    }

    fn commands(&mut self, part: &Element, commands: &mut Commands) {
        for command in &part.children {
            match command.name.as_str() {
                "delete-jobs-in-group" => commands.job_groups.extend(self.text(command)),
                "delete-triggers-in-group" => commands.trigger_groups.extend(self.text(command)),
                "delete-job" => {
                    let key = self.key(command, JobKey::new);
                    commands.jobs.extend(key);
                }
                "delete-trigger" => {
                    let key = self.key(command, TriggerKey::new);
                    commands.triggers.extend(key);
                }
                name => {
                    let expected = "delete-jobs-in-group, delete-triggers-in-group, delete-job or delete-trigger";
                    self.refuse(command, shape::unknown(name, expected));
                }
            }
        }
        self.no_text(part);
    }

    fn key<K>(&mut self, command: &Element, of_group_and_name: fn(String, String) -> K) -> Option<K> {
        let fields = self.fields(&shape::KEY, command);
        let (name, group) = self.name_and_group(&fields, "name", "group");
        Some(of_group_and_name(group, name?))
    }

    fn directives(&mut self, part: &Element, directives: &mut Directives) {
        let fields = self.fields(&shape::DIRECTIVES, part);
        if let Some(element) = fields.get("overwrite-existing-data") {
            directives.overwrite = self.truth(element).unwrap_or(true);
        }
        if let Some(element) = fields.get("ignore-duplicates") {
            directives.ignore = self.truth(element).unwrap_or(false);
        }
        if let Some(element) = fields.get("schedule-trigger-relative-to-replaced-trigger") {
            directives.relative = self.truth(element).unwrap_or(false);
        }
    }

    fn schedule(&mut self, part: &Element, contents: &mut Contents) {
        for element in &part.children {
            match element.name.as_str() {
                "job" => contents.jobs.extend(self.job(element)),
                "trigger" => contents.triggers.extend(self.trigger(element)),
                name => self.refuse(element, shape::unknown(name, "job or trigger")),
            }
        }
        self.no_text(part);
    }

    fn job(&mut self, element: &Element) -> Option<FileJob> {
        let before = self.problems.len();
        let fields = self.fields(&shape::JOB, element);
        let (name, group) = self.name_and_group(&fields, "name", "group");
        let class = fields.get("job-class").and_then(|class| self.needed_text(class));
        let key = JobKey::new(group, name?);
        let mut builder = JobDetail::builder(key, class?);
        if let Some(text) = self.text_of(&fields, "description") {
            builder = builder.description(text);
        }
        let flag = |reader: &mut Self, name| fields.get(name).and_then(|flag| reader.truth(flag)).unwrap_or(false);
        builder = builder.durable(flag(self, "durability"));
        builder = builder.requests_recovery(flag(self, "recover"));
        builder = builder.data_map(self.data(&fields));
        match builder.build() {
            Ok(detail) if self.problems.len() == before => Some(FileJob { line: element.line, detail, flags: None }),
            Ok(_) => None,
            Err(error) => {
                self.refuse(element, error.to_string());
                None
            }
        }
    }

    fn trigger(&mut self, element: &Element) -> Option<FileTrigger> {
        self.no_text(element);
        let [kind] = element.children.as_slice() else {
            self.refuse(element, "expected one of <simple>, <cron> and <calendar-interval> in it");
            return None;
        };
        let shape = match kind.name.as_str() {
            "simple" => &shape::SIMPLE,
            "cron" => &shape::CRON,
            "calendar-interval" => &shape::CALENDAR_INTERVAL,
            name => {
                self.refuse(kind, shape::unknown(name, "simple, cron or calendar-interval"));
                return None;
            }
        };
        let before = self.problems.len();
        let fields = self.fields(shape, kind);
        let trigger = reader_trigger::read(self, kind, &fields);
        trigger.filter(|_| self.problems.len() == before)
    }
}
