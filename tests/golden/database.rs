//! `db/`: databases that Java wrote, loaded, read back, written again, recovered and fired.

use crate::definitions::moment;
use crate::frozen::FrozenClock;
use crate::jobdata::{base64, data_value};
use crate::report::{Mismatch, Outcome, Tally, Verdict, mismatch, read_file, same};
use crate::tables::{Tables, flag, key, text};
use carnelian::clock::Clock;
use carnelian::settings::Settings;
use carnelian::store::{AcquireRequest, CompletionInstruction, Database, JobStore, Membership, SqlDatabase};
use carnelian::{DataValue, JobDataMap, JobKey, TriggerKey};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// Tables whose rows have no times of their own in them, with the columns that name a row.
const TABLES: [(&str, &str, &str); 6] = [
    ("JOB_DETAILS", "job_group", "job_name"),
    ("TRIGGERS", "trigger_group", "trigger_name"),
    ("SIMPLE_TRIGGERS", "trigger_group", "trigger_name"),
    ("CRON_TRIGGERS", "trigger_group", "trigger_name"),
    ("SIMPROP_TRIGGERS", "trigger_group", "trigger_name"),
    ("PAUSED_TRIGGER_GRPS", "trigger_group", ""),
];

#[test]
fn filled_and_never_started() {
    for form in ["props", "java"] {
        let name = format!("db/static_{form}.json");
        let record: Value = serde_json::from_str(&read_file(&name)).expect("JSON");
        let mut tally = Tally::new(&name);
        let mut loaded = Loaded::new(&format!("db/static_{form}.sql"), record["now"].as_i64().expect("now"), form);
        loaded.read_back(&record, &mut tally);
        loaded.write_again(&mut tally);
        tally.finish();
    }
}

#[test]
fn killed_and_recovered() {
    for form in ["props", "java"] {
        for how in ["other", "same", "single"] {
            let name = format!("db/expected_recovery_{form}_{how}.json");
            let record: Value = serde_json::from_str(&read_file(&name)).expect("JSON");
            let mut tally = Tally::new(&name);
            let started = record["started_at"].as_i64().expect("started_at");
            // A node of Quartz is judged by its silence, so somebody must have listened for a
            // while.
            let window = Duration::from_secs(10);
            let began = started - i64::try_from(window.as_millis()).expect("a window");
            let mut loaded = Loaded::new(&format!("db/crashed_{form}.sql"), began, form);
            loaded.compare("before", &record["before"], &mut tally);
            loaded.recover_and_fire(&record, window, &mut tally);
            tally.finish();
        }
    }
}

/// A database of Java's in an SQLite file, and a store on it.
struct Loaded {
    tables: Tables,
    store: JobStore,
    clock: Arc<FrozenClock>,
    _folder: tempfile::TempDir,
}

impl Loaded {
    fn new(dump: &str, now_ms: i64, form: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("jobs.db");
        let clock = Arc::new(FrozenClock::at(moment(now_ms)));
        let url = format!("sqlite:{}", file.display()).parse().expect("a URL");
        let mut settings = Settings::in_database("GoldenSched", url);
        settings.job_store.use_properties = form == "props";
        settings.job_store.checkin_interval = Duration::from_millis(1000);
        let database = SqlDatabase::open(&settings, Arc::clone(&clock) as Arc<dyn Clock>).expect("a database");
        database.migrate().expect("tables");
        let mut tables = Tables::open(&file);
        tables.run("DELETE FROM QRTZ_LOCKS");
        tables.run(&in_sqlite(&read_file(dump)));
        // A node adopts the tables it finds.
        database.migrate().expect("tables");
        let store = JobStore::new(Arc::new(database), Arc::clone(&clock) as Arc<dyn Clock>, settings);
        Self { tables, store, clock, _folder: folder }
    }

