//! The link of a node to the store: a database of which transactions fail, are late, or take the
//! node with them.

use super::dice::Dice;
use super::plan::{MS, SECOND};
use super::world::{World, world};
use carnelian::store::TxMode;
use carnelian::store::faults::{Fault, FaultPlan};
use carnelian::store::{Database, Fences, MemoryDatabase, NotificationSource, Session, SqlDatabase, StatementCounts};
use carnelian::{DatabaseError, FailureClass, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A database in which faults can be planned.
pub trait Faulty: Database {
    fn faults(&self) -> &FaultPlan;

    /// The database as another process sees it.
    fn beside(self: Arc<Self>) -> Arc<dyn Faulty>;

    /// The database, if it is one in memory.
    fn memory(&self) -> Option<&MemoryDatabase> {
        None
    }
}

impl Faulty for MemoryDatabase {
    fn faults(&self) -> &FaultPlan {
        self.faults()
    }

    fn beside(self: Arc<Self>) -> Arc<dyn Faulty> {
        Arc::new(MemoryDatabase::beside(&self))
    }

    fn memory(&self) -> Option<&MemoryDatabase> {
        Some(self)
    }
}

impl Faulty for SqlDatabase {
    fn faults(&self) -> &FaultPlan {
        self.faults()
    }

    /// To open a pool of connections for each node would take longer than all that the node does.
    fn beside(self: Arc<Self>) -> Arc<dyn Faulty> {
        self
    }
}

/// The number of the console, on whose way to the store nothing fails.
pub const CONSOLE: usize = 0;

/// The way of one node to the store.
pub struct Link {
    pub node: usize,
    database: Arc<dyn Faulty>,
    dead: AtomicBool,
    /// The true time until which the store is away for this node.
    away_until: AtomicU64,
    /// The connection is lost: each use fails until the node has noticed it.
    cut: AtomicU64,
}

/// The fate of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Plain,
    DiesBefore,
    DiesAtStatement(u64),
    DiesAtCommit(bool),
    DiesAfter,
    Fails(u64, FailureClass),
    /// The answer of the commit is lost, which happened or not; so many uses after it, such as
    /// those that look the commit up, find no store.
    LosesAnswer(bool, u64),
    StopsBefore(u64),
    StopsAfter(u64),
    Takes(u64),
}

impl Fate {
    fn draw(world: &World, mode: TxMode) -> Self {
        let (dice, chances) = (&mut *world.dice.borrow_mut(), world.chances());
        let writes = mode.may_write();
        if dice.chance(chances.crash) {
            return match dice.below(5) {
                0 => Self::DiesBefore,
                1 => Self::DiesAfter,
                2 if writes => Self::DiesAtCommit(dice.chance(5_000)),
                _ => Self::DiesAtStatement(nth(dice)),
            };
        }
        if dice.chance(chances.statement) {
            use FailureClass::{Busy, ConnectionLost, Deadlock, LockWait, Serialization, Unavailable};
            let classes = [Deadlock, Serialization, LockWait, Busy, ConnectionLost, Unavailable];
            return Self::Fails(nth(dice), dice.pick(&classes));
        }
        if writes && dice.chance(chances.answer) {
            let away = if dice.chance(3_000) { dice.between(1, 40) } else { 0 };
            return Self::LosesAnswer(dice.chance(5_000), away);
        }
        if dice.chance(chances.stop) {
            let time = dice.between(100 * MS, 40 * SECOND);
            return if dice.chance(5_000) { Self::StopsBefore(time) } else { Self::StopsAfter(time) };
        }
        if dice.chance(chances.slow) {
            return Self::Takes(dice.between(MS, 3 * SECOND));
        }
        Self::Plain
    }
}

/// The first statements are the likeliest: most transactions have few.
fn nth(dice: &mut Dice) -> u64 {
    let most = dice.pick(&[2, 6, 20]);
    dice.between(1, most)
}

impl Link {
    pub fn new(node: usize, database: Arc<dyn Faulty>) -> Self {
        let (away_until, cut) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { node, database, dead: AtomicBool::new(false), away_until, cut }
    }

    pub fn is_dead(&self) -> bool {
        self.dead.load(Ordering::SeqCst)
    }

    /// Notes the death of the node; false if it was dead.
    pub fn die(&self) -> bool {
        !self.dead.swap(true, Ordering::SeqCst)
    }

    /// The store is away for this node until then, in true time.
    pub fn lose_store(&self, until: u64) {
        self.away_until.store(until, Ordering::SeqCst);
    }

    /// All connections of the node die.
    pub fn cut(&self, uses: u64) {
        self.cut.store(uses, Ordering::SeqCst);
    }

    /// Finds the store, or no way to it.
    fn reach(&self, world: &World, purpose: &'static str) -> Result<()> {
        if self.is_dead() {
            return Err(failure(purpose, FailureClass::Unavailable));
        }
        world.spend(50, 400);
        if world.now() < self.away_until.load(Ordering::SeqCst) || world.is_store_away() {
            return Err(failure(purpose, FailureClass::Unavailable));
        }
        if self.cut.load(Ordering::SeqCst) > 0 {
            self.cut.fetch_sub(1, Ordering::SeqCst);
            return Err(failure(purpose, FailureClass::ConnectionLost));
        }
        Ok(())
    }

