//! Check-in: say "I am alive", learn who is not, learn whether we were thought dead.

use super::{Checkin, Membership, Recovered, nodes};
use crate::error::{Error, Result};
use crate::machine::{Living, Process, lives_here};
use crate::node::NodeReport;
use crate::rules::failover::{self, Namesake, Observer, Suspect, millis};
use crate::rules::placement::{NodeIdentity, takes_any};
use crate::store::placement::identities;
use crate::store::row::{BarRow, ClusterLook, InstanceRow, LimitRow, Whereabouts};
use crate::store::transaction::random_hex;
use crate::store::{Begin, JobStore, Lock, Owner, Session};
use std::time::Duration;

/// When what could not be recovered is tried again.
const SOON_MS: i64 = 1_000;

/// Which part of the check-in interval the recovery of others may take: a quarter.
const SHARE_OF_RECOVERY: u32 = 4;

impl JobStore {
    /// One check-in: the own row in a short transaction; then, if this is the first or somebody is suspected, under the
    /// locks, a second look and one transaction per failed instance (QZ-40…44).
    ///
    /// Who starts under the name of a node of which it is not known whether it lives waits for its
    /// next check-in: until then the answer is [`Checkin::twin`].
    ///
    /// No retries: the caller decides when to try again, inside the window its peers allow it. The time of the last
    /// check-in moves on only if its transaction was committed, and to the moment the attempt was begun (H8).
    ///
    /// # Errors
    /// [`Error::AlreadyRunning`] for a first check-in under the name of a node that lives; what the
    /// database reports, and nothing has changed then but what a committed transaction changed.
    pub fn check_in(&self, me: &mut Membership) -> Result<Checkin> {
        let was_cut_off = me.is_cut_off;
        let checkin = self.try_to_check_in(me);
        me.is_cut_off = match &checkin {
            // Who was declared dead was away as well. Of a twin nobody has judged anything yet.
            Ok(checkin) => checkin.failed_out && !checkin.registered || was_cut_off && checkin.twin,
            // One that only starts has seen nobody before the outage.
            Err(error) => was_cut_off || me.last_checkin.is_some() && error.is_outage(),
        };
        checkin
    }

    fn try_to_check_in(&self, me: &mut Membership) -> Result<Checkin> {
        self.note_identity(me);
        let begun = self.clock.ticks();
        let gap = me.last_checkin.map_or(Duration::ZERO, |last| begun.saturating_sub(last));
        let mut checkin = Checkin::default();

        let Some(owner) = me.owner() else {
            return self.register(me, begun, checkin);
        };
        let (registered, seen) = self.heartbeat(&owner, me.node.as_ref())?;
        if !registered {
            // H6: somebody convicted us while we lived. What we hold is lost; we come back as another incarnation.
            me.incarnation = None;
            me.living = None;
            me.was_failed_out = true;
            checkin.failed_out = true;
            return Ok(checkin);
        }
        if self.end_incarnation(me, seen.now_ms, &mut checkin)? {
            return Ok(checkin);
        }
        let was_barred = me.barred_at.is_some() && me.barred_at == me.last_checkin;
        me.last_checkin = Some(begun);
        self.judge(me, &seen, gap, begun, &mut checkin)?;
        if checkin.barred.is_some() && (!was_barred || self.sees_parts()) {
            self.leave_parts(&me.instance)?;
        }
        self.note_last_work(me, checkin.barred.is_none());
        if me.published != self.types_generation() {
            // A type was added since. That it cannot be told is no failure of the check-in: the next one tries again.
            match self.publish(&owner) {
                Ok(generation) => me.published = generation.unwrap_or(me.published),
                Err(error) => log::warn!("job types not published instance={} error={error}", me.instance),
            }
        }
        Ok(checkin)
    }

