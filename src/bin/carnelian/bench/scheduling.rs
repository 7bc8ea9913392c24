//! Scheduling calls a second: a trigger a call, on one thread and on several, and many in one call.

use super::scratch::{BULK, GROUP, Scratch, TYPE, trigger};
use super::spread::per_second;
use super::{Bench, Figures};
use crate::failure::{Failure, Outcome};
use crate::output::fields;
use carnelian::store::StatementCounts;
use carnelian::{IfExists, JobContext, JobDetail, JobKey, Scheduler, SimpleSchedule, Trigger};
use serde_json::json;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Calls before the first that is measured: connections are made, statements prepared.
const WARM_UP: u32 = 100;
/// The least number of calls that each store many triggers: the first is of cold tables.
const FEWEST_BULKS: u32 = 10;
const DAY_MS: i64 = 24 * 3_600_000;

/// One node's calls; it is not started, and nothing is due.
struct Calls<'a> {
    scratch: &'a Scratch,
    node: Scheduler,
    job: JobKey,
    due_ms: i64,
}

/// The ways of calling, by their names in the answer.
pub const WAYS: [&str; 5] = ["one_thread", "threads", "job_and_trigger", "bulk", "bulk_jobs"];

type Names<'a> = &'a mut dyn Iterator<Item = String>;
type Work = Vec<(JobDetail, Vec<Trigger>)>;

/// The rate that one way of calling reached.
struct Rate {
    per_second: f64,
    statements: f64,
    commits: f64,
}

pub fn measure(scratch: &Scratch, options: &Bench) -> Outcome<Figures> {
    let nothing = |_: &mut JobContext| Ok(());
    let (calls, threads) = (options.triggers(), options.threads.max(1));
    let job = scratch.job("scheduled")?;
    scratch.store.catalogue().add_job(&job, false)?;
    let due_ms = scratch.store.now_ms()? + DAY_MS;
    let caller = Calls { scratch, node: scratch.node("bench-1", nothing)?, job: job.key().clone(), due_ms };

    caller.rate("warm", WARM_UP, threads, |name| caller.trigger(name))?;
    let of_one_job = |name: &str, triggers: Names<'_>| -> Outcome<Work> {
        let job = caller.scratch.job(name)?;
        let triggers = triggers.map(|name| caller.trigger_of(&name, job.key())).collect::<Outcome<_>>()?;
        Ok(vec![(job, triggers)])
    };
    let of_many_jobs = |_: &str, triggers: Names<'_>| -> Outcome<Work> {
        let pair = |name: String| -> Outcome<_> {
            let job = JobDetail::builder(JobKey::new(GROUP, &name), TYPE).build()?;
            let trigger = caller.trigger_of(&name, job.key())?;
            Ok((job, vec![trigger]))
        };
        triggers.map(pair).collect()
    };
    let mut lines = Vec::new();
    for way in WAYS.into_iter().filter(|way| options.only.as_deref().is_none_or(|only| only == *way)) {
        lines.push(match way {
            "one_thread" => (way, "a trigger a call, 1 thread", caller.rate("one", calls, 1, |n| caller.trigger(n))?),
            "threads" => {
                let rate = caller.rate("many", calls, threads, |name| caller.trigger(name))?;
                (way, "a trigger a call, all threads", rate)
            }
            "job_and_trigger" => {
                let rate = caller.rate("pair", calls, 1, |name| caller.job_and_trigger(name))?;
                (way, "a job and a trigger a call, 1 thread", rate)
            }
            "bulk" => (way, "many triggers of a job a call, by the trigger", caller.bulk("bulk", calls, of_one_job)?),
            _ => {
                (way, "many jobs with a trigger each a call, by the trigger", caller.bulk("each", calls, of_many_jobs)?)
            }
        });
    }
    caller.node.shutdown_and_wait();

    let mut json =
        json!({"calls": calls, "thread_count": threads, "bulk_size": BULK.min(calls), "stored_beside": options.stored});
    for (name, _, rate) in &lines {
        let rates = json!({
            "per_second": rate.per_second,
            "statements_per_trigger": rate.statements,
            "commits_per_trigger": rate.commits,
        });
        if let Some(fields) = json.as_object_mut() {
            fields.insert((*name).to_owned(), rates);
        }
    }
    let mut text = fields(&[("calls", Some(calls.to_string())), ("threads", Some(threads.to_string()))]);
    let shown = lines.iter().map(|(_, name, Rate { per_second, statements, commits })| {
        (*name, Some(format!("{per_second:.0} a second, {statements:.3} statements, {commits:.4} commits")))
    });
    text.push_str(&fields(&shown.collect::<Vec<_>>()));
    Ok(Figures { json, text })
}

