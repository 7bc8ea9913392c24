//! Verdicts: which peers are dead, when the next may be, and the recovery of what the dead have
//! left.

use super::membership::Comeback;
use super::recovery::FireHolder;
use super::{Checkin, Membership, Recovered};
use crate::epoch::{millis, moment};
use crate::error::{Error, FailureClass, Result};
use crate::hash::HashMap;
use crate::rules::failover::{Observations, window_end};
use crate::rules::foresight::{foresight_ms, slowest_read};
use crate::rules::neighbours::{self, Neighbour};
use crate::rules::observer::{Observer, Suspect};
use crate::rules::placement::{ClusterView, NodeIdentity, takes_any};
use crate::signal::Signal;
use crate::store::firing::is_fire_id;
use crate::store::history::LostReason;
use crate::store::placement::NodeReports;
use crate::store::row::{
    BlacklistRow, Departure, FiredSelection, InstanceRow, InstanceSelection, LimitRow, Notification, WithFires,
};
use crate::store::{JobStore, Lock, Session, TxMode, Upkeep};
use std::collections::BTreeSet;
use std::time::Duration;

/// The time after which a node of Quartz checks in again whose check-in has failed, at least:
/// `org.quartz.jobStore.dbRetryInterval`.
const QUARTZ_RETRY_MS: i64 = 15_000;

/// The time until a recovery that failed is tried again.
const SOON_MS: i64 = 1_000;

/// The part of the check-in interval that the recovery of others may take: a quarter.
pub(super) const SHARE_OF_RECOVERY: u32 = 4;

/// The number of fires that are recovered in one transaction: the cluster waits for it, and between
/// two the node checks in.
pub(super) const PAGE: usize = 500;

/// The longest that a transaction is open before the window's end: less than the time after which
/// servers end a session that does nothing in one.
const LONGEST_OPEN: Duration = Duration::from_secs(3);

/// The members of the cluster, as one read showed them.
#[derive(Default)]
pub(super) struct MembersSeen {
    pub(super) now_ms: i64,
    /// The ticks before the statement that brought the time, and when its answer was there.
    pub(super) asked: Duration,
    pub(super) answered: Duration,
    pub(super) instances: Vec<InstanceRow>,
    pub(super) with_fires: Vec<WithFires>,
    /// The last fence.
    pub(super) fence: Option<i64>,
    pub(super) nodes: Vec<NodeIdentity>,
    pub(super) blacklist: Vec<BlacklistRow>,
    pub(super) limits: Vec<LimitRow>,
    /// Nodes of ours whose names nodes of Quartz have taken since they died: what is left of ours
    /// is to be forgotten.
    pub(super) replaced: Vec<String>,
}

/// The judgement on the others at a check-in.
pub(super) struct Verdicts<'s> {
    /// Instances that are to be recovered, with the last check-in of those that have a state row.
    suspects: Vec<(String, Option<i64>)>,
    /// The peer whose window ends first, in how many milliseconds, and whether the window is open.
    nearest: Option<(i64, &'s InstanceRow, bool)>,
    observer: Observer,
    /// The duration of a read as it was planned before this one.
    planned: Duration,
}

/// A peer whose window ends soon, if it goes on being silent.
pub(super) struct Foreseen<'a> {
    /// The end, in ticks.
    until: Duration,
    /// The peer is dead, at this time of the store's.
    is_dead: &'a dyn Fn(i64) -> bool,
}