    /// Keeps the time at which a node has ceased to take work, though it lives: an outage is a time
    /// without nodes that do. That it cannot be told is no failure of the check-in: the next one
    /// tries again.
    fn note_last_work(&self, me: &mut Membership, is_free: bool) {
        let works = is_free && me.node.as_ref().is_none_or(|node| node.info.activity.takes_work());
        if me.worked && !works {
            let noted =
                self.once("note the last work", Begin::Writing, &mut |s| s.now_ms().and_then(|ms| s.note_seen(ms)));
            if let Err(error) = noted {
                log::warn!("time of the last work not kept instance={} error={error}", me.instance);
                return;
            }
        }
        me.worked = works;
    }

    /// The short transaction without a lock: everybody's rows, then the own.
    fn heartbeat(&self, owner: &Owner, node: Option<&NodeReport>) -> Result<(bool, Seen)> {
        let mut answer = (false, Seen::default());
        self.once("check in", Begin::Writing, &mut |s| {
            let seen = self.look_around(s)?;
            for name in &seen.replaced {
                s.forget_replaced(name)?;
            }
            let registered = s.touch_instance(owner, seen.now_ms)?;
            if let Some(node) = node.filter(|_| registered) {
                s.put_node(&nodes::row(&owner.instance, node, seen.now_ms))?;
            }
            if registered {
                self.compare_fence(s)?;
            }
            answer = (registered, seen);
            Ok(())
        })?;
        Ok(answer)
    }

    /// The first check-in, or the first after a conviction: left-overs under our name are recovered, then we register
    /// under a new incarnation. Only then may anything be acquired (H25).
    fn register(&self, me: &mut Membership, begun: Duration, mut checkin: Checkin) -> Result<Checkin> {
        let mut seen = Seen::default();
        self.once("look at the cluster", Begin::Reading, &mut |s| {
            seen = self.look_around(s)?;
            Ok(())
        })?;
        let namesake = seen.instances.iter().find(|i| i.name == me.instance);
        // What an earlier try of this node has registered, whose answer was lost, is no twin.
        let is_own = |row: &&InstanceRow| row.incarnation.is_some() && row.incarnation == me.attempted;
        if let Some(row) = namesake.filter(|row| !is_own(row)) {
            let observer = self.observer(&seen, Duration::ZERO);
            let (is_gone, whereabouts) = self.look_for(me, row)?;
            let verdict = me.observations.judge_namesake(suspect(row), is_gone, &observer);
            // One that was declared dead while it lived leaves its name to a later namesake for the
            // whole window: two that convict each other in turn would help nobody.
            let is_free = match me.was_failed_out {
                true => is_gone == Some(true) || me.observations.convicts(suspect(row), &observer),
                false => verdict == Namesake::Gone,
            };
            if verdict == Namesake::Lives && !me.was_failed_out {
                return Err(Error::AlreadyRunning { instance: me.instance.clone(), whereabouts });
            }
            if !is_free {
                checkin.twin = true;
                checkin.next_suspicion = match verdict {
                    Namesake::Doubtful(left) if !me.was_failed_out => Some(left),
                    _ => None,
                };
                return Ok(checkin);
            }
        }
        if namesake.is_some() || seen.with_fires.contains(&me.instance) {
            checkin.recovered.extend(self.recover_left_overs(&me.instance, namesake.map(|i| i.last_checkin_ms))?);
        }
        let incarnation = random_hex()?;
        me.attempted = Some(incarnation.clone());
        let living = Living::new(&incarnation);
        let (mut published, mut outage, mut recovering, mut is_taken) = (0, None, None, false);
        let asked = self.clock.ticks(); // the store's time comes with the lock
        self.once("register the instance", Begin::Locking(Lock::StateAccess), &mut |s| {
            let now_ms = s.now_ms()?;
            let answered = self.clock.ticks();
            let instances = s.instances()?;
            is_taken = instances.iter().any(|row| row.name == me.instance);
            if is_taken {
                return Ok(()); // another was faster, which has yet to show whether it lives
            }
            (outage, recovering) = match me.was_failed_out {
                // Whoever declared us dead was there.
                true => (None, s.recovery_mode()?.and_then(|row| row.since_ms)),
                false => self.look_for_outage(s, &me.instance, &instances, &checkin.recovered)?,
            };
            let joined = nodes::place(me.node.as_ref(), s.draw_fences(None, 1)?.unwrap_or_default());
            s.put_instance(&InstanceRow {
                name: me.instance.clone(),
                last_checkin_ms: now_ms,
                checkin_interval_ms: millis(self.settings.checkin_interval),
                incarnation: Some(incarnation.clone()),
                joined,
            })?;
            if let Some(node) = &me.node {
                s.put_node(&nodes::row(&me.instance, node, now_ms))?;
            }
            s.reset_begun(&Owner { instance: me.instance.clone(), incarnation: incarnation.clone() })?;
            if let Some(process) = &me.process {
                s.put_process(&me.instance, &incarnation, &process.to_string())?;
            }
            published = self.publish_in(s, &me.instance)?;
            seen = Seen { now_ms, asked, answered, ..self.look_around(s)? };
            Ok(())
        })?;
        if is_taken {
            checkin.twin = true;
            checkin.next_suspicion = Some(Duration::ZERO);
            return Ok(checkin);
        }
        me.incarnation = Some(incarnation);
        me.living = Some(living);
        self.note_recovery(recovering);
        checkin.outage = outage;
        me.published = published;
        me.was_failed_out = false;
        me.last_checkin = Some(begun);
        checkin.registered = true;
        self.judge(me, &seen, Duration::ZERO, begun, &mut checkin)?;
        self.note_last_work(me, checkin.barred.is_none());
        Ok(checkin)
    }

