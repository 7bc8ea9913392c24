//! Quartz's statements: a node of Quartz 2.x checks in, reserves, fires, completes, releases and
//! recovers by these, in their order. Some nodes have the lock for acquisition that its manual
//! recommends beside others.
//!
//! The faults of Quartz itself are noted by name in [`Known`], and excuse what follows from them.

use super::history::Run;
use super::java::{CHECKIN, JavaNode, first_trigger};
use super::jobs::GRID;
use super::operators::{LOOSE, manual};
use super::plan::{Grid, MS};
use super::world::World;
use carnelian::store::row::{
    Advance, Counts, Departure, FiredRow, FiredSelection, FiredState, InstanceRow, InstanceSelection, JobSelection,
    RecoveryRow, ScheduleRow, Selection, Snapshot, TriggerRow, TriggerSelection,
};
use carnelian::store::{Lock, Session, TxMode, Violation};
use carnelian::{
    IfExists, JobDataMap, JobDetail, JobKey, MisfireInstruction, Result, SimpleSchedule, Trigger, TriggerKey,
    TriggerState,
};
use chrono::DateTime;
use std::collections::{BTreeMap, BTreeSet};

/// Quartz acquires so long before the time of a trigger.
const IDLE_WAIT_MS: i64 = 30_000;

/// Nobody is taken for dead before this is over beside the interval.
const TOLERANCE_MS: i64 = 7_500;

/// A transaction waits for rows that others hold; here it fails, and is done again later.
pub type Tried = Result<()>;

/// A trigger that the node has reserved.
pub struct Reserved {
    pub fire_id: String,
    pub trigger: TriggerKey,
    pub next_ms: i64,
    /// The trigger as it was: the node fires it by memory, and writes what it remembers.
    row: TriggerRow,
    /// The trigger had fired when the node took it.
    is_outdated: bool,
    /// Reservations that others had lost before, and of which they do not know it yet.
    stale: BTreeSet<String>,
}

/// A fire of the node.
pub struct Fired {
    pub fire_id: String,
    pub trigger: TriggerKey,
    pub job: JobDetail,
    /// The trigger's data.
    pub data: JobDataMap,
    pub scheduled_ms: i64,
    /// The origin of its trigger, if one of our nodes made it for work that was interrupted.
    pub chain: Option<RecoveryRow>,
    is_last: bool,
}

/// Attempts of recoveries that Quartz has made are larger. Quartz writes no count of attempts: with
/// a recovery of ours after them the count begins anew.
pub const QUARTZ_ATTEMPTS: i64 = 1_000_000;

/// A recovery trigger that the node has made.
#[derive(Clone, Debug)]
pub struct Made {
    /// The first fire of the chain. Quartz forgets it with the second recovery.
    pub root: String,
    /// The fire that it stands for.
    of: String,
    pub first: TriggerKey,
    pub attempt: i64,
}

