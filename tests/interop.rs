//! Mixed clusters: nodes of real Quartz (Debian's `libquartz2-java`) and nodes of ours on the same
//! tables.
//!
//! Each scene runs on PostgreSQL and on MariaDB, on tables made by Quartz's own script.
//! `./tests/run` compiles the Java node and runs the scenes with everything else;
//! `tests/interop/run` is the short way to run the scenes alone. `CARNELIAN_INTEROP_SECONDS` (60),
//! or `…_POSTGRES` and `…_MARIADB`, is how long the repeating grid of `drain` lasts.
#![cfg(all(feature = "postgres", feature = "mysql", feature = "recurrence"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "processes happen in real time")]

#[path = "interop/checker.rs"]
mod checker;
#[path = "interop/cluster.rs"]
mod cluster;
#[path = "interop/data.rs"]
mod data;
#[path = "interop/drain.rs"]
mod drain;
#[path = "interop/exclusion.rs"]
mod exclusion;
#[path = "interop/orders.rs"]
mod orders;
#[path = "interop/recovery.rs"]
mod recovery;
#[path = "interop/recurrences.rs"]
mod recurrences;
mod support;
#[path = "interop/tables.rs"]
mod tables;
#[path = "interop/visitors.rs"]
mod visitors;

use carnelian::store::JobStore;
use carnelian::{JobDetail, JobKey, MisfireInstruction, Schedule, SimpleSchedule, Trigger, TriggerKey};
use std::io::Write;
use std::time::Duration;
use support::{history, node};

/// Appends a scene's line to the file that `tests/interop/run` shows at its end.
fn summary(line: &str) {
    if let Some(path) = std::env::var_os("CARNELIAN_INTEROP_SUMMARY") {
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
        writeln!(file, "{line}").unwrap();
    }
}

/// Jobs with their triggers, and what these are to do.
#[derive(Default)]
struct Work {
    jobs: Vec<(JobDetail, Vec<Trigger>)>,
    expected: Vec<(String, Schedule)>,
}

impl Work {
    /// A job and a trigger of one key that fires `fires` times, each due time once however late;
    /// not durable.
    fn grid(&mut self, key: (&str, &str), job_type: &str, every: Duration, fires: u32, data: &[(&str, &str)]) {
        let job = JobDetail::builder(JobKey::new(key.0, key.1), job_type)
            .requests_recovery(true)
            .data_map(data.iter().copied().collect());
        self.add(job.build().unwrap(), &[(key, every, fires)]);
    }

    /// A job with triggers, each a key, an interval, and how often it fires.
    fn add(&mut self, job: JobDetail, triggers: &[((&str, &str), Duration, u32)]) {
        let triggers = triggers.iter().map(|((group, name), every, fires)| {
            Trigger::builder(TriggerKey::new(*group, *name), job.key().clone())
                .schedule(SimpleSchedule::every(*every).repeat(fires - 1))
                .misfire(MisfireInstruction::Ignore)
                .build()
                .unwrap()
        });
        let triggers: Vec<Trigger> = triggers.collect();
        self.expected.extend(triggers.iter().map(|t| (t.key().to_string(), t.schedule().clone())));
        self.jobs.push((job, triggers));
    }

    /// Stores it all, due from now on.
    fn store(&mut self, store: &JobStore) {
        store.catalogue().schedule(std::mem::take(&mut self.jobs), false).unwrap();
    }
}

macro_rules! scenes {
    ($($scene:ident: $run:path;)*) => {
        $(mod $scene {
            #[test]
            fn on_postgres() {
                $run(super::tables::Server::Postgres);
            }

            #[test]
            fn on_mariadb() {
                $run(super::tables::Server::Mysql);
            }
        })*
    };
}

scenes! {
    four_nodes_drain_one_shots_and_a_grid: super::drain::with_the_lock;
    nodes_of_quartz_that_take_no_lock: super::drain::without_the_lock;
    the_work_of_a_killed_node_goes_on_on_the_other_kind: super::recovery::run;
    orders_of_one_side_are_obeyed_by_the_other: super::orders::run;
    one_at_a_time_across_both_kinds: super::exclusion::run;
    nodes_of_ours_join_and_leave: super::visitors::run;
    recurrences_disturb_no_node_of_quartz: super::recurrences::run;
    job_data_of_either_side_in_both_forms: super::data::run;
}
