//! `transitions.jsonl`, `paused_groups.jsonl`, `ends_in_error.jsonl`: scripts of operations, and
//! the tables after each.
//!
//! The store under test keeps its rows in SQLite, so that the compared rows are those that a Java
//! node would read.

use crate::definitions::{calendar_of_definition, is_true, moment, ms, named_trigger, zone};
use crate::frozen::FrozenClock;
use crate::report::{Mismatch, Outcome, Verdict, check_file, mismatch, same};
use crate::tables::{Tables, flag, key, text};
use carnelian::clock::Clock;
use carnelian::settings::Settings;
use carnelian::store::{
    AcquireRequest, Completion, CompletionInstruction, Database, FireBundle, JobStore, Membership, Owner, Reservation,
    SqlDatabase,
};
use carnelian::{Error, GroupMatcher, JobDataMap, JobDetail, JobKey, TriggerKey};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// The job classes of the golden data with their annotations: nonconcurrent, persists its data.
const CLASSES: [(&str, bool, bool); 4] = [
    ("golden.jobs.PlainJob", false, false),
    ("golden.jobs.NonConcurrentJob", true, false),
    ("golden.jobs.PersistJob", false, true),
    ("golden.jobs.SerialPersistJob", true, true),
];

/// The rule of rows that live as long as the fires that need them.
const LIFE: &str = "rows-live-with-their-fires";

/// The rule of values in which `_` is a letter.
const LETTERS: &str = "an-underscore-is-a-letter";

/// The rule of triggers that their calendar keeps from firing.
const CALENDAR: &str = "the-calendar-decides";

#[test]
fn transitions() {
    check_file("transitions.jsonl", |record| Script::begin(record).run(record));
}

#[test]
fn paused_groups() {
    check_file("paused_groups.jsonl", |record| Script::begin(record).run(record));
}

#[test]
fn ends_in_error() {
    check_file("ends_in_error.jsonl", |record| Script::begin(record).run(record));
}

/// A store in the middle of a script.
pub struct Script {
    pub store: JobStore,
    owner: Owner,
    tables: Tables,
    running: bool,
    default_zone: chrono_tz::Tz,
    /// The rows of Quartz's tables at this step.
    expected: BTreeMap<&'static str, Vec<Value>>,
    /// Our triggers of `triggerJob` by the names that the record gives to them: `MT_#1`.
    manual: BTreeMap<TriggerKey, String>,
    /// Our fired rows in the order in which the record numbers them: `FT#1`.
    entries: Vec<String>,
    /// Triggers that Quartz keeps although they are over.
    kept: BTreeSet<String>,
    /// The groups that were paused before the step.
    before_step: Vec<Value>,
    /// Triggers without a time left.
    timeless: BTreeSet<String>,
    /// Jobs that only we keep, since they run.
    stayed: BTreeSet<String>,
    /// Jobs that only Quartz keeps, for triggers that are over.
    left: BTreeSet<String>,
    /// Triggers that Quartz took although they name a calendar that is not stored.
    without_calendar: BTreeSet<String>,
    reserved: BTreeMap<String, Reservation>,
    fired: BTreeMap<String, FireBundle>,
    deviations: BTreeSet<&'static str>,
    _folder: tempfile::TempDir,
}

/// The answer of an operation.
enum Answer {
    Nothing,
    Is(Value),
    Failed(Error),
}

