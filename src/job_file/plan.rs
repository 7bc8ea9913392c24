//! Import: what a job file does to what is stored, by the rules of Quartz's
//! `XMLSchedulingDataProcessor`.
//!
//! Quartz walks through the file and stores as it goes; the walk is the same here, on paper, so
//! that all refusals are known before anything is stored.

use super::{FileJob, JobFile};
use crate::key::{JobKey, TriggerKey};
use std::collections::{BTreeMap, BTreeSet};

/// The rows that the commands of a file delete: jobs with all their triggers, and then triggers.
pub(crate) fn doomed(
    file: &JobFile,
    jobs: &[JobKey],
    triggers: &BTreeMap<TriggerKey, JobKey>,
) -> (BTreeSet<JobKey>, BTreeSet<TriggerKey>) {
    let commands = &file.commands;
    let is_meant = |groups: &[String], group: &str| groups.iter().any(|named| named == "*" || named == group);
    let (named_jobs, named_triggers): (BTreeSet<_>, BTreeSet<_>) =
        (commands.jobs.iter().collect(), commands.triggers.iter().collect());
    let is_doomed = |key: &&JobKey| {
        !file.protected_job_groups.contains(key.group())
            && (is_meant(&commands.job_groups, key.group()) || named_jobs.contains(key))
    };
    let jobs: BTreeSet<JobKey> = jobs.iter().filter(is_doomed).cloned().collect();
    let is_doomed = |key: &TriggerKey| {
        !file.protected_trigger_groups.contains(key.group())
            && (is_meant(&commands.trigger_groups, key.group()) || named_triggers.contains(key))
    };
    let left = triggers.iter().filter(|(_, job)| !jobs.contains(job)).map(|(key, _)| key);
    let triggers = left.filter(|key| is_doomed(key)).cloned().collect();
    (jobs, triggers)
}

/// The stored jobs and triggers when the walk begins, as far as they matter.
#[derive(Default)]
pub(crate) struct Stored {
    pub jobs: BTreeSet<JobKey>,
    /// Jobs that are stored just so, and that the commands of the file name.
    pub spared: BTreeSet<JobKey>,
    /// The stored triggers among those of the file, with their jobs.
    pub triggers: BTreeMap<TriggerKey, JobKey>,
    /// Triggers of the file, by their place in it, that cannot be stored.
    pub unfit: BTreeMap<usize, Unfit>,
    /// Triggers of the file that are stored just so and are to be left alone.
    pub unchanged: BTreeSet<usize>,
}

/// Why a trigger cannot be stored.
pub(crate) enum Unfit {
    /// The trigger has no fire time left: it is left out. Quartz stops there and does not look at
    /// the rest of the file.
    NeverFires(String),
    /// The trigger makes no sense, so that nothing of the file is stored.
    Wrong(String),
}

/// The jobs and triggers to store, by places in the file, and the remarks about them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// The jobs to store; of one that is given twice, the last.
    pub jobs: BTreeMap<JobKey, usize>,
    /// The triggers to store, each with its job; of one that is given twice, the last.
    pub triggers: BTreeMap<TriggerKey, (usize, JobKey)>,
    /// Jobs that exist and are passed over.
    pub ignored_jobs: Vec<JobKey>,
    /// Triggers that exist and are passed over.
    pub ignored_triggers: Vec<TriggerKey>,
    /// Triggers that are left alone because they are stored just so.
    pub unchanged: Vec<TriggerKey>,
    /// Remarks about oddities: line and sentence.
    pub remarks: Vec<(usize, String)>,
    /// Why nothing may be stored: line and sentence.
    pub refusals: Vec<(usize, String)>,
}

/// Walks through the file.
pub(crate) fn plan(file: &JobFile, stored: Stored) -> Plan {
    let mut of_job: BTreeMap<&JobKey, Vec<usize>> = BTreeMap::new();
    for (at, trigger) in file.triggers.iter().enumerate() {
        of_job.entry(trigger.trigger.job_key()).or_default().push(at);
    }
    let mut walk = Walk { file, stored, plan: Plan::default(), dealt_with: BTreeSet::new() };
    for (at, job) in file.jobs.iter().enumerate() {
        walk.job(at, job, of_job.get(job.detail.key()).map_or(&[], Vec::as_slice));
    }
    for at in 0..file.triggers.len() {
        if !walk.dealt_with.contains(&at) {
            walk.trigger(at, None);
        }
    }
    let Walk { mut plan, .. } = walk;
    plan.refusals.sort();
    plan
}

