//! A cluster of `demo_node` processes on one database, and the hands that kill and stop them.

use super::node::NodeProcess;
use super::support::{fresh_name, mysql_url, postgres_url, wait_until};
use super::{INTERVAL, history};
use carnelian::clock::SystemClock;
use carnelian::settings::{DataSourceUrl, Settings};
use carnelian::store::row::FiredState;
use carnelian::store::{JobStore, TxMode};
use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};
use rustix::process::Signal;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

/// A node that was killed: who, and when it had last checked in.
#[derive(Debug)]
pub struct Death {
    pub instance: String,
    pub last_checkin_ms: Option<i64>,
    /// True if the node left work behind that is to be done again.
    pub interrupted: bool,
}

pub struct Cluster {
    pub store: JobStore,
    pub seed: u64,
    pub folder: PathBuf,
    random: u64,
    nodes: Vec<NodeProcess>,
    /// The URLs that nodes get in turn.
    urls: Vec<String>,
    started: usize,
    keep: bool,
}

impl Cluster {
    pub fn new(what: &str, database: &str) -> Self {
        let name = fresh_name(&format!("{what}{}", &database[..2]));
        let folder = Self::folder(&name);
        let url = match database {
            "sqlite" => format!("sqlite:{}", folder.join("jobs.db").display()),
            "postgres" => postgres_url(),
            _ => mysql_url(),
        };
        Self::made(&name, folder, vec![url], "")
    }

    /// On the members of a cluster of databases: each node has another of these URLs. With further
    /// lines for the properties.
    pub fn at(what: &str, urls: Vec<String>, lines: &str) -> Self {
        let name = fresh_name(what);
        Self::made(&name, Self::folder(&name), urls, lines)
    }

