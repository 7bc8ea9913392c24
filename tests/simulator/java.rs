//! The visitor: a node of Quartz, as far as it touches the rows. The visitor checks in by its own
//! clock, reserves triggers long before their time, gives them back or dies with them, and knows no
//! side table.
//!
//! The visitor fires nothing. A real one would fire a trigger that another node has reserved, since
//! it looks at nothing but the state of the trigger: the visitor tells of that.

use super::jobs::GRID;
use super::plan::{MS, SECOND};
use super::world::World;
use carnelian::store::row::{
    FiredRow, FiredSelection, FiredState, InstanceRow, Selection, TriggerRow, TriggerSelection,
};
use carnelian::store::{Lock, Session, TxMode};
use carnelian::{Result, TriggerKey, TriggerState};

/// The state of the visitor.
#[derive(Debug, Default)]
pub struct Visitor {
    /// The number of visitors so far; fire ids are counted too.
    count: u64,
    name: Option<String>,
    /// The time at which it came.
    since: u64,
    /// The lead of its wall clock over the store's.
    ahead_ms: i64,
    /// The reservations that it believes to have.
    reserved: Vec<(String, TriggerKey)>,
    /// True if there was one at any time: options of triggers were suspended then.
    pub has_been: bool,
}

/// Quartz acquires so long before the time of a trigger, in milliseconds.
const IDLE_WAIT_MS: i64 = 30_000;

const CHECKIN_MS: i64 = 7_500;

impl World {
    /// The visitor comes, or does one of the things it can do.
    pub fn visit(&self) {
        let mut visitor = self.visitor.borrow_mut();
        let what = self.dice.borrow_mut().below(40);
        let Some(name) = visitor.name.clone() else {
            visitor.count += 1;
            visitor.has_been = true;
            visitor.since = self.now();
            visitor.ahead_ms = i64::try_from(self.dice.borrow_mut().below(4_000)).expect("small") - 2_000;
            let name = format!("java-{}", visitor.count);
            self.say(format_args!("{name}, a node of Quartz, comes"));
            visitor.name = Some(name.clone());
            return self.java_checks_in(&name, visitor.ahead_ms);
        };
        match what {
            0..15 => self.java_checks_in(&name, visitor.ahead_ms),
            // All nodes have checked in since it came, and know of it.
            15..32 if self.now() > visitor.since + self.plan.longest_checkin() + LATE => {
                self.java_reserves(&name, &mut visitor);
            }
            15..32 => {}
            32..39 => self.java_gives_back(&mut visitor),
            _ => {
                self.say(format_args!("{name} dies with {:?}", visitor.reserved));
                visitor.name = None;
                visitor.reserved.clear();
            }
        }
    }

    /// The visitor dies, so that nothing fails any more.
    pub fn visit_no_more(&self) {
        let mut visitor = self.visitor.borrow_mut();
        visitor.name = None;
        visitor.reserved.clear();
    }

    fn java(&self, lock: Lock, work: &mut dyn FnMut(&mut dyn Session) -> Result<()>) {
        self.spend(MS / 10, MS);
        // The visitor does nothing this time if it would have to wait for the file.
        if self.file_held_for() == 0 {
            self.database.transact("a node of Quartz", TxMode::Exclusive(lock), work).expect("nothing fails for it");
        }
    }

    fn java_checks_in(&self, name: &str, ahead_ms: i64) {
        let row = InstanceRow {
            name: name.to_owned(),
            last_checkin_ms: self.store_ms() + ahead_ms,
            checkin_interval_ms: CHECKIN_MS,
            incarnation: None,
            joined: 0,
        };
        self.java(Lock::StateAccess, &mut |s| s.put_instance(&row));
    }

    fn java_reserves(&self, name: &str, visitor: &mut Visitor) {
        let until_ms = self.store_ms() + visitor.ahead_ms + IDLE_WAIT_MS;
        let (throw, fired_ms) = (self.dice.borrow_mut().next(), self.store_ms() + visitor.ahead_ms);
        visitor.count += 1;
        let fire_id = format!("{name}{}", visitor.count);
        let mut reserved = None;
        self.java(Lock::TriggerAccess, &mut |s| {
            let is_due = |row: &TriggerRow| {
                row.key.group() == GRID && row.state == "WAITING" && row.next_ms.is_some_and(|next| next <= until_ms)
            };
            let due: Vec<_> = s.triggers(TriggerSelection::All)?.into_iter().filter(is_due).collect();
            let Some(row) = due.get(usize::try_from(throw % due.len().max(1) as u64).expect("a place")) else {
                return Ok(());
            };
            let moves = [(TriggerState::Waiting, TriggerState::Acquired)];
            if s.change_states(Selection::Triggers(std::slice::from_ref(&row.key)), &moves, false)? == 1 {
                reserved = Some((fire_id.clone(), row.key.clone()));
                return s.insert_fired(vec![FiredRow {
                    fire_id: fire_id.clone(),
                    trigger: row.key.clone(),
                    instance: name.to_owned(),
                    fired_ms,
                    scheduled_ms: row.next_ms.expect("a time"),
                    priority: row.priority,
                    state: FiredState::Acquired,
                    job: None,
                    nonconcurrent: false,
                    requests_recovery: false,
                }]);
            }
            Ok(())
        });
        if let Some((fire_id, key)) = reserved {
            self.say(format_args!("{name} reserves {key} as {fire_id}"));
            visitor.reserved.push((fire_id, key));
        }
    }

    fn java_gives_back(&self, visitor: &mut Visitor) {
        let Some((fire_id, key)) = visitor.reserved.pop() else { return };
        self.say(format_args!("{fire_id} of {key} is given back"));
        self.java(Lock::TriggerAccess, &mut |s| {
            let moves = [(TriggerState::Acquired, TriggerState::Waiting)];
            let rows: Vec<_> =
                s.fired(FiredSelection::Acquired)?.into_iter().filter(|row| row.trigger == key).collect();
            let is_other = |row: &FiredRow| !row.instance.starts_with("java-");
            if rows.iter().any(is_other) && rows.iter().any(|row| row.fire_id == fire_id) {
                self.problem(format!("{key} is reserved by others beside {fire_id}, which would fire it: {rows:?}"));
            }
            if !s.delete_fired(std::slice::from_ref(&fire_id))?.is_empty() {
                s.change_states(Selection::Triggers(std::slice::from_ref(&key)), &moves, false)?;
            }
            Ok(())
        });
    }
}

/// A node whose check-in is later than this acquires nothing.
const LATE: u64 = 8 * SECOND;

/// The mean time between two things that it does.
pub const MEAN: u64 = SECOND;