    /// Whether the process of a node is gone, as far as this machine can tell, and where it is or
    /// was, for people.
    fn look_for(&self, me: &Membership, row: &InstanceRow) -> Result<(Option<bool>, String)> {
        let found = self.glance("look where a namesake runs", |s| s.process_of(&row.name))?;
        let theirs: Option<Process> = found.process.as_deref().and_then(|text| text.parse().ok());
        let is_gone = match (&me.process, &theirs) {
            (Some(own), Some(theirs)) if own == theirs => {
                row.incarnation.as_deref().map(|incarnation| !lives_here(incarnation))
            }
            (Some(own), Some(theirs)) => theirs.is_gone(own),
            _ => None,
        };
        let (host, pid) = match theirs {
            Some(theirs) => (Some(theirs.host().to_owned()), Some(i64::from(theirs.pid()))),
            None => (found.host, found.pid),
        };
        let whereabouts = match (host, pid) {
            (Some(host), Some(pid)) => format!("on host `{host}`, pid {pid}"),
            _ if row.incarnation.is_none() => "as a node of Quartz".to_owned(),
            _ => "on a host that it does not tell".to_owned(),
        };
        Ok((is_gone, whereabouts))
    }

    /// Suspects are looked at again under the locks and recovered, each in its own transaction.
    fn judge(
        &self,
        me: &mut Membership,
        seen: &Seen,
        gap: Duration,
        begun: Duration,
        checkin: &mut Checkin,
    ) -> Result<()> {
        self.note_members(&seen.instances);
        let observer = self.observer(seen, gap);
        me.observations.read_clock(&observer);
        let own_interval = millis(self.settings.checkin_interval);
        if me.is_cut_off || observer.was_away(begun, own_interval) {
            me.observations.note_return(&observer, own_interval);
        }
        let grace = millis(me.observations.grace(&observer));
        let peers: Vec<_> = seen.instances.iter().filter(|i| i.name != me.instance).collect();
        me.observations.keep_only(peers.iter().map(|i| i.name.as_str()));

        let mut next_suspicion: Option<i64> = None;
        let mut suspects = Vec::new();
        for peer in peers {
            if me.observations.convicts(suspect(peer), &observer) {
                suspects.push((peer.name.clone(), Some(peer.last_checkin_ms)));
            } else {
                let end = failover::window_end(
                    peer.last_checkin_ms,
                    peer.checkin_interval_ms,
                    own_interval.min(peer.checkin_interval_ms),
                    observer.tolerance_ms,
                );
                let mut wait = end.saturating_sub(seen.now_ms).max(grace).saturating_add(1);
                if peer.incarnation.is_none() {
                    let window = peer.checkin_interval_ms.saturating_add(observer.tolerance_ms);
                    let window = Duration::from_millis(window.unsigned_abs());
                    let silent = me.observations.silent_until(suspect(peer), window);
                    let left = silent.map_or(0, |until| millis(until.saturating_sub(observer.ticks)));
                    wait = wait.max(left.saturating_add(1));
                    let skew_ms = me.observations.skew_ms(&peer.name);
                    checkin.foreign_clocks.push((peer.name.clone(), skew_ms));
                }
                next_suspicion = Some(next_suspicion.map_or(wait, |n| n.min(wait)));
            }
        }
        // Fired rows of an instance without a state row belong to nobody (QZ-47, H7: at every check-in, not only the
        // first). Every node of ours and of Quartz's writes its state row before its first fired row.
        let known = |name: &String| seen.instances.iter().any(|i| &i.name == name);
        suspects.extend(seen.with_fires.iter().filter(|name| !known(name)).map(|name| (name.clone(), None)));

        let lives = |node: &&NodeIdentity| !suspects.iter().any(|(name, _)| *name == node.instance);
        let alive: Vec<NodeIdentity> = seen.nodes.iter().filter(lives).cloned().collect();
        self.note_placement(alive, &seen.bars, &seen.limits);
        checkin.barred = takes_any(&self.identity(&me.instance), &seen.bars, seen.now_ms).err();
        if checkin.barred.is_some() {
            me.barred_at = Some(begun);
        }
        let is_late = me.barred_at.is_none_or(|barred| begun.saturating_sub(barred) > self.settings.checkin_interval);
        checkin.is_active = is_late && is_active(me, seen, &suspects);
        if let Some(again_ms) = self.recover_suspects(me, suspects, checkin) {
            next_suspicion = Some(next_suspicion.map_or(again_ms, |n| n.min(again_ms)));
        }
        checkin.next_suspicion = next_suspicion.map(|ms| Duration::from_millis(ms.unsigned_abs()));
        let longest_serving = seen.instances.iter().filter(|i| i.incarnation.is_some()).min_by_key(|i| i.joined);
        checkin.is_longest_serving = longest_serving.is_none_or(|i| i.name == me.instance);
        Ok(())
    }

