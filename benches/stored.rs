//! The cost of what nodes and people do beside very many stored triggers, on the PostgreSQL of
//! `CARNELIAN_TEST_POSTGRES`: as a table in Markdown, with ratios to the fewest. A job has a
//! hundred triggers. `benches/stored` starts the server.
//!
//! `CARNELIAN_STORED` is the numbers of triggers, such as `10000,1000000,10000000`.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::disallowed_methods, reason = "a benchmark")]

mod node;

use self::node::Node;
use carnelian::clock::{Clock, SystemClock};
use carnelian::listing::{JobQuery, TriggerQuery};
use carnelian::settings::Settings;
use carnelian::store::{Database, JobStore, SqlDatabase, StatementCounts};
use carnelian::{JobDetail, JobKey, Trigger, TriggerKey};
use diesel::connection::SimpleConnection;
use diesel::{Connection, PgConnection};
use std::time::{Duration, Instant};

/// The number of fires of a drain.
const DRAINED: usize = 20_000;
/// The number of calls of which a line has the median.
const CALLS: usize = 201;

/// The node that is measured, and the lines of its table.
struct Measured {
    node: Node,
    url: String,
    lines: Vec<(String, Vec<f64>)>,
}

impl Measured {
    fn open(url: &str) -> Self {
        let mut settings = Settings::in_database("stored", url.parse().unwrap());
        // The node checks in once for all that is measured.
        settings.job_store.checkin_interval = Duration::from_secs(3_600);
        Self { node: Node::open(settings, "one"), url: url.to_owned(), lines: Vec::new() }
    }

    fn execute(&self, text: &str) {
        PgConnection::establish(&self.url).unwrap().batch_execute(text).unwrap();
    }

    /// Stores triggers that are due tomorrow and later, without the library.
    fn fill(&self, from: usize, to: usize) {
        let far_ms = SystemClock::default().wall_time().timestamp_millis() + 86_400_000;
        self.execute(&format!(
            "INSERT INTO qrtz_job_details (sched_name, job_name, job_group, job_class_name, is_durable, \
             is_nonconcurrent, is_update_data, requests_recovery) SELECT 'stored', 'job' || i, 'work', 't', TRUE, FALSE, \
             FALSE, FALSE FROM generate_series({from} / 100, {to} / 100 - 1) AS n(i);\
             INSERT INTO qrtz_triggers (sched_name, trigger_name, trigger_group, job_name, job_group, next_fire_time, \
             prev_fire_time, priority, trigger_state, trigger_type, start_time, end_time, misfire_instr) SELECT 'stored', \
             'trigger' || i, 'group' || i % 10, 'job' || i / 100, 'work', {far_ms} + i, -1, 5, \
             CASE WHEN i % 50 = 0 THEN 'PAUSED' ELSE 'WAITING' END, 'SIMPLE', {far_ms}, 0, 0 \
             FROM generate_series({from}, {to} - 1) AS n(i);\
             INSERT INTO qrtz_simple_triggers (sched_name, trigger_name, trigger_group, repeat_count, repeat_interval, \
             times_triggered) SELECT 'stored', 'trigger' || i, 'group' || i % 10, -1, 3600000, 0 \
             FROM generate_series({from}, {to} - 1) AS n(i);"
        ));
        self.execute("VACUUM (ANALYZE)");
        self.execute("CHECKPOINT");
    }

    fn note(&mut self, what: &str, value: f64) {
        match self.lines.iter_mut().find(|(name, _)| name == what) {
            Some((_, values)) => values.push(value),
            None => self.lines.push((what.to_owned(), vec![value])),
        }
    }

    /// Notes the median of many calls, in milliseconds.
    fn time(&mut self, what: &str, calls: usize, mut call: impl FnMut(&JobStore, usize)) {
        let mut all: Vec<Duration> = (0..calls)
            .map(|i| {
                let begin = Instant::now();
                call(&self.node.store, i);
                begin.elapsed()
            })
            .collect();
        all.sort();
        self.note(&format!("{what}, ms"), all[all.len() / 2].as_secs_f64() * 1_000.0);
    }