/// The doings of Quartz, right and wrong.
#[derive(Default)]
pub struct Known {
    /// The fires whose ends it has recorded; it writes no history.
    pub recorded: BTreeSet<String>,
    pub made: BTreeMap<TriggerKey, Made>,
    /// The first fire and trigger of the chains of the recovery triggers that have run.
    pub chains: BTreeMap<TriggerKey, (Option<String>, Option<TriggerKey>)>,
    /// `DropsUnbegun`: it knows nothing of prefetched fires, and takes one of a dead node of ours
    /// that has not begun for one that was interrupted. The work of a job that asks for no recovery
    /// is lost. `PassesOver`: it writes back the trigger that it remembers, though the store has
    /// forgotten some of its fires, which would be done again. `FiresUnfenced`: it fires a
    /// reservation that was taken back when it was declared dead, if the trigger is reserved again,
    /// by whomever; its run has no row then.
    pub dropped: BTreeSet<(TriggerKey, i64)>,
    /// `TakesByStateAlone` (H1): without the lock it takes a trigger that has fired since it was
    /// read, or fires one that another node of Quartz has reserved since, and writes back what it
    /// remembers: times fire again.
    pub rewound: BTreeSet<(TriggerKey, i64)>,
    /// `DeletesTheJob` (H21): jobs that it deletes with their last triggers, though fires of them
    /// run or wait to be recovered; that work is in `dropped`. `LeavesTheJob`: it ends or recovers
    /// the last fire of a job whose triggers have gone before, and the job stays.
    pub left_jobs: BTreeSet<JobKey>,
    /// `LosesData`: it recovers a prefetched fire whose trigger has gone with it, and knows nothing
    /// of the data that we have left for its recovery. The number of such runs of work by hand.
    pub without_data: usize,
    /// `H4Unblocks`, `RecoversBesideARun` (#1097) and `CompletesUnfenced`: it makes triggers
    /// `WAITING` of a job that runs once at a time and is running, and fires them itself. These
    /// jobs overlap, and count wrongly.
    pub overlapping: BTreeSet<JobKey>,
    /// `LeavesBlocked`: it ends or recovers a run for whose end its trigger waits, by an option
    /// that Quartz does not know, and the trigger stays `BLOCKED` until the next audit of ours.
    pub left_blocked: BTreeSet<JobKey>,
    /// `LeavesComplete`: its run is the last that ends of a trigger whose last fire was another, or
    /// has no row, or says that it is complete, or its misfire handler finds no time for a trigger
    /// (#586), and the trigger stays
    /// `COMPLETE` until the next audit of ours.
    pub left_complete: BTreeSet<TriggerKey>,
    /// `FiresAgain`: its misfire handler takes a trigger without a time, since its calendar was
    /// stored anew while its last fire ran, for one that is late, and it fires once more. The fire
    /// still runs then, or was interrupted. A series that `TakesByStateAlone` has set back is here
    /// too.
    pub again: BTreeSet<TriggerKey>,
    /// `Revives`: a call stores the calendar of a trigger anew whose last fire runs, and the
    /// trigger waits again, without a time. The trigger goes with the ends of these fires. A
    /// fire that is interrupted leaves the trigger there. The empty id stands for a fire that
    /// leaves it anyway: an earlier one, or one of a node of ours that has met no node of Quartz.
    pub revived: BTreeMap<TriggerKey, BTreeSet<String>>,
    /// `KnowsNoOptions`: a call resumes triggers without a look at the options that they have, such
    /// as a delay that counts from the end of a run.
    pub resumed: BTreeSet<TriggerKey>,
    /// `LeavesWithoutTime`: a call stores the calendar of a trigger anew that has not fired yet,
    /// and whose only time has come: it never has another.
    pub without_time: BTreeSet<TriggerKey>,
    /// `LeavesLostRows`: it takes reservations from others, and leaves their rows.
    pub lost: BTreeSet<String>,
    /// `NotMetYet`: the reservations of nodes of ours that have not checked in beside a node of
    /// Quartz. A node that was started since others declared that one dead knows nothing of it, and
    /// reserves what it has.
    pub not_met_yet: BTreeSet<String>,
    /// `LeavesReservations`: its calls leave the rows of those who have reserved a trigger, which
    /// others may reserve then.
    pub left_reserved: BTreeSet<TriggerKey>,
}

impl Known {
    /// The number of these runs that it has recovered, whether or not its recovery has begun.
    pub fn recoveries_of(&self, runs: &[Run]) -> usize {
        runs.iter().filter(|run| self.made.values().any(|made| made.of == run.fire_id)).count()
    }

    /// True if this time of a trigger fires again by Quartz.
    pub fn is_rewound(&self, trigger: &str, time_ms: i64) -> bool {
        let is_it = |key: &TriggerKey| key.to_string() == trigger;
        self.again.iter().any(is_it) || self.rewound.iter().any(|(key, at)| *at == time_ms && is_it(key))
    }

    /// True if Quartz is to blame for it.
    pub fn excuses(&self, violation: &Violation) -> bool {
        let text = format!("{violation} ");
        let is_of = |job: &JobKey| text.contains(&format!("job {job} ")) || text.contains(&format!("job {job}:"));
        let is_about = |triggers: &BTreeSet<TriggerKey>| {
            triggers.iter().any(|trigger| text.contains(&format!("trigger {trigger}:")))
        };
        match violation.invariant {
            "I1" if is_about(&self.left_reserved) => true,
            "I1" if self.left_reserved.iter().any(|key| text.contains(&format!("trigger {key}, "))) => true,
            "I7" if text.contains("is ACQUIRED without a next fire time") => {
                self.rewound.iter().any(|(trigger, _)| text.contains(&format!("trigger {trigger}:")))
            }
            "I7" => is_about(&self.again) && text.contains("its previous fire time after its next"),
            "I1" => self.lost.iter().any(|fire_id| violation.subject.ends_with(fire_id.as_str())),
            "I14" => self.left_jobs.iter().any(is_of),
            "I6" => is_about(&self.left_complete),
            "I2" if self.left_blocked.iter().any(is_of) => true,
            "I2" | "I3" | "I4" => self.overlapping.iter().any(is_of),
            _ => false,
        }
    }
}

