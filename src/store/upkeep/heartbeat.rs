//! Heartbeat: each running fire says that it is alive, and learns whether it is still its node's;
//! those that fall silent are dead.

use super::Recovered;
use super::recovery::FireHolder;
use super::verdicts::{PAGE, SHARE_OF_RECOVERY};
use crate::epoch::millis;
use crate::error::Result;
use crate::rules::failover::Observations;
use crate::rules::observer::Observer;
use crate::store::action_log::Action;
use crate::store::row::{
    CancelRow, FiredRow, FiredSelection, FiredState, HeartbeatRow, InstanceSelection, Notification, Progress,
};
use crate::store::transaction::{fenced, fenced_fire};
use crate::store::{Lock, Owner, Session, TxMode, Upkeep};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A running fire's sign of life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FireHeartbeat {
    /// The fire.
    pub fire_id: String,
    /// The time for which it may be silent from now on before it is taken for dead, without the
    /// tolerance.
    pub limit: Duration,
    /// The progress that it has made.
    pub progress: Option<Progress>,
    /// The time since its job made progress; none if it need not say.
    pub silence: Option<Duration>,
    /// The time for which it may go without progress; none if that does not matter.
    pub silence_limit: Option<Duration>,
}

/// The observations of heartbeats; kept between passes.
#[derive(Clone, Debug, Default)]
pub struct Heartbeats {
    observations: Observations,
    /// The clock's ticks when the last pass that succeeded was begun.
    last: Option<Duration>,
    /// The time between the last two.
    usual: Duration,
    /// The last pass failed: what comes after it is the end of an outage.
    is_cut_off: bool,
    /// The last pass has missed beats of others: the next one, soon, tells whether they are dead,
    /// since an observer forgives them the time in which it did not look itself.
    pub(crate) sees_silence: bool,
}

impl Heartbeats {
    /// Takes note of an answer to what was asked at `begun`. Passes come at intervals of many
    /// lengths: only one that comes much later than the last one did is the end of an absence.
    fn read(&mut self, observer: &Observer, begun: Duration, was_cut_off: bool, checkin_interval: Duration) {
        let usual_ms = millis(checkin_interval.max(self.usual * 2));
        let last = self.last.replace(begun).unwrap_or(begun);
        self.usual = begun.saturating_sub(last);
        self.is_cut_off = false;
        self.observations.read_clock(observer);
        let ends_outage = was_cut_off || observer.was_away(last, begun, usual_ms);
        self.observations.note_answer(observer, ends_outage);
    }
}

/// The result of a pass of heartbeats.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeartbeatPass {
    /// The given fires that the node no longer holds.
    pub lost: Vec<String>,
    /// Fires of the node that somebody wants to stop, and who.
    pub cancelled: Vec<(String, String)>,
    /// The recoveries of fires that fell silent, by instance.
    pub recovered: Vec<Recovered>,
}

