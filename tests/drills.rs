//! Drills of whole nodes, on every database: a node that is told to end (scenario 16 of the requirements) and nodes whose
//! clocks are wrong (scenario 6).
#![cfg(all(feature = "sqlite", feature = "postgres", feature = "mysql", unix))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "the test's clocks are the system's, shifted")]

#[path = "drills/clocks.rs"]
mod clocks;
#[path = "support/history.rs"]
mod history;
#[path = "support/node.rs"]
mod node;
#[path = "drills/signals.rs"]
mod signals;
mod support;
#[path = "drills/taken_ahead.rs"]
mod taken_ahead;
#[path = "drills/twins.rs"]
mod twins;

use carnelian::clock::{Clock, SystemClock};
use carnelian::settings::Settings;
use carnelian::store::{JobStore, violations};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

/// A scheduler of its own on a database, and a folder for what its nodes write.
struct Place {
    database: &'static str,
    folder: tempfile::TempDir,
    text: String,
    store: JobStore,
}

impl Place {
    fn new(database: &'static str, more: &str, clock: Arc<dyn Clock>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = match database {
            "sqlite" => format!("sqlite:{}", folder.path().join("jobs.db").display()),
            "postgres" => support::postgres_url(),
            _ => support::mysql_url(),
        };
        let text = format!(
            "scheduler.instanceName = {}\njobStore.class = JobStoreTX\njobStore.isClustered = true\n\
             jobStore.clusterCheckinInterval = 300\njobStore.clusterCheckinMisfireThreshold = 900\n\
             jobStore.dataSource = db\ndataSource.db.URL = {url}\nthreadPool.threadCount = 3\n\
             carnelian.scheduler.heartbeatInterval = 200ms\n{more}",
            support::fresh_name("drill")
        );
        let settings = Settings::from_text("test", &text, |_| None).unwrap();
        let store = carnelian::store::open(&settings, clock).unwrap();
        store.database().migrate().unwrap();
        Self { database, folder, text, store }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Nothing is left of it, and nothing is wrong with what there was.
    fn end(self) {
        assert_eq!(violations(&self.store.snapshot().unwrap()), [], "{}", self.database);
        self.store.database().forget_scheduler().unwrap();
    }
}

fn everywhere(more: &str, story: fn(&Place)) {
    for database in ["sqlite", "postgres", "mysql"] {
        println!("on {database}");
        let place = Place::new(database, more, Arc::new(SystemClock::default()));
        story(&place);
        place.end();
    }
}