impl World {
    /// A transaction of Quartz under a lock.
    pub fn quartz(&self, lock: Lock, mut work: impl FnMut(&mut dyn Session) -> Result<()>) -> Tried {
        self.spend(MS / 10, MS);
        self.has_changed.set(true);
        self.database.transact("a node of Quartz", TxMode::Exclusive(lock), &mut work)
    }

    /// Notes which nodes of ours know of nodes of Quartz, and the reservations of the others.
    pub fn note_check_ins(&self, snapshot: &Snapshot) {
        let is_quartz_there = snapshot.instances.iter().any(|one| is_of_quartz(&one.name))
            || snapshot.fired.iter().any(|fire| is_of_quartz(&fire.instance));
        let not_met_yet = &mut self.java.borrow_mut().known.not_met_yet;
        for node in self.nodes.borrow().iter() {
            node.note_check_in(snapshot, is_quartz_there);
            if node.has_met_quartz() {
                continue;
            }
            let is_reserved = |fire: &&FiredRow| fire.state == FiredState::Acquired && fire.instance == node.name;
            not_met_yet.extend(snapshot.fired.iter().filter(is_reserved).map(|fire| fire.fire_id.clone()));
        }
    }

    /// Checks in; the first time it looks for fires without a member too.
    pub fn java_checks_in(&self, node: &mut JavaNode) {
        let (now, now_ms) = (self.now(), self.java_ms(node));
        let gap_ms = node.checked_in.map_or(0, |at| i64::try_from((now - at) / MS).expect("short"));
        let mut failed = Vec::new();
        let tried = self.quartz(Lock::StateAccess, |s| {
            failed.clear();
            let instances = s.instances(InstanceSelection::All)?;
            for one in instances.iter().filter(|one| one.name != node.name) {
                let window_ms = one.checkin_interval_ms.max(gap_ms) + TOLERANCE_MS;
                // `JudgesByTheClock`: a clock that was set makes all others dead.
                if one.last_checkin_ms + window_ms < now_ms && !self.was_store_clock_set() {
                    failed.push(one.name.clone());
                }
            }
            if node.checked_in.is_none() {
                // A row of its own name is of an earlier life.
                let is_own = |one: &InstanceRow| one.name == node.name;
                let known = |name: &String| instances.iter().any(|one| one.name == *name);
                failed.extend(instances.iter().filter(|one| is_own(one)).map(|one| one.name.clone()));
                let fired = s.fired(FiredSelection::All)?.into_iter().map(|fire| fire.instance);
                failed.extend(fired.collect::<BTreeSet<_>>().into_iter().filter(|name| !known(name)));
            }
            s.put_instance(&InstanceRow {
                name: node.name.clone(),
                last_checkin_ms: now_ms,
                checkin_interval_ms: i64::try_from(CHECKIN / MS).expect("short"),
                incarnation: None,
                joined: 0,
            })
        });
        if tried.is_ok() {
            node.checked_in = Some(now);
            failed.iter().for_each(|name| self.quartz_recovers(node, name));
        }
    }

    /// Recovers what a node had that it takes for dead. All of it is one transaction of Quartz; as
    /// nothing happens between them, these are.
    fn quartz_recovers(&self, node: &JavaNode, dead: &str) {
        let (mut rows, mut left_blocked) = (Vec::new(), Vec::new());
        let tried = self.quartz(Lock::StateAccess, |s| {
            s.lock(Lock::TriggerAccess)?;
            rows = s.fired(FiredSelection::OfInstance(dead))?;
            for row in &rows {
                if row.state == FiredState::Acquired {
                    let moves = [(TriggerState::Acquired, TriggerState::Waiting)];
                    s.change_states(Selection::Triggers(std::slice::from_ref(&row.trigger)), &moves, false)?;
                }
                match &row.job {
                    Some(job) if row.nonconcurrent => drop(unblock(s, job)?),
                    Some(job) => left_blocked.push(job.clone()),
                    None => {}
                }
            }
            let ids: Vec<String> = rows.iter().map(|row| row.fire_id.clone()).collect();
            s.delete_fired(&ids, Vec::new())?;
            if dead != node.name {
                s.delete_instance(dead, Departure::Any)?;
            }
            Ok(())
        });
        self.say(format_args!("{} recovers {dead}: {} fires, {tried:?}", node.name, rows.len()));
        if tried.is_err() {
            return;
        }
        self.java.borrow_mut().known.left_blocked.extend(left_blocked);
        for row in rows.iter().filter(|row| row.state == FiredState::Executing) {
            let job = row.job.as_ref().and_then(|job| self.console.job(job).expect("an answer"));
            match job.filter(|_| row.requests_recovery) {
                Some(job) => self.quartz_makes_recovery(node, dead, row, &job),
                None => self.note_dropped(row),
            }
        }
        let jobs: BTreeSet<JobKey> = rows.iter().filter_map(|row| row.job.clone()).collect();
        let triggers: BTreeSet<TriggerKey> = rows.into_iter().map(|row| row.trigger).collect();
        let (mut lost, mut left) = (Vec::new(), Vec::new());
        let tidied = self.quartz(Lock::TriggerAccess, |s| {
            lost.clear();
            left.clear();
            for trigger in &triggers {
                let found = s.triggers(TriggerSelection::Keys(std::slice::from_ref(trigger)))?.pop();
                if !s.delete_finished_triggers(std::slice::from_ref(trigger))?.is_empty() {
                    lost.extend(delete_job_without_trigger(s, found.map(|row| row.job))?);
                }
            }
            for job in &jobs {
                let is_left = s.trigger_keys(TriggerSelection::OfJob(job))?.is_empty();
                left.extend(is_left.then(|| job.clone()));
            }
            Ok(())
        });
        tidied.expect("nobody holds a trigger");
        self.java.borrow_mut().known.left_jobs.extend(left);
        lost.iter().for_each(|row| self.note_dropped(row));
    }