    /// Waits until the transaction of a caller lets go of the file, but not for long.
    fn await_file(&self, world: &World, purpose: &'static str) -> Result<()> {
        const LONGEST: u64 = 5 * SECOND;
        let held_for = world.file_held_for();
        if held_for > 0 {
            world.stand_still(held_for.min(LONGEST));
            self.reach(world, purpose)?;
        }
        if world.file_held_for() > 0 { Err(failure(purpose, FailureClass::Busy)) } else { Ok(()) }
    }

    fn planned(
        &self,
        plan: (u64, Fault),
        purpose: &'static str,
        mode: TxMode,
        work: &mut dyn FnMut(&mut dyn Session) -> Result<()>,
    ) -> (bool, Result<()>) {
        self.database.faults().plan(plan.0, plan.1);
        let answer = self.database.transact(purpose, mode, work);
        let is_left = self.database.faults().cancel();
        (!is_left, answer)
    }
}

fn lost(applied: bool) -> Fault {
    if applied { Fault::CommitLostApplied } else { Fault::CommitLostNotApplied }
}

fn failure(purpose: &str, class: FailureClass) -> carnelian::Error {
    DatabaseError { operation: purpose.to_owned(), message: "of the simulation".to_owned(), class }.into()
}

impl Database for Link {
    fn transact(
        &self,
        purpose: &'static str,
        mode: TxMode,
        work: &mut dyn FnMut(&mut dyn Session) -> Result<()>,
    ) -> Result<()> {
        if self.node == CONSOLE {
            return self.database.transact(purpose, mode, work);
        }
        let world = world();
        if mode.may_write() {
            world.has_changed.set(true);
        }
        self.reach(&world, purpose)?;
        if mode.may_write() {
            self.await_file(&world, purpose)?;
        }
        let fate = Fate::draw(&world, mode);
        if fate != Fate::Plain {
            world.say(format_args!("n{} {purpose}: {fate:?}", self.node));
        }
        let died = |is_hit: bool, answer: Result<()>| {
            if is_hit {
                world.kill(self.node);
            }
            answer
        };
        match fate {
            Fate::Plain => self.database.transact(purpose, mode, work),
            Fate::DiesBefore => died(true, Err(failure(purpose, FailureClass::ConnectionLost))),
            Fate::DiesAtStatement(n) => {
                let (hit, answer) =
                    self.planned((n, Fault::Statement(FailureClass::ConnectionLost)), purpose, mode, work);
                died(hit, answer)
            }
            Fate::DiesAtCommit(applied) => {
                let fault = lost(applied);
                let (hit, answer) = self.planned((1, fault), purpose, mode, work);
                died(hit, answer)
            }
            Fate::DiesAfter => {
                let answer = self.database.transact(purpose, mode, work);
                died(true, answer.and(Err(failure(purpose, FailureClass::CommitUnknown))))
            }
            Fate::Fails(n, class) => self.planned((n, Fault::Statement(class)), purpose, mode, work).1,
            Fate::LosesAnswer(applied, away) => {
                let (hit, answer) = self.planned((1, lost(applied)), purpose, mode, work);
                if hit {
                    self.cut(away);
                }
                answer
            }
            Fate::StopsBefore(time) => {
                world.stand_still(time);
                self.reach(&world, purpose)?;
                self.database.transact(purpose, mode, work)
            }
            Fate::StopsAfter(time) => {
                let answer = self.database.transact(purpose, mode, work);
                world.stand_still(time);
                answer
            }
            Fate::Takes(time) => {
                world.stand_still(time / 2);
                self.reach(&world, purpose)?;
                let answer = self.database.transact(purpose, mode, work);
                world.stand_still(time / 2);
                answer
            }
        }
    }

    fn fences(&self) -> Option<&Fences> {
        self.database.fences()
    }

    fn migrate(&self) -> Result<Vec<String>> {
        self.database.migrate()
    }

    fn check_schema(&self) -> Result<()> {
        if self.is_dead() { Err(failure("check", FailureClass::Unavailable)) } else { self.database.check_schema() }
    }

    fn forget_scheduler(&self) -> Result<()> {
        self.database.forget_scheduler()
    }

    fn notification_source(&self) -> Option<Box<dyn NotificationSource>> {
        self.database.notification_source()
    }

    /// In memory nobody waits for a row: a claim is as good there as the lock.
    fn claims_rows(&self) -> Result<bool> {
        Ok(self.database.memory().is_some() || self.database.claims_rows()?)
    }

    fn begins_apart(&self) -> bool {
        self.database.begins_apart()
    }

    fn completes_beside(&self) -> bool {
        self.database.completes_beside()
    }

    fn has_fast_path(&self) -> bool {
        self.database.has_fast_path()
    }

    fn prefers_single_statement(&self) -> bool {
        self.database.prefers_single_statement()
    }

    fn counts(&self) -> StatementCounts {
        self.database.counts()
    }

    fn describe(&self) -> String {
        self.database.describe()
    }
}