    /// Every job, trigger and calendar comes out as Quartz read it back.
    fn read_back(&mut self, record: &Value, tally: &mut Tally) {
        for expected in record["jobs"].as_array().expect("jobs") {
            tally.judge(format!("job {}", expected["name"]), self.job(expected));
        }
        let states: BTreeMap<String, String> = self
            .tables
            .rows("TRIGGERS")
            .iter()
            .map(|row| (trigger_of(row), text(row, "trigger_state").to_owned()))
            .collect();
        for expected in record["triggers"].as_array().expect("triggers") {
            tally.judge(format!("trigger {}", expected["name"]), self.trigger(expected, &states));
        }
        let mut names = self.store.catalogue().calendar_names().expect("names");
        names.sort();
        let expected: Vec<String> = record["calendars"].as_object().expect("calendars").keys().cloned().collect();
        tally.judge("calendars", same("names", expected, names).map(|()| Verdict::Equal));
        for (name, definition) in record["calendars"].as_object().expect("calendars") {
            let zone = record["default_tz"].as_str().expect("zone").parse().expect("a zone");
            let expected = crate::definitions::calendar_of_definition(definition, zone);
            let read = self.store.catalogue().calendar(name).map_err(|error| mismatch("read", "a calendar", error));
            let outcome = read.and_then(|read| {
                let read = read.ok_or_else(|| mismatch("read", "a calendar", "none"))?;
                for day in 0..400 {
                    let at = moment(record["now"].as_i64().expect("now") + day * 79_123_000);
                    same(format!("included {at}"), expected.is_time_included(at), read.is_time_included(at))?;
                }
                same("description", expected.description(), read.description())?;
                Ok(Verdict::Equal)
            });
            tally.judge(format!("calendar {name}"), outcome);
        }
    }

    fn job(&self, expected: &Value) -> Outcome {
        let job_key = JobKey::new(member(expected, "group"), member(expected, "name"));
        let job = self.store.catalogue().job(&job_key).map_err(|error| mismatch("read", "a job", error))?;
        let job = job.ok_or_else(|| mismatch("read", "a job", "none"))?;
        same("class", member(expected, "class"), job.job_type())?;
        same("description", expected["description"].as_str(), job.description())?;
        let flags =
            ["durable", "nonconcurrent", "persist_data", "requests_recovery"].map(|name| expected[name] == true);
        let ours = [
            job.is_durable(),
            job.disallows_concurrent_execution(),
            job.persists_job_data_after_execution(),
            job.requests_recovery(),
        ];
        same("flags", flags, ours)?;
        same_data(&expected["data"], job.data())?;
        Ok(Verdict::Equal)
    }

    fn trigger(&self, expected: &Value, states: &BTreeMap<String, String>) -> Outcome {
        let trigger_key = TriggerKey::new(member(expected, "group"), member(expected, "name"));
        let state = states.get(&trigger_key.to_string()).cloned().unwrap_or_default();
        let quartz = if state == "WAITING" { "NORMAL" } else { state.as_str() };
        same("state", member(expected, "state"), quartz)?;
        let read = self.store.catalogue().trigger(&trigger_key);
        if expected["detail"]["type"] == "BLOB" || expected["class"].as_str().is_some_and(|c| c.starts_with("golden."))
        {
            // A class of somebody's own: named, and left alone.
            return match read {
                Err(carnelian::Error::Unreadable { .. }) => Ok(Verdict::Equal),
                other => Err(mismatch("a trigger of a foreign class", "named as unreadable", other)),
            };
        }
        let trigger = read.map_err(|error| mismatch("read", "a trigger", error))?;
        let trigger = trigger.ok_or_else(|| mismatch("read", "a trigger", "none"))?;
        same("job", member(expected, "job"), trigger.job_key().to_string().as_str())?;
        same("description", expected["description"].as_str(), trigger.description())?;
        same("priority", expected["priority"].as_i64(), Some(i64::from(trigger.priority())))?;
        same("calendar", expected["calendar"].as_str(), trigger.calendar_name())?;
        same("misfire", expected["misfire"].as_i64(), Some(i64::from(trigger.misfire_instruction().code())))?;
        let time = |time: Option<chrono::DateTime<chrono::Utc>>| time.map(|time| time.timestamp_millis());
        same("start", expected["start"].as_i64(), time(Some(trigger.start_time())))?;
        same("end", expected["end"].as_i64(), time(trigger.end_time()))?;
        same("next", expected["next"].as_i64(), time(trigger.next_fire_time()))?;
        same("prev", expected["prev"].as_i64(), time(trigger.previous_fire_time()))?;
        same("type", expected["detail"]["type"].as_str(), Some(trigger.schedule().kind()))?;
        same_data(&expected["data"], trigger.data())?;
        Ok(Verdict::Equal)
    }