    /// Notes that the work of this fire is lost. A rerun has the work of one of the triggers of its
    /// job, which have no time in common.
    fn note_dropped(&self, row: &FiredRow) {
        let is_of = |grid: &&Grid| row.job.as_ref().is_some_and(|job| job.name() == grid.name);
        let of_grid = self.plan.grids.iter().filter(is_of).flat_map(Grid::triggers);
        let triggers = of_grid.map(|(name, _)| TriggerKey::new(GRID, &*name)).chain([row.trigger.clone()]);
        self.java.borrow_mut().known.dropped.extend(triggers.map(|trigger| (trigger, row.scheduled_ms)));
    }

    fn quartz_makes_recovery(&self, node: &JavaNode, dead: &str, row: &FiredRow, job: &JobDetail) {
        let mut java = self.java.borrow_mut();
        java.count += 1;
        let key = TriggerKey::new("RECOVERING_JOBS", format!("recover_{dead}_{}", 1_000_000_000 + java.count));
        let original = self.console.trigger(&row.trigger).expect("an answer");
        if original.is_none() && job.key() == &manual() {
            java.known.without_data += 1;
        }
        let mut data = original.map(|trigger| trigger.data().clone()).unwrap_or_default();
        let is_again = row.trigger.group() == "RECOVERING_JOBS";
        let before = java.known.made.get(&row.trigger).cloned();
        let root = self.chain_of(&row.trigger).map_or_else(|| row.fire_id.clone(), |chain| chain.root_fire_id);
        let named = first_trigger(&data).or_else(|| self.trigger_of(&root)).filter(|_| is_again);
        let first = named.unwrap_or_else(|| row.trigger.clone());
        let of = row.fire_id.clone();
        let made = before.unwrap_or(Made { root, of: String::new(), first, attempt: 0 });
        if is_again {
            // A recovery that comes after this one names the trigger of this fire for the first.
            let chain = (Some(made.root.clone()), Some(made.first.clone()));
            java.known.chains.entry(row.trigger.clone()).or_insert(chain);
        }
        let attempt = QUARTZ_ATTEMPTS + i64::try_from(java.count).expect("few");
        java.known.made.insert(key.clone(), Made { attempt, of, ..made });
        drop(java);
        let facts = [
            ("NAME", row.trigger.name().to_owned()),
            ("GROUP", row.trigger.group().to_owned()),
            ("FIRETIME_IN_MILLISECONDS_AS_STRING", row.fired_ms.to_string()),
            ("SCHEDULED_FIRETIME_IN_MILLISECONDS_AS_STRING", row.scheduled_ms.to_string()),
        ];
        for (name, value) in facts {
            data.put(format!("QRTZ_FAILED_JOB_ORIG_TRIGGER_{name}"), value);
        }
        let trigger = Trigger::builder(key.clone(), job.key().clone())
            .start_at(DateTime::from_timestamp_millis(row.scheduled_ms).expect("a time"))
            .schedule(SimpleSchedule::once())
            .priority(row.priority)
            .misfire(MisfireInstruction::Ignore)
            .data_map(data);
        self.console.schedule_trigger(trigger.build().expect("a trigger")).expect("nothing fails for it");
        // Quartz does not look whether the job runs elsewhere.
        let moves = [(TriggerState::Blocked, TriggerState::Waiting)];
        let mut unblocked = 0;
        let tried = self.quartz(Lock::TriggerAccess, |s| {
            unblocked = s.change_states(Selection::Triggers(std::slice::from_ref(&key)), &moves, false)?;
            Ok(())
        });
        tried.expect("nobody holds a trigger");
        if unblocked > 0 {
            self.java.borrow_mut().known.overlapping.insert(job.key().clone());
        }
        self.say(format_args!("{} makes {key} for {}", node.name, row.fire_id));
    }

