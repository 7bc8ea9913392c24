//! The orders of operators about nodes and groups: drain, blacklist, limits.

use crate::epoch::millis;
use crate::error::{Error, Result};
use crate::key::{check_name, check_text};
use crate::store::action_log::Action;
use crate::store::row::{BlacklistKind, BlacklistRow, InstanceSelection, LimitRow, NodeRow};
use crate::store::{ClusterPlacement, Session};
use std::collections::BTreeSet;
use std::time::Duration;

/// The most characters of a reason and of a name of a person.
const MOST_CHARS: usize = 250;
/// The most nodes that take no work, and the most limits: each check-in reads them all.
const MOST: usize = 1000;

/// A node for the blacklist: it takes no work, what it runs goes on.
///
/// ```
/// use carnelian::placement::BlacklistEntry;
/// use std::time::Duration;
///
/// let entry = BlacklistEntry::new("rack7-a").reason("its disk is full").lasting(Duration::from_secs(3600));
/// assert_eq!(entry.node(), "rack7-a");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "it does nothing until it is given to a scheduler or a store"]
pub struct BlacklistEntry {
    node: String,
    reason: Option<String>,
    lasting: Option<Duration>,
}

impl BlacklistEntry {
    /// This node, by its instance id or its node name, for good.
    pub fn new(node: impl Into<String>) -> Self {
        Self { node: node.into(), reason: None, lasting: None }
    }

    /// Why; at most 250 characters.
    pub fn reason(mut self, text: impl Into<String>) -> Self {
        self.reason = Some(text.into());
        self
    }

    /// For how long from now. Default: until somebody removes it.
    pub fn lasting(mut self, time: Duration) -> Self {
        self.lasting = Some(time);
        self
    }

    /// The node.
    pub fn node(&self) -> &str {
        &self.node
    }
}

