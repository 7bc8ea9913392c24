//! `Sieve`: of the triggers and jobs that a look reads page by page, those stay of which a finding
//! may come. The memory of a look does not grow with what is stored.

use crate::error::Result;
use crate::key::{JobKey, distinct};
use crate::store::JobStore;
use crate::store::row::{InstanceSelection, JobRow, JobSelection, ScheduleRow, Snapshot, TriggerRow};
use crate::trigger::TriggerState;
use std::collections::{BTreeMap, BTreeSet};

/// The triggers that are late, which may be very many.
#[derive(Default)]
pub(super) struct Late {
    /// The jobs that are late by more than some time, with the lateness of their latest triggers in
    /// milliseconds.
    pub(super) jobs: BTreeMap<JobKey, i64>,
    /// The number of late triggers that have fired before.
    pub(super) overdue: usize,
    /// The lateness of the latest of these, in milliseconds.
    pub(super) most_ms: i64,
}

impl Late {
    fn note(&mut self, trigger: &TriggerRow, now_ms: i64, job_after_ms: i64) {
        let Some(next_ms) = trigger.next_ms.filter(|_| trigger.state == TriggerState::Waiting.name()) else { return };
        let late_ms = now_ms.saturating_sub(next_ms);
        if late_ms > job_after_ms {
            let most_ms = self.jobs.entry(trigger.job.clone()).or_default();
            *most_ms = late_ms.max(*most_ms);
        }
        if late_ms > 0 && trigger.previous_ms.is_some() {
            self.overdue += 1;
            self.most_ms = late_ms.max(self.most_ms);
        }
    }
}

/// The pages of one look.
pub(super) struct Sieve<'s> {
    store: &'s JobStore,
    /// True if every row stays.
    keeps_all: bool,
    now_ms: i64,
    /// The lateness from which a job counts as late, in milliseconds.
    job_after_ms: i64,
    calendars: BTreeSet<String>,
    is_quartz_there: bool,
    /// The number of triggers, and of jobs, that have gone through and stayed.
    triggers: usize,
    jobs: usize,
    /// The jobs of triggers that have stayed.
    of_triggers: BTreeSet<JobKey>,
    pub(super) late: Late,
    /// The jobs whose rows cannot be read, each with the reason.
    pub(super) damaged: BTreeMap<JobKey, String>,
}

impl<'s> Sieve<'s> {
    pub(super) fn new(store: &'s JobStore, keeps_all: bool, now_ms: i64, job_after_ms: i64) -> Result<Self> {
        let instances = store.glance("look for nodes of Quartz", |s| s.instances(InstanceSelection::All))?;
        Ok(Self {
            store,
            keeps_all,
            now_ms,
            job_after_ms,
            calendars: store.catalogue().calendar_names()?.into_iter().collect(),
            is_quartz_there: instances.iter().any(|node| node.incarnation.is_none()),
            triggers: 0,
            jobs: 0,
            of_triggers: BTreeSet::new(),
            late: Late::default(),
            damaged: BTreeMap::new(),
        })
    }

    /// Takes out of the rows that were read since the last time what no finding can come of.
    pub(super) fn sift(&mut self, snapshot: &mut Snapshot) -> Result<()> {
        let page = snapshot.triggers.split_off(self.triggers);
        page.iter().for_each(|trigger| self.late.note(trigger, self.now_ms, self.job_after_ms));
        if self.keeps_all {
            snapshot.triggers.extend(page);
        } else if !page.is_empty() {
            let jobs = distinct(page.iter().map(|trigger| &trigger.job));
            let jobs = self.store.glance("look for missing jobs", |s| s.existing_jobs(&jobs))?;
            let jobs: BTreeSet<JobKey> = jobs.into_iter().collect();
            snapshot.triggers.extend(page.into_iter().filter(|t| !jobs.contains(&t.job) || self.is_remarkable(t)));
            self.of_triggers.extend(snapshot.triggers.iter().skip(self.triggers).map(|trigger| trigger.job.clone()));
        }
        self.triggers = snapshot.triggers.len();
        // The triggers are read first.
        let page = snapshot.jobs.split_off(self.jobs);
        self.look_at_jobs(&page)?;
        let is_wanted =
            |key: &JobKey| self.keeps_all || self.late.jobs.contains_key(key) || self.of_triggers.contains(key);
        snapshot.jobs.extend(page.into_iter().filter(|job| is_wanted(&job.key)));
        self.jobs = snapshot.jobs.len();
        Ok(())
    }

