//! Operators: what people do to a cluster while it works, and what they expect of it.

use super::jobs::{GRID, WORK};
use super::node::SimNode;
use super::plan::{Event, MS};
use super::world::World;
use carnelian::{
    GroupMatcher, IfExists, JobDataMap, JobDetail, JobKey, MisfireInstruction, Scheduler, SimpleSchedule, Trigger,
    TriggerKey, TriggerState,
};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The actions of operators so far.
#[derive(Debug, Default)]
pub struct Operators {
    tickets: u64,
    /// The tickets of work that was taken, each with its time: each must run.
    pub taken: BTreeMap<String, u64>,
    drained: BTreeSet<String>,
}

/// The job that operators trigger by hand; each time with a ticket of its own.
pub fn manual() -> JobKey {
    JobKey::new("manual", "m")
}

/// The group of loose work.
pub const LOOSE: &str = "loose";

/// Loose work, of which some may be missing. Beside Quartz some of it is not done when it is late.
pub fn loose(world: &World, at: u64) -> (JobDetail, Trigger) {
    let (job, trigger) = (JobKey::new(LOOSE, format!("l{at}")), TriggerKey::new(LOOSE, format!("l{at}")));
    let detail = JobDetail::builder(job.clone(), WORK).build().expect("a job");
    let schedule = SimpleSchedule::every(Duration::from_millis(500 + 300 * at)).repeat(8);
    let passes_over = at == 1 && world.plan.has(Event::Visit);
    let misfire =
        if passes_over { MisfireInstruction::RescheduleNextWithRemainingCount } else { MisfireInstruction::Smart };
    (detail, Trigger::builder(trigger, job).schedule(schedule).misfire(misfire).build().expect("a trigger"))
}

impl Operators {
    /// The ticket of the next work that is to be done once.
    pub fn next_ticket(&mut self) -> String {
        self.tickets += 1;
        self.tickets.to_string()
    }

    /// One operator does one thing beside this node.
    pub fn act(world: &World, node: &SimNode) {
        let other = world.any_name().unwrap_or_default();
        let (what, grid, at) = {
            let mut dice = world.dice.borrow_mut();
            let grid = dice.index(world.plan.grids.len());
            (dice.below(13), world.plan.grids[grid].name.clone(), dice.below(3))
        };
        let (trigger, job) = (TriggerKey::new(GRID, &*grid), JobKey::new(GRID, &*grid));
        let ticket = world.operators.borrow_mut().next_ticket();
        let operate = |scheduler: &Scheduler| -> carnelian::Result<String> {
            Ok(match what {
                0 => format!("pauses {trigger}: {}", scheduler.pause_trigger(&trigger)?),
                1 => format!("resumes {trigger}: {}", scheduler.resume_trigger(&trigger)?),
                2 => format!("pauses a group: {:?}", scheduler.pause_triggers(&GroupMatcher::equals(GRID))?),
                3 => format!("resumes a group: {:?}", scheduler.resume_triggers(&GroupMatcher::equals(GRID))?),
                4 => format!("pauses everything: {:?}", scheduler.pause_all()?),
                5 => format!("resumes everything: {:?}", scheduler.resume_all()?),
                6 => {
                    let data: JobDataMap = [("ticket", &*ticket)].into_iter().collect();
                    let key = scheduler.trigger_job(&manual(), data)?;
                    world.operators.borrow_mut().taken.insert(ticket.clone(), world.now());
                    format!("triggers work by hand: {key}")
                }
                7 => {
                    let (job, trigger) = loose(world, at);
                    let stored = scheduler.schedule_jobs(vec![(job, vec![trigger])], IfExists::Replace)?;
                    format!("schedules {at}: {}", stored.len())
                }
                8 => format!("deletes {at}: {}", scheduler.delete_job(loose(world, at).0.key())?),
                9 => {
                    let (_, trigger) = loose(world, at);
                    format!("reschedules {at}: {:?}", scheduler.reschedule(&trigger.key().clone(), trigger)?)
                }
                10 => {
                    world.operators.borrow_mut().drained.insert(other.clone());
                    format!("drains {other}: {:?}", scheduler.drain(&other)?)
                }
                11 => format!("ends the drain of {other}: {}", scheduler.undrain(&other)?),
                _ => {
                    format!("pauses and resumes {job}: {} {}", scheduler.pause_job(&job)?, scheduler.resume_job(&job)?)
                }
            })
        };
        let Some(answer) = node.operate(operate) else { return };
        let answer = answer.unwrap_or_else(|error| format!("is refused {what}: {error}"));
        world.say(format_args!("an operator at n{} {answer}", node.number));
    }

    /// Resumes all that was paused, and all nodes that were drained.
    pub fn put_right(&mut self, world: &World) {
        // As in Quartz, a group that has no trigger now stays paused when all are resumed.
        world.console.resume_triggers(&GroupMatcher::Any).expect("everything goes on");
        // Ends of runs of Quartz put triggers in error.
        for row in world.rows_of_triggers().iter().filter(|row| row.state == TriggerState::Error.name()) {
            world.console.reset_trigger_from_error_state(&row.key).expect("nothing fails for it");
        }
        for name in std::mem::take(&mut self.drained) {
            world.console.undrain(&name).expect("the drain ends");
        }
    }
}

/// The time from the end of the faults until everything that is due must have run.
pub const PATIENCE: u64 = 400_000 * MS;