/// Orders are heeded by each node with its next check-in. Besides what they say, each may fail with
/// what the database reports after the bounded retries.
impl ClusterPlacement<'_> {
    /// Puts a node on the blacklist, in the place of what was there of it.
    ///
    /// # Errors
    /// [`Error::Invalid`] for texts that cannot be stored, and for a time of zero;
    /// [`Error::Refused`] if there are a thousand entries.
    pub fn blacklist(&self, entry: &BlacklistEntry, who: &str) -> Result<()> {
        if let Some(reason) = &entry.reason {
            check_text("reason", reason, MOST_CHARS)?;
        }
        let lasting_ms = entry.lasting.map(millis);
        if lasting_ms == Some(0) {
            return Err(Error::invalid("time on the blacklist", "0", "at least a millisecond"));
        }
        self.put_on_blacklist(&entry.node, BlacklistKind::Blacklist, entry.reason.as_deref(), who, lasting_ms)
    }

    /// Takes a node off the blacklist; false if it is not there.
    pub fn unblacklist(&self, node: &str) -> Result<bool> {
        self.store.write("take a node off the blacklist", |s| {
            let removed = take_off(s, node, BlacklistKind::Blacklist)? > 0;
            self.note_if(s, removed, Action::new("unblacklist", "node"), node)
        })
    }

    /// Has a node, by its instance id or node name, take no work until
    /// [`ClusterPlacement::undrain`]. The node's runs go on, or are asked to stop; the work of a
    /// run that was stopped so goes on elsewhere if its job requests recovery or has a retry
    /// policy.
    ///
    /// # Errors
    /// As [`ClusterPlacement::blacklist`].
    pub fn drain(&self, node: &str, stops: bool, who: &str) -> Result<()> {
        self.put_on_blacklist(
            node,
            if stops { BlacklistKind::DrainAndStop } else { BlacklistKind::Drain },
            None,
            who,
            None,
        )
    }

    /// Ends a drain; false if there is none of this name.
    pub fn undrain(&self, node: &str) -> Result<bool> {
        self.store.write("end a drain", |s| {
            let ended = take_off(s, node, BlacklistKind::Drain)? > 0;
            self.note_if(s, ended, Action::new("undrain", "node"), node)
        })
    }

    /// The nodes that take no work: drained, or on the blacklist; also what has run out since
    /// somebody changed one last.
    pub fn blacklist_rows(&self) -> Result<Vec<BlacklistRow>> {
        self.store.read("list nodes that take no work", |s| s.rows().by(&["node", "kind"]).list())
    }

    /// Sets how many runs of the jobs of a group there may be on each node, and in the cluster.
    /// Runs of nodes of Quartz count, but those heed no limit.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a group that cannot be, or neither number; [`Error::Refused`] if
    /// there are a thousand limits.
    pub fn set_group_limit(
        &self,
        group: &str,
        per_node: Option<u32>,
        per_cluster: Option<u32>,
        who: &str,
    ) -> Result<()> {
        check_name("job group", group)?;
        check_text("who", who, MOST_CHARS)?;
        if per_node.is_none() && per_cluster.is_none() {
            return Err(Error::invalid("limit", group, "expected a number per node, per cluster, or both"));
        }
        self.store.write("set a limit", |s| {
            if s.rows().list()?.iter().filter(|limit: &&LimitRow| limit.group != group).count() >= MOST {
                return Err(Error::Refused(format!("limit of `{group}`: there are {MOST} already: remove some")));
            }
            let made_ms = s.now_ms()?;
            let number = |limit: Option<u32>| limit.map_or("any".to_owned(), |limit| limit.to_string());
            let detail = format!("{} per node, {} per cluster", number(per_node), number(per_cluster));
            self.store.note_action(s, Action::new("limit", "group").detail(&detail), [group])?;
            s.put(&LimitRow { group: group.to_owned(), per_node, per_cluster, who: who.to_owned(), made_ms })
        })
    }

    /// Removes the limit of a group; false if there is none.
    pub fn remove_group_limit(&self, group: &str) -> Result<bool> {
        self.store.write("remove a limit", |s| {
            let removed = s.rows::<LimitRow>().with("group", group).delete()? > 0;
            self.note_if(s, removed, Action::new("unlimit", "group"), group)
        })
    }

    /// The limits of groups.
    pub fn group_limits(&self) -> Result<Vec<LimitRow>> {
        self.store.read("list limits", |s| s.rows().by(&["group"]).list())
    }

    /// Writes an action down if it changed something; returns whether it did.
    fn note_if(&self, s: &mut dyn Session, changed: bool, action: Action<'_>, subject: &str) -> Result<bool> {
        self.store.note_action(s, action, changed.then_some(subject))?;
        Ok(changed)
    }

    fn put_on_blacklist(
        &self,
        node: &str,
        kind: BlacklistKind,
        reason: Option<&str>,
        who: &str,
        lasting_ms: Option<i64>,
    ) -> Result<()> {
        check_name("node", node)?;
        check_text("who", who, MOST_CHARS)?;
        self.store.write("keep a node from work", |s| {
            let made_ms = s.now_ms()?;
            s.rows::<BlacklistRow>().at_most("until_ms", made_ms).delete()?;
            if s.rows::<BlacklistRow>().count()? >= MOST as u64 && !self.make_room(s, made_ms)? {
                return Err(Error::Refused(format!("`{node}`: {MOST} nodes take no work already: remove some")));
            }
            take_off(s, node, kind)?;
            let action = match kind {
                BlacklistKind::Blacklist => Action { name: "blacklist", kind: "node", detail: reason },
                BlacklistKind::Drain => Action::new("drain", "node"),
                BlacklistKind::DrainAndStop => Action::new("drain", "node").detail("and stop its runs"),
            };
            self.store.note_action(s, action, [node])?;
            s.insert(&BlacklistRow {
                node: node.to_owned(),
                kind,
                reason: reason.map(str::to_owned),
                who: who.to_owned(),
                until_ms: lasting_ms.map(|lasting_ms| made_ms.saturating_add(lasting_ms)),
                made_ms,
            })
        })
    }

    /// Forgets drains as old as the history may be, of nodes that are not there; returns whether
    /// there were any.
    fn make_room(&self, s: &mut dyn Session, now_ms: i64) -> Result<bool> {
        let before_ms = now_ms.saturating_sub(millis(self.store.settings.history.retention));
        let drains = [BlacklistKind::Drain, BlacklistKind::DrainAndStop];
        let old: Vec<BlacklistRow> = s.rows().below("made_ms", before_ms).any_of(&["kind"], &drains).list()?;
        let instances = s.instances(InstanceSelection::All)?.into_iter().map(|row| row.name);
        let names = s.rows::<NodeRow>().list()?.into_iter().map(|node| node.info.node_name);
        let there: BTreeSet<String> = instances.chain(names).collect();
        let gone = old.into_iter().map(|drain| drain.node).filter(|node| !there.contains(node));
        let gone: Vec<(String, BlacklistKind)> =
            gone.flat_map(|node| drains.map(|kind| (node.clone(), kind))).collect();
        Ok(s.rows::<BlacklistRow>().any_of(&["node", "kind"], &gone).delete()? > 0)
    }
}

/// Forgets what an order of this kind takes the place of; returns how many rows there were.
fn take_off(s: &mut dyn Session, node: &str, kind: BlacklistKind) -> Result<usize> {
    s.rows::<BlacklistRow>().with("node", node).any_of(&["kind"], kind.replaces()).delete()
}
