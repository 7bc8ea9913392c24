//! Check-in: say "I am alive", learn who is not, learn whether we were thought dead.

use super::verdicts::MembersSeen;
use super::{Checkin, Membership, Recovered, nodes};
use crate::epoch::millis;
use crate::error::{Error, Result};
use crate::machine::{Living, Process, lives_here};
use crate::rules::failover::{Namesake, patience};
use crate::rules::placement::NodeIdentity;
use crate::store::placement::identities;
use crate::store::row::{
    ClusterMembers, Departure, FiredSelection, InstanceProcessRow, InstanceRow, InstanceSelection, NodeRow,
    PlacementView,
};
use crate::store::transaction::random_hex;
use crate::store::{Lock, Owner, Session, TxMode, Upkeep};
use std::collections::BTreeSet;
use std::time::Duration;

impl Upkeep<'_> {
    /// A check-in: the own row in a short transaction; then, if this is the first or somebody is
    /// suspected, under the locks, a second look and one transaction per failed instance
    /// (QZ-40…44).
    ///
    /// A node that starts under the name of another, of which it is not known whether that lives,
    /// waits for its next check-in: until then the answer is [`Checkin::has_namesake`].
    ///
    /// No retries: the caller decides when to try again, inside the window its peers allow it. The
    /// time of the last check-in moves on only if its transaction was committed, and to the moment
    /// the attempt was begun (H8).
    ///
    /// # Errors
    /// [`Error::AlreadyRunning`] for a first check-in under the name of a node that lives; what the
    /// database reports, and nothing has changed then but what a committed transaction changed.
    pub fn check_in(&self, me: &mut Membership) -> Result<Checkin> {
        self.node.note_identity(match &me.node {
            Some(report) => NodeIdentity::of_info(&me.instance, &report.info),
            None => NodeIdentity::of_instance(&me.instance),
        });
        let (was_cut_off, begun) = (me.is_cut_off, self.store.clock.ticks());
        let checkin = match me.owner() {
            Some(owner) => self.check_in_again(me, &owner, begun),
            None => self.register(me, begun),
        };
        me.is_cut_off = match &checkin {
            // A node that was declared dead was away as well. Of a namesake nobody has judged
            // anything yet.
            Ok(checkin) => checkin.failed_out && !checkin.registered || was_cut_off && checkin.has_namesake,
            // A node that only starts has seen nobody before the outage.
            Err(error) => was_cut_off || me.last_checkin.is_some() && error.is_outage(),
        };
        checkin
    }

    /// The check-in of a node that is registered: everybody's rows and then the own, in a short
    /// transaction without a lock.
    fn check_in_again(&self, me: &mut Membership, owner: &Owner, begun: Duration) -> Result<Checkin> {
        let (mut registered, mut seen) = (false, MembersSeen::default());
        // Other threads draw fences on other members of a cluster of databases: a transaction sees
        // what was committed there before the transaction began, and no more.
        let largest = self.largest_fence();
        self.store.once("check in", TxMode::OwnRows, |s| {
            seen = self.see_members(s)?;
            for name in &seen.replaced {
                s.delete_instance(name, Departure::Replaced)?;
            }
            let node = me.node.as_ref().map(|node| nodes::row(&owner.instance, node, seen.now_ms));
            registered = s.touch_instance(owner, seen.now_ms, node.as_ref())?;
            if registered { self.compare_fence(s, seen.fence, largest) } else { Ok(()) }
        })?;
        let mut checkin = Checkin::default();
        if !registered {
            // H6: somebody convicted us while we lived. Our fires and reservations are lost; we
            // come back as another incarnation.
            me.incarnation = None;
            me.living = None;
            me.was_failed_out = true;
            checkin.failed_out = true;
            return Ok(checkin);
        }
        if self.end_incarnation(me, seen.now_ms, &mut checkin)? {
            return Ok(checkin);
        }
        me.last_checkin = Some(begun);
        let verdicts = self.judge(me, &seen, begun, &mut checkin);
        self.recover_dead(me, &seen, verdicts, &mut checkin);
        let fires = checkin.refusal.is_none() && me.node.as_ref().is_none_or(|node| node.info.activity.fires());
        let abandoned = if fires { Ok(()) } else { self.store.firing().abandon_parts_of_living(&me.instance) };
        if let Err(error) = &abandoned {
            log::warn!("parts not given up yet instance={} error={error}", me.instance);
        }
        self.note_last_work(me, checkin.refusal.is_none());
        // A check-in waits for one lock at most: the next one is soon.
        if abandoned.is_ok() && me.published != self.node.types.read().generation {
            // A type was added since. That it cannot be told is no failure of the check-in: the
            // next one tries again.
            match self.publish_types(owner) {
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
                self.store.once("note the last work", TxMode::OwnRows, |s| s.now_ms().and_then(|ms| s.note_seen(ms)));
            if let Err(error) = noted {
                log::warn!("time of the last work not kept instance={} error={error}", me.instance);
                return;
            }
        }
        me.worked = works;
    }

    /// The first check-in, or the first after a conviction: registers under a new incarnation. Only
    /// then may anything be acquired (H25). Rows that are left under the name are recovered before.
    fn register(&self, me: &mut Membership, begun: Duration) -> Result<Checkin> {
        let mut checkin = Checkin::default();
        if !self.enter(me, &mut checkin)? {
            self.free_name(me, &mut checkin)?;
            if checkin.has_namesake {
                return Ok(checkin);
            }
            if !self.enter(me, &mut checkin)? {
                // Another was faster, which has yet to show whether it lives.
                checkin.has_namesake = true;
                checkin.next_suspicion = Some(Duration::ZERO);
                return Ok(checkin);
            }
        }
        // After the lock, for which others wait who register too. A node that does not know what
        // keeps it from work takes none: it registers again, as if the answer had been lost.
        let seen = self.look_at_members().inspect_err(|_| {
            me.incarnation = None;
            me.living = None;
        })?;
        me.last_checkin = Some(begun);
        let verdicts = self.judge(me, &seen, begun, &mut checkin);
        self.recover_dead(me, &seen, verdicts, &mut checkin);
        self.note_last_work(me, checkin.refusal.is_none());
        Ok(checkin)
    }

    /// Writes that the node is there; false if its name has a row, or fires that can be had. Fires
    /// that their jobs hold are left to whoever compares the node's rows with its memory.
    fn enter(&self, me: &mut Membership, checkin: &mut Checkin) -> Result<bool> {
        let incarnation = random_hex()?;
        let owner = Owner { instance: me.instance.clone(), incarnation: incarnation.clone() };
        let living = Living::new(&incarnation);
        let (mut published, mut outage, mut recovering, mut is_written) = (0, None, None, false);
        let entered = self.store.once("register the instance", TxMode::Exclusive(Lock::StateAccess), |s| {
            is_written = false;
            let now_ms = s.now_ms()?;
            let instances = s.instances(InstanceSelection::All)?;
            let has_row = instances.iter().any(|row| row.name == me.instance);
            if has_row || !s.fired(FiredSelection::FreeOfInstance(&me.instance, 1))?.is_empty() {
                return Ok(());
            }
            is_written = true;
            (outage, recovering) = match me.was_failed_out {
                // The peer that declared us dead was there.
                true => (None, s.recovery_mode()?.and_then(|row| row.since_ms)),
                false => {
                    let interrupted = checkin.recovered.iter().map(Recovered::died).sum();
                    self.store.outages().find_outage(s, &me.instance, &instances, interrupted)?
                }
            };
            let joined = nodes::place(me.node.as_ref(), s.draw_fences(None, 1)?.unwrap_or_default());
            s.put_instance(&InstanceRow {
                name: me.instance.clone(),
                last_checkin_ms: now_ms,
                checkin_interval_ms: millis(self.store.settings.job_store.checkin_interval),
                incarnation: Some(incarnation.clone()),
                joined,
            })?;
            if let Some(node) = &me.node {
                s.upsert(&nodes::row(&me.instance, node, now_ms), &["started_ms"])?;
                s.insert(&nodes::incarnation(&me.instance, &incarnation, node, now_ms))?;
            }
            s.reset_begun(&owner)?;
            if let Some(process) = &me.process {
                let (instance, process) = (me.instance.clone(), process.to_string());
                s.put(&InstanceProcessRow { instance, incarnation: incarnation.clone(), process })?;
            }
            published = self.publish_types_in(s, &me.instance)?;
            Ok(())
        });
        if is_written {
            // Also if the answer was lost.
            me.attempted = Some(incarnation.clone());
        }
        entered?;
        if !is_written {
            return Ok(false);
        }
        me.answered = None;
        me.incarnation = Some(incarnation);
        me.living = Some(living);
        self.node.note_recovery_mode(recovering);
        checkin.outage = outage;
        me.published = published;
        me.was_failed_out = false;
        checkin.registered = true;
        Ok(true)
    }

    /// Recovers what is left under the own name, unless a namesake lives or may live.
    fn free_name(&self, me: &mut Membership, checkin: &mut Checkin) -> Result<()> {
        let seen = self.look_at_members()?;
        let namesake = seen.instances.iter().find(|i| i.name == me.instance);
        // A row that an earlier try of this node has registered, whose answer was lost, is no
        // namesake.
        let is_own = |row: &&InstanceRow| row.incarnation.is_some() && row.incarnation == me.attempted;
        if let Some(row) = namesake.filter(|row| !is_own(row)) {
            let observer = self.observer(&seen, Duration::ZERO);
            let (is_gone, location) = self.locate(me, row)?;
            let patience = patience(self.store.settings.job_store.checkin_misfire_threshold);
            let verdict = me.observations.judge_namesake(row, is_gone, patience, &observer);
            // A node that was declared dead while it lived leaves its name to a later namesake for
            // the whole window: two that convict each other in turn would help nobody.
            let is_free = match me.was_failed_out {
                true => is_gone == Some(true) || me.observations.convicts(row, &observer),
                false => verdict == Namesake::Gone,
            };
            if verdict == Namesake::Lives && !me.was_failed_out {
                return Err(Error::AlreadyRunning { instance: me.instance.clone(), location });
            }
            if !is_free {
                checkin.has_namesake = true;
                checkin.next_suspicion = match verdict {
                    Namesake::Doubtful(left) if !me.was_failed_out => Some(left),
                    _ => None,
                };
                return Ok(());
            }
        }
        if namesake.is_some() || seen.with_fires.iter().any(|with| with.instance == me.instance) {
            checkin.recovered.extend(self.recover_rest_of(&me.instance, namesake.map(|i| i.last_checkin_ms))?);
        }
        Ok(())
    }

    fn look_at_members(&self) -> Result<MembersSeen> {
        self.store.once("look at the cluster", TxMode::ReadOnly, |s| self.see_members(s))
    }

    /// The process of a node is gone, as far as this machine can tell, and where it is or
    /// was, for people.
    fn locate(&self, me: &Membership, row: &InstanceRow) -> Result<(Option<bool>, String)> {
        let (process, node) = self.store.glance("look where a namesake runs", |s| {
            Ok((s.row::<InstanceProcessRow>(&row.name)?, s.row::<NodeRow>(&row.name)?))
        })?;
        let process = process.filter(|process| Some(&process.incarnation) == row.incarnation.as_ref());
        let theirs: Option<Process> = process.and_then(|process| process.process.parse().ok());
        let is_gone = match (&me.process, &theirs) {
            (Some(own), Some(theirs)) if own == theirs => {
                row.incarnation.as_deref().map(|incarnation| !lives_here(incarnation))
            }
            (Some(own), Some(theirs)) => theirs.is_gone(own),
            _ => None,
        };
        let (host, pid) = match theirs {
            Some(theirs) => (Some(theirs.host().to_owned()), Some(i64::from(theirs.pid()))),
            None => (node.as_ref().and_then(|node| node.info.host.clone()), node.map(|node| i64::from(node.info.pid))),
        };
        let location = match (host, pid) {
            (Some(host), Some(pid)) => format!("on host `{host}`, pid {pid}"),
            _ if row.incarnation.is_none() => "as a node of Quartz".to_owned(),
            _ => "on a host that it does not tell".to_owned(),
        };
        Ok((is_gone, location))
    }

    /// Everybody's rows, and what keeps nodes from work.
    fn see_members(&self, s: &mut dyn Session) -> Result<MembersSeen> {
        let asked = self.store.clock.ticks();
        let (ClusterMembers { now_ms, instances, with_fires, fence }, PlacementView { nodes, blacklist, limits }) =
            s.read_members()?;
        let answered = self.store.clock.ticks();
        let foreign = instances.iter().filter(|row| row.incarnation.is_none());
        let foreign: BTreeSet<&str> = foreign.map(|row| row.name.as_str()).collect();
        let replaced = nodes.iter().map(|node| node.instance.clone()).filter(|name| foreign.contains(name.as_str()));
        let replaced = replaced.collect();
        let nodes = identities(nodes, &instances);
        Ok(MembersSeen { now_ms, asked, answered, nodes, with_fires, fence, blacklist, limits, instances, replaced })
    }
}
