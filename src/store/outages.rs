//! `Outages`: times in which no node ran, and the recovery mode, in which the cluster drains a
//! backlog.

use super::action_log::Action;
use super::calendars::Calendars;
use super::placement::NodeReports;
use super::row::{
    FiredSelection, FiredState, InstanceRow, Late, Outage, RecoveryModeRow, TriggerRow, TriggerSelection,
};
use super::{Lock, Outages, Session, TxMode};
use crate::epoch::millis;
use crate::error::Result;
use crate::key::TriggerKey;
use crate::rules::failover::is_dead;
use crate::rules::outages::{self, Fate};
use crate::trigger::TriggerOrder;

/// The most overdue triggers that are counted.
const MOST_COUNTED: usize = 10_000;

/// The most triggers that are read at a time.
const PAGE: usize = 1_000;

/// The most outages that are remembered.
const MOST_OUTAGES: usize = 100;

impl Outages<'_> {
    /// Starts the recovery mode: the cluster drains its backlog, the most important triggers first,
    /// then the longest delayed, in larger batches. Nodes learn the mode with their next poll. The
    /// mode ends by itself when nothing is overdue. A mode that is on already stays as it was
    /// begun.
    ///
    /// # Errors
    /// Failures of the database after the bounded retries.
    pub fn start_recovery(&self, begun_by: &str) -> Result<RecoveryModeRow> {
        crate::key::check_name("who begins the recovery mode", begun_by)?;
        let row = self.store.retrying(
            "start the recovery mode",
            TxMode::Exclusive(Lock::StateAccess),
            |s| {
                let before = s.recovery_mode()?.unwrap_or_default();
                match before.since_ms {
                    Some(_) => Ok(before),
                    None => {
                        self.store.note_action(s, Action::new("start", "recovery"), ["recovery mode"])?;
                        self.begin_recovery_in(s, before.last_seen_ms, begun_by)
                    }
                }
            },
            &mut |s, row: &RecoveryModeRow| Ok(s.recovery_mode()?.is_some_and(|now| now.since_ms == row.since_ms)),
        )?;
        self.node.note_recovery_mode(row.since_ms);
        Ok(row)
    }

    fn begin_recovery_in(&self, s: &mut dyn Session, last_seen_ms: i64, by: &str) -> Result<RecoveryModeRow> {
        let now_ms = s.now_ms()?;
        let backlog =
            i64::try_from(s.read_cluster_load(Late::Before(now_ms), MOST_COUNTED)?.1.overdue).unwrap_or(i64::MAX);
        let row = RecoveryModeRow { last_seen_ms, since_ms: Some(now_ms), begun_by: by.to_owned(), backlog };
        s.put(&row)?;
        Ok(row)
    }

    /// Ends the recovery mode, or only the one that began at `since_ms`; false if it was not on.
    ///
    /// # Errors
    /// Failures of the database after the bounded retries.
    pub fn stop_recovery(&self, since_ms: Option<i64>) -> Result<bool> {
        let stopped = self.store.retrying(
            "stop the recovery mode",
            TxMode::Exclusive(Lock::StateAccess),
            |s| {
                let Some(row) = s.recovery_mode()? else { return Ok(false) };
                if row.since_ms.is_none() || since_ms.is_some_and(|since_ms| row.since_ms != Some(since_ms)) {
                    return Ok(false);
                }
                let last_seen_ms = row.last_seen_ms;
                s.put(&RecoveryModeRow { last_seen_ms, ..RecoveryModeRow::default() })?;
                // A mode that ends by itself is nobody's action.
                let by_hand = since_ms.is_none().then_some("recovery mode");
                self.store.note_action(s, Action::new("stop", "recovery"), by_hand)?;
                Ok(true)
            },
            &mut |s, _| Ok(s.recovery_mode()?.is_none_or(|row| row.since_ms.is_none())),
        )?;
        if stopped {
            self.node.note_recovery_mode(None);
        }
        Ok(stopped)
    }

    /// The recovery mode, if it is on.
    ///
    /// # Errors
    /// Failures of the database after the bounded retries.
    pub fn recovery_mode(&self) -> Result<Option<RecoveryModeRow>> {
        let row = self.store.glance("look at the recovery mode", |s| s.recovery_mode())?;
        Ok(row.filter(|row| row.since_ms.is_some()))
    }

    /// The last total outages, the latest first; the last hundred are remembered.
    ///
    /// # Errors
    /// Failures of the database after the bounded retries.
    pub fn list(&self) -> Result<Vec<Outage>> {
        self.store.glance("list the outages", |s| s.rows().latest_by(&["ended_ms"]).limit(MOST_OUTAGES).list())
    }

    /// Looks for an outage in the transaction of a registration, before its row is written: no node
    /// took work since when, and which fires were missed. Returns the outage that has ended, if
    /// any, and since when the recovery mode is on.
    pub(in crate::store) fn find_outage(
        &self,
        s: &mut dyn Session,
        instance: &str,
        instances: &[InstanceRow],
        interrupted: usize,
    ) -> Result<(Option<Outage>, Option<i64>)> {
        let now_ms = s.now_ms()?;
        let before = s.recovery_mode()?;
        let mode = before.clone().unwrap_or_default();
        let tolerance_ms = millis(self.store.tolerance());
        let window_ms = millis(self.store.settings.job_store.checkin_interval).saturating_add(tolerance_ms);
        let latest = instances.iter().max_by_key(|row| row.last_checkin_ms);
        if let Some(row) = latest.filter(|row| now_ms.saturating_sub(row.last_checkin_ms) <= window_ms)
            && before.is_some()
            && NodeReports::of(s, &row.name)?.takes_work(row, now_ms)
        {
            return Ok((None, mode.since_ms));
        }
        let reports = NodeReports::read(s)?;
        let works = |row: &&InstanceRow| reports.takes_work(row, now_ms);
        let lives = |row: &InstanceRow| row.name != instance && !is_dead(row, tolerance_ms, now_ms);
        let seen = instances.iter().filter(works).map(|row| row.last_checkin_ms.min(now_ms));
        let noted = before.iter().map(|row| row.last_seen_ms).filter(|noted_ms| *noted_ms <= now_ms);
        let last_seen_ms = seen.chain(noted).max();
        let began = outages::began(last_seen_ms, now_ms, window_ms);
        // A node that takes no work ends no outage either.
        let ends = reports.is_free(&self.node.identity(instance), now_ms) && !instances.iter().filter(works).any(lives);
        let Some(began_ms) = began.filter(|_| ends) else {
            if before.is_none() {
                s.put(&mode)?;
            }
            return Ok((None, mode.since_ms));
        };
        let mut outage = Outage { began_ms, ended_ms: now_ms, instance: instance.to_owned(), ..Outage::default() };
        outage.interrupted = count(interrupted);
        let overdue = self.count_missed(s, &mut outage)?;
        s.insert(&outage)?;
        let last: Vec<Outage> = s.rows().latest_by(&["ended_ms"]).limit(MOST_OUTAGES).list()?;
        if let Some(oldest) = last.get(MOST_OUTAGES - 1) {
            s.rows::<Outage>().below("ended_ms", oldest.ended_ms).delete()?;
        }
        let mode = match mode.since_ms {
            None if outages::asks_for_recovery(overdue, self.store.settings.recovery.threshold) => {
                self.begin_recovery_in(s, mode.last_seen_ms, instance)?
            }
            _ if before.is_none() => {
                s.put(&mode)?;
                mode
            }
            _ => mode,
        };
        Ok((Some(outage), mode.since_ms))
    }

    /// Counts overdue triggers by the decisions of their policies. Rows of a dead node count as the
    /// states before. Returns the number of overdue triggers, as far as the threshold of the
    /// recovery mode asks for.
    fn count_missed(&self, s: &mut dyn Session, outage: &mut Outage) -> Result<usize> {
        let now_ms = outage.ended_ms;
        let fired = s.fired(FiredSelection::All)?;
        let running = fired.iter().filter(|fire| fire.state == FiredState::Executing).count();
        outage.interrupted = outage.interrupted.saturating_add(count(running));
        let held = fired.iter().filter(|fire| fire.state == FiredState::Acquired && fire.scheduled_ms < now_ms);
        let held: Vec<TriggerKey> = held.map(|fire| fire.trigger.clone()).take(MOST_COUNTED).collect();
        let threshold = usize::try_from(self.store.settings.recovery.threshold).unwrap_or(usize::MAX);
        let wanted = threshold.max(MOST_COUNTED + 1);
        let all = s.read_cluster_load(Late::Before(now_ms), wanted)?.1.overdue;
        outage.uncounted = all > MOST_COUNTED;
        outage.overdue = count(all.min(MOST_COUNTED));

        let mut rows = if held.is_empty() { Vec::new() } else { s.triggers(TriggerSelection::Keys(&held))? };
        let mut offset = 0;
        loop {
            // The number of rows, held or not, is the number of overdue triggers in all.
            let room = MOST_COUNTED.saturating_sub(offset + held.len()).min(PAGE);
            self.judge_missed(s, &rows, outage)?;
            rows = match room {
                0 => Vec::new(),
                room => s.triggers(TriggerSelection::Misfired {
                    before_ms: now_ms,
                    order: TriggerOrder::TimeThenPriority,
                    limit: room,
                    offset,
                })?,
            };
            if rows.is_empty() {
                break;
            }
            offset += rows.len();
        }
        // The rest heeds no misfire instruction.
        let told = outage.fire_now + outage.fire_each + outage.skipped + outage.unreadable;
        outage.fire_each += outage.overdue.saturating_sub(told).max(0);
        Ok(all)
    }

    fn judge_missed(&self, s: &mut dyn Session, rows: &[TriggerRow], outage: &mut Outage) -> Result<()> {
        let now_ms = outage.ended_ms;
        let threshold_ms = now_ms - self.store.misfired_before(now_ms);
        let mut calendars = Calendars::default();
        self.store.read_calendars(s, &mut calendars, rows.iter().filter_map(|row| row.calendar.as_deref()))?;
        for row in rows {
            let fate = calendars.of(row).and_then(|calendar| {
                Ok(outages::fate(self.store.trigger_value(row)?, calendar.as_deref(), now_ms, threshold_ms))
            });
            match fate {
                Ok(Fate::FireNow) => outage.fire_now += 1,
                Ok(Fate::FireEach) => outage.fire_each += 1,
                Ok(Fate::Skip) => outage.skipped += 1,
                Err(_) => outage.unreadable += 1,
            }
        }
        Ok(())
    }
}

fn count(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}