impl Upkeep<'_> {
    /// Judges the others by what was seen of them.
    pub(super) fn judge<'s>(
        &self,
        me: &mut Membership,
        seen: &'s MembersSeen,
        begun: Duration,
        checkin: &mut Checkin,
    ) -> Verdicts<'s> {
        let planned = me.slowest_read;
        me.slowest_read = slowest_read(planned, seen.answered.saturating_sub(begun));
        let last = me.answered.unwrap_or(begun);
        let observer = self.observer(seen, begun.saturating_sub(last));
        me.observations.read_clock(&observer);
        let own_interval = millis(self.store.settings.job_store.checkin_interval);
        let ends_outage = me.is_cut_off || observer.was_away(last, begun, own_interval);
        me.observations.note_answer(&observer, ends_outage);
        let peers: Vec<_> = seen.instances.iter().filter(|i| i.name != me.instance).collect();
        let known: BTreeSet<&str> = seen.instances.iter().map(|row| row.name.as_str()).collect();
        let unknown: Vec<_> = seen.with_fires.iter().filter(|with| !known.contains(with.instance.as_str())).collect();
        // A node of Quartz that has no state row for a while is a member all the same.
        let is_of_quartz = |with: &&WithFires| !with.ids.iter().all(|id| is_fire_id(id));
        let known_until = begun.saturating_add(self.store.settings.job_store.checkin_interval);
        self.node.note_members(&seen.instances, unknown.iter().any(is_of_quartz), known_until);
        let names = peers.iter().map(|peer| &peer.name).chain(unknown.iter().map(|with| &with.instance));
        me.observations.keep_only(names.map(String::as_str));

        let neighbours = neighbours(&me.instance, seen, observer.tolerance_ms);
        let mut nearest: Option<(i64, &InstanceRow, bool)> = None;
        let mut suspects = Vec::new();
        for peer in peers {
            if me.observations.convicts(peer, &observer) {
                suspects.push((peer.name.clone(), Some(peer.last_checkin_ms)));
            } else {
                let end = window_end(peer, observer.tolerance_ms);
                let grace = me.observations.grace(&peer.name, &observer).min(observer.quarter_of_tolerance());
                let mut wait = end.saturating_sub(seen.now_ms).max(millis(grace)).saturating_add(1);
                if peer.incarnation.is_none() || observer.has_several_clocks {
                    let window = peer.checkin_interval_ms.saturating_add(observer.tolerance_ms);
                    let window = Duration::from_millis(window.unsigned_abs());
                    let silent = me.observations.silent_until(&peer.name, window);
                    let left = silent.map_or(0, |until| millis(until.saturating_sub(observer.ticks)));
                    wait = wait.max(left.saturating_add(1));
                }
                if peer.incarnation.is_none() {
                    let skew_ms = me.observations.skew_ms(&peer.name);
                    checkin.foreign_clocks.push((peer.name.clone(), skew_ms));
                }
                let is_neighbour = neighbours.contains(peer.name.as_str());
                if is_neighbour && nearest.is_none_or(|(shortest, ..)| wait < shortest) {
                    nearest = Some((wait, peer, end >= seen.now_ms));
                }
            }
        }
        // Fired rows of an instance without a state row belong to nobody (QZ-47, H7: at every
        // check-in, not only the first). A node of ours writes its state row before its first fired
        // row, and begins nothing once that is gone. A node of Quartz that was declared dead goes
        // on firing, and writes its state row again at its next check-in.
        for with in unknown {
            let of_quartz = me.observations.quartz_interval_ms().max(QUARTZ_RETRY_MS);
            let (instance, interval_ms) = (&with.instance, own_interval.max(of_quartz));
            let missing = Suspect { instance, last_checkin_ms: i64::MAX, interval_ms, foreign: true };
            if !is_of_quartz(&with) || me.observations.convicts(missing, &observer) {
                suspects.push((instance.clone(), None));
            }
        }

        let dead: BTreeSet<&str> = suspects.iter().map(|(name, _)| name.as_str()).collect();
        let lives = |node: &&NodeIdentity| !dead.contains(node.instance.as_str());
        let alive: Vec<NodeIdentity> = seen.nodes.iter().filter(lives).cloned().collect();
        let (blacklist, limits) = (seen.blacklist.clone(), seen.limits.clone());
        let grace_ms = millis(self.store.settings.job_store.checkin_interval);
        self.node.note_placement(ClusterView { alive, blacklist, limits, grace_ms });
        checkin.refusal = takes_any(&self.node.identity(&me.instance), &seen.blacklist, seen.now_ms).err();
        let is_free = checkin.refusal.is_none() && me.node.as_ref().is_none_or(|n| n.info.activity.takes_work());
        me.comeback = match (is_free, me.comeback) {
            (false, _) => Comeback::Awaited,
            (true, Comeback::Awaited) => Comeback::Since(seen.now_ms, begun),
            (true, comeback) => comeback,
        };
        checkin.is_active = is_free && self.is_known(me, seen, &dead, begun) && is_active(me, seen, &dead);
        let longest_serving = seen.instances.iter().filter(|i| i.incarnation.is_some()).min_by_key(|i| i.joined);
        checkin.is_longest_serving = longest_serving.is_none_or(|i| i.name == me.instance);
        Verdicts { suspects, nearest, observer, planned }
    }

    /// The others know that this node takes work again: each of them, one of whom was its deputy,
    /// has checked in since, or has lost its lease.
    fn is_known(&self, me: &Membership, seen: &MembersSeen, dead: &BTreeSet<&str>, now: Duration) -> bool {
        let Comeback::Since(since_ms, since) = me.comeback else { return true };
        let tolerance_ms = millis(self.store.settings.job_store.checkin_misfire_threshold);
        let waited_ms = millis(now.saturating_sub(since));
        let others = seen.instances.iter().filter(|row| row.name != me.instance && row.incarnation.is_some());
        let knows = |row: &InstanceRow| {
            let window_ms = row.checkin_interval_ms.saturating_add(tolerance_ms);
            row.last_checkin_ms >= since_ms || dead.contains(row.name.as_str()) || waited_ms > window_ms
        };
        others.into_iter().all(knows)
    }

    /// Recovers the suspects, a page of each in its turn, as long as one check-in may take for it:
    /// the next is not to wait for the rest, and none for a larger one. An instance that cannot be
    /// recovered holds up no other. Then the peer whose window ends first has its turn.
    pub(super) fn recover_dead(
        &self,
        me: &mut Membership,
        seen: &MembersSeen,
        verdicts: Verdicts<'_>,
        checkin: &mut Checkin,
    ) {
        let Verdicts { mut suspects, nearest, observer, planned } = verdicts;
        let interval = self.store.settings.job_store.checkin_interval;
        let (begun, limit) = (self.store.clock.ticks(), interval / SHARE_OF_RECOVERY);
        // The turn is with whoever comes after the one that had it last.
        suspects.sort();
        let next = suspects.partition_point(|(name, _)| me.last_recovered.as_ref().is_some_and(|last| name <= last));
        suspects.rotate_left(next);
        let mut next_suspicion = None;
        let mut gone = BTreeSet::new();
        for (n, (name, last_checkin_ms)) in suspects.into_iter().enumerate() {
            if n > 0 && self.store.clock.ticks().saturating_sub(begun) >= limit {
                next_suspicion = Some(0);
                break;
            }
            let answer = self.recover_instance(&name, last_checkin_ms, None);
            // An instance whose rows somebody has to mend first is dead all the same, and so is one
            // for whose recovery there is no room.
            let lasts = |error: &Error| {
                !error.is_transient() || error.failure_class() == Some(FailureClass::InsufficientResources)
            };
            if name != me.instance && answer.as_ref().map_or_else(lasts, Option::is_some) {
                gone.insert(name.clone());
            }
            match checkin.note(&name, answer) {
                Some(true) => next_suspicion = Some(0),
                Some(false) => {}
                None => next_suspicion = next_suspicion.or(Some(SOON_MS)),
            }
            me.last_recovered = Some(name);
        }
        // A suspect that was not recovered may be active still.
        let gone = gone.iter().map(String::as_str).collect();
        if checkin.is_active && !is_active(me, seen, &gone) {
            checkin.is_active = false;
            next_suspicion = next_suspicion.or(Some(0));
        }
        if let Some((wait, peer, is_open)) = nearest {
            let ahead_ms = |look| foresight_ms(millis(look), millis(interval), observer.tolerance_ms);
            let wait = match is_open {
                // The window is over, and something else than time speaks for the peer.
                false => wait,
                // A look that was to be the last before the end is the last, however fast it was.
                true if wait <= ahead_ms(planned.max(me.slowest_read)) => {
                    self.recover_foreseen(me, peer, wait, &observer, checkin);
                    0 // what the look has said of the peer is no longer so
                }
                true => wait - ahead_ms(me.slowest_read),
            };
            next_suspicion = Some(next_suspicion.map_or(wait, |next| next.min(wait)));
        }
        me.answered = Some(if checkin.unrecovered.is_empty() { self.store.clock.ticks() } else { seen.answered });
        checkin.next_suspicion = next_suspicion.map(|ms| Duration::from_millis(ms.unsigned_abs()));
    }

    /// Recovers a peer whose window ends in `wait_ms` as soon as it has ended, unless the peer
    /// checks in before. On a slow way to the store a look after the end would come late, and the
    /// recovery that follows it once more.
    fn recover_foreseen(
        &self,
        me: &Membership,
        peer: &InstanceRow,
        wait_ms: i64,
        observer: &Observer,
        checkin: &mut Checkin,
    ) {
        let until = observer.answered.saturating_add(Duration::from_millis(wait_ms.unsigned_abs()));
        let open = if self.store.database.begins_apart() { LONGEST_OPEN } else { Duration::ZERO };
        self.store.clock.wait(&Signal::default(), Some(until.saturating_sub(open)));
        let begun = self.store.clock.ticks().max(until);
        let is_dead = |now_ms| {
            let now = self.store.clock.ticks();
            let gap_ms = millis(now.saturating_sub(observer.answered));
            let later = Observer { now_ms, ticks: now, answered: now, gap_ms, ..*observer };
            let was_away =
                later.was_away(observer.answered, begun, millis(self.store.settings.job_store.checkin_interval));
            now >= until && !was_away && me.observations.clone().convicts(peer, &later)
        };
        let foreseen = Foreseen { until, is_dead: &is_dead };
        checkin.note(&peer.name, self.recover_instance(&peer.name, Some(peer.last_checkin_ms), Some(&foreseen)));
    }

    /// Recovers an instance that was suspected when its check-in was `seen_ms` (none: fired rows
    /// without a state row), as much of it as one transaction may: what is left are fired rows
    /// without a state row.
    ///
    /// Takes `STATE_ACCESS`, looks again, takes `TRIGGER_ACCESS`, recovers. A second node that saw
    /// the same failure waits, finds another check-in time or nothing at all, and does nothing
    /// (QZ-43). Fires whose rows their jobs hold in transactions of their own are left for the next
    /// look. An instance that is `foreseen` to die is recovered if it is dead when the lock is
    /// taken.
    pub(super) fn recover_instance(
        &self,
        name: &str,
        seen_ms: Option<i64>,
        foreseen: Option<&Foreseen<'_>>,
    ) -> Result<Option<Recovered>> {
        let begin = if foreseen.is_some() { TxMode::OwnRows } else { TxMode::Exclusive(Lock::StateAccess) };
        self.store.once("recover a failed instance", begin, |s| {
            foreseen.map_or(Ok(()), |foreseen| foreseen.wait_and_lock(self.store, s))?;
            let row = s.instances(InstanceSelection::Named(name))?.pop();
            if row.as_ref().map(|i| i.last_checkin_ms) != seen_ms {
                return Ok(None); // it has checked in, or it has been recovered, since it was suspected
            }
            // An observer, or one in standby, was not there for work: its end is not the beginning
            // of an outage.
            let now_ms = s.now_ms()?;
            if foreseen.is_some_and(|foreseen| !(foreseen.is_dead)(now_ms)) {
                return Ok(None);
            }
            let reports = NodeReports::of(s, name)?;
            let worked = row.as_ref().is_some_and(|row| reports.takes_work(row, now_ms));
            s.lock(Lock::TriggerAccess)?;
            // A check-in needs no lock: one that came after the look, late but alive, is not
            // overrun.
            if let Some(seen_ms) = seen_ms
                && !s.delete_instance(name, Departure::Silent(seen_ms))?
            {
                return Ok(None);
            }
            if let Some(seen_ms) = seen_ms.filter(|_| worked) {
                s.note_seen(seen_ms)?;
            }
            let fires = s.fired(FiredSelection::FreeOfInstance(name, PAGE))?;
            let has_more = fires.len() == PAGE;
            let mut done = self.recover_fires(s, name, fires, FireHolder::Dead)?;
            if !has_more {
                // The rest is held by its jobs: it has begun.
                self.store.firing().restore_gone(s, name)?;
                s.delete_begin_rows(name)?;
            }
            let parts = self.store.firing().abandon_parts(s, name, LostReason::Dead)?;
            done.last_checkin = seen_ms.map(moment);
            done.has_more = has_more;
            let is_news = seen_ms.is_some() || parts > 0 || !done.is_empty();
            if is_news {
                s.notify(Notification::Change)?;
            }
            Ok(Some(done).filter(|done| seen_ms.is_some() || !done.is_empty()))
        })
    }

    /// Recovers all that is left under a name, before somebody registers under it.
    pub(super) fn recover_rest_of(&self, name: &str, seen_ms: Option<i64>) -> Result<Vec<Recovered>> {
        let mut all = Vec::new();
        let mut seen_ms = seen_ms;
        loop {
            let recovered = self.recover_instance(name, seen_ms, None)?;
            // A peer that was faster leaves what is too much for one transaction.
            let has_more = recovered.as_ref().map_or(seen_ms.is_some(), |recovered| recovered.has_more);
            all.extend(recovered);
            if !has_more {
                return Ok(all);
            }
            seen_ms = None;
        }
    }

    /// True if a node may be taken for dead by one look, as a node that has just started takes it.
    pub(crate) fn is_dead_at_once(&self, row: &InstanceRow, now_ms: i64) -> bool {
        let seen = MembersSeen { now_ms, ..MembersSeen::default() };
        let observer = Observer { has_several_clocks: false, ..self.observer(&seen, Duration::ZERO) };
        Observations::default().convicts(row, &observer)
    }

    /// Recovers what is left under the name of a node that is dead or not registered, as a peer
    /// would; nothing of a node that lives.
    ///
    /// # Errors
    /// The error of the database.
    pub fn recover_dead_instance(&self, name: &str) -> Result<Vec<Recovered>> {
        let which = InstanceSelection::Named(name);
        let (now_ms, rows) = self.store.read("look for a dead instance", |s| Ok((s.now_ms()?, s.instances(which)?)))?;
        match rows.first() {
            Some(row) if !self.is_dead_at_once(row, now_ms) => Ok(Vec::new()),
            row => self.recover_rest_of(name, row.map(|row| row.last_checkin_ms)),
        }
    }

    pub(super) fn observer(&self, seen: &MembersSeen, gap: Duration) -> Observer {
        Observer {
            now_ms: seen.now_ms,
            ticks: seen.asked,
            answered: seen.answered,
            gap_ms: millis(gap),
            tolerance_ms: millis(self.store.tolerance()),
            has_several_clocks: self.store.database.has_several_writers(),
        }
    }
}