    /// Measures everything beside so many stored triggers.
    fn measure(&mut self, stored: usize) {
        self.node.check_in();
        let types = ["t".to_owned()];
        let (far, half) = (format!("trigger{}", stored / 2), stored / 2);
        let far = TriggerKey::new(format!("group{}", half % 10), far);
        let job = JobDetail::builder(JobKey::named("new"), "t").durable(true).build().unwrap();
        self.node.store.catalogue().add_job(&job, true).unwrap();
        let one = |name: String| Trigger::builder(TriggerKey::named(name), job.key().clone()).build().unwrap();

        self.time("poll: what is due", CALLS, |store, _| {
            store.firing().poll(None, "", &types).unwrap();
        });
        self.time("schedule a trigger", CALLS, |store, i| {
            drop(store.catalogue().add_trigger(one(format!("new-{i}")), false).unwrap());
        });
        let begin = Instant::now();
        for call in 0..2 {
            let many = (0..DRAINED / 2).map(|i| one(format!("drained-{call}-{i}"))).collect();
            self.node.store.catalogue().schedule(vec![(job.clone(), many)], true).unwrap();
        }
        self.note("schedule in bulk, triggers/s", DRAINED as f64 / begin.elapsed().as_secs_f64());
        let (begin, mut fires) = (Instant::now(), 0);
        loop {
            let fired = self.node.acquire();
            if fired.is_empty() {
                break;
            }
            fires += fired.len();
            self.node.complete(&fired);
        }
        self.note("drain, fires/s", fires as f64 / begin.elapsed().as_secs_f64());
        assert_eq!(fires, DRAINED + CALLS);

        self.time("a trigger by its key", CALLS, |store, _| {
            assert!(store.catalogue().trigger_summary(&far).unwrap().is_some());
        });
        self.time("triggers: the first page", CALLS, |store, _| {
            assert_eq!(store.catalogue().list_triggers(&TriggerQuery::new().limit(50)).unwrap().items.len(), 50);
        });
        self.time("triggers: a page in the middle", CALLS, |store, _| {
            let page = TriggerQuery::new().limit(50).after(far.clone(), None);
            assert_eq!(store.catalogue().list_triggers(&page).unwrap().items.len(), 50);
        });
        self.time("jobs: the first page", CALLS, |store, _| {
            assert_eq!(store.catalogue().list_jobs(&JobQuery::new().limit(50)).unwrap().items.len(), 50);
        });
        self.time("the monitor's reading", 21, |store, _| {
            drop(store.upkeep().cluster_load(Duration::from_secs(5), 10_000).unwrap());
        });
        self.time("triggers by state", 5, |store, _| drop(store.upkeep().trigger_states().unwrap()));
        self.time("an audit", 5, |store, _| drop(store.upkeep().audit().unwrap()));
        self.time("misfires: nothing late", 21, |store, _| drop(store.upkeep().handle_misfires().unwrap()));
        self.time("explain a trigger", 21, |store, _| drop(store.diagnosis().explain(&far).unwrap()));

        let before = most_resident_mb(true);
        let statements = |database: &SqlDatabase| -> StatementCounts { database.counts() };
        let (sent, begin) = (statements(&self.node.database).statements, Instant::now());
        let findings = self.node.store.diagnosis().doctor(false).unwrap();
        self.note("doctor, s", begin.elapsed().as_secs_f64());
        self.note("doctor, statements", (statements(&self.node.database).statements - sent) as f64);
        self.note("doctor, MB more than before", most_resident_mb(false) - before);
        assert!(findings.is_empty(), "{} findings: {:?}", findings.len(), findings.first());
    }
}

/// The most memory that this process has had since it was asked to forget it, in megabytes.
fn most_resident_mb(forget: bool) -> f64 {
    if forget {
        std::fs::write("/proc/self/clear_refs", "5").unwrap();
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1_024.0
}

fn main() {
    let Ok(url) = std::env::var("CARNELIAN_TEST_POSTGRES") else {
        println!("CARNELIAN_TEST_POSTGRES is not set: benches/stored starts a server");
        return;
    };
    let sizes = std::env::var("CARNELIAN_STORED").unwrap_or("10000,20000".to_owned());
    let sizes: Vec<usize> = sizes.split(',').map(|size| size.trim().parse().unwrap()).collect();
    let mut node = Measured::open(&url);
    let mut stored = 0;
    for size in &sizes {
        node.fill(stored, *size);
        stored = *size;
        node.measure(stored);
    }
    let heads: Vec<String> = sizes.iter().map(usize::to_string).collect();
    let ratios: Vec<String> = heads.iter().skip(1).map(|head| format!("{head} to {}", heads[0])).collect();
    println!("| Triggers stored | {} | {} |", heads.join(" | "), ratios.join(" | "));
    println!("|{}", " --- |".repeat(heads.len() + ratios.len() + 1));
    for (name, values) in &node.lines {
        let shown: Vec<String> = values.iter().map(|value| digits(*value)).collect();
        let ratios: Vec<String> = values.iter().skip(1).map(|value| format!("{:.2}", value / values[0])).collect();
        println!("| {name} | {} | {} |", shown.join(" | "), ratios.join(" | "));
    }
}

fn digits(value: f64) -> String {
    if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}