    /// Every job and trigger that we can read is stored again, and nothing of its rows changes.
    fn write_again(&mut self, tally: &mut Tally) {
        let before = self.all_rows();
        for row in self.tables.rows("JOB_DETAILS") {
            let job_key = JobKey::new(text(&row, "job_group"), text(&row, "job_name"));
            let stored = self
                .store
                .catalogue()
                .job(&job_key)
                .and_then(|job| self.store.catalogue().add_job_awaiting_trigger(&job.expect("a job"), true));
            tally.judge(&job_key, stored.map(|()| Verdict::Equal).map_err(|error| mismatch("write", "stored", error)));
        }
        let after = self.all_rows();
        for (name, row) in &before {
            tally.judge(format!("{name} written again"), same_row(name, row, after.get(name)));
        }
    }

    fn recover_and_fire(&mut self, record: &Value, window: Duration, tally: &mut Tally) {
        let mut me = Membership::new(member(record, "instance"));
        self.store.upkeep().check_in(&mut me).expect("a check-in");
        for _ in 0..window.as_secs() {
            self.clock.advance(Duration::from_secs(1));
            self.store.upkeep().check_in(&mut me).expect("a check-in");
        }
        self.compare("after_recovery", &record["after_recovery"], tally);
        for expected in record["recovery_trigger_data"].as_array().expect("recovery triggers") {
            tally.judge(format!("data of {}", expected["job"]), self.recovery_data(expected));
        }

        let owner = me.owner().expect("registered");
        let expected: Vec<Value> = record["executions"].as_array().expect("executions").iter().map(seen).collect();
        let types: Vec<String> =
            self.tables.rows("JOB_DETAILS").iter().map(|r| text(r, "job_class_name").to_owned()).collect();
        let types: Vec<String> = types.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
        let mut executions = Vec::new();
        // Five seconds, as the recorded process had.
        for _ in 0..50 {
            self.store.upkeep().handle_misfires().expect("misfires");
            let none = BTreeSet::new();
            let request = AcquireRequest {
                max: 10,
                prefetch: None,
                look_ahead_ms: 0,
                fire_ahead_ms: 0,
                job_types: &types,
                quarantined: &none,
            };
            let acquired = self.store.firing().acquire(&owner, &request).expect("acquired");
            for bundle in acquired.fired {
                let time = |time: Option<chrono::DateTime<chrono::Utc>>| time.map(|time| time.timestamp_millis());
                let data = bundle.job.data().merged_with(bundle.trigger.data());
                executions.push(json!({
                    "job": bundle.job.key().to_string(),
                    "trigger": without_number(&bundle.trigger.key().to_string()),
                    "recovering": bundle.recovering.is_some(),
                    "recovering_trigger_key": bundle.recovering.as_ref().map(|r| r.trigger.to_string()),
                    "scheduled_fire_time": bundle.scheduled_ms,
                    "previous_fire_time": bundle.previous_ms,
                    "next_fire_time": time(bundle.trigger.next_fire_time()),
                    "keys": data.iter().map(|(name, _)| name.to_owned()).collect::<Vec<_>>(),
                }));
                let completion = bundle.completion(CompletionInstruction::NoInstruction, None);
                self.store.firing().complete(&owner, &[completion]).expect("completed");
            }
            self.clock.advance(Duration::from_millis(100));
        }
        let sorted = |mut all: Vec<Value>| {
            all.sort_by_key(|one| one.to_string());
            all
        };
        let (expected, executions) = (sorted(expected), sorted(executions));
        tally.judge("number of executions", same("n", expected.len(), executions.len()).map(|()| Verdict::Equal));
        for (expected, got) in expected.into_iter().zip(executions) {
            let name = format!("execution of {}", expected["trigger"]);
            tally.judge(name, same("execution", expected, got).map(|()| Verdict::Equal));
        }
        self.compare("at_end", &record["at_end"], tally);
    }

    fn recovery_data(&self, expected: &Value) -> Outcome {
        let job = member(expected, "job").split_once('.').expect("a key");
        let triggers =
            self.store.catalogue().triggers_of_job(&JobKey::from(job)).map_err(|e| mismatch("read", "triggers", e))?;
        let recovery = triggers.iter().find(|trigger| trigger.key().group() == "RECOVERING_JOBS");
        let recovery =
            recovery.ok_or_else(|| mismatch("recovery trigger", member(expected, "trigger_name"), "none"))?;
        same_data(&expected["data"], recovery.data())?;
        Ok(Verdict::Equal)
    }

