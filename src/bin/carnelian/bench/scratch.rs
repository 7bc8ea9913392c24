//! `Scratch`: the scheduler that a bench makes for itself, its triggers, and the end of both.

use super::{Bench, History};
use crate::bar::Bar;
use crate::config::{Config, open};
use crate::failure::{Failure, Outcome};
use crate::output::complain;
use carnelian::clock::Signal;
use carnelian::clock::{Clock, SystemClock};
use carnelian::settings::{HistoryRecord, InstanceIdSetting, NodeRole, PluginSettings, Settings, StoreKind};
use carnelian::store::JobStore;
use carnelian::{Job, JobDetail, JobKey, MisfireInstruction, Scheduler, SimpleSchedule, Trigger, TriggerKey};
use chrono::DateTime;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub const TYPE: &str = "carnelian.bench";
pub const GROUP: &str = "bench";
/// The number of triggers that are stored in one call.
pub const BULK: u32 = 10_000;
const DAY_MS: i64 = 24 * 3_600_000;

/// A scheduler of a name that nobody else uses; its rows go when it does.
pub struct Scratch {
    pub settings: Settings,
    pub store: JobStore,
    pub clock: Arc<SystemClock>,
    pub bar: Bar,
    requests_recovery: bool,
    interrupted: Arc<AtomicBool>,
    is_clean: AtomicBool,
}

impl Scratch {
    /// The settings of the database that `config` leads to, with what the options ask for.
    pub fn make(config: &Config, options: &Bench, bar: Bar) -> Outcome<Self> {
        let interrupted = Arc::new(AtomicBool::new(false));
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&interrupted))
                .map_err(|error| Failure::Refused(format!("signals cannot be handled: {error}")))?;
        }
        let clock = Arc::new(SystemClock::default());
        let mut settings = config.settings.clone();
        // A drawn name, as long as those that people give: each row and each entry of an index has
        // it.
        let drawn = RandomState::new().build_hasher().finish() >> 32;
        settings.scheduler.instance_name = format!("bench-{drawn:08x}");
        settings.thread_pool.thread_count = options.threads.max(1);
        if let Some(batch) = options.batch {
            settings.scheduler.batch_max_count = batch.max(1);
        }
        settings.job_store.clustered = settings.job_store.kind != StoreKind::Memory;
        match options.history {
            Some(History::On) => settings.history.record = HistoryRecord::All,
            Some(History::Off) => settings.history.record = HistoryRecord::None,
            None => {}
        }
        // These nodes run jobs, whatever those of the file do.
        (settings.scheduler.enabled, settings.node.role) = (true, NodeRole::Worker);
        // Job files and the like are not what is measured.
        settings.plugins = PluginSettings::default();
        let store = open(&settings)?;
        store.database().check_schema()?; // makes the rows of the scratch name
        Ok(Self {
            settings,
            store,
            clock,
            bar,
            requests_recovery: options.recovery,
            interrupted,
            is_clean: AtomicBool::new(false),
        })
    }

    /// A node of it that is not started yet, with this code for its jobs.
    pub fn node(&self, name: &str, job: impl Job) -> Outcome<Scheduler> {
        let mut settings = self.settings.clone();
        settings.scheduler.instance_id = InstanceIdSetting::Fixed(name.to_owned());
        // A store in memory exists once; every node has its own connections to a database.
        let store = if self.is_in_memory() { self.store.clone() } else { open(&settings)? };
        Ok(Scheduler::builder().store(store).settings(settings).job(TYPE, job).build()?)
    }

    pub fn is_in_memory(&self) -> bool {
        self.settings.job_store.kind == StoreKind::Memory
    }

    /// The fires that the history gets, in the word of the property.
    pub fn history(&self) -> &'static str {
        match self.settings.history.record {
            HistoryRecord::All => "all",
            HistoryRecord::Problems => "problems",
            HistoryRecord::None => "none",
        }
    }

    /// The error of whoever was told to stop.
    pub fn check_interrupted(&self) -> Outcome {
        match self.interrupted.load(Ordering::Relaxed) {
            true => Err(Failure::Refused("interrupted".to_owned())),
            false => Ok(()),
        }
    }

    /// The monotonic clock.
    pub fn now(&self) -> Duration {
        self.clock.ticks()
    }

    /// Waits for so long.
    pub fn pause(&self, time: Duration) {
        self.clock.wait(&Signal::default(), Some(self.now() + time));
    }

    /// A durable job of this name, without triggers.
    pub fn job(&self, name: &str) -> Outcome<JobDetail> {
        let job = JobDetail::builder(JobKey::new(GROUP, name), TYPE).durable(true);
        Ok(job.requests_recovery(self.requests_recovery).build()?)
    }

    /// Stores so many triggers, a bulk a call; `plan` says what each is: when it starts, and its
    /// schedule.
    pub fn fill(&self, name: &str, triggers: u32, plan: impl Fn(u32) -> (i64, SimpleSchedule)) -> Outcome {
        let mut stored = 0;
        self.bar.begin("storing triggers", Some(triggers.into()));
        while stored < triggers {
            self.check_interrupted()?;
            let until = stored + BULK.min(triggers - stored);
            let job = self.job(&format!("{name}-from-{stored}"))?;
            let trigger = |number| {
                let (start_ms, schedule) = plan(number);
                trigger(&format!("{name}-{number}"), job.key(), Some(start_ms), schedule)
            };
            let triggers = (stored..until).map(trigger).collect::<Outcome<Vec<Trigger>>>()?;
            self.store.catalogue().schedule(vec![(job, triggers)], false)?;
            stored = until;
            self.bar.set(stored as usize);
        }
        Ok(())
    }

    /// Stores triggers that are due tomorrow, a second apart.
    pub fn store_beside(&self, triggers: u32) -> Outcome {
        let tomorrow_ms = self.store.now_ms()? + DAY_MS;
        self.fill("beside", triggers, |number| (tomorrow_ms + 1_000 * i64::from(number), SimpleSchedule::once()))
    }

    /// Forgets everything stored, but for what makes the scheduler one.
    pub fn empty(&self) -> Outcome {
        self.store.database().forget_scheduler()?;
        Ok(self.store.database().check_schema()?)
    }

    /// Deletes every row of the scheduler.
    pub fn clean(&self) -> Outcome {
        self.store.database().forget_scheduler()?;
        self.is_clean.store(true, Ordering::Relaxed);
        Ok(())
    }
}

impl Drop for Scratch {
    /// After a panic, or where cleaning has failed: once more.
    fn drop(&mut self) {
        if !self.is_clean.load(Ordering::Relaxed)
            && let Err(error) = self.store.database().forget_scheduler()
        {
            let name = &self.settings.scheduler.instance_name;
            complain(&format!(
                "the rows of the scheduler `{name}` are left behind, and may be deleted by hand: {error}"
            ));
        }
    }
}

/// A trigger that no misfire changes; without a start it is due when it is stored.
pub fn trigger(name: &str, job: &JobKey, start_ms: Option<i64>, schedule: SimpleSchedule) -> Outcome<Trigger> {
    let mut builder = Trigger::builder(TriggerKey::new(GROUP, name), job.clone()).misfire(MisfireInstruction::Ignore);
    if let Some(start_ms) = start_ms {
        builder = builder.start_at(DateTime::from_timestamp_millis(start_ms).unwrap_or_default());
    }
    Ok(builder.schedule(schedule).build()?)
}