    /// The trigger of a fire that has begun. That of a prefetched recovery has gone with its fire,
    /// with what it names.
    fn trigger_of(&self, fire_id: &str) -> Option<TriggerKey> {
        let log = self.log.borrow();
        let begun = log.iter().find(|event| event["event"] == "START" && event["fire_id"] == fire_id)?;
        let (group, name) = begun["trigger"].as_str()?.split_once('.')?;
        Some(TriggerKey::new(group, name))
    }

    /// The origin of a trigger that one of our nodes made for work that was interrupted.
    fn chain_of(&self, trigger: &TriggerKey) -> Option<RecoveryRow> {
        let mut found = Vec::new();
        let read = &mut |s: &mut dyn Session| {
            found = s.rows::<RecoveryRow>().with("trigger", trigger).list()?;
            Ok(())
        };
        self.database.transact("the checker", TxMode::ReadOnly, read).expect("an answer");
        found.pop()
    }

    /// The first triggers that are due within its idle wait.
    pub fn quartz_sees(&self, node: &JavaNode, most: usize) -> Vec<TriggerRow> {
        let now_ms = self.java_ms(node);
        let misfired = |row: &TriggerRow, next_ms: i64| row.misfire != -1 && next_ms < now_ms - node.threshold_ms;
        let is_due = |row: &TriggerRow| {
            let is_kind = matches!(row.schedule, ScheduleRow::Simple { .. });
            // A trigger without a time has -1 there.
            let next_ms = row.next_ms.unwrap_or(-1);
            is_kind && row.state == "WAITING" && next_ms <= now_ms + IDLE_WAIT_MS && !misfired(row, next_ms)
        };
        let mut due: Vec<TriggerRow> = self.rows_of_triggers().into_iter().filter(is_due).collect();
        due.sort_by_key(|row| (row.next_ms, -row.priority, row.key.clone()));
        due.truncate(most);
        due
    }

    /// Reserves triggers, by their states alone.
    pub fn quartz_takes(&self, node: &JavaNode, due: Vec<TriggerRow>) -> Vec<Reserved> {
        let now_ms = self.java_ms(node);
        let is_alone = |job: &JobKey| {
            self.console.job(job).expect("an answer").is_some_and(|job| job.disallows_concurrent_execution())
        };
        let due: Vec<_> = due.into_iter().map(|row| (self.java_fire_id(node), is_alone(&row.job), row)).collect();
        let mut reserved = Vec::new();
        let tried = self.quartz(Lock::TriggerAccess, |s| {
            reserved.clear();
            let (mut end_ms, mut jobs) = (i64::MAX, BTreeSet::new());
            for (fire_id, is_alone, row) in &due {
                let Some(next_ms) = row.next_ms else { continue };
                if *is_alone && !jobs.insert(row.job.clone()) {
                    continue;
                }
                if next_ms > end_ms {
                    break;
                }
                let Some(found) = s.triggers(TriggerSelection::Keys(std::slice::from_ref(&row.key)))?.pop() else {
                    continue;
                };
                let moves = [(TriggerState::Waiting, TriggerState::Acquired)];
                if s.change_states(Selection::Triggers(std::slice::from_ref(&row.key)), &moves, false)? == 0 {
                    continue;
                }
                let stale = s.fired(FiredSelection::Acquired)?.into_iter().filter(|one| one.trigger == row.key);
                let stale = stale.map(|one| one.fire_id).collect();
                let begun = FiredRow {
                    fire_id: fire_id.clone(),
                    trigger: row.key.clone(),
                    instance: node.name.clone(),
                    fired_ms: now_ms,
                    scheduled_ms: next_ms,
                    priority: row.priority,
                    state: FiredState::Acquired,
                    job: None,
                    nonconcurrent: false,
                    requests_recovery: false,
                };
                s.insert_fired(vec![begun], &BTreeMap::new())?;
                if reserved.is_empty() {
                    end_ms = next_ms.max(now_ms) + node.batch.1;
                }
                reserved.push(Reserved {
                    fire_id: fire_id.clone(),
                    trigger: row.key.clone(),
                    next_ms,
                    is_outdated: found.next_ms != row.next_ms,
                    row: row.clone(),
                    stale,
                });
            }
            Ok(())
        });
        if tried.is_err() {
            reserved.clear();
        }
        for Reserved { fire_id, trigger, is_outdated, next_ms, .. } in &reserved {
            if *is_outdated {
                self.java.borrow_mut().known.rewound.insert((trigger.clone(), *next_ms));
            }
            let outdated = if *is_outdated { ", as it was before" } else { "" };
            self.say(format_args!("{} reserves {trigger} as {fire_id}{outdated}", node.name));
        }
        reserved
    }