struct Walk<'a> {
    file: &'a JobFile,
    /// As it would be at this point of the walk.
    stored: Stored,
    plan: Plan,
    /// Triggers that came with their jobs.
    dealt_with: BTreeSet<usize>,
}

impl Walk<'_> {
    fn job(&mut self, at: usize, job: &FileJob, triggers: &[usize]) {
        let key = job.detail.key();
        let exists = self.stored.jobs.contains(key);
        if exists && !self.may_replace() {
            if self.file.directives.ignore {
                self.plan.ignored_jobs.push(key.clone());
            } else {
                self.refuse(job.line, format!("job `{key}` exists already{ADVICE}"));
            }
            return;
        }
        if !job.detail.is_durable() && triggers.is_empty() {
            let why =
                format!("job `{key}` is not durable and has no trigger here: set durability, or give it a trigger");
            self.refuse(job.line, why);
            return;
        }
        if exists || job.detail.is_durable() {
            self.store(at, key);
            return;
        }
        // A new job that lives by its triggers is stored with the first of them that is new.
        for &trigger in triggers {
            self.dealt_with.insert(trigger);
            self.trigger(trigger, Some(at));
        }
        if !self.stored.jobs.contains(key) && !self.stored.spared.contains(key) {
            let why =
                format!("job `{key}` is not stored: it is not durable, and no trigger of it is new and will fire");
            self.plan.remarks.push((job.line, why));
        }
    }

    /// `with` is the place of the job that comes with the trigger, if it is not stored yet.
    fn trigger(&mut self, at: usize, with: Option<usize>) {
        let Some(entry) = self.file.triggers.get(at) else { return };
        let (key, wanted) = (entry.trigger.key(), entry.trigger.job_key());
        let old = self.stored.triggers.get(key).cloned();
        if old.is_some() && self.stored.unchanged.contains(&at) {
            self.plan.unchanged.push(key.clone());
            return;
        }
        if old.is_some() && !self.may_replace() {
            if self.file.directives.ignore {
                self.plan.ignored_triggers.push(key.clone());
            } else {
                self.refuse(entry.line, format!("trigger `{key}` exists already{ADVICE}"));
            }
            return;
        }
        match self.stored.unfit.get(&at) {
            None => {}
            Some(Unfit::NeverFires(why)) => {
                self.plan.remarks.push((entry.line, format!("left out: {why}")));
                return;
            }
            Some(Unfit::Wrong(why)) => {
                let why = why.clone();
                self.refuse(entry.line, why);
                return;
            }
        }
        let job = match old {
            // As in Quartz a trigger that is rescheduled stays with its job.
            Some(old) => {
                if old != *wanted {
                    let why = format!("trigger `{key}` exists for job `{old}` and stays with it, not with `{wanted}`");
                    self.plan.remarks.push((entry.line, why));
                }
                old
            }
            None => {
                if let (Some(with), false) = (with, self.stored.jobs.contains(wanted)) {
                    self.store(with, wanted);
                }
                if !self.stored.jobs.contains(wanted) {
                    let why = format!("trigger `{key}` is for job `{wanted}`, which is neither stored nor in the file");
                    self.refuse(entry.line, why);
                    return;
                }
                wanted.clone()
            }
        };
        self.stored.triggers.insert(key.clone(), job.clone());
        self.plan.triggers.insert(key.clone(), (at, job));
    }

    fn store(&mut self, at: usize, key: &JobKey) {
        self.stored.jobs.insert(key.clone());
        self.plan.jobs.insert(key.clone(), at);
    }

    fn may_replace(&self) -> bool {
        self.file.directives.overwrite
    }

    fn refuse(&mut self, line: usize, why: String) {
        self.plan.refusals.push((line, why));
    }
}

const ADVICE: &str = ": set overwrite-existing-data or ignore-duplicates, or choose another name";

#[cfg(test)]
mod tests {
    use super::*;

    fn file(directives: &str, schedule: &str) -> JobFile {
        let text = format!(
            "<job-scheduling-data xmlns='http://www.quartz-scheduler.org/xml/JobSchedulingData'>{directives}\
             <schedule>{schedule}</schedule></job-scheduling-data>"
        );
        JobFile::parse("f", text.as_bytes(), chrono_tz::UTC).unwrap_or_else(|errors| panic!("{errors}"))
    }

