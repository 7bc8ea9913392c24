//! The cluster as its rows show it: instances and fires.

use super::{ClusterNow, FiredTrigger, Heartbeat, InstanceStatus};
use crate::epoch::{length, millis, moment};
use crate::error::Result;
use crate::hash::HashMap;
use crate::rules::failover::is_dead;
use crate::store::placement::NodeReports;
use crate::store::row::{FiredRow, FiredSelection, FiredState, HeartbeatRow, InstanceRow, Snapshot, SnapshotPlace};
use crate::store::{Session, Upkeep};

impl Upkeep<'_> {
    /// The nodes of the cluster, in order of their names.
    ///
    /// # Errors
    /// The error of the database that is left after the bounded retries.
    pub fn instances(&self) -> Result<Vec<InstanceStatus>> {
        self.store.read("list instances", |s| {
            let fired = s.fired(FiredSelection::All)?;
            Ok(self.statuses(s, &fired)?.0)
        })
    }

    /// The nodes and the fires of the cluster, and the time.
    pub(crate) fn cluster_now(&self) -> Result<ClusterNow> {
        self.store.read("list nodes and fires", |s| {
            let fired = s.fired(FiredSelection::All)?;
            let (nodes, now_ms) = self.statuses(s, &fired)?;
            let beats = if fired.is_empty() { Vec::new() } else { s.rows::<HeartbeatRow>().list()? };
            Ok(ClusterNow { now_ms, nodes, fires: shown(fired, beats) })
        })
    }

    /// The nodes, of whose fires these are, and the time.
    fn statuses(&self, s: &mut dyn Session, fired: &[FiredRow]) -> Result<(Vec<InstanceStatus>, i64)> {
        let (members, placement) = s.read_members()?;
        let now_ms = members.now_ms;
        let mut reports = NodeReports::new(s.rows().list()?, placement.blacklist);
        let status = |row: InstanceRow| {
            let alive = !is_dead(&row, millis(self.store.tolerance()), now_ms);
            let takes_work = reports.takes_work(&row, now_ms);
            let running = fired.iter().filter(|f| f.instance == row.name && f.state == FiredState::Executing).count();
            let node = reports.take(&row);
            InstanceStatus::of(row, alive, takes_work, running, node)
        };
        Ok((members.instances.into_iter().map(status).collect(), now_ms))
    }

    /// A node of the cluster, by the name of its instance (QZ-49).
    ///
    /// # Errors
    /// The error of the database that is left after the bounded retries.
    pub fn instance(&self, name: &str) -> Result<Option<InstanceStatus>> {
        Ok(self.instances()?.into_iter().find(|node| node.instance == name))
    }

    /// The fires that are reserved or running in the cluster.
    ///
    /// # Errors
    /// The error of the database that is left after the bounded retries.
    #[doc(alias = "getCurrentlyExecutingJobs")]
    pub fn fired_triggers(&self) -> Result<Vec<FiredTrigger>> {
        let (rows, beats) =
            self.store.read("list fires", |s| Ok((s.fired(FiredSelection::All)?, s.rows::<HeartbeatRow>().list()?)))?;
        Ok(shown(rows, beats))
    }

    /// These fires with their heartbeats.
    pub(in crate::store) fn with_heartbeats(
        &self,
        s: &mut dyn Session,
        rows: Vec<FiredRow>,
    ) -> Result<Vec<FiredTrigger>> {
        let ids: Vec<String> = rows.iter().map(|row| row.fire_id.clone()).collect();
        let beats = if ids.is_empty() { Vec::new() } else { s.rows().any_of(&["fire_id"], &ids).list()? };
        Ok(shown(rows, beats))
    }

    /// Everything that the invariants speak of, read in one transaction under the locks, so that it
    /// is one moment.
    ///
    /// # Errors
    /// The error of the database that is left after the bounded retries.
    pub fn snapshot(&self) -> Result<Snapshot> {
        self.store.at_most_once(
            "read everything",
            crate::store::TxMode::Exclusive(crate::store::Lock::TriggerAccess),
            |s| s.snapshot(),
        )
    }

    /// Reads the same without the locks and in pages, each a short statement of its own: nobody
    /// waits for it, and it waits for nobody. A change that is made meanwhile may be seen half
    /// before and half after.
    ///
    /// # Errors
    /// The error of the database that is left after the bounded retries.
    pub fn read_everything(&self) -> Result<Snapshot> {
        self.look_through(|_| Ok(()))
    }

    /// Reads the same; after each page `sift` may take rows out again.
    ///
    /// # Errors
    /// The error of the database that is left after the bounded retries, and that of `sift`.
    pub(in crate::store) fn look_through(&self, mut sift: impl FnMut(&mut Snapshot) -> Result<()>) -> Result<Snapshot> {
        let (mut place, mut snapshot) = (SnapshotPlace::default(), Snapshot::default());
        while self.store.glance("look at everything", |s| s.snapshot_page(&mut place, &mut snapshot))? {
            sift(&mut snapshot)?;
        }
        sift(&mut snapshot)?;
        Ok(snapshot)
    }
}

/// Fires as they are shown, with those heartbeats that are theirs.
fn shown(rows: Vec<FiredRow>, beats: Vec<HeartbeatRow>) -> Vec<FiredTrigger> {
    let mut beats: HashMap<String, HeartbeatRow> = beats.into_iter().map(|b| (b.fire_id.clone(), b)).collect();
    let fire = |row: FiredRow| FiredTrigger {
        heartbeat: beats.remove(&row.fire_id).map(|beat| Heartbeat {
            time: moment(beat.beat_ms),
            limit: length(beat.limit_ms),
            progress: beat.progress,
            progress_time: beat.progress_ms.map(moment),
            progress_limit: beat.progress_limit_ms.map(length),
        }),
        fire_id: row.fire_id,
        trigger: row.trigger,
        job: row.job,
        instance: row.instance,
        state: row.state,
        fire_time: moment(row.fired_ms),
        scheduled_fire_time: moment(row.scheduled_ms),
    };
    rows.into_iter().map(fire).collect()
}
