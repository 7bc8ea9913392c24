//! `Locks`: the locks of applications, which are taken, renewed, released, and taken over when
//! their time is over.

use super::action_log::Action;
use super::row::LockRow;
use super::transaction::random_hex;
use super::{Locks, Session, TxMode};
use crate::epoch::millis;
use crate::error::{Error, FailureClass, Result};
use crate::key::check_name;
use std::time::Duration;

/// The shortest time for which a lock can be taken: it must be renewed within.
pub(crate) const SHORTEST_TTL: Duration = Duration::from_millis(100);

/// The longest.
const LONGEST_TTL: Duration = Duration::from_secs(366 * 24 * 3600);

/// The time for which an expired lock that nobody has released or taken over is remembered, for
/// people.
pub(in crate::store) const REMEMBERED_MS: i64 = 24 * 3_600_000;

impl Locks<'_> {
    /// Takes the lock of this name for `ttl`, unless another holds it; its row tells by which
    /// holder and fence.
    ///
    /// The primary key decides, in the transaction that takes it (LT-41): of several that try at
    /// once one succeeds. One whose time is over by the store's clock is taken over. The fence is
    /// larger than that of every earlier taking.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a name or a time that cannot be stored; what the database reports
    /// after the bounded retries.
    pub fn try_lock(&self, name: &str, instance: &str, ttl: Duration) -> Result<Option<LockRow>> {
        check_name("lock name", name)?;
        if !(SHORTEST_TTL..=LONGEST_TTL).contains(&ttl) {
            return Err(Error::invalid("time to live of a lock", format!("{ttl:?}"), "expected 100 ms to 366 days"));
        }
        // This look saves a transaction that would be for nothing; it decides nothing else.
        let is_held = |s: &mut dyn Session| match s.row::<LockRow>(name)? {
            Some(row) => Ok(row.expires_ms > s.now_ms()?),
            None => Ok(false),
        };
        if self.store.glance("look for a lock", is_held)? {
            return Ok(None);
        }
        let holder = random_hex()?;
        let taken = self.store.retrying(
            "take a lock",
            TxMode::OwnRows,
            |s| {
                // The fence comes first: a session that waits for a lock's row holds the fence, and
                // the holder of the row waits for nothing.
                let fence = s.draw_fences(None, 1)?.unwrap_or_default();
                let taken_ms = s.now_ms()?;
                let row = LockRow {
                    name: name.to_owned(),
                    holder: holder.clone(),
                    instance: instance.to_owned(),
                    fence,
                    taken_ms,
                    ttl_ms: millis(ttl),
                    expires_ms: taken_ms.saturating_add(millis(ttl)),
                };
                // Over a lock whose time is over; else the primary key says whether the lock is
                // held.
                if s.rows::<LockRow>().with("name", name).at_most("expires_ms", taken_ms).write(&row)? == 0 {
                    s.insert(&row)?;
                }
                Ok(row)
            },
            &mut |s, row: &LockRow| Ok(s.row::<LockRow>(name)?.is_some_and(|stored| stored.holder == row.holder)),
        );
        match taken {
            Ok(row) => Ok(Some(row)),
            // The first try may have taken the lock: its answer was lost, and its session still
            // worked at the look-up.
            Err(error) if error.failure_class() == Some(FailureClass::UniqueViolation) => {
                Ok(self.store.glance("look for a lock", |s| s.row::<LockRow>(name))?.filter(|row| row.holder == holder))
            }
            Err(error) => Err(error),
        }
    }

    /// Renews locks, each by its name and its holder, in one statement; returns the locks that are
    /// held no longer: their time was over, or they were released.
    ///
    /// No retries: the next renewal is soon.
    ///
    /// # Errors
    /// Failures of the database.
    pub fn renew(&self, locks: &[(String, String)]) -> Result<Vec<(String, String)>> {
        self.store.once("renew locks", TxMode::OwnRows, |s| {
            let now_ms = s.now_ms()?;
            if s.renew_locks(locks, now_ms)? >= locks.len() {
                return Ok(Vec::new());
            }
            let held: Vec<LockRow> = s.rows().by(&["name"]).list()?;
            let is_held = |(name, holder): &&(String, String)| {
                held.iter().any(|row| row.name == *name && row.holder == *holder && row.expires_ms > now_ms)
            };
            Ok(locks.iter().filter(|lock| !is_held(lock)).cloned().collect())
        })
    }

    /// Releases a lock; false if this holder holds it no longer.
    ///
    /// # Errors
    /// Failures of the database after the bounded retries; the lock is then free when its time is
    /// over.
    pub fn release(&self, name: &str, holder: &str) -> Result<bool> {
        let released = self.store.retrying(
            "release a lock",
            TxMode::OwnRows,
            |s| {
                let now_ms = s.now_ms()?;
                let held = s.row::<LockRow>(name)?.filter(|row| row.holder == holder);
                let in_time = held.is_some_and(|row| row.expires_ms > now_ms);
                Ok(release(s, name, holder)? && in_time)
            },
            // No other session deletes the row of a lock whose time is not over.
            &mut |s, _| Ok(s.row::<LockRow>(name)?.is_none_or(|row| row.holder != holder)),
        )?;
        Ok(released)
    }

    /// Takes a lock from its holder, for an operator who knows that the holder is gone; returns the
    /// row that was there, if any. A living holder learns it with its next renewal, and its fence
    /// is smaller than that of the next holder.
    ///
    /// # Errors
    /// Failures of the database after the bounded retries.
    pub fn break_lock(&self, name: &str) -> Result<Option<LockRow>> {
        self.store.retrying(
            "break a lock",
            TxMode::OwnRows,
            |s| {
                let Some(row) = s.row::<LockRow>(name)? else { return Ok(None) };
                // Of a lock whose time is over the row stays for a while, and nobody holds it.
                let is_held = row.expires_ms > s.now_ms()?;
                let gone = release(s, name, &row.holder)? && is_held;
                let action = Action::new("release", "lock").detail(&row.instance);
                self.store.note_action(s, action, gone.then_some(name))?;
                Ok(Some(row).filter(|_| gone))
            },
            &mut |s, row: &Option<LockRow>| match row {
                Some(row) => Ok(s.row::<LockRow>(name)?.is_none_or(|stored| stored.holder != row.holder)),
                None => Ok(true),
            },
        )
    }

    /// The store's time and the locks that are held, in order of name.
    ///
    /// # Errors
    /// Failures of the database after the bounded retries.
    pub fn held(&self) -> Result<(i64, Vec<LockRow>)> {
        self.store.glance("list the locks", |s| {
            let now_ms = s.now_ms()?;
            let mut held: Vec<LockRow> = s.rows().by(&["name"]).list()?;
            held.retain(|row| row.expires_ms > now_ms);
            Ok((now_ms, held))
        })
    }
}

/// Deletes a lock of this holder; returns whether there was one.
fn release(s: &mut dyn super::Session, name: &str, holder: &str) -> Result<bool> {
    Ok(s.rows::<LockRow>().with("name", name).with("holder", holder).delete()? > 0)
}