impl Script {
    pub fn begin(record: &Value) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("jobs.db");
        let clock: Arc<dyn Clock> = Arc::new(FrozenClock::at(moment(ms(record, "now").expect("now"))));
        let url = format!("sqlite:{}", file.display()).parse().expect("a URL");
        let mut settings = Settings::in_database("GoldenSched", url);
        settings.job_store.misfire_threshold =
            Duration::from_millis(ms(record, "misfire_threshold").expect("threshold").unsigned_abs());
        settings.job_store.use_properties = is_true(record, "use_properties");
        settings.scheduler.time_zone = zone(record, "default_tz").expect("a default zone");
        let database = SqlDatabase::open(&settings, Arc::clone(&clock)).expect("a database");
        database.migrate().expect("tables");
        let store = JobStore::new(Arc::new(database), clock, settings);
        let mut me = Membership::new("GOLDEN");
        store.upkeep().check_in(&mut me).expect("a check-in");
        Self {
            store,
            owner: me.owner().expect("registered"),
            tables: Tables::open(&file),
            running: is_true(record, "scheduler_running"),
            default_zone: zone(record, "default_tz").expect("a default zone"),
            expected: ["triggers", "jobs", "paused_groups", "calendars", "fired"].map(|name| (name, Vec::new())).into(),
            manual: BTreeMap::new(),
            entries: Vec::new(),
            kept: BTreeSet::new(),
            before_step: Vec::new(),
            timeless: BTreeSet::new(),
            stayed: BTreeSet::new(),
            left: BTreeSet::new(),
            without_calendar: BTreeSet::new(),
            reserved: BTreeMap::new(),
            fired: BTreeMap::new(),
            deviations: BTreeSet::new(),
            _folder: folder,
        }
    }

    fn run(mut self, record: &Value) -> Outcome {
        for (number, step) in record["steps"].as_array().expect("steps").iter().enumerate() {
            match self.step(step) {
                Ok(()) => {}
                // The consequences of a row that only one of us has cannot be told in the record's
                // words: the script ends here.
                Err(_) if self.is_about_what_differs(step) => break,
                Err(_) if self.has_wildcard(step) => {
                    self.deviations.insert(LETTERS);
                    break;
                }
                Err(wrong) => return Err(wrong.at(&format!("step {number} {} {}", step["op"], step["args"]))),
            }
        }
        Ok(self.deviations.first().map_or(Verdict::Equal, |rule| Verdict::Deviating(rule)))
    }

    fn step(&mut self, step: &Value) -> Result<(), Mismatch> {
        let answer = self.apply(step["op"].as_str().expect("op"), step);
        match (&answer, step["error"].as_str()) {
            (Answer::Nothing | Answer::Is(_), Some(error)) if self.is_in_the_way(step, error) => self.undo(step),
            (Answer::Failed(error), None) => return Err(mismatch("answer", step.get("result"), error)),
            (Answer::Nothing | Answer::Is(_), Some(error)) => return Err(mismatch("answer", error, "no error")),
            (Answer::Failed(_), Some(_)) | (Answer::Nothing, None) => {}
            (Answer::Is(value), None) => {
                // The record leaves out values that are false or null.
                let shown = Some(value).filter(|value| !matches!(value, Value::Null | Value::Bool(false)));
                same("answer", step.get("result"), shown)?;
            }
        }
        self.before_step.clone_from(&self.expected["paused_groups"]);
        for (section, rows) in self.expected.iter_mut() {
            if let Some(changed) = step["changed"].get(*section) {
                *rows = changed.as_array().expect("rows").clone();
            }
        }
        self.compare(step["op"].as_str().expect("op"))
    }

    fn apply(&mut self, op: &str, step: &Value) -> Answer {
        let args = &step["args"];
        let key = |member: &str| args[member].as_str().expect("a key").split_once('.').expect("group.name");
        let trigger = || TriggerKey::from(key("key"));
        let job = || JobKey::from(key("key"));
        let store = self.store.clone();
        match op {
            "schedule_job" => self.first_time(self.trigger(args).and_then(|trigger| {
                let job = job_detail(&args["job"]);
                store.catalogue().schedule(vec![(job, vec![trigger])], false)
            })),
            "schedule_trigger" => {
                self.first_time(self.trigger(args).and_then(|t| Ok(vec![store.catalogue().add_trigger(t, false)?])))
            }
            "reschedule_job" => match self.trigger(args).and_then(|t| store.catalogue().reschedule(&trigger(), t)) {
                Ok(stored) => Answer::Is(json!(stored.and_then(|t| t.next_fire_time()).map(|t| t.timestamp_millis()))),
                Err(error) => Answer::Failed(error),
            },
            "unschedule_job" => is(store.catalogue().unschedule(&[trigger()]).map(|count| count > 0)),
            "add_job" => nothing(store.catalogue().add_job(&job_detail(&args["job"]), is_true(args, "replace"))),
            "delete_job" => is(store.catalogue().delete_jobs(&[job()]).map(|count| count > 0)),
            "trigger_job" => match store.catalogue().trigger_job(&job(), JobDataMap::new()) {
                Ok(key) => {
                    let known: Vec<String> =
                        self.expected["triggers"].iter().map(|row| row["name"].to_string()).collect();
                    let rows = step["changed"]["triggers"].as_array().expect("the new trigger");
                    let new =
                        rows.iter().find(|row| !known.contains(&row["name"].to_string())).expect("the new trigger");
                    self.manual.insert(key, new["name"].as_str().expect("a name").to_owned());
                    Answer::Nothing
                }
                Err(error) => Answer::Failed(error),
            },
            "pause_trigger" => nothing(store.catalogue().pause_triggers(&[trigger()])),
            "resume_trigger" => nothing(store.catalogue().resume_triggers(&[trigger()], self.running)),
            "pause_job" => nothing(store.catalogue().pause_jobs(&[job()])),
            "resume_job" => nothing(store.catalogue().resume_jobs(&[job()], self.running)),
            "pause_triggers" => nothing(store.catalogue().pause_trigger_groups(&matcher(args))),
            "resume_triggers" => nothing(store.catalogue().resume_trigger_groups(&matcher(args), self.running)),
            "pause_jobs" => nothing(store.catalogue().pause_job_groups(&matcher(args))),
            "resume_jobs" => nothing(store.catalogue().resume_job_groups(&matcher(args), self.running)),
            "pause_all" => nothing(store.catalogue().pause_all()),
            "resume_all" => nothing(store.catalogue().resume_all(self.running)),
            "add_calendar" => {
                let calendar = calendar_of_definition(&args["calendar"], self.default_zone);
                let name = args["name"].as_str().expect("a name");
                nothing(store.catalogue().add_calendar(
                    name,
                    &calendar,
                    is_true(args, "replace"),
                    is_true(args, "update_triggers"),
                ))
            }
            "delete_calendar" => nothing(store.catalogue().delete_calendar(args["name"].as_str().expect("a name"))),
            "sql_set_error" => {
                let (group, name) = key("key");
                let condition = format!("trigger_group = '{group}' AND trigger_name = '{name}'");
                self.tables.run(&format!("UPDATE QRTZ_TRIGGERS SET trigger_state = 'ERROR' WHERE {condition}"));
                Answer::Nothing
            }
            "reset_error" => nothing(store.catalogue().reset_from_error(&trigger())),
            "store_acquire" => self.acquire(args, &step["result"]),
            "store_fired" => self.fire(args["key"].as_str().expect("a key")),
            "store_complete" => self.complete(args),
            "store_release" => match self.reserved.remove(args["key"].as_str().expect("a key")) {
                Some(reservation) => nothing(store.firing().release(&[reservation])),
                None => Answer::Nothing,
            },
            "store_recover_misfires" => nothing(store.upkeep().handle_misfires()),
            other => panic!("operation {other}"),
        }
    }

    fn trigger(&self, args: &Value) -> carnelian::Result<carnelian::Trigger> {
        let record = json!({"trigger": args["trigger"], "default_tz": self.default_zone.name()});
        let definition = &args["trigger"];
        let name =
            TriggerKey::new(definition["group"].as_str().expect("group"), definition["name"].as_str().expect("name"));
        let job = match definition["job"].as_str().and_then(|job| job.split_once('.')) {
            Some(job) => JobKey::from(job),
            // The trigger is rescheduled: the job is that of the trigger that it replaces.
            None => JobKey::named("replaced"),
        };
        named_trigger(&record, name, job)
    }

    fn first_time(&self, stored: carnelian::Result<Vec<carnelian::Trigger>>) -> Answer {
        match stored {
            Ok(stored) => Answer::Is(json!(stored[0].next_fire_time().map(|time| time.timestamp_millis()))),
            Err(error) => Answer::Failed(error),
        }
    }

    /// Reserves only: the steps of the script say when due fires begin.
    ///
    /// Quartz takes triggers too that name a calendar which is not stored, and nobody fires them;
    /// here they are left.
    fn acquire(&mut self, args: &Value, theirs: &Value) -> Answer {
        let now = self.store.now_ms().expect("now");
        let no_later_than = ms(args, "no_later_than").expect("no_later_than");
        let window = ms(args, "time_window").expect("time_window");
        let types: Vec<String> = CLASSES.iter().map(|(name, ..)| (*name).to_owned()).collect();
        let request = AcquireRequest {
            max: usize::try_from(args["max_count"].as_u64().expect("max_count")).expect("a count"),
            prefetch: None,
            look_ahead_ms: no_later_than + window - now,
            fire_ahead_ms: i64::from(i32::MIN) * 1000,
            job_types: &types,
            quarantined: &BTreeSet::new(),
        };
        let acquired = match self.store.firing().acquire(&self.owner, &request) {
            Ok(acquired) => acquired,
            Err(error) => return Answer::Failed(error),
        };
        // A node of Quartz ends its batch a window after its first trigger; ours waits in memory
        // for each, and fires those of one moment together. Reservations beyond the window are
        // given back here.
        let first = acquired.reserved.iter().map(|r| r.scheduled_ms).min().filter(|first| *first <= no_later_than);
        let end = first.map_or(no_later_than, |first| first.max(now) + window);
        let (batch, beyond): (Vec<_>, Vec<_>) = acquired.reserved.into_iter().partition(|r| r.scheduled_ms <= end);
        self.store.firing().release(&beyond).expect("released");
        let theirs: Vec<&str> = theirs.as_array().expect("names").iter().filter_map(Value::as_str).collect();
        let unfit: BTreeSet<&str> = theirs.iter().copied().filter(|name| self.lacks_calendar(name)).collect();
        let mut ours: BTreeMap<String, Reservation> = batch.into_iter().map(|r| (self.name(&r.trigger), r)).collect();
        if unfit.is_empty() {
            let names: Vec<&String> = ours.keys().collect();
            if names.len() != theirs.len() || !theirs.iter().all(|name| ours.contains_key(*name)) {
                return Answer::Is(json!(names));
            }
        } else {
            assert!(unfit.iter().all(|name| !ours.contains_key(*name)), "taken without its calendar: {unfit:?}");
            self.deviations.insert(CALENDAR);
            self.without_calendar.extend(unfit.iter().map(|name| (*name).to_owned()));
        }
        for name in &theirs {
            let reservation = ours.remove(*name);
            self.entries.push(reservation.as_ref().map_or_else(|| format!("none for {name}"), |r| r.fire_id.clone()));
            if let Some(reservation) = reservation {
                self.reserved.insert((*name).to_owned(), reservation);
            }
        }
        // In the place of those we took others.
        self.store.firing().release(&ours.into_values().collect::<Vec<_>>()).expect("released");
        Answer::Is(json!(theirs))
    }

    fn lacks_calendar(&self, trigger: &str) -> bool {
        let rows = keyed("triggers", &self.expected["triggers"]);
        let calendar = rows.get(trigger).map(|row| &row["calendar"]).filter(|calendar| !calendar.is_null());
        calendar.is_some_and(|calendar| !self.expected["calendars"].contains(calendar))
    }

    /// The fire time of Quartz, which is that of the call also where the trigger's time is to come.
    /// The store has the trigger's time then.
    fn time_of_call(&self, fired_ms: i64) -> i64 {
        fired_ms.min(self.store.now_ms().expect("now"))
    }

    fn fire(&mut self, name: &str) -> Answer {
        let Some(reservation) = self.reserved.remove(name) else { return Answer::Is(Value::Null) };
        let id = reservation.fire_id.clone();
        let mut bundles = match self.store.firing().fire(&self.owner, std::slice::from_ref(&reservation)) {
            Ok(acquisition) => acquisition.fired,
            Err(error) => return Answer::Failed(error),
        };
        let Some(bundle) = bundles.pop() else {
            self.reserved.insert(name.to_owned(), reservation);
            return Answer::Is(Value::Null);
        };
        // A fire has a new id here, since its fence is drawn when it begins.
        for entry in self.entries.iter_mut().filter(|entry| **entry == id) {
            entry.clone_from(&bundle.fire_id);
        }
        let next = bundle.trigger.next_fire_time().map(|time| time.timestamp_millis());
        let answer = json!({
            "fire_time": self.time_of_call(bundle.fired_ms), "scheduled": bundle.scheduled_ms, "prev": bundle.previous_ms,
            "next": next, "recovering": bundle.recovering.is_some(),
        });
        self.fired.insert(name.to_owned(), bundle);
        Answer::Is(answer)
    }

    fn complete(&mut self, args: &Value) -> Answer {
        let bundle = self.fired.remove(args["key"].as_str().expect("a key")).expect("a fire of this trigger");
        let instruction = match args["instruction"].as_str().expect("an instruction") {
            // A job that runs again does not come to the store.
            "NOOP" | "RE_EXECUTE_JOB" => CompletionInstruction::NoInstruction,
            // A trigger that is complete goes; Quartz sends the first instruction when no fire time
            // is left.
            "DELETE_TRIGGER" | "SET_TRIGGER_COMPLETE" => CompletionInstruction::SetTriggerComplete,
            "SET_TRIGGER_ERROR" => CompletionInstruction::SetTriggerError,
            "SET_ALL_JOB_TRIGGERS_COMPLETE" => CompletionInstruction::SetAllJobTriggersComplete,
            "SET_ALL_JOB_TRIGGERS_ERROR" => CompletionInstruction::SetAllJobTriggersError,
            other => panic!("instruction {other}"),
        };
        let data = is_true(args, "job_data_changed").then(|| bundle.job.data().clone());
        let completion: Completion = bundle.completion(instruction, data);
        nothing(self.store.firing().complete(&self.owner, &[completion]))
    }

    /// Tells whether an operation has to do with a trigger or a job that only one of us has, or
    /// holds, by one of the rules.
    fn is_about_what_differs(&self, step: &Value) -> bool {
        let args = &step["args"];
        let sets = [&self.kept, &self.stayed, &self.left, &self.without_calendar];
        let differing = |name: &str| sets.iter().any(|set| set.contains(name));
        let any = sets.iter().any(|set| !set.is_empty());
        let named =
            [&args["trigger"], &args["job"]].into_iter().filter(|definition| definition.is_object()).map(name_of);
        let keys = [&args["key"], &args["trigger"]["job"]].into_iter().filter_map(Value::as_str).map(str::to_owned);
        let mut names: Vec<String> = named.chain(keys).collect();
        let rows = keyed("triggers", &self.expected["triggers"]);
        let jobs: Vec<String> =
            names.iter().filter_map(|name| rows.get(name)?["job"].as_str()).map(str::to_owned).collect();
        names.extend(jobs);
        names.iter().any(|name| differing(name)) || (any && step["op"] == "store_acquire")
    }

    /// Tells whether Quartz takes letters of a matcher's value for wildcards, and so finds a group
    /// that does not match it.
    fn has_wildcard(&self, step: &Value) -> bool {
        let Some(value) = step["args"]["value"].as_str() else { return false };
        let (matcher, kind) = (matcher(&step["args"]), &step["args"]["matcher"]);
        let groups = self.expected["triggers"].iter().chain(&self.expected["jobs"]).map(|row| &row["group"]);
        let mut groups = groups.chain(&self.before_step).filter_map(Value::as_str);
        let value: Vec<char> = value.chars().collect();
        groups.any(|group| {
            let group: Vec<char> = group.chars().collect();
            let alike =
                |part: &[char]| part.len() == value.len() && part.iter().zip(&value).all(|(a, b)| *b == '_' || a == b);
            let last = group.len().saturating_sub(value.len());
            let is_found = match kind.as_str() {
                Some("EQUALS") => alike(&group),
                Some("STARTS_WITH") => group.windows(value.len()).next().is_some_and(alike),
                Some("ENDS_WITH") => alike(&group[last..]),
                Some("CONTAINS") => group.windows(value.len()).any(alike),
                _ => false,
            };
            is_found && !matcher.matches(&group.iter().collect::<String>())
        })
    }

    /// Tells whether Quartz refuses a trigger because one that is over still has its name.
    fn is_in_the_way(&self, step: &Value, error: &str) -> bool {
        error.contains("Unable to store Trigger") && self.kept.contains(&name_of(&step["args"]["trigger"]))
    }

    /// Takes back what we stored and Quartz refused.
    fn undo(&mut self, step: &Value) {
        let trigger = &step["args"]["trigger"];
        self.store
            .catalogue()
            .unschedule(&[TriggerKey::from(name_of(trigger).split_once('.').expect("a key"))])
            .expect("undone");
        let job = &step["args"]["job"];
        if job.is_object() && !keyed("jobs", &self.expected["jobs"]).contains_key(&name_of(job)) {
            let key = name_of(job);
            self.store.catalogue().delete_jobs(&[JobKey::from(key.split_once('.').expect("a key"))]).expect("undone");
        }
    }

    /// The name of a trigger in the record.
    fn name(&self, key: &TriggerKey) -> String {
        match self.manual.get(key) {
            Some(name) => format!("{}.{name}", key.group()),
            None => key.to_string(),
        }
    }

    fn compare(&mut self, op: &str) -> Result<(), Mismatch> {
        let ours = self.sections();
        let expected = |name: &str| keyed(name, &self.expected[name]);
        let (mut triggers, mut our_triggers) = (expected("triggers"), keyed("triggers", &ours["triggers"]));
        let (mut fires, our_fires) = (expected("fired"), keyed("fired", &ours["fired"]));
        let mut claimed = BTreeSet::new();

        let in_state =
            |trigger: &str, state: &str| fires.values().any(|f| f["trigger"] == *trigger && f["state"] == state);
        let recoverable = |trigger: &str| fires.values().any(|f| f["trigger"] == *trigger && f["recovery"] == true);
        self.kept.retain(|name| triggers.contains_key(name) && !our_triggers.contains_key(name));
        triggers.retain(|name, row| {
            // A trigger that has fired for the last time goes with its fire, or with the end of it.
            let over = row["state"] == "COMPLETE" && !(in_state(name, "EXECUTING") && recoverable(name));
            // A reset of a trigger without a fire left shows that the trigger is over.
            let over = over || (op == "reset_error" && row["next"] == -1);
            let gone = (over || self.kept.contains(name)) && !our_triggers.contains_key(name);
            if gone {
                self.kept.insert(name.clone());
                claimed.insert(LIFE);
            }
            !gone
        });
        let states: BTreeMap<&String, &Value> = triggers.iter().map(|(name, row)| (name, &row["state"])).collect();
        fires.retain(|entry, row| {
            let trigger = row["trigger"].as_str().unwrap_or_default().to_owned();
            let untaken = row["state"] == "ACQUIRED" && self.without_calendar.contains(&trigger);
            // An operation that pauses, replaces or deletes a reserved trigger takes the
            // reservation back at once.
            let stale = row["state"] == "ACQUIRED" && states.get(&trigger).is_none_or(|state| **state != "ACQUIRED");
            let missing = (untaken || stale) && !our_fires.contains_key(entry);
            if missing && !untaken {
                claimed.insert("reservations-are-taken-back");
            }
            !missing
        });
        for (name, theirs) in &triggers {
            // A trigger that a calendar left without a time counts as late in Quartz; here the
            // trigger waits for another calendar.
            let before = self.timeless.contains(name).then(|| our_triggers.get_mut(name)).flatten();
            if let Some(ours) = before.filter(|ours| op == "store_recover_misfires" && ours["next"] == -1) {
                claimed.insert(CALENDAR);
                for (column, member) in [("next_fire_time", "next"), ("start_time", "start")] {
                    ours[member] = theirs[member].clone();
                    let (group, row) = name.split_once('.').expect("a key");
                    self.tables.run(&format!(
                        "UPDATE QRTZ_TRIGGERS SET {column} = {} WHERE trigger_group = '{group}' AND trigger_name = '{row}'",
                        theirs[member]
                    ));
                }
            }
        }
        self.timeless = triggers.iter().filter(|(_, row)| row["next"] == -1).map(|(name, _)| name.clone()).collect();
        for (name, theirs) in &mut triggers {
            // Nobody counts the fires of a trigger that is over.
            if let Some(ours) = our_triggers.get(name).filter(|ours| ours["state"] == "COMPLETE")
                && theirs["detail"]["times_triggered"] != ours["detail"]["times_triggered"]
            {
                theirs["detail"]["times_triggered"] = ours["detail"]["times_triggered"].clone();
                claimed.insert(LIFE);
            }
        }
        for name in &self.without_calendar {
            if let (Some(theirs), Some(ours)) = (triggers.get_mut(name), our_triggers.get(name))
                && theirs["state"] == "ACQUIRED"
                && ours["state"] == "WAITING"
            {
                theirs["state"] = ours["state"].clone();
            }
        }
        let paused = expected("paused_groups");
        let mut our_paused = keyed("paused_groups", &ours["paused_groups"]);
        // A group is one that has triggers, also such as are over.
        let by_them =
            |group: &String| self.kept.iter().any(|name| name.split_once('.').is_some_and(|(g, _)| g == group));
        for group in expected("paused_groups").keys().chain(keyed("paused_groups", &ours["paused_groups"]).keys()) {
            // The script goes on as if it had been there.
            if op.starts_with("pause_") && !our_paused.contains_key(group) && by_them(group) {
                our_paused.insert(group.clone(), group.clone().into());
                self.tables.run(&format!(
                    "INSERT INTO QRTZ_PAUSED_TRIGGER_GRPS (sched_name, trigger_group) VALUES ('GoldenSched', '{group}')"
                ));
            }
            if op.starts_with("resume_") && !paused.contains_key(group) && by_them(group) {
                our_paused.remove(group);
                self.tables.run(&format!("DELETE FROM QRTZ_PAUSED_TRIGGER_GRPS WHERE trigger_group = '{group}'"));
            }
        }
        let jobs = expected("jobs");
        let mut our_jobs = keyed("jobs", &ours["jobs"]);
        // A job stays while a fire of it runs.
        self.stayed.retain(|name| our_jobs.contains_key(name) && !jobs.contains_key(name));
        our_jobs.retain(|name, _| {
            let stays = !jobs.contains_key(name)
                && our_fires.values().any(|fire| fire["job"] == *name && fire["state"] == "EXECUTING");
            if stays {
                self.stayed.insert(name.clone());
                claimed.insert(LIFE);
            }
            !stays
        });
        let mut jobs = expected("jobs");
        let of_job = |name: &String| {
            let all = self.expected["triggers"].iter().filter(|row| row["job"] == *name).map(name_of);
            all.collect::<Vec<_>>()
        };
        self.left.clear();
        jobs.retain(|name, row| {
            let triggers = of_job(name);
            let went = row["durable"] == false
                && !our_jobs.contains_key(name)
                && !triggers.is_empty()
                && triggers.iter().all(|trigger| self.kept.contains(trigger));
            if went {
                self.left.insert(name.clone());
                claimed.insert(LIFE);
            }
            !went
        });
        self.deviations.extend(claimed);
        same_rows("trigger", &triggers, &our_triggers)?;
        same_rows("job", &jobs, &our_jobs)?;
        same_rows("fire", &fires, &our_fires)?;
        same_rows("paused group", &paused, &our_paused)?;
        let calendars = keyed("calendars", &self.expected["calendars"]);
        same_rows("calendar", &calendars, &keyed("calendars", &ours["calendars"]))
    }

    /// Our tables in the record's words.
    pub fn sections(&mut self) -> BTreeMap<&'static str, Vec<Value>> {
        let mut details: BTreeMap<(String, String), Map<String, Value>> = BTreeMap::new();
        for kind in ["SIMPLE", "CRON", "SIMPROP"] {
            for mut row in self.tables.rows(&format!("{kind}_TRIGGERS")) {
                let key = key(&row, "trigger_group", "trigger_name");
                for column in ["trigger_group", "trigger_name"] {
                    row.remove(column);
                }
                for column in ["bool_prop_1", "bool_prop_2"] {
                    if row.contains_key(column) {
                        row[column] = flag(&row, column).into();
                    }
                }
                row.retain(|_, value| !value.is_null());
                details.insert((kind.to_owned(), key), row);
            }
        }
        let triggers = self.tables.rows("TRIGGERS").into_iter().map(|row| {
            let kind = match text(&row, "trigger_type") {
                kind @ ("SIMPLE" | "CRON") => kind,
                _ => "SIMPROP",
            };
            let trigger = TriggerKey::new(text(&row, "trigger_group"), text(&row, "trigger_name"));
            let detail = details.remove(&(kind.to_owned(), trigger.to_string()));
            let name = self.name(&trigger);
            let mut out = json!({
                "name": name.split_once('.').expect("a key").1, "group": trigger.group(),
                "job": key(&row, "job_group", "job_name"), "state": row["trigger_state"], "next": row["next_fire_time"],
                "prev": row["prev_fire_time"], "start": row["start_time"], "end": row["end_time"],
                "type": row["trigger_type"], "misfire": row["misfire_instr"], "priority": row["priority"],
                "detail": detail,
            });
            if !row["calendar_name"].is_null() {
                out["calendar"] = row["calendar_name"].clone();
            }
            out
        });
        let triggers: Vec<Value> = triggers.collect();
        let jobs = self.tables.rows("JOB_DETAILS").into_iter().map(|row| {
            json!({
                "name": row["job_name"], "group": row["job_group"], "class": row["job_class_name"],
                "durable": flag(&row, "is_durable"), "recovery": flag(&row, "requests_recovery"),
                "description": row["description"],
            })
        });
        let jobs = jobs.collect();
        let fired = self.tables.rows("FIRED_TRIGGERS").into_iter().map(|row| {
            let id = text(&row, "entry_id");
            let entry = self.entries.iter().position(|entry| entry == id).map(|at| format!("FT#{}", at + 1));
            let trigger = TriggerKey::new(text(&row, "trigger_group"), text(&row, "trigger_name"));
            let job = row["job_name"].is_string().then(|| key(&row, "job_group", "job_name"));
            json!({
                "entry": entry, "trigger": self.name(&trigger), "state": row["state"],
                "fired": row["fired_time"].as_i64().map(|fired_ms| self.time_of_call(fired_ms)),
                "sched": row["sched_time"], "priority": row["priority"], "job": job,
                "nonconcurrent": flag(&row, "is_nonconcurrent"), "recovery": flag(&row, "requests_recovery"),
            })
        });
        let fired = fired.collect();
        let names = |rows: Vec<Map<String, Value>>, column: &str| rows.iter().map(|row| row[column].clone()).collect();
        let paused = names(self.tables.rows("PAUSED_TRIGGER_GRPS"), "trigger_group");
        let calendars = names(self.tables.rows("CALENDARS"), "calendar_name");
        [("triggers", triggers), ("jobs", jobs), ("fired", fired), ("paused_groups", paused), ("calendars", calendars)]
            .into()
    }
}