    /// This scheduler by another URL, without nodes.
    pub fn elsewhere(&self, url: &str) -> Self {
        let text = std::fs::read_to_string(self.properties()).unwrap();
        let folder = Self::folder(&fresh_name("elsewhere"));
        std::fs::write(folder.join("node.properties"), text.replace(&self.urls[0], url)).unwrap();
        let settings = Settings::from_file(folder.join("node.properties")).unwrap();
        let store = carnelian::store::open(&settings, Arc::new(SystemClock::default())).unwrap();
        let urls = vec![url.to_owned()];
        Self { store, seed: self.seed, folder, random: self.seed, nodes: Vec::new(), urls, started: 0, keep: true }
    }

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("carnelian-storm-{name}"));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn made(name: &str, folder: PathBuf, urls: Vec<String>, lines: &str) -> Self {
        let url = &urls[0];
        let config = format!(
            "org.quartz.scheduler.instanceName={name}\n\
             org.quartz.scheduler.instanceId=AUTO\n\
             org.quartz.threadPool.threadCount=3\n\
             org.quartz.jobStore.class=org.quartz.impl.jdbcjobstore.JobStoreTX\n\
             org.quartz.jobStore.isClustered=true\n\
             org.quartz.jobStore.useProperties=true\n\
             org.quartz.jobStore.clusterCheckinInterval={}\n\
             org.quartz.jobStore.dataSource=db\n\
             org.quartz.dataSource.db.URL={url}\n\
             carnelian.recovery.maxTakeovers=0\n\
             demo.log.file={}\n{lines}",
            INTERVAL.as_millis(),
            folder.join("events.jsonl").display()
        );
        std::fs::write(folder.join("node.properties"), config).unwrap();
        let settings = Settings::from_file(folder.join("node.properties")).unwrap();
        let store = carnelian::store::open(&settings, Arc::new(SystemClock::default())).unwrap();
        store.database().migrate().unwrap();
        let seed = getrandom::u64().unwrap() | 1;
        println!("storm {name} seed={seed} folder={}", folder.display());
        Self { store, seed, folder, random: seed, nodes: Vec::new(), urls, started: 0, keep: true }
    }

    /// The properties of the nodes.
    pub fn properties(&self) -> PathBuf {
        self.folder.join("node.properties")
    }

    /// Adds lines to the properties of the nodes to come.
    pub fn configure(&self, lines: &str) {
        let path = self.folder.join("node.properties");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(path, text + lines).unwrap();
    }

    /// A random number below `limit`, from the printed seed.
    pub fn random(&mut self, limit: u32) -> u32 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        u32::try_from(self.random % u64::from(limit)).unwrap()
    }

    pub fn start_node(&mut self) {
        self.started += 1;
        let errors = self.folder.join(format!("node-{}.err", self.started));
        let properties = self.folder.join(format!("node-{}.properties", self.started));
        let text = std::fs::read_to_string(self.properties()).unwrap();
        let url = &self.urls[self.started % self.urls.len()];
        std::fs::write(&properties, text.replace(&self.urls[0], url)).unwrap();
        self.nodes.push(NodeProcess::demo(&properties, &errors));
    }

    /// Reads the READY line of every node.
    pub fn wait_until_ready(&mut self, nodes: usize) {
        for node in &mut self.nodes {
            node.ready();
        }
        assert!(self.nodes.len() >= nodes);
    }

    pub fn wait_until_running(&self) {
        wait_until("something runs", Duration::from_secs(30), || {
            self.store
                .upkeep()
                .instances()
                .is_ok_and(|all| all.iter().all(|i| i.running > 0) && all.len() == self.nodes.len())
        });
    }

    /// Kills a node that has said READY, with SIGKILL.
    pub fn kill_one(&mut self) -> Death {
        let at = usize::try_from(self.random(u32::try_from(self.nodes.len()).unwrap())).unwrap();
        let mut node = self.nodes.swap_remove(at);
        let instance = node.ready();
        node.kill();
        // The row of a dead node stands still until its peers convict it, which they cannot do yet.
        let row = self.store.upkeep().instances().unwrap().into_iter().find(|i| i.instance == instance);
        let interrupted = self.runs_recoverable(&instance);
        Death { instance, last_checkin_ms: row.map(|i| i.last_checkin.timestamp_millis()), interrupted }
    }

    /// Kills the node of this name with SIGKILL.
    #[allow(dead_code, reason = "storms kill at random")]
    pub fn kill(&mut self, instance: &str) {
        let at = self.nodes.iter_mut().position(|node| node.ready() == instance).unwrap();
        self.nodes.swap_remove(at).kill();
    }

    /// Tells whether the node has fires begun that another one must do again if the node is gone.
    fn runs_recoverable(&self, instance: &str) -> bool {
        let fired = self.store.upkeep().snapshot().unwrap().fired;
        fired.iter().any(|f| f.instance == instance && f.state == FiredState::Executing && f.requests_recovery)
    }

    /// Stops a running node with SIGSTOP, in the middle of work that another one will have to do
    /// again.
    ///
    /// A server takes the lock from a session that stops. SQLite cannot: a process that is stopped
    /// in the middle of a write keeps the file locked until it goes on or is killed, which
    /// `docs/operations.md` says. Then the node is let go on, for long enough that it gives the
    /// lock away, and stopped once more.
    pub fn pause_one(&mut self) -> (usize, String) {
        let at = usize::try_from(self.random(u32::try_from(self.nodes.len()).unwrap())).unwrap();
        let instance = self.nodes[at].ready();
        for _ in 0..200 {
            self.nodes[at].freeze();
            match self.wait_for_the_lock() {
                Ok(()) if self.runs_recoverable(&instance) => return (at, instance),
                Ok(()) => println!("storm: stopped with nothing to recover, again"),
                Err(error) => println!("storm: stopped with the lock, again: {error}"),
            }
            self.nodes[at].signal(Signal::CONT);
            std::thread::sleep(Duration::from_millis(100 + u64::from(self.random(200))));
        }
        panic!("{instance} was never in the middle of work that can be recovered");
    }

    /// Waits until the lock can be had. For SQLite's it waits a second only: a job that writes
    /// gives up after ten, and fails.
    fn wait_for_the_lock(&self) -> Result<(), Box<dyn std::error::Error>> {
        match self.store.settings().data_source.as_ref().map(|source| &source.url) {
            Some(DataSourceUrl::Sqlite { path }) => {
                let look = "PRAGMA busy_timeout = 1000; BEGIN IMMEDIATE; ROLLBACK";
                Ok(SqliteConnection::establish(path)?.batch_execute(look)?)
            }
            _ => Ok(self.store.database().transact("look for the lock", TxMode::OwnRows, &mut |_| Ok(()))?),
        }
    }

    pub fn resume(&self, at: usize) {
        self.nodes[at].signal(Signal::CONT);
    }

    /// Waits for the end of a node, which is then no longer one of the cluster.
    pub fn await_end(&mut self, at: usize) -> ExitStatus {
        let mut node = self.nodes.swap_remove(at);
        let mut status = None;
        wait_until("the node has ended", Duration::from_secs(30), || {
            status = node.end();
            status.is_some()
        });
        status.unwrap()
    }

    /// Waits until no fire is left, no trigger will fire again, and the dead are recovered.
    pub fn wait_until_quiet(&self, limit: Duration) {
        wait_until("everything has run", limit, || {
            let done = |s: &carnelian::store::row::Snapshot| s.fired.is_empty() && s.triggers.is_empty();
            self.store.upkeep().snapshot().is_ok_and(|s| done(&s) && s.instances.len() == self.nodes.len())
        });
    }

    /// Stops all nodes gracefully; each must end by itself with exit code 0 and leave nothing
    /// behind.
    pub fn stop_all(&mut self) {
        for node in &self.nodes {
            node.signal(Signal::TERM);
        }
        for node in &mut self.nodes {
            node.expect_success();
        }
        self.nodes.clear();
    }

    pub fn events(&self) -> Vec<serde_json::Value> {
        history::read(&self.folder.join("events.jsonl"))
    }

    /// The number of log lines of the nodes that hold `word`.
    pub fn stderr_lines(&self, word: &str) -> usize {
        let files = std::fs::read_dir(&self.folder).unwrap().map(|entry| entry.unwrap().path());
        let logs = files.filter(|path| path.extension().is_some_and(|e| e == "err"));
        logs.map(|path| std::fs::read_to_string(path).unwrap().lines().filter(|l| l.contains(word)).count()).sum()
    }

    /// The folder is no longer needed.
    pub fn succeeded(mut self) {
        self.store.catalogue().clear().unwrap();
        self.keep = false;
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.nodes.clear();
        if !self.keep {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}
