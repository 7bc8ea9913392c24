//! A mixed cluster: nodes of Quartz and nodes of ours in their own processes, on tables that
//! Quartz's own script made.

use super::history::{self, History};
use super::node::NodeProcess;
use super::support::{fresh_name, wait_until};
use super::tables::{Server, Tables};
use carnelian::clock::SystemClock;
use carnelian::settings::Settings;
use carnelian::store::JobStore;
use rustix::process::Signal;
use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// The maker of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Java,
    Rust,
}

/// The check-in interval of the scenes; the tolerance stays 7.5 s.
pub const INTERVAL: Duration = Duration::from_secs(1);
/// The time for which a silent node counts as alive.
pub const WINDOW: Duration = Duration::from_millis(8500);
/// Patience with what should happen at once.
pub const SOON: Duration = Duration::from_secs(60);

/// A running node.
pub struct Node {
    pub kind: Kind,
    pub instance: String,
    process: NodeProcess,
    errors: PathBuf,
}

/// The settings of the nodes of a scene; both kinds have one properties file.
pub struct Config {
    pub use_properties: bool,
    /// `acquireTriggersWithinLock`, without which Quartz fires twice now and then (H1).
    pub within_lock: bool,
    pub threads: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { use_properties: true, within_lock: true, threads: 4 }
    }
}

pub struct Cluster {
    pub store: JobStore,
    pub nodes: Vec<Node>,
    folder: PathBuf,
    tables: Tables,
    kinds: BTreeMap<u64, Kind>,
    deaths: Vec<(u64, i64)>,
    keep: bool,
}

impl Cluster {
    pub fn new(scene: &str, server: Server, config: &Config) -> Self {
        let name = fresh_name(scene);
        let folder = std::env::temp_dir().join(format!("carnelian-interop-{name}"));
        std::fs::create_dir_all(&folder).unwrap();
        let tables = Tables::create(server);
        let file = format!(
            "org.quartz.scheduler.instanceName={name}\n\
             org.quartz.scheduler.instanceId=AUTO\n\
             org.quartz.scheduler.skipUpdateCheck=true\n\
             org.quartz.scheduler.idleWaitTime=1000\n\
             org.quartz.threadPool.class=org.quartz.simpl.SimpleThreadPool\n\
             org.quartz.threadPool.threadCount={}\n\
             org.quartz.jobStore.class=org.quartz.impl.jdbcjobstore.JobStoreTX\n\
             org.quartz.jobStore.isClustered=true\n\
             org.quartz.jobStore.useProperties={}\n\
             org.quartz.jobStore.acquireTriggersWithinLock={}\n\
             org.quartz.jobStore.clusterCheckinInterval={}\n\
             org.quartz.jobStore.tablePrefix={}\n\
             org.quartz.jobStore.dataSource=db\n\
             {}\
             org.quartz.dataSource.db.maxConnections=10\n\
             demo.log.file={}\n",
            config.threads,
            config.use_properties,
            config.within_lock,
            INTERVAL.as_millis(),
            tables.prefix(),
            server.properties(),
            folder.join("events.jsonl").display()
        );
        std::fs::write(folder.join("quartz.properties"), file).unwrap();
        let settings = Settings::from_file(folder.join("quartz.properties")).unwrap();
        let store = carnelian::store::open(&settings, Arc::new(SystemClock::default())).unwrap();
        let done = store.database().migrate().unwrap();
        println!("scene {name} on {server:?}, folder {}: {}", folder.display(), done.join("; "));
        Self { store, nodes: Vec::new(), folder, tables, kinds: BTreeMap::new(), deaths: Vec::new(), keep: true }
    }

    /// Starts nodes of these kinds beside each other, and waits until each has checked in.
    pub fn start(&mut self, kinds: &[Kind]) {
        let mut processes: Vec<_> = kinds.iter().map(|kind| (*kind, self.launch(*kind))).collect();
        for (kind, (process, errors)) in &mut processes {
            let instance = process.ready();
            if *kind == Kind::Java {
                // The node's System.nanoTime() must be our CLOCK_MONOTONIC, or the log's times
                // could not be compared.
                let before = monotonic_ns();
                let answer = process.ask("monotonic");
                let at: i64 = answer.strip_prefix("OK ").and_then(|ns| ns.parse().ok()).expect("a time");
                assert!(
                    (before..=monotonic_ns()).contains(&at),
                    "the node of Quartz has another monotonic clock: {at}"
                );
            }
            self.kinds.insert(u64::from(process.pid()), *kind);
            println!("  {kind:?} node {instance} is ready, log {}", errors.display());
        }
        self.nodes.extend(processes.into_iter().map(|(kind, (mut process, errors))| {
            let instance = process.ready();
            Node { kind, instance, process, errors }
        }));
    }