    fn java_fire_id(&self, node: &JavaNode) -> String {
        let mut java = self.java.borrow_mut();
        java.count += 1;
        format!("{}{}", node.name, 1_000_000_000 + java.count)
    }

    /// True if the node was declared dead, and the trigger is reserved again, by another.
    pub fn is_of_another(&self, reserved: &Reserved) -> bool {
        let mut found = false;
        let read = &mut |s: &mut dyn Session| {
            let ids = s.fired_ids(FiredSelection::Ids(std::slice::from_ref(&reserved.fire_id)))?;
            let rows = s.triggers(TriggerSelection::Keys(std::slice::from_ref(&reserved.trigger)))?;
            found = ids.is_empty() && rows.iter().any(|row| row.state == "ACQUIRED");
            Ok(())
        };
        self.database.transact("the checker", TxMode::ReadOnly, read).expect("an answer");
        found
    }

    /// Fires a trigger that it has reserved; none if that is not reserved any more. Quartz
    /// does not look whether the reservation is still its own.
    pub fn quartz_fires(&self, node: &JavaNode, reserved: &Reserved) -> Option<Fired> {
        let key = &reserved.trigger;
        let trigger = self.console.trigger(key).expect("an answer")?;
        let job = self.console.job(trigger.job_key()).expect("an answer")?;
        let fired_ms = self.java_ms(node);
        let chain = self.chain_of(key);
        let (mut fired, mut lost, mut is_reserved) = (None, Vec::new(), false);
        let (mut passed_over, mut rewound) = (Vec::new(), Vec::new());
        let tried = self.quartz(Lock::TriggerAccess, |s| {
            fired = None;
            let Some(row) = s.triggers(TriggerSelection::Keys(std::slice::from_ref(key)))?.pop() else { return Ok(()) };
            if row.state != "ACQUIRED" {
                return Ok(());
            }
            let mut others = s.fired(FiredSelection::Acquired)?;
            others.retain(|one| one.trigger == *key && !reserved.stale.contains(&one.fire_id));
            is_reserved = others.iter().any(|one| one.fire_id == reserved.fire_id);
            others.retain(|one| one.fire_id != reserved.fire_id);
            // Among themselves nodes of Quartz do that, and nodes of ours that do not know of them.
            let not_met_yet = &self.java.borrow().known.not_met_yet;
            let may = |one: &FiredRow| is_of_quartz(&one.instance) || not_met_yet.contains(&one.fire_id);
            let are_excused = others.iter().all(may);
            if !are_excused {
                self.problem(format!("{key} is reserved by others beside {}, which fires it: {others:?}", node.name));
            }
            let known = &reserved.row;
            let (Some(next_ms), Some((after_ms, counts))) = (known.next_ms, after(known)) else { return Ok(()) };
            passed_over = times_between(&row, next_ms);
            rewound = match reserved.is_outdated || are_excused && !others.is_empty() {
                true => times_between(known, row.next_ms.unwrap_or(next_ms)),
                false => Vec::new(),
            };
            let alone = job.disallows_concurrent_execution();
            let begun = FiredRow {
                fire_id: reserved.fire_id.clone(),
                trigger: key.clone(),
                instance: node.name.clone(),
                fired_ms,
                scheduled_ms: next_ms,
                priority: row.priority,
                state: FiredState::Executing,
                job: Some(job.key().clone()),
                nonconcurrent: alone,
                requests_recovery: job.requests_recovery(),
            };
            s.begin_executing(&[(reserved.fire_id.clone(), begun)])?;
            if alone {
                use TriggerState::{Acquired, Blocked, Paused, PausedBlocked, Waiting};
                let moves = [(Waiting, Blocked), (Acquired, Blocked), (Paused, PausedBlocked)];
                s.change_states(Selection::Jobs(std::slice::from_ref(job.key())), &moves, false)?;
                let blocked = s.trigger_keys(TriggerSelection::OfJob(job.key()))?;
                let rows = s.fired(FiredSelection::Acquired)?.into_iter();
                lost = rows.filter(|one| blocked.contains(&one.trigger)).map(|one| one.fire_id).collect();
            }
            let advanced = s.advance(&[Advance {
                key: key.clone(),
                expected_state: if alone { TriggerState::Blocked } else { TriggerState::Acquired },
                expected_next_ms: row.next_ms,
                state: match after_ms {
                    None => TriggerState::Complete,
                    Some(_) if alone => TriggerState::Blocked,
                    Some(_) => TriggerState::Waiting,
                },
                next_ms: after_ms,
                previous_ms: known.next_ms,
                start_ms: known.start_ms,
                counts: Some(counts),
                moves_options: false,
            }])?;
            assert_eq!(advanced, 1, "the row was read under the lock");
            fired = Some((next_ms, after_ms.is_none()));
            Ok(())
        });
        tried.ok()?;
        let (scheduled_ms, is_last) = fired?;
        let known = &mut self.java.borrow_mut().known;
        known.lost.extend(lost);
        // The times of a series that goes on from another time are not those of before.
        known.again.extend((!rewound.is_empty() && !is_last).then(|| key.clone()));
        known.rewound.extend(rewound.into_iter().map(|time_ms| (key.clone(), time_ms)));
        known.dropped.extend(passed_over.into_iter().map(|time_ms| (key.clone(), time_ms)));
        if !is_reserved {
            known.dropped.insert((key.clone(), scheduled_ms));
            known.left_complete.insert(key.clone());
            // A run without a row keeps nobody from the next one.
            known.overlapping.extend(job.disallows_concurrent_execution().then(|| job.key().clone()));
        }
        let (fire_id, data) = (reserved.fire_id.clone(), trigger.data().clone());
        Some(Fired { fire_id, trigger: key.clone(), job, data, scheduled_ms, chain, is_last })
    }