fn same_rows(what: &str, expected: &BTreeMap<String, Value>, got: &BTreeMap<String, Value>) -> Result<(), Mismatch> {
    for name in expected.keys().chain(got.keys()) {
        same(format!("{what} {name}"), expected.get(name), got.get(name))?;
    }
    Ok(())
}

/// Rows by what names them.
fn keyed(section: &str, rows: &[Value]) -> BTreeMap<String, Value> {
    let name = |row: &Value| match section {
        "triggers" | "jobs" => {
            format!("{}.{}", row["group"].as_str().expect("group"), row["name"].as_str().expect("name"))
        }
        "fired" => row["entry"].as_str().unwrap_or("unknown entry").to_owned(),
        _ => row.as_str().expect("a name").to_owned(),
    };
    rows.iter().map(|row| (name(row), row.clone())).collect()
}

/// `GROUP.NAME` of a definition.
fn name_of(definition: &Value) -> String {
    format!("{}.{}", definition["group"].as_str().expect("group"), definition["name"].as_str().expect("name"))
}

fn job_detail(definition: &Value) -> JobDetail {
    let member = |name: &str| definition[name].as_str().expect("a text");
    let (nonconcurrent, persists) = (is_true(definition, "nonconcurrent"), is_true(definition, "persist_data"));
    let class = CLASSES.iter().find(|(_, n, p)| (*n, *p) == (nonconcurrent, persists)).expect("a class").0;
    let job = JobDetail::builder(JobKey::new(member("group"), member("name")), class)
        .durable(is_true(definition, "durable"))
        .requests_recovery(is_true(definition, "recovery"))
        .disallow_concurrent_execution(nonconcurrent)
        .persist_job_data_after_execution(persists);
    match definition["description"].as_str() {
        Some(text) => job.description(text).build(),
        None => job.build(),
    }
    .expect("a good job")
}

fn matcher(args: &Value) -> GroupMatcher {
    let value = args["value"].as_str().unwrap_or_default();
    match args["matcher"].as_str().expect("a matcher") {
        "EQUALS" => GroupMatcher::equals(value),
        "STARTS_WITH" => GroupMatcher::starts_with(value),
        "ENDS_WITH" => GroupMatcher::ends_with(value),
        "CONTAINS" => GroupMatcher::contains(value),
        "ANYTHING" => GroupMatcher::any(),
        other => panic!("matcher {other}"),
    }
}

fn nothing<T>(outcome: carnelian::Result<T>) -> Answer {
    match outcome {
        Ok(_) => Answer::Nothing,
        Err(error) => Answer::Failed(error),
    }
}

fn is(outcome: carnelian::Result<bool>) -> Answer {
    match outcome {
        Ok(answer) => Answer::Is(answer.into()),
        Err(error) => Answer::Failed(error),
    }
}
