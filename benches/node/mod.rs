//! A node of the benchmarks that measure the store: it fires and completes without threads.

use carnelian::clock::SystemClock;
use carnelian::settings::Settings;
use carnelian::store::{
    AcquireRequest, CompletionInstruction, Database, FireBundle, JobStore, Membership, SqlDatabase,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The most fires of an acquisition.
pub const BATCH: usize = 500;

pub struct Node {
    pub database: Arc<SqlDatabase>,
    pub store: JobStore,
    pub me: Membership,
}

impl Node {
    /// A node that has not checked in, on tables that are there from now on.
    pub fn open(settings: Settings, instance: &str) -> Self {
        let clock = Arc::new(SystemClock::default());
        let database = Arc::new(SqlDatabase::open(&settings, clock.clone()).unwrap());
        database.migrate().unwrap();
        let store = JobStore::new(database.clone(), clock, settings);
        Self { database, store, me: Membership::new(instance) }
    }

    pub fn check_in(&mut self) {
        self.store.upkeep().check_in(&mut self.me).unwrap();
    }

    pub fn acquire(&self) -> Vec<FireBundle> {
        let (types, nobody) = (["t".to_owned()], BTreeSet::new());
        let request = AcquireRequest {
            max: BATCH,
            prefetch: None,
            look_ahead_ms: 0,
            fire_ahead_ms: 0,
            job_types: &types,
            quarantined: &nobody,
        };
        self.store.firing().acquire(&self.me.owner().unwrap(), &request).unwrap().fired
    }

    pub fn complete(&self, fired: &[FireBundle]) {
        let ends: Vec<_> = fired.iter().map(|f| f.completion(CompletionInstruction::NoInstruction, None)).collect();
        self.store.firing().complete(&self.me.owner().unwrap(), &ends).unwrap();
    }
}