    fn job(name: &str, durable: bool) -> String {
        format!(
            "<job><name>{name}</name><job-class>x</job-class><durability>{durable}</durability><recover>false</recover></job>"
        )
    }

    fn trigger(name: &str, job: &str) -> String {
        format!("<trigger><simple><name>{name}</name><job-name>{job}</job-name></simple></trigger>\n")
    }

    fn stored(jobs: &[&str], triggers: &[(&str, &str)]) -> Stored {
        Stored {
            jobs: jobs.iter().map(|name| JobKey::named(*name)).collect(),
            triggers: triggers.iter().map(|(t, j)| (TriggerKey::named(*t), JobKey::named(*j))).collect(),
            ..Stored::default()
        }
    }

    /// Jobs and triggers that are stored, `trigger>job`.
    fn outcome(plan: &Plan) -> String {
        let jobs = plan.jobs.keys().map(|key| key.name().to_owned());
        let triggers = plan.triggers.iter().map(|(key, (_, job))| format!("{}>{}", key.name(), job.name()));
        jobs.chain(triggers).collect::<Vec<_>>().join(" ")
    }

    const KEEP: &str =
        "<processing-directives><overwrite-existing-data>false</overwrite-existing-data></processing-directives>";
    const SKIP: &str = "<processing-directives><overwrite-existing-data>false</overwrite-existing-data>\
        <ignore-duplicates>true</ignore-duplicates></processing-directives>";

    #[test]
    fn what_is_new_is_stored_and_what_exists_is_replaced() {
        let both = file("", &(job("a", false) + &trigger("t", "a") + &trigger("u", "a")));
        assert_eq!(outcome(&plan(&both, Stored::default())), "a t>a u>a");
        let again = plan(&both, stored(&["a"], &[("t", "a"), ("u", "a")]));
        assert_eq!((outcome(&again).as_str(), again.refusals.len()), ("a t>a u>a", 0));
    }