impl Calls<'_> {
    fn counts(&self) -> StatementCounts {
        self.node.store().database().counts()
    }

    fn since(&self, begun: Duration, before: StatementCounts, triggers: u32) -> Rate {
        let (ended, after) = (self.scratch.now(), self.counts());
        let per_trigger = |count: u64| count as f64 / f64::from(triggers.max(1));
        Rate {
            per_second: per_second(triggers as usize, ended.saturating_sub(begun)),
            statements: per_trigger(after.statements - before.statements),
            commits: per_trigger(after.commits - before.commits),
        }
    }

    fn trigger_of(&self, name: &str, job: &JobKey) -> Outcome<Trigger> {
        trigger(name, job, Some(self.due_ms), SimpleSchedule::once())
    }

    /// A trigger of the job that is stored.
    fn trigger(&self, name: &str) -> Outcome {
        self.node.schedule_trigger(self.trigger_of(name, &self.job)?)?;
        Ok(())
    }

    /// A job of its own, which goes with its trigger.
    fn job_and_trigger(&self, name: &str) -> Outcome {
        let job = JobDetail::builder(JobKey::new(GROUP, name), TYPE).build()?;
        let trigger = self.trigger_of(name, job.key())?;
        self.node.schedule_job(job, trigger)?;
        Ok(())
    }

    /// Calls on several threads, each of which takes the next number.
    fn rate(&self, name: &str, calls: u32, threads: u32, call: impl Fn(&str) -> Outcome + Sync) -> Outcome<Rate> {
        let next = AtomicU32::new(0);
        self.scratch.bar.begin("scheduling", Some(calls.into()));
        let work = || -> Outcome {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= calls {
                    return Ok(());
                }
                self.scratch.check_interrupted()?;
                call(&format!("{name}-{number}"))?;
                self.scratch.bar.add_one();
            }
        };
        let (before, begun) = (self.counts(), self.scratch.now());
        if threads == 1 {
            work()?;
        } else {
            std::thread::scope(|scope| {
                let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
                threads.into_iter().try_for_each(|thread| {
                    thread.join().map_err(|_| Failure::Refused("a thread that made calls has panicked".to_owned()))?
                })
            })?;
        }
        Ok(self.since(begun, before, calls))
    }

    /// Triggers stored by calls of a bulk each; `work` makes that of a call from its name and those
    /// of its triggers.
    fn bulk(&self, name: &str, triggers: u32, work: impl Fn(&str, Names<'_>) -> Outcome<Work>) -> Outcome<Rate> {
        let size = BULK.min(triggers);
        let bulks = (triggers / size).max(FEWEST_BULKS);
        self.scratch.bar.begin("scheduling in bulk", Some(bulks.into()));
        let (before, begun) = (self.counts(), self.scratch.now());
        for bulk in 0..bulks {
            self.scratch.check_interrupted()?;
            let mut names = (bulk * size..(bulk + 1) * size).map(|number| format!("{name}-{number}"));
            self.node.schedule_jobs(work(&format!("{name}-{bulk}-job"), &mut names)?, IfExists::Refuse)?;
            self.scratch.bar.add_one();
        }
        Ok(self.since(begun, before, bulks * size))
    }
}