impl Upkeep<'_> {
    /// Says that these fires of `owner` are alive, in one statement; looks whether they are still
    /// its own, whether somebody wants one to stop, and which fires of the cluster have fallen
    /// silent: those are recovered as those of a dead node are (DS-10…16, PA-30…33).
    ///
    /// A fire is dead when `last beat + max(its limit, the observer's own silence) + tolerance <
    /// now`, by the store's clock: an observer that could not reach the store for a while forgives
    /// others as much, and leaves them the tolerance to come back as it did. After a jump of that
    /// clock only silence that was seen counts.
    ///
    /// No retries: the next pass is soon.
    ///
    /// # Errors
    /// The error of the database.
    pub fn heartbeat(&self, owner: &Owner, beats: &[FireHeartbeat], seen: &mut Heartbeats) -> Result<HeartbeatPass> {
        let begun = self.store.clock.ticks();
        let was_cut_off = std::mem::replace(&mut seen.is_cut_off, true);
        let (mut now_ms, mut asked, mut answered) = (0, begun, begun);
        let (mut rows, mut cancels): (Vec<HeartbeatRow>, Vec<CancelRow>) = (Vec::new(), Vec::new());
        let begin = if beats.is_empty() { TxMode::ReadOnly } else { TxMode::OwnRows };
        self.store.once("beat", begin, |s| {
            asked = self.store.clock.ticks();
            now_ms = s.now_ms()?;
            answered = self.store.clock.ticks();
            if !beats.is_empty() {
                s.put_heartbeats(&beats.iter().map(|beat| row(owner, beat, now_ms)).collect::<Vec<_>>())?;
            }
            rows =
                s.notable_heartbeats(&owner.instance, now_ms, now_ms.saturating_add(millis(self.store.tolerance())))?;
            cancels = s.cancels_for(&owner.instance)?;
            Ok(())
        })?;

        let gap = seen.last.map_or(Duration::ZERO, |last| begun.saturating_sub(last));
        let alive: BTreeSet<&str> = rows
            .iter()
            .filter(|row| row.instance == owner.instance && row.beat_ms == now_ms)
            .map(|row| row.fire_id.as_str())
            .collect();
        let lost = beats.iter().filter(|beat| !alive.contains(beat.fire_id.as_str()));
        let lost = lost.map(|beat| beat.fire_id.clone()).collect();

        let (gap_ms, tolerance_ms) = (millis(gap), millis(self.store.tolerance()));
        let has_several_clocks = self.store.database.has_several_writers();
        let observer = Observer { now_ms, ticks: asked, answered, gap_ms, tolerance_ms, has_several_clocks };
        let silent: Vec<&HeartbeatRow> = rows.iter().filter(|row| !alive.contains(row.fire_id.as_str())).collect();
        seen.read(&observer, begun, was_cut_off, self.store.settings.job_store.checkin_interval);
        seen.observations.keep_only(silent.iter().map(|row| row.fire_id.as_str()));
        seen.sees_silence = !silent.is_empty();
        let dead: BTreeMap<String, i64> = silent
            .into_iter()
            .filter(|row| seen.observations.convicts(*row, &observer))
            .map(|row| (row.fire_id.clone(), row.beat_ms))
            .collect();
        let recovered = if dead.is_empty() { Vec::new() } else { self.recover_silent(&dead)? };
        let cancelled = cancels.into_iter().map(|row| (row.fire_id, row.who)).collect();
        Ok(HeartbeatPass { lost, cancelled, recovered })
    }

    /// As [`Upkeep::heartbeat`] for a node on which nothing runs: as long as no beat of the
    /// cluster is missed, one statement.
    ///
    /// # Errors
    /// The error of the database.
    pub fn watch_heartbeats(&self, owner: &Owner, seen: &mut Heartbeats) -> Result<HeartbeatPass> {
        let begun = self.store.clock.ticks();
        let was_cut_off = std::mem::replace(&mut seen.is_cut_off, true);
        let tolerance_ms = millis(self.store.tolerance());
        let (asked, now_ms, doubtful, answered) =
            self.store.once("look for missed beats", TxMode::Autocommit, |s| {
                let asked = self.store.clock.ticks();
                let (now_ms, doubtful) = s.doubtful_heartbeats(tolerance_ms)?;
                Ok((asked, now_ms, doubtful, self.store.clock.ticks()))
            })?;
        if doubtful > 0 {
            seen.is_cut_off = was_cut_off;
            return self.heartbeat(owner, &[], seen);
        }
        let gap_ms = millis(seen.last.map_or(Duration::ZERO, |last| begun.saturating_sub(last)));
        let has_several_clocks = self.store.database.has_several_writers();
        let observer = Observer { now_ms, ticks: asked, answered, gap_ms, tolerance_ms, has_several_clocks };
        seen.read(&observer, begun, was_cut_off, self.store.settings.job_store.checkin_interval);
        seen.observations.keep_only(std::iter::empty());
        seen.sees_silence = false;
        Ok(HeartbeatPass::default())
    }

    /// Recovers fires whose last beat is still the one that was seen, a page of them in a
    /// transaction, for a part of the check-in interval: the cluster waits for it, and so do the
    /// beats of this node. The next pass goes on.
    fn recover_silent(&self, dead: &BTreeMap<String, i64>) -> Result<Vec<Recovered>> {
        let until = self.store.clock.ticks() + self.store.settings.job_store.checkin_interval / SHARE_OF_RECOVERY;
        let ids: Vec<String> = dead.keys().cloned().collect();
        let mut recovered = Vec::new();
        for page in ids.chunks(PAGE) {
            match self.recover_silent_page(page, dead) {
                Ok(page) => recovered.extend(page),
                Err(error) if recovered.is_empty() => return Err(error),
                // Fires that were recovered are told of first.
                Err(_) => break,
            }
            if self.store.clock.ticks() >= until {
                break;
            }
        }
        Ok(recovered)
    }

    /// A second node that saw the same silence finds nothing. Fires of a node that was declared
    /// dead are recovered with it.
    fn recover_silent_page(&self, ids: &[String], dead: &BTreeMap<String, i64>) -> Result<Vec<Recovered>> {
        self.store.once("recover silent fires", TxMode::Exclusive(Lock::TriggerAccess), |s| {
            let mut recovered = Vec::new();
            let members = s.instances(InstanceSelection::All)?;
            let is_member = |name: &str| members.iter().any(|member| member.name == name);
            let beats: Vec<HeartbeatRow> = s.rows().any_of(&["fire_id"], ids).list()?;
            let unchanged = beats.into_iter().filter(|row| dead.get(&row.fire_id) == Some(&row.beat_ms));
            let unchanged: Vec<String> = unchanged.map(|row| row.fire_id).collect();
            let mut by_instance: BTreeMap<String, Vec<_>> = BTreeMap::new();
            let is_silent = |fire: &FiredRow| fire.state == FiredState::Executing && is_member(&fire.instance);
            for fire in s.fired(FiredSelection::Ids(&unchanged))?.into_iter().filter(is_silent) {
                by_instance.entry(fire.instance.clone()).or_default().push(fire);
            }
            for (instance, fires) in by_instance {
                // Fires whose rows their jobs hold are left: the next pass finds them as silent.
                recovered.push(self.recover_free(s, &instance, fires, FireHolder::Running)?);
            }
            recovered.retain(|recovered| !recovered.is_empty());
            Ok(recovered)
        })
    }

    /// Recovers fires of the node itself that will not end: their workers died, or were given up.
    ///
    /// No retries: the beats of other runs are not to wait for a lock again and again.
    ///
    /// # Errors
    /// [`Error::Fenced`](crate::Error::Fenced) if `owner` is not registered; what the database
    /// reports.
    pub fn abandon(&self, owner: &Owner, fire_ids: &[String]) -> Result<Recovered> {
        self.store.once("give up fires", TxMode::Exclusive(Lock::TriggerAccess), |s| {
            s.draw_fences(Some(owner), 0)?.ok_or_else(|| fenced(owner))?;
            let fires = s.fired(FiredSelection::Ids(fire_ids))?;
            self.recover_free(s, &owner.instance, fires, FireHolder::Running)
        })
    }

    /// The fires of an instance that somebody wants to stop, and who.
    ///
    /// # Errors
    /// The error of the database that is left after the bounded retries.
    pub fn cancels(&self, instance: &str) -> Result<Vec<(String, String)>> {
        let rows = self.store.glance("look for orders to stop", |s| s.cancels_for(instance))?;
        Ok(rows.into_iter().map(|row| (row.fire_id, row.who)).collect())
    }

    /// Asks runs to stop, wherever they are; returns how many run and were not asked before. The
    /// nodes of the runs see it with their next look, or hear of it.
    ///
    /// # Errors
    /// The error of the database that is left after the bounded retries; the runs before have been
    /// asked then.
    pub fn request_cancels(&self, fire_ids: &[String], who: &str) -> Result<usize> {
        let order = |id| self.order_to_stop("ask a run to stop", id, who, |s| s.notify(Notification::Cancel));
        fire_ids.iter().map(order).sum()
    }

    /// Writes down that a run was asked to stop on its own node, with an order that outlives the
    /// node.
    ///
    /// # Errors
    /// The error of the database that is left after the bounded retries.
    pub(crate) fn note_cancel(&self, fire_id: &str, who: &str) -> Result<()> {
        self.order_to_stop("note that a run was asked to stop", &fire_id.to_owned(), who, |_| Ok(())).map(drop)
    }

    /// Orders a run to stop, and does something more with a new order; returns how many there are.
    ///
    /// An end or a recovery of the fire comes before, or looks at the order. A job may hold its
    /// fire in a transaction of its own: that is waited for once, and the order comes then anyway.
    fn order_to_stop(
        &self,
        purpose: &'static str,
        fire_id: &String,
        who: &str,
        also: impl Fn(&mut dyn Session) -> Result<()>,
    ) -> Result<usize> {
        let who = crate::error::storable(who, 250);
        let this = std::slice::from_ref(fire_id);
        let mut waits = true;
        // An order that was noted is not noted again.
        self.store.at_least_once(purpose, TxMode::OwnRows, |s| {
            if std::mem::take(&mut waits) && !s.hold_executing(fire_id)? {
                return Ok(0);
            }
            let noted = s.request_cancels(this, &who)?;
            if noted > 0 {
                also(s)?;
                self.store.note_action(s, Action::new("cancel", "fire"), this)?;
            }
            Ok(noted)
        })
    }

    /// The fires among these that `owner` no longer holds: they have died since they fell silent.
    ///
    /// # Errors
    /// The error of the database.
    pub fn fires_gone(&self, owner: &Owner, fire_ids: &[String]) -> Result<Vec<String>> {
        let held = self.store.glance("look for fires that are gone", |s| s.fired(FiredSelection::Ids(fire_ids)))?;
        let is_held = |id: &String| held.iter().any(|row| row.fire_id == *id && row.instance == owner.instance);
        Ok(fire_ids.iter().filter(|id| !is_held(id)).cloned().collect())
    }

    /// Beats for one fire, and looks whether it is still `owner`'s.
    ///
    /// # Errors
    /// [`Error::Fenced`](crate::Error::Fenced) if it is not; what the database reports after the
    /// bounded retries.
    pub fn heartbeat_one(&self, owner: &Owner, beat: &FireHeartbeat) -> Result<()> {
        // A beat that comes twice does no harm.
        self.store.at_least_once("beat for one fire", TxMode::OwnRows, |s| {
            if !s.hold_executing(&beat.fire_id)? {
                return Err(fenced_fire(&beat.fire_id, "stop"));
            }
            let now_ms = s.now_ms()?;
            s.put_heartbeats(&[row(owner, beat, now_ms)])
        })
    }
}

fn row(owner: &Owner, beat: &FireHeartbeat, beat_ms: i64) -> HeartbeatRow {
    HeartbeatRow {
        fire_id: beat.fire_id.clone(),
        instance: owner.instance.clone(),
        beat_ms,
        limit_ms: millis(beat.limit),
        progress: beat.progress.clone(),
        progress_ms: beat.silence.map(|silence| beat_ms.saturating_sub(millis(silence))),
        progress_limit_ms: beat.silence_limit.map(millis),
    }
}