    fn launch(&self, kind: Kind) -> (NodeProcess, PathBuf) {
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(1);
        let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let errors = self.folder.join(format!("{kind:?}-{count}.err").to_lowercase());
        let config = self.folder.join("quartz.properties");
        let process = match kind {
            Kind::Rust => NodeProcess::demo(&config, &errors),
            Kind::Java => {
                let built = super::tables::built();
                let jars = std::fs::read_to_string(built.join("classpath")).unwrap();
                let mut java = Command::new("java");
                java.arg("-cp").arg(format!("{}:{}", built.join("classes").display(), jars.trim()));
                java.args(["-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]);
                java.arg("-Dorg.slf4j.simpleLogger.showDateTime=true");
                // AUTO of two nodes that are started in the same millisecond is the same id (H24).
                java.arg("interop.InteropNode").arg(config).arg(format!("java-{count}"));
                NodeProcess::start(&mut java, &errors)
            }
        };
        (process, errors)
    }

    /// The first node of this kind.
    pub fn node(&mut self, kind: Kind) -> &mut Node {
        self.nodes.iter_mut().find(|node| node.kind == kind).expect("there is such a node")
    }

    /// Has a node of Quartz carry out a command; panics if it says ERROR.
    pub fn java(&mut self, command: &str) -> String {
        let answer = self.node(Kind::Java).process.ask(command);
        let said =
            answer.strip_prefix("OK").unwrap_or_else(|| panic!("{command:?}: the node of Quartz says {answer:?}"));
        said.trim().to_owned()
    }

    /// Kills the first node of this kind; returns its instance.
    pub fn kill(&mut self, kind: Kind) -> String {
        let mut node = self.take(kind);
        node.process.kill();
        self.deaths.push((u64::from(node.process.pid()), monotonic_ns()));
        node.instance
    }

    /// Stops the first node of this kind as a user would; returns its instance.
    pub fn stop(&mut self, kind: Kind) -> String {
        let mut node = self.take(kind);
        node.stop();
        node.process.expect_success();
        node.instance
    }

    fn take(&mut self, kind: Kind) -> Node {
        let at = self.nodes.iter().position(|node| node.kind == kind).expect("there is such a node");
        self.nodes.remove(at)
    }

    /// Stops all nodes; each must end by itself with exit code 0.
    pub fn stop_all(&mut self) {
        for node in &mut self.nodes {
            node.stop();
        }
        for node in &mut self.nodes {
            node.process.expect_success();
        }
        self.nodes.clear();
    }

    /// Waits until no trigger is left but `staying`, nothing runs, and everybody who is registered
    /// lives.
    pub fn wait_until_quiet(&self, staying: usize, limit: Duration) {
        wait_until("everything has run", limit, || {
            self.store.upkeep().snapshot().is_ok_and(|s| {
                s.fired.is_empty() && s.triggers.len() == staying && s.instances.len() == self.nodes.len()
            })
        });
    }

    /// The log of the jobs; runs end with their node.
    pub fn history(&self) -> History {
        let mut history = History::of(&self.events());
        self.deaths.iter().for_each(|(pid, at_ns)| history.end_at_death(*pid, *at_ns));
        history
    }

    pub fn events(&self) -> Vec<Value> {
        history::read(&self.folder.join("events.jsonl"))
    }

    /// The STARTs of a job or trigger, `GROUP.NAME`.
    pub fn starts(&self, field: &str, key: &str) -> Vec<Value> {
        let mut events = self.events();
        events.retain(|e| history::text(e, "event") == "START" && history::text(e, field) == key);
        events
    }

    /// The maker of the node that has, or had, this process id.
    pub fn kind_of(&self, pid: u64) -> Kind {
        *self.kinds.get(&pid).unwrap_or_else(|| panic!("no node had the process id {pid}"))
    }

    /// The kinds of nodes that ran what these STARTs began, with how many of them each.
    pub fn shares(&self, starts: &[Value]) -> BTreeMap<Kind, usize> {
        let mut shares = BTreeMap::from([(Kind::Java, 0), (Kind::Rust, 0)]);
        for start in starts {
            *shares.entry(self.kind_of(start["pid"].as_u64().unwrap())).or_default() += 1;
        }
        shares
    }

    /// The lines with one of these words in the logs of the nodes of a kind, also of those that
    /// ended.
    pub fn log_lines(&self, kind: Kind, words: &[&str]) -> Vec<String> {
        let files = std::fs::read_dir(&self.folder).unwrap().map(|entry| entry.unwrap().path());
        let prefix = format!("{kind:?}-").to_lowercase();
        let of_kind = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix));
        let lines = files.filter(of_kind).flat_map(|path| {
            let text = std::fs::read_to_string(path).unwrap();
            text.lines().map(str::to_owned).collect::<Vec<_>>()
        });
        lines.filter(|line| words.iter().any(|word| line.contains(word))).collect()
    }

    /// The names of registered instances.
    pub fn instances(&self) -> BTreeSet<String> {
        self.store.upkeep().instances().unwrap().into_iter().map(|row| row.instance).collect()
    }

    /// The folder in which the reasons for a failure are found.
    pub fn folder(&self) -> String {
        self.folder.display().to_string()
    }

    /// Neither the folder nor the tables are needed any longer.
    pub fn succeeded(mut self) {
        self.keep = false;
    }
}

fn monotonic_ns() -> i64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

impl Node {
    fn stop(&mut self) {
        match self.kind {
            Kind::Rust => self.process.signal(Signal::TERM),
            Kind::Java => self.process.end_input(),
        }
    }

    pub fn is_alive(&mut self) -> bool {
        self.process.is_alive()
    }

    pub fn said(&self) -> String {
        std::fs::read_to_string(&self.errors).unwrap()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.nodes.clear();
        self.tables.drop_all();
        if !self.keep {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}
