//! `lock`: the locks of the application: who holds them, and taking one from a holder that is gone.

use crate::failure::{Failure, Outcome};
use crate::output::{Output, span, time};
use crate::page::Paging;
use carnelian::report;
use carnelian::store::JobStore;
use clap::Subcommand;
use serde_json::json;

#[derive(Subcommand)]
pub enum LockCommand {
    /// The locks that are held, by whom, with which fence and for how long if they are not renewed
    List {
        #[command(flatten)]
        paging: Paging,
    },
    /// Takes a lock from its holder; one that lives learns it with its next renewal. Exit code 1 if
    /// nobody holds it
    Release {
        /// The lock
        name: String,
    },
}

/// Lists the locks, or breaks one.
pub fn run(store: &JobStore, output: Output, command: &LockCommand) -> Outcome {
    match command {
        LockCommand::List { paging } => list(store, output, paging),
        LockCommand::Release { name } => match store.locks().break_lock(name)? {
            Some(row) => output.done(
                json!({"released": name, "instance": row.instance, "fence": row.fence}),
                &format!("released {name}, held by {} with fence {}", row.instance, row.fence),
            ),
            None => Err(Failure::Refused(format!("nobody holds the lock `{name}`: see `carnelian lock list`"))),
        },
    }
}

fn list(store: &JobStore, output: Output, paging: &Paging) -> Outcome {
    let (now_ms, locks) = store.locks().held()?;
    let part = paging.cut(locks, |row| [row.name.clone()])?;
    let heading = ["LOCK", "INSTANCE", "FENCE", "TAKEN", "LEFT"];
    output.part("no lock is held", heading, &part, report::lock, |row| {
        let (taken, left) = (time(Some(row.taken_ms)), span(row.expires_ms - now_ms));
        [row.name.clone(), row.instance.clone(), row.fence.to_string(), taken, left]
    })
}