    /// Gives a reservation back, whoever has the trigger now.
    pub fn quartz_releases(&self, node: &JavaNode, reserved: &Reserved) {
        let mut unblocked = None;
        let tried = self.quartz(Lock::TriggerAccess, |s| {
            let trigger = Selection::Triggers(std::slice::from_ref(&reserved.trigger));
            s.change_states(trigger, &[(TriggerState::Acquired, TriggerState::Waiting)], false)?;
            let moves = [(TriggerState::Blocked, TriggerState::Waiting)];
            if node.unblocks && s.change_states(trigger, &moves, false)? > 0 {
                let rows = s.triggers(TriggerSelection::Keys(std::slice::from_ref(&reserved.trigger)))?;
                unblocked = rows.into_iter().next().map(|row| row.job);
            }
            s.delete_fired(std::slice::from_ref(&reserved.fire_id), Vec::new()).map(drop)
        });
        tried.expect("nobody holds a reservation");
        self.say(format_args!("{} of {} is given back, unblocked {unblocked:?}", reserved.fire_id, reserved.trigger));
        self.java.borrow_mut().known.overlapping.extend(unblocked);
    }

    /// The end of loose work may say that its trigger is complete, or that all triggers of its job
    /// are, or are in error.
    fn told_at_end(&self, fired: &Fired) -> Option<(Vec<TriggerKey>, TriggerState)> {
        let key = fired.job.key();
        if key.group() != LOOSE || !self.dice.borrow_mut().chance(2_000) {
            return None;
        }
        let what = self.dice.borrow_mut().below(3);
        let of_job = self.rows_of_triggers().into_iter().filter(|row| row.job == *key).map(|row| row.key);
        Some(match what {
            0 => (vec![fired.trigger.clone()], TriggerState::Complete),
            1 => (of_job.collect(), TriggerState::Complete),
            _ => (of_job.collect(), TriggerState::Error),
        })
    }