    fn compare(&mut self, moment: &str, expected: &Value, tally: &mut Tally) {
        let ours = self.all_rows();
        let rows = |table: &str| expected[table.to_lowercase()].as_array().expect("rows").iter();
        let object = |row: &'_ Value| row.as_object().expect("a row").clone();
        let triggers: Vec<_> = rows("TRIGGERS").map(object).collect();
        let theirs = TABLES.iter().flat_map(|(table, group, name)| {
            rows(table).map(object).map(move |mut row| {
                if let Some(bytes) = row.get("job_data").and_then(Value::as_str) {
                    row["job_data"] = hex(&base64(bytes)).into();
                }
                (*table, key(&row, group, name), row)
            })
        });
        let theirs = Names::of(triggers.iter()).keyed(theirs);
        for (name, row) in &theirs {
            tally.judge(format!("{moment}: {name}"), same_row(name, row, ours.get(name)));
        }
        for name in ours.keys().filter(|name| !theirs.contains_key(*name)) {
            tally.judge(format!("{moment}: {name}"), Err(mismatch("row", "none", name)));
        }
        let instances = |rows: &[Map<String, Value>]| {
            rows.iter().map(|row| (text(row, "instance_name").to_owned(), row["checkin_interval"].as_i64())).collect()
        };
        let expected_rows: Vec<Map<String, Value>> = expected["scheduler_state"]
            .as_array()
            .expect("rows")
            .iter()
            .map(|r| r.as_object().expect("a row").clone())
            .collect();
        let expected_instances: BTreeSet<_> = instances(&expected_rows);
        let our_instances: BTreeSet<_> = instances(&self.tables.rows("SCHEDULER_STATE"));
        let outcome = same("instances", expected_instances, our_instances).map(|()| Verdict::Equal);
        tally.judge(format!("{moment}: SCHEDULER_STATE"), outcome);
        let fired = expected["fired_triggers"].as_array().expect("rows").len();
        let outcome = same("fires", fired, self.tables.rows("FIRED_TRIGGERS").len()).map(|()| Verdict::Equal);
        tally.judge(format!("{moment}: FIRED_TRIGGERS"), outcome);
    }

    fn all_rows(&mut self) -> BTreeMap<String, Map<String, Value>> {
        let triggers = self.tables.rows("TRIGGERS");
        let tables = &mut self.tables;
        let all: Vec<_> = TABLES
            .iter()
            .flat_map(|(table, group, name)| {
                tables.rows(table).into_iter().map(move |row| (*table, key(&row, group, name), row))
            })
            .collect();
        Names::of(triggers.iter()).keyed(all.into_iter())
    }
}

/// The rows are equal: flags by their meaning, job data by its content if that is text with a date
/// in it.
fn same_row(name: &str, expected: &Map<String, Value>, got: Option<&Map<String, Value>>) -> Outcome {
    let got = got.ok_or_else(|| mismatch("row", name, "none"))?;
    for (column, value) in expected {
        let ours = got.get(column).unwrap_or(&Value::Null);
        match (column.as_str(), value) {
            (_, Value::Bool(value)) => same(column, *value, flag(got, column))?,
            ("job_data", Value::String(stored)) if name.contains("RECOVERING_JOBS") => {
                // The content is compared by itself: times of this run are in it.
                same(column, stored.is_empty(), ours.as_str().is_none_or(str::is_empty))?;
            }
            ("job_data", Value::String(stored)) => {
                same(column, comparable(stored), comparable(ours.as_str().unwrap_or_default()))?
            }
            _ => same(column, value, ours)?,
        }
    }
    Ok(Verdict::Equal)
}