    #[test]
    fn without_overwriting_what_exists_is_refused_all_of_it_at_once() {
        let both = file(KEEP, &(job("a", true) + "\n" + &trigger("t", "a") + &trigger("u", "a")));
        let refused = plan(&both, stored(&["a"], &[("t", "a"), ("u", "a")]));
        let lines: Vec<_> = refused.refusals.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [1, 2, 3]);
        assert_eq!(plan(&both, stored(&["a"], &[])).refusals.len(), 1);
        assert_eq!(plan(&both, Stored::default()).refusals, []);
    }

    #[test]
    fn duplicates_that_are_ignored_stay_and_their_new_triggers_come() {
        let both = file(SKIP, &(job("a", true) + &trigger("t", "a") + &trigger("u", "a")));
        let skipped = plan(&both, stored(&["a"], &[("t", "a")]));
        assert_eq!(outcome(&skipped), "u>a");
        assert_eq!((skipped.ignored_jobs.len(), skipped.ignored_triggers.len(), skipped.refusals.len()), (1, 1, 0));
        // Overwriting goes before ignoring.
        let overwriting = both.overwrite_existing_data(true);
        assert_eq!(outcome(&plan(&overwriting, stored(&["a"], &[("t", "a")]))), "a t>a u>a");
    }

    #[test]
    fn a_job_that_is_not_durable_needs_a_trigger_in_the_file() {
        let alone = file("", &job("a", false));
        for there in [stored(&[], &[]), stored(&["a"], &[]), stored(&["a"], &[("t", "a")])] {
            assert_eq!(plan(&alone, there).refusals.len(), 1);
        }
        assert_eq!(outcome(&plan(&file("", &job("a", true)), Stored::default())), "a");
    }

    #[test]
    fn a_trigger_may_belong_to_a_stored_job_but_not_to_none() {
        let alone = file("", &trigger("t", "a"));
        assert_eq!(outcome(&plan(&alone, stored(&["a"], &[]))), "t>a");
        assert_eq!(plan(&alone, Stored::default()).refusals.len(), 1);
    }

    #[test]
    fn a_rescheduled_trigger_stays_with_its_job() {
        let moved = file("", &(job("b", true) + &trigger("t", "b")));
        let planned = plan(&moved, stored(&["a"], &[("t", "a")]));
        assert_eq!((outcome(&planned).as_str(), planned.remarks.len()), ("b t>a", 1));
        // And a job that lives by it alone is not stored.
        let moved = file("", &(job("b", false) + &trigger("t", "b")));
        let planned = plan(&moved, stored(&["a"], &[("t", "a")]));
        assert_eq!((outcome(&planned).as_str(), planned.remarks.len()), ("t>a", 2));
    }

    #[test]
    fn of_a_key_that_is_given_twice_the_last_counts() {
        let twice = job("a", true) + &job("a", true) + &trigger("t", "a") + &trigger("t", "a");
        let planned = plan(&file("", &twice), Stored::default());
        assert_eq!(planned.jobs.values().collect::<Vec<_>>(), [&1]);
        assert_eq!(planned.triggers.values().map(|(at, _)| *at).collect::<Vec<_>>(), [1]);
        assert_eq!(plan(&file(KEEP, &twice), Stored::default()).refusals.len(), 2);
        let first = plan(&file(SKIP, &twice), Stored::default());
        assert_eq!(first.triggers.values().map(|(at, _)| *at).collect::<Vec<_>>(), [0]);
        // Across two jobs: the trigger stays with the first.
        let across = job("a", false) + &job("b", false) + &trigger("t", "a") + &trigger("t", "b");
        assert_eq!(outcome(&plan(&file("", &across), Stored::default())), "a t>a");
    }

    #[test]
    fn a_trigger_that_never_fires_is_left_out_and_one_that_is_wrong_stops_everything() {
        let both = file("", &(job("a", false) + &trigger("t", "a") + &trigger("u", "a")));
        let unfit = |at, why| Stored { unfit: BTreeMap::from([(at, why)]), ..Stored::default() };
        let planned = plan(&both, unfit(0, Unfit::NeverFires("late".to_owned())));
        assert_eq!((outcome(&planned).as_str(), planned.remarks.len()), ("a u>a", 1));
        assert_eq!(plan(&both, unfit(0, Unfit::Wrong("x".to_owned()))).refusals, [(1, "x".to_owned())]);
        let only = file("", &(job("a", false) + &trigger("t", "a")));
        let planned = plan(&only, unfit(0, Unfit::NeverFires("late".to_owned())));
        assert_eq!((outcome(&planned).as_str(), planned.remarks.len()), ("", 2));
    }

    #[test]
    fn commands_delete_by_group_and_by_key_and_spare_protected_groups() {
        let commands = |inner: &str| {
            let part = format!("<pre-processing-commands>{inner}</pre-processing-commands>");
            file(&part, "").never_delete_job_group("kept").never_delete_trigger_group("kept")
        };
        let keys = [("g", "a"), ("g", "b"), ("h", "c"), ("kept", "d"), (crate::job_file::LOADER_GROUP, "e")];
        let jobs: Vec<JobKey> = keys.iter().map(|(group, name)| JobKey::new(*group, *name)).collect();
        let triggers: BTreeMap<TriggerKey, JobKey> =
            keys.iter().zip(&jobs).map(|((group, name), job)| (TriggerKey::new(*group, *name), job.clone())).collect();
        let names = |inner: &str| {
            let (jobs, triggers) = doomed(&commands(inner), &jobs, &triggers);
            let jobs: String = jobs.iter().map(JobKey::name).collect();
            let triggers: String = triggers.iter().map(TriggerKey::name).collect();
            format!("{jobs}/{triggers}")
        };
        assert_eq!(names(""), "/");
        assert_eq!(names("<delete-jobs-in-group>*</delete-jobs-in-group>"), "abc/");
        assert_eq!(names("<delete-jobs-in-group> g </delete-jobs-in-group>"), "ab/");
        assert_eq!(names("<delete-triggers-in-group>*</delete-triggers-in-group>"), "/abc");
        assert_eq!(names("<delete-job><name>c</name><group>h</group></delete-job>"), "c/");
        assert_eq!(names("<delete-job><name>d</name><group>kept</group></delete-job>"), "/");
        assert_eq!(names("<delete-trigger><name>a</name><group>g</group></delete-trigger>"), "/a");
        assert_eq!(names("<delete-trigger><name>a</name></delete-trigger>"), "/");
        let both =
            "<delete-triggers-in-group>*</delete-triggers-in-group><delete-jobs-in-group>g</delete-jobs-in-group>";
        assert_eq!(names(both), "ab/c");
    }
}