    /// Records the end of a run, and the data that it leaves.
    pub fn quartz_completes(&self, fired: &Fired, has_succeeded: bool) -> Tried {
        let key = fired.job.key();
        let (mut is_recorded, mut is_complete, mut is_left, mut lost) = (false, false, false, Vec::new());
        let told = self.told_at_end(fired);
        let tried = self.quartz(Lock::TriggerAccess, |s| {
            if let Some((triggers, state)) = &told {
                // The call asks for no owner.
                use TriggerState::{Acquired, Blocked, Paused, PausedBlocked, Waiting};
                let moves = [Waiting, Acquired, Blocked, Paused, PausedBlocked].map(|from| (from, *state));
                s.change_states(Selection::Triggers(triggers), &moves, false)?;
            }
            let rows = s.triggers(TriggerSelection::Keys(std::slice::from_ref(&fired.trigger)))?;
            is_complete = !fired.is_last && rows.iter().any(|row| row.state == "COMPLETE");
            lost.clear();
            if fired.is_last && rows.iter().any(|row| row.next_ms.is_none()) {
                s.delete_triggers(std::slice::from_ref(&fired.trigger), None)?;
                lost = delete_job_without_trigger(s, Some(key.clone()))?;
                lost.retain(|row| row.fire_id != fired.fire_id);
            }
            if fired.job.disallows_concurrent_execution() {
                unblock(s, key)?;
            }
            is_recorded = !s.delete_fired(std::slice::from_ref(&fired.fire_id), Vec::new())?.is_empty();
            is_left = s.trigger_keys(TriggerSelection::OfJob(key))?.is_empty();
            Ok(())
        });
        self.say(format_args!("{} is completed: {is_recorded} {tried:?} {told:?}", fired.fire_id));
        tried?;
        self.java.borrow_mut().known.left_complete.extend(told.into_iter().flat_map(|(triggers, _)| triggers));
        lost.iter().for_each(|row| self.note_dropped(row));
        // The data are those of the fire, whatever others have written since.
        let stored = self.console.job(key).expect("an answer");
        let counted = fired.job.data().integer("n").filter(|_| has_succeeded);
        if let Some((job, n)) = stored.zip(counted) {
            let mut data = fired.job.data().clone();
            data.put("n", n + 1);
            let job = job.to_builder().data_map(data).build().expect("a job");
            self.console.add_job(&job, IfExists::Replace).expect("nothing fails for it");
        }
        let known = &mut self.java.borrow_mut().known;
        known.left_jobs.extend(is_left.then(|| key.clone()));
        if !is_recorded {
            // The node was declared dead, or the store has lost the commit of its fire.
            known.overlapping.insert(key.clone());
            return Ok(());
        }
        known.recorded.insert(fired.fire_id.clone());
        known.left_complete.extend(is_complete.then(|| fired.trigger.clone()));
        let may_be_waited_for = !fired.job.disallows_concurrent_execution();
        known.left_blocked.extend(may_be_waited_for.then(|| key.clone()));
        Ok(())
    }
}

/// True if this is the name of a node of Quartz.
fn is_of_quartz(instance: &str) -> bool {
    instance.starts_with("java-")
}

/// Deletes a job without a trigger, unless it is durable, whatever fires of it there are, which are
/// returned.
fn delete_job_without_trigger(s: &mut dyn Session, key: Option<JobKey>) -> Result<Vec<FiredRow>> {
    let Some(key) = key else { return Ok(Vec::new()) };
    let is_durable = s.jobs(JobSelection::Keys(std::slice::from_ref(&key)))?.iter().any(|job| job.durable);
    if is_durable || !s.trigger_keys(TriggerSelection::OfJob(&key))?.is_empty() {
        return Ok(Vec::new());
    }
    s.delete_jobs(std::slice::from_ref(&key))?;
    Ok(s.fired(FiredSelection::All)?.into_iter().filter(|row| row.job.as_ref() == Some(&key)).collect())
}

/// Lets the triggers of a job go on that runs once at a time.
fn unblock(s: &mut dyn Session, job: &JobKey) -> Result<usize> {
    use TriggerState::{Blocked, Paused, PausedBlocked, Waiting};
    s.change_states(Selection::Jobs(std::slice::from_ref(job)), &[(Blocked, Waiting), (PausedBlocked, Paused)], false)
}

/// The times of a simple trigger from its next one up to another.
pub fn times_between(row: &TriggerRow, end_ms: i64) -> Vec<i64> {
    let ScheduleRow::Simple { interval_ms, .. } = row.schedule else { return Vec::new() };
    let times = std::iter::successors(row.next_ms, |time_ms| Some(time_ms + interval_ms.max(1)));
    times.take_while(|time_ms| *time_ms < end_ms).collect()
}

/// The time of a simple trigger after its next one, and its counts then.
fn after(row: &TriggerRow) -> Option<(Option<i64>, Counts)> {
    let ScheduleRow::Simple { repeat_count, interval_ms, times_triggered } = row.schedule else { return None };
    let (next_ms, times) = (row.next_ms?, times_triggered + 1);
    let is_over = repeat_count >= 0 && times > repeat_count;
    let k = (next_ms - row.start_ms).div_euclid(interval_ms.max(1)) + 1;
    let after_ms = row.start_ms + k * interval_ms;
    let is_over = is_over || repeat_count >= 0 && k > repeat_count || row.end_ms.is_some_and(|end| end <= after_ms);
    Some(((!is_over).then_some(after_ms), Counts::Simple { repeat_count, times_triggered: times }))
}