/// Job data in hex: of a text its sorted lines without the comment that says when the text was
/// written; of an object the stream that we write for it, which does not depend on the history of
/// the map.
fn comparable(stored: &str) -> Vec<String> {
    let bytes: Vec<u8> = (0..stored.len() / 2)
        .map(|at| u8::from_str_radix(&stored[at * 2..at * 2 + 2], 16).expect("hexadecimal"))
        .collect();
    if bytes.starts_with(&[0xAC, 0xED]) {
        let data = JobDataMap::from_java_bytes(&bytes).expect("a map");
        return vec![hex(&data.to_java_bytes().expect("a stream"))];
    }
    let text = String::from_utf8(bytes).expect("text");
    let mut lines: Vec<String> = text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect();
    lines.sort();
    lines
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

/// The view that a job had, as far as that does not depend on the time.
fn seen(execution: &Value) -> Value {
    let mut keys: Vec<&String> = execution["merged_data"].as_object().expect("data").keys().collect();
    keys.sort();
    json!({
        "job": execution["job"], "trigger": without_number(member(execution, "trigger")),
        "recovering": execution["recovering"], "recovering_trigger_key": execution["recovering_trigger_key"],
        "scheduled_fire_time": execution["scheduled_fire_time"], "previous_fire_time": execution["previous_fire_time"],
        "next_fire_time": execution["next_fire_time"], "keys": keys,
    })
}

/// Names for recovery triggers without the millisecond of the recovery: by job and scheduled time.
struct Names(BTreeMap<String, String>);

impl Names {
    fn of<'a>(triggers: impl Iterator<Item = &'a Map<String, Value>>) -> Self {
        let recovery = triggers.filter(|row| text(row, "trigger_group") == "RECOVERING_JOBS");
        let name = |row: &Map<String, Value>| {
            let name = text(row, "trigger_name");
            let number = name.strip_prefix("recover_NODE-A_").expect("recover_<instance>_<n>");
            assert!(number.bytes().all(|b| b.is_ascii_digit()), "{name}");
            (name.to_owned(), format!("recovery of {} {}", text(row, "job_name"), row["next_fire_time"]))
        };
        Self(recovery.map(name).collect())
    }

    /// Rows by table and key, with these names.
    fn keyed(
        &self,
        rows: impl Iterator<Item = (&'static str, String, Map<String, Value>)>,
    ) -> BTreeMap<String, Map<String, Value>> {
        let renamed = rows.map(|(table, key, mut row)| {
            let mut shown = key.clone();
            if let Some(name) = self.0.get(text(&row, "trigger_name")) {
                shown = format!("RECOVERING_JOBS.{name}");
                row["trigger_name"] = name.clone().into();
            }
            (format!("{table} {shown}"), row)
        });
        renamed.collect()
    }
}

/// The key of a trigger, of a recovery trigger only its group.
fn without_number(key: &str) -> &str {
    if key.starts_with("RECOVERING_JOBS.recover_NODE-A_") { "RECOVERING_JOBS" } else { key }
}

fn same_data(expected: &Value, data: &JobDataMap) -> Result<(), Mismatch> {
    let expected = expected.as_object().expect("data");
    same("number of entries", expected.len(), data.len())?;
    for (name, value) in expected {
        let plain = matches!(
            value["t"].as_str(),
            Some(
                "null"
                    | "java.lang.String"
                    | "java.lang.Boolean"
                    | "java.lang.Integer"
                    | "java.lang.Long"
                    | "java.lang.Character"
                    | "java.lang.Double"
                    | "java.lang.Float"
            )
        );
        match data.value(name) {
            Some(DataValue::Foreign(got)) => same(name, value["t"].as_str(), Some(got.class_name()))?,
            Some(got) if plain => same(name, &data_value(value), got)?,
            other => return Err(mismatch(name, value, other)),
        }
    }
    Ok(())
}

fn trigger_of(row: &Map<String, Value>) -> String {
    key(row, "trigger_group", "trigger_name")
}

fn member<'a>(record: &'a Value, name: &str) -> &'a str {
    record[name].as_str().unwrap_or_else(|| panic!("no `{name}` in {record}"))
}

/// The INSERT statements of a dump of PostgreSQL in SQLite's words.
fn in_sqlite(dump: &str) -> String {
    let mut out = String::new();
    let mut rest = dump;
    while let Some(at) = rest.find("INSERT INTO public.qrtz_") {
        rest = &rest[at..];
        let mut quoted = false;
        let end = rest.char_indices().find(|(_, c)| {
            quoted ^= *c == '\'';
            *c == ';' && !quoted
        });
        let (statement, after) = rest.split_at(end.expect("a semicolon").0 + 1);
        out += &statement.replace("public.qrtz_", "QRTZ_").replace("'\\x", "X'");
        out.push('\n');
        rest = after;
    }
    out
}
