//! Rows that another session has just changed. On PostgreSQL a statement that waited for such a row
//! sees the row anew, and must act on it as it is now. Nodes of Quartz change triggers beside the
//! lock, and so do claims.
#![cfg(feature = "postgres")]

use crate::support;
use carnelian::clock::SystemClock;
use carnelian::history::{FireOutcome, HistoryQuery};
use carnelian::recovery::RerunReason;
use carnelian::settings::Settings;
use carnelian::store::{
    AcquireRequest, Completion, CompletionInstruction, CompletionOutcome, Database, JobStore, Lock, Membership, Owner,
    Session, SqlDatabase, TxMode, violations,
};
use carnelian::{JobDetail, JobKey, SimpleSchedule, Trigger, TriggerKey, TriggerState};
use diesel::connection::SimpleConnection;
use diesel::sql_types::BigInt;
use diesel::{Connection, PgConnection, QueryableByName, RunQueryDsl, sql_query};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread::scope;
use std::time::Duration;

/// A scheduler with one hourly trigger, whose first fire is due.
struct Place {
    name: String,
    store: JobStore,
    owner: Owner,
    key: TriggerKey,
}

#[derive(QueryableByName)]
struct Count {
    #[diesel(sql_type = BigInt)]
    n: i64,
}

impl Place {
    fn new() -> Self {
        let name = support::fresh_name("changed");
        let clock = Arc::new(SystemClock::default());
        let settings = Settings::in_database(&name, support::postgres_url().parse().unwrap());
        let database = Arc::new(SqlDatabase::open(&settings, clock.clone()).unwrap());
        database.migrate().unwrap();
        let store = JobStore::new(database, clock, settings);
        let mut me = Membership::new("node");
        store.upkeep().check_in(&mut me).unwrap();
        let job = JobDetail::builder(JobKey::named("j"), "t").durable(true).build().unwrap();
        let key = TriggerKey::named("t");
        let hourly = SimpleSchedule::every(Duration::from_secs(3600));
        let trigger = Trigger::builder(key.clone(), job.key().clone()).schedule(hourly).build().unwrap();
        store.catalogue().schedule(vec![(job, vec![trigger])], false).unwrap();
        Self { owner: me.owner().unwrap(), name, store, key }
    }

    /// Has another session change the trigger's row, and commit when the work waits for it.
    fn while_changed<R: Send>(&self, change: &str, work: impl FnOnce() -> R + Send) -> R {
        self.while_done(&format!("UPDATE qrtz_triggers SET {change} WHERE sched_name = '{}'", self.name), work)
    }

    /// Has another session do this, and commit when the work waits for it.
    fn while_done<R: Send>(&self, statement: &str, work: impl FnOnce() -> R + Send) -> R {
        let mut other = PgConnection::establish(&support::postgres_url()).unwrap();
        other.batch_execute(&format!("BEGIN; {statement}")).unwrap();
        scope(|threads| {
            let working = threads.spawn(work);
            support::wait_until("the work waits for the row", Duration::from_secs(9), || {
                let waiting =
                    "SELECT count(*) AS n FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))";
                sql_query(waiting).get_result::<Count>(&mut other).unwrap().n > 0
            });
            other.batch_execute("COMMIT").unwrap();
            working.join().unwrap()
        })
    }

    fn fire(&self) -> Vec<carnelian::store::FireBundle> {
        let (types, quarantined) = (vec!["t".to_owned()], BTreeSet::new());
        let request = AcquireRequest {
            max: 9,
            look_ahead_ms: 0,
            fire_ahead_ms: 0,
            job_types: &types,
            quarantined: &quarantined,
            prefetch: None,
        };
        self.store.firing().acquire(&self.owner, &request).unwrap().fired
    }

    fn end(self) {
        assert_eq!(violations(&self.store.upkeep().snapshot().unwrap()), []);
        self.store.database().forget_scheduler().unwrap();
    }
}

/// The change that a node of Quartz makes when it takes a trigger for itself.
const ACQUIRED: &str = "trigger_state = 'ACQUIRED'";

#[test]
fn a_trigger_that_was_just_acquired_is_paused() {
    let place = Place::new();
    assert_eq!(
        place.while_changed(ACQUIRED, || place
            .store
            .catalogue()
            .pause_triggers(std::slice::from_ref(&place.key))
            .unwrap()),
        1
    );
    assert_eq!(place.store.catalogue().trigger_state(&place.key).unwrap(), Some(TriggerState::Paused));
    place.end();
}