    /// Recovers these, a page of each in its turn, as long as one check-in may take for it: the
    /// next is not to wait for the rest, and none for a larger one. One that cannot be recovered
    /// holds up no other. Returns in how many milliseconds to come back to what is left, if
    /// anything is.
    fn recover_suspects(
        &self,
        me: &mut Membership,
        mut suspects: Vec<(String, Option<i64>)>,
        checkin: &mut Checkin,
    ) -> Option<i64> {
        let (begun, limit) = (self.clock.ticks(), self.settings.checkin_interval / SHARE_OF_RECOVERY);
        // The turn is with whoever comes after the one that had it last.
        suspects.sort();
        let next = suspects.partition_point(|(name, _)| me.last_turn.as_ref().is_some_and(|last| name <= last));
        suspects.rotate_left(next);
        let mut again_ms = None;
        for (n, (name, last_checkin_ms)) in suspects.into_iter().enumerate() {
            if n > 0 && self.clock.ticks().saturating_sub(begun) >= limit {
                return Some(0);
            }
            match self.recover_instance(&name, last_checkin_ms) {
                Ok(None) => {}
                Ok(Some(recovered)) => {
                    again_ms = if recovered.has_more { Some(0) } else { again_ms };
                    checkin.recovered.push(recovered);
                }
                Err(error) => {
                    log::warn!("failed instance not recovered yet instance={name} error={error}");
                    again_ms = again_ms.or(Some(SOON_MS));
                    checkin.unrecovered.push((name.clone(), error.to_string()));
                }
            }
            me.last_turn = Some(name);
        }
        again_ms
    }

