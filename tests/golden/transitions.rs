//! `transitions.jsonl`: scripts of operations, and the tables after each.
//!
//! The store under test keeps its rows in SQLite, so that what is compared is what a Java node would read.

use crate::definitions::{calendar_of_definition, is_true, ms, named_trigger, zone};
use crate::report::{Mismatch, Outcome, Verdict, check_file, mismatch, same};
use crate::tables::{Tables, flag, key, text};
use carnelian::clock::{Clock, ManualClock};
use carnelian::settings::DataSourceUrl;
use carnelian::store::{
    AcquireRequest, Completion, CompletionInstruction, Database, FireBundle, JobStore, Membership, Owner, Reservation,
    SqlDatabase, SqlOptions, StoreSettings,
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

#[test]
fn transitions() {
    check_file("transitions.jsonl", |record| Script::begin(record).run(record));
}

/// A store in the middle of a script.
struct Script {
    store: JobStore,
    owner: Owner,
    tables: Tables,
    running: bool,
    default_zone: chrono_tz::Tz,
    /// What Quartz's tables hold by now.
    expected: BTreeMap<&'static str, Vec<Value>>,
    /// Our names for what the record numbers: `MT_#1`, `FT#1`.
    manual: Vec<TriggerKey>,
    entries: Vec<String>,
    reserved: BTreeMap<String, Reservation>,
    fired: BTreeMap<String, FireBundle>,
    deviations: BTreeSet<&'static str>,
    _folder: tempfile::TempDir,
}

/// What an operation came to.
enum Answer {
    Nothing,
    Is(Value),
    Failed(Error),
}

impl Script {
    fn begin(record: &Value) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("jobs.db");
        let clock: Arc<dyn Clock> = Arc::new(ManualClock::at(ms(record, "now").expect("now")));
        let (url, _) = DataSourceUrl::parse(&format!("sqlite:{}", file.display()), None, None).expect("a URL");
        let database = SqlDatabase::open(&url, Arc::clone(&clock), SqlOptions::new("GoldenSched")).expect("a database");
        database.migrate().expect("tables");
        let settings = StoreSettings {
            scheduler_name: "GoldenSched".to_owned(),
            misfire_threshold: Duration::from_millis(
                ms(record, "misfire_threshold").expect("threshold").unsigned_abs(),
            ),
            use_properties: is_true(record, "use_properties"),
            default_zone: zone(record, "default_tz").expect("a default zone"),
            ..StoreSettings::default()
        };
        let store = JobStore::new(Arc::new(database), clock, settings);
        let mut me = Membership::new("GOLDEN");
        store.check_in(&mut me).expect("a check-in");
        Self {
            store,
            owner: me.owner().expect("registered"),
            tables: Tables::open(&file),
            running: is_true(record, "scheduler_running"),
            default_zone: zone(record, "default_tz").expect("a default zone"),
            expected: ["triggers", "jobs", "paused_groups", "calendars", "fired"].map(|name| (name, Vec::new())).into(),
            manual: Vec::new(),
            entries: Vec::new(),
            reserved: BTreeMap::new(),
            fired: BTreeMap::new(),
            deviations: BTreeSet::new(),
            _folder: folder,
        }
    }

    fn run(mut self, record: &Value) -> Outcome {
        for (number, step) in record["steps"].as_array().expect("steps").iter().enumerate() {
            self.step(step).map_err(|wrong| wrong.at(&format!("step {number} {} {}", step["op"], step["args"])))?;
        }
        Ok(self.deviations.first().map_or(Verdict::Equal, |rule| Verdict::Deviating(rule)))
    }

    fn step(&mut self, step: &Value) -> Result<(), Mismatch> {
        let answer = self.apply(step["op"].as_str().expect("op"), &step["args"]);
        match (&answer, step["error"].as_str()) {
            (Answer::Failed(error), None) => return Err(mismatch("answer", step.get("result"), error)),
            (Answer::Nothing | Answer::Is(_), Some(error)) => return Err(mismatch("answer", error, "no error")),
            (Answer::Failed(_), Some(_)) | (Answer::Nothing, None) => {}
            (Answer::Is(value), None) => same("answer", step.get("result").unwrap_or(&Value::Null), value)?,
        }
        for (section, rows) in self.expected.iter_mut() {
            if let Some(changed) = step["changed"].get(*section) {
                *rows = changed.as_array().expect("rows").clone();
            }
        }
        self.compare()
    }

    fn apply(&mut self, op: &str, args: &Value) -> Answer {
        let key = |member: &str| args[member].as_str().expect("a key").split_once('.').expect("group.name");
        let trigger = || TriggerKey::from(key("key"));
        let job = || JobKey::from(key("key"));
        let store = self.store.clone();
        match op {
            "schedule_job" => self.first_time(self.trigger(args).and_then(|trigger| {
                let job = job_detail(&args["job"]);
                store.schedule(vec![(job, vec![trigger])], false)
            })),
            "schedule_trigger" => {
                self.first_time(self.trigger(args).and_then(|t| Ok(vec![store.add_trigger(t, false)?])))
            }
            "reschedule_job" => match self.trigger(args).and_then(|t| store.reschedule(&trigger(), t)) {
                Ok(stored) => Answer::Is(json!(stored.and_then(|t| t.next_fire_time()).map(|t| t.timestamp_millis()))),
                Err(error) => Answer::Failed(error),
            },
            "unschedule_job" => is(store.unschedule(&[trigger()]).map(|count| count > 0)),
            "add_job" => nothing(store.add_job(&job_detail(&args["job"]), is_true(args, "replace"))),
            "delete_job" => is(store.delete_jobs(&[job()]).map(|count| count > 0)),
            "trigger_job" => match store.trigger_job(&job(), JobDataMap::new()) {
                Ok(key) => {
                    self.manual.push(key);
                    Answer::Nothing
                }
                Err(error) => Answer::Failed(error),
            },
            "pause_trigger" => nothing(store.pause_triggers(&[trigger()])),
            "resume_trigger" => nothing(store.resume_triggers(&[trigger()], self.running)),
            "pause_job" => nothing(store.pause_jobs(&[job()])),
            "resume_job" => nothing(store.resume_jobs(&[job()], self.running)),
            "pause_triggers" => nothing(store.pause_trigger_groups(&matcher(args))),
            "resume_triggers" => nothing(store.resume_trigger_groups(&matcher(args), self.running)),
            "pause_jobs" => nothing(store.pause_job_groups(&matcher(args))),
            "resume_jobs" => nothing(store.resume_job_groups(&matcher(args), self.running)),
            "pause_all" => nothing(store.pause_all()),
            "resume_all" => nothing(store.resume_all(self.running)),
            "add_calendar" => {
                let calendar = calendar_of_definition(&args["calendar"], self.default_zone);
                let name = args["name"].as_str().expect("a name");
                nothing(store.add_calendar(name, &calendar, is_true(args, "replace"), is_true(args, "update_triggers")))
            }
            "delete_calendar" => is(store.delete_calendar(args["name"].as_str().expect("a name"))),
            "sql_set_error" => {
                let (group, name) = key("key");
                let condition = format!("trigger_group = '{group}' AND trigger_name = '{name}'");
                self.tables.run(&format!("UPDATE QRTZ_TRIGGERS SET trigger_state = 'ERROR' WHERE {condition}"));
                Answer::Nothing
            }
            "reset_error" => nothing(store.reset_from_error(&trigger())),
            "store_acquire" => self.acquire(args),
            "store_fired" => self.fire(args["key"].as_str().expect("a key")),
            "store_complete" => self.complete(args),
            "store_release" => match self.reserved.remove(args["key"].as_str().expect("a key")) {
                Some(reservation) => nothing(store.release(&[reservation])),
                None => Answer::Nothing,
            },
            "store_recover_misfires" => nothing(store.handle_misfires()),
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
            // It is rescheduled: the job is that of the trigger it replaces.
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

    /// Reserves only: what is due is fired by the steps that say so.
    fn acquire(&mut self, args: &Value) -> Answer {
        let now = self.store.now_ms().expect("now");
        let no_later_than = ms(args, "no_later_than").expect("no_later_than");
        let window = ms(args, "time_window").expect("time_window");
        let types: Vec<String> = CLASSES.iter().map(|(name, ..)| (*name).to_owned()).collect();
        let request = AcquireRequest {
            max: usize::try_from(args["max_count"].as_u64().expect("max_count")).expect("a count"),
            look_ahead_ms: no_later_than + window - now,
            fire_ahead_ms: i64::from(i32::MIN) * 1000,
            job_types: &types,
            quarantined: &BTreeSet::new(),
        };
        let acquired = match self.store.acquire(&self.owner, &request) {
            Ok(acquired) => acquired,
            Err(error) => return Answer::Failed(error),
        };
        // A node of Quartz ends its batch a window after its first trigger; ours waits in memory for each, and fires
        // those of one moment together. What is beyond the window is given back here.
        let end = acquired.reserved.iter().map(|r| r.scheduled_ms).min().map_or(now, |first| first.max(now)) + window;
        let (batch, beyond): (Vec<_>, Vec<_>) = acquired.reserved.into_iter().partition(|r| r.scheduled_ms <= end);
        self.store.release(&beyond).expect("released");
        let names: Vec<String> = batch.iter().map(|r| self.name(&r.trigger)).collect();
        for (reservation, name) in batch.into_iter().zip(&names) {
            self.entries.push(reservation.fire_id.clone());
            self.reserved.insert(name.clone(), reservation);
        }
        Answer::Is(json!(names))
    }

    fn fire(&mut self, name: &str) -> Answer {
        let Some(reservation) = self.reserved.remove(name) else { return Answer::Is(Value::Null) };
        let id = reservation.fire_id.clone();
        let mut bundles = match self.store.fire(&self.owner, &[reservation.clone()]) {
            Ok(bundles) => bundles,
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
            "fire_time": bundle.fired_ms, "scheduled": bundle.scheduled_ms, "prev": bundle.previous_ms,
            "next": next, "recovering": bundle.recovering.is_some(),
        });
        self.fired.insert(name.to_owned(), bundle);
        Answer::Is(answer)
    }

    fn complete(&mut self, args: &Value) -> Answer {
        let bundle = self.fired.remove(args["key"].as_str().expect("a key")).expect("a fire of this trigger");
        let instruction = match args["instruction"].as_str().expect("an instruction") {
            // A trigger without a next fire time goes by itself; a job that runs again does not come to the store.
            "NOOP" | "DELETE_TRIGGER" | "RE_EXECUTE_JOB" => CompletionInstruction::NoInstruction,
            "SET_TRIGGER_COMPLETE" => CompletionInstruction::SetTriggerComplete,
            "SET_TRIGGER_ERROR" => CompletionInstruction::SetTriggerError,
            "SET_ALL_JOB_TRIGGERS_COMPLETE" => CompletionInstruction::SetAllJobTriggersComplete,
            "SET_ALL_JOB_TRIGGERS_ERROR" => CompletionInstruction::SetAllJobTriggersError,
            other => panic!("instruction {other}"),
        };
        let data = is_true(args, "job_data_changed").then(|| bundle.job.data().clone());
        let completion: Completion = bundle.completion(instruction, data);
        nothing(self.store.complete(&self.owner, &[completion]))
    }

    /// The name of a trigger in the record.
    fn name(&self, key: &TriggerKey) -> String {
        match self.manual.iter().position(|manual| manual == key) {
            Some(at) => format!("{}.MT_#{}", key.group(), at + 1),
            None => key.to_string(),
        }
    }

    fn compare(&mut self) -> Result<(), Mismatch> {
        let ours = self.sections();
        let expected = |name: &str| keyed(name, &self.expected[name]);
        let (fires, our_fires) = (expected("fired"), keyed("fired", &ours["fired"]));
        let mut claimed = BTreeSet::new();

        let mut triggers = expected("triggers");
        let our_triggers = keyed("triggers", &ours["triggers"]);
        let mut jobs = expected("jobs");
        // The rows of a trigger that has fired for the last time, and need not be recovered, go with its fire.
        let executing = |name: &str, recovery: bool| {
            fires.values().any(|f| f["trigger"] == *name && f["state"] == "EXECUTING" && f["recovery"] == recovery)
        };
        triggers.retain(|name, row| {
            let gone = row["state"] == "COMPLETE" && !our_triggers.contains_key(name) && executing(name, false);
            if gone {
                claimed.insert("gone-with-its-last-fire");
            }
            !gone
        });
        // A pause takes a reservation back at once.
        let mut fires = fires;
        fires.retain(|entry, row| {
            let paused =
                triggers.get(row["trigger"].as_str().unwrap_or_default()).is_some_and(|t| t["state"] != "ACQUIRED");
            let back = row["state"] == "ACQUIRED" && paused && !our_fires.contains_key(entry);
            if back {
                claimed.insert("pause-takes-back");
            }
            !back
        });
        self.deviations.extend(claimed);
        same("triggers", &triggers, &our_triggers)?;
        same("jobs", std::mem::take(&mut jobs), keyed("jobs", &ours["jobs"]))?;
        same("fired", fires, our_fires)?;
        same("paused groups", expected("paused_groups"), keyed("paused_groups", &ours["paused_groups"]))?;
        same("calendars", expected("calendars"), keyed("calendars", &ours["calendars"]))
    }

    /// Our tables in the record's words.
    fn sections(&mut self) -> BTreeMap<&'static str, Vec<Value>> {
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
                "entry": entry, "trigger": self.name(&trigger), "state": row["state"], "fired": row["fired_time"],
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