impl Foreseen<'_> {
    /// Waits for the end of the window, and takes the lock.
    fn wait_and_lock(&self, store: &JobStore, s: &mut dyn Session) -> Result<()> {
        store.clock.wait(&Signal::default(), Some(self.until));
        s.lock(Lock::StateAccess)
    }
}

impl Checkin {
    /// Takes note of a recovery that was tried: whether there is more of it, or none if it failed.
    fn note(&mut self, name: &str, recovered: Result<Option<Recovered>>) -> Option<bool> {
        match recovered {
            Ok(recovered) => {
                let has_more = recovered.as_ref().is_some_and(|recovered| recovered.has_more);
                self.recovered.extend(recovered);
                Some(has_more)
            }
            Err(error) => {
                log::warn!("failed instance not recovered yet instance={name} error={error}");
                self.unrecovered.push((name.to_owned(), error.to_string()));
                None
            }
        }
    }
}

/// This node is the one that fires in active-passive mode: of those that take work the one that has
/// served longest.
///
/// Two must not be active at once. Another that is drained or blacklisted has to know it: it has
/// checked in since. A node that stands by, or ends, has said so itself.
fn is_active(me: &Membership, seen: &MembersSeen, dead: &BTreeSet<&str>) -> bool {
    let nodes: HashMap<&str, &NodeIdentity> = seen.nodes.iter().map(|node| (node.instance.as_str(), node)).collect();
    let fires = |row: &&InstanceRow| {
        let known =
            |entry: &&BlacklistRow| entry.made_ms.saturating_add(row.checkin_interval_ms) <= row.last_checkin_ms;
        let blacklist: Vec<BlacklistRow> = seen.blacklist.iter().filter(known).cloned().collect();
        row.incarnation.is_some()
            && !dead.contains(row.name.as_str())
            && nodes.get(row.name.as_str()).is_none_or(|node| {
                let node_works = row.name == me.instance || node.activity.takes_work();
                node_works && takes_any(node, &blacklist, seen.now_ms).is_ok()
            })
    };
    seen.instances.iter().filter(fires).min_by_key(|row| row.joined).is_some_and(|row| row.name == me.instance)
}

/// The members at whose windows' ends this node looks.
fn neighbours<'s>(me: &str, seen: &'s MembersSeen, tolerance_ms: i64) -> BTreeSet<&'s str> {
    let member = |row: &'s InstanceRow| Neighbour {
        instance: &row.name,
        is_timely: !neighbours::is_late(row, tolerance_ms, seen.now_ms),
        is_ours: row.incarnation.is_some(),
    };
    neighbours::neighbours(me, &seen.instances.iter().map(member).collect::<Vec<_>>())
}