    /// Notes the jobs that cannot be read. The rows of a look are without the data of the jobs.
    fn look_at_jobs(&mut self, page: &[JobRow]) -> Result<()> {
        if page.is_empty() {
            return Ok(());
        }
        let keys: Vec<JobKey> = page.iter().map(|job| job.key.clone()).collect();
        for job in self.store.glance("look for damaged jobs", |s| s.jobs(JobSelection::Whole(&keys)))? {
            if let Err(error) = self.store.catalogue().check_job_row(&job) {
                self.damaged.insert(job.key, error.to_string());
            }
        }
        Ok(())
    }

    /// Tells whether a finding may come of a trigger, be it late or not.
    fn is_remarkable(&self, trigger: &TriggerRow) -> bool {
        let is_usual = [TriggerState::Waiting, TriggerState::Paused].iter().any(|usual| trigger.state == usual.name());
        let is_astray = |name: &String| !self.calendars.contains(name);
        !is_usual
            || trigger.next_ms.is_none()
            || trigger.schedule == ScheduleRow::Missing
            || trigger.calendar.as_ref().is_some_and(is_astray)
            || self.is_quartz_there && (trigger.options.is_some() || trigger.kind == "RRULE")
            || self.store.catalogue().check_trigger_row(trigger).is_err()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SystemClock;
    use crate::settings::Settings;
    use crate::store::open;
    use crate::{JobDetail, SimpleSchedule, Trigger, TriggerKey};
    use std::sync::Arc;
    use std::time::Duration;

    /// Of very many triggers that are well a look remembers none, nor their jobs; with `keeps_all`
    /// it remembers all.
    #[test]
    fn what_is_well_goes_and_what_is_not_stays() {
        let store = open(&Settings::named("sieve"), Arc::new(SystemClock::default())).unwrap();
        store.database().migrate().unwrap();
        let job = |name: &str| JobDetail::builder(JobKey::named(name), "t").durable(true).build().unwrap();
        let trigger = |name: &str, job: &JobDetail| {
            let hourly = SimpleSchedule::every(Duration::from_secs(3_600));
            Trigger::builder(TriggerKey::named(name), job.key().clone()).schedule(hourly).build().unwrap()
        };
        for name in ["well", "late", "odd"] {
            let job = job(name);
            let triggers = (0..3).map(|i| trigger(&format!("{name}-{i}"), &job)).collect();
            store.catalogue().schedule(vec![(job, triggers)], false).unwrap();
        }
        let now_ms = store.now_ms().unwrap();
        let everything = store.upkeep().snapshot().unwrap();
        for (keeps_all, expected) in [(true, 9), (false, 1)] {
            let mut snapshot = Snapshot::default();
            let mut sieve = Sieve::new(&store, keeps_all, now_ms, 60_000).unwrap();
            for mut row in everything.triggers.clone() {
                match row.key.name() {
                    "late-1" => (row.next_ms, row.previous_ms) = (Some(now_ms - 90_000), Some(now_ms - 99_000)),
                    "odd-1" => row.state = TriggerState::Blocked.name().to_owned(),
                    _ => {}
                }
                snapshot.triggers.push(row);
                sieve.sift(&mut snapshot).unwrap();
            }
            snapshot.jobs.clone_from(&everything.jobs);
            sieve.sift(&mut snapshot).unwrap();
            assert_eq!(snapshot.triggers.len(), expected);
            let names: Vec<&str> = snapshot.jobs.iter().map(|job| job.key.name()).collect();
            assert_eq!(names, if keeps_all { vec!["late", "odd", "well"] } else { vec!["late", "odd"] });
            assert_eq!(sieve.late.jobs, BTreeMap::from([(JobKey::named("late"), 90_000)]));
            assert_eq!((sieve.late.overdue, sieve.late.most_ms), (1, 90_000));
        }
    }
}