    /// Everybody's rows, and what keeps nodes from work.
    fn look_around(&self, s: &mut dyn Session) -> Result<Seen> {
        let asked = self.clock.ticks();
        let (ClusterLook { now_ms, instances, with_fires }, Whereabouts { nodes, bars, limits }) = s.look_around()?;
        let answered = self.clock.ticks();
        let is_foreign = |name: &String| instances.iter().any(|i| i.name == *name && i.incarnation.is_none());
        let replaced = nodes.iter().map(|node| node.instance.clone()).filter(is_foreign).collect();
        let nodes = identities(nodes, &instances);
        Ok(Seen { now_ms, asked, answered, nodes, with_fires, bars, limits, instances, replaced })
    }

    fn observer(&self, seen: &Seen, gap: Duration) -> Observer {
        Observer {
            now_ms: seen.now_ms,
            ticks: seen.asked,
            answered: seen.answered,
            gap_ms: millis(gap),
            tolerance_ms: millis(self.tolerance()),
        }
    }

    /// The tolerance of the rule; a take-over delay leaves slow zombies more time to notice.
    pub(in crate::store) fn tolerance(&self) -> Duration {
        self.settings.checkin_tolerance + self.settings.takeover_delay
    }
}

/// What one look at the cluster showed.
#[derive(Default)]
struct Seen {
    now_ms: i64,
    /// The ticks before the statement that brought the time, and when its answer was there.
    asked: Duration,
    answered: Duration,
    instances: Vec<InstanceRow>,
    with_fires: Vec<String>,
    nodes: Vec<NodeIdentity>,
    bars: Vec<BarRow>,
    limits: Vec<LimitRow>,
    /// Nodes of ours whose names nodes of Quartz have taken since they died: what is left of ours
    /// is to be forgotten.
    replaced: Vec<String>,
}

/// Whether this node is the one that fires in active-passive mode: of those that take work the one that has served longest.
///
/// Two must not be active at once. Another that takes no work any longer has to know it: it has checked in since. And one
/// that takes work again leaves its deputy the interval of check-ins to learn of it.
fn is_active(me: &Membership, seen: &Seen, suspects: &[(String, Option<i64>)]) -> bool {
    let fires = |row: &&InstanceRow| {
        let known = |bar: &&BarRow| bar.made_ms.saturating_add(row.checkin_interval_ms) <= row.last_checkin_ms;
        let bars: Vec<BarRow> = seen.bars.iter().filter(known).cloned().collect();
        let node = seen.nodes.iter().find(|node| node.instance == row.name);
        row.incarnation.is_some()
            && !suspects.iter().any(|(name, _)| *name == row.name)
            && node.is_none_or(|node| takes_any(node, &bars, seen.now_ms).is_ok())
    };
    seen.instances.iter().filter(fires).min_by_key(|row| row.joined).is_some_and(|row| row.name == me.instance)
}

fn suspect(row: &InstanceRow) -> Suspect<'_> {
    Suspect {
        instance: &row.name,
        last_checkin_ms: row.last_checkin_ms,
        interval_ms: row.checkin_interval_ms,
        foreign: row.incarnation.is_none(),
    }
}

impl Recovered {
    /// Of how many fires it was said what becomes of them.
    fn fires(&self) -> usize {
        let executing = self.recovery_triggers.len() + self.revived.len() + self.lost.len() + self.parked.len();
        self.freed + executing + self.other
    }

    /// Whether anything was there to be done.
    pub fn is_empty(&self) -> bool {
        self.fires() == 0
    }
}