#[test]
fn a_trigger_that_was_just_acquired_is_deleted() {
    let place = Place::new();
    assert_eq!(
        place.while_changed(ACQUIRED, || place.store.catalogue().unschedule(std::slice::from_ref(&place.key)).unwrap()),
        1
    );
    assert_eq!(place.store.catalogue().trigger_state(&place.key).unwrap(), None);
    place.end();
}

/// A claim moves the trigger on to its next fire while the end of the last one is recorded.
#[test]
fn a_trigger_that_was_just_moved_on_is_complete_when_its_job_says_so() {
    let place = Place::new();
    let fired = place.fire();
    let ends = [fired[0].completion(CompletionInstruction::SetTriggerComplete, None)];
    place.while_changed("next_fire_time = next_fire_time + 1", || {
        place.store.firing().complete(&place.owner, &ends).unwrap()
    });
    assert_eq!(
        place.store.catalogue().trigger_state(&place.key).unwrap().unwrap_or(TriggerState::Complete),
        TriggerState::Complete
    );
    assert_eq!(place.fire().len(), 0);
    place.end();
}

/// An order to stop was answered with "asked", and belonged to no fire when the end was there: the
/// work of a node that was just recovered ran again.
#[test]
fn an_order_to_stop_a_fire_that_was_just_ended_is_none() {
    let place = Place::new();
    let fire = place.fire().remove(0);
    let deleted = format!("DELETE FROM qrtz_fired_triggers WHERE sched_name = '{}'", place.name);
    let ids = [fire.fire_id.clone()];
    let asked = place.while_done(&deleted, || place.store.upkeep().request_cancels(&ids, "ada").unwrap());
    assert_eq!(asked, 0);
    place.end();
}

/// Work that goes on in another fire went on though its order had come before the end.
#[test]
fn an_end_waits_for_an_order_to_stop_that_is_just_given() {
    let place = Place::new();
    let fire = place.fire().remove(0);
    let rerun = Some(fire.rerun_order(RerunReason::Continued, Duration::ZERO));
    let end = Completion { rerun, ..fire.completion(CompletionInstruction::NoInstruction, None) };
    let mut other = PgConnection::establish(&support::postgres_url()).unwrap();
    let (name, id) = (&place.name, &fire.fire_id);
    let order = format!(
        "BEGIN; SELECT 1 FROM qrtz_fired_triggers WHERE sched_name = '{name}' AND entry_id = '{id}' FOR SHARE; \
         INSERT INTO qrtz_cn_cancels (sched_name, entry_id, made_ms, who) VALUES ('{name}', '{id}', 1, 'ada')"
    );
    other.batch_execute(&order).unwrap();
    let outcome = || place.store.firing().complete(&place.owner, std::slice::from_ref(&end)).unwrap().outcomes;
    assert_eq!(outcome(), [CompletionOutcome::Held]);
    other.batch_execute("COMMIT").unwrap();
    assert_eq!(outcome(), [CompletionOutcome::Recorded]);
    let told = &place.store.history().find(&HistoryQuery::new()).unwrap()[0];
    assert_eq!(
        (told.outcome, told.error.as_deref()),
        (FireOutcome::Cancelled, Some("cancelled: ada asked it to stop"))
    );
    place.end();
}

/// The guard of a fire: a trigger that a claim has just moved on is not fired for the same time
/// once more.
#[test]
fn a_fire_that_was_just_claimed_does_not_begin() {
    let place = Place::new();
    let taken = place.while_changed("next_fire_time = next_fire_time + 3600000", || place.fire());
    assert_eq!(taken.len(), 0);
    place.end();
}

/// A session that takes several rows counts the rows that were there. A row that has changed and
/// still fits is among them.
#[test]
fn a_row_that_changed_and_still_fits_is_counted() {
    let place = Place::new();
    let deleted = place.while_changed("priority = 9", || {
        let mut deleted = 0;
        let work = &mut |session: &mut dyn Session| {
            deleted = session.delete_triggers(std::slice::from_ref(&place.key), Some(TriggerState::Waiting))?;
            Ok(())
        };
        place.store.database().transact("delete", TxMode::Exclusive(Lock::TriggerAccess), work).unwrap();
        deleted
    });
    assert_eq!(deleted, 1);
    place.end();
}
