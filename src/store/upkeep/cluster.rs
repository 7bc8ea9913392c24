//! The cluster as its rows show it: instances and fires.

use super::{ClusterNow, FiredTrigger, Heartbeat, InstanceStatus};
use crate::epoch::{length, millis, moment};
use crate::error::Result;
use crate::rules::failover::is_dead;
use crate::store::placement::NodeReports;
use crate::store::row::{FiredRow, FiredSelection, FiredState, HeartbeatRow, InstanceRow, Snapshot, SnapshotPlace};
use crate::store::{Session, Upkeep};
use std::collections::BTreeMap;

impl Upkeep<'_> {
    /// The nodes of the cluster, in order of their names.
    ///
    /// # Errors
    /// The error of the database that is left after the bounded retries.
    pub fn instances(&self) -> Result<Vec<InstanceStatus>> {
        self.store.read("list instances", |s| {
            let now_ms = s.now_ms()?;
            let fired = s.fired(FiredSelection::All)?;
            self.statuses(s, &fired, now_ms)
        })
    }

    /// The nodes and the fires of the cluster, and the time.
    pub(crate) fn cluster_now(&self) -> Result<ClusterNow> {
        self.store.read("look at the cluster", |s| {
            let now_ms = s.now_ms()?;
            let fired = s.fired(FiredSelection::All)?;
            let nodes = self.statuses(s, &fired, now_ms)?;
            Ok(ClusterNow { now_ms, nodes, fires: shown(fired, s.rows::<HeartbeatRow>().list()?) })
        })
    }

    fn statuses(&self, s: &mut dyn Session, fired: &[FiredRow], now_ms: i64) -> Result<Vec<InstanceStatus>> {
        let rows = s.instances()?;
        let mut reports = NodeReports::read(s)?;
        let mut status = |row: &InstanceRow| InstanceStatus {
            alive: !is_dead(row.last_checkin_ms, row.checkin_interval_ms, 0, millis(self.store.tolerance()), now_ms),
            takes_work: reports.takes_work(row, now_ms),
            running: fired.iter().filter(|f| f.instance == row.name && f.state == FiredState::Executing).count(),
            foreign: row.incarnation.is_none(),
            instance: row.name.clone(),
            last_checkin: moment(row.last_checkin_ms),
            checkin_interval: length(row.checkin_interval_ms),
            node: reports.take(row),
        };
        Ok(rows.iter().map(&mut status).collect())
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
        self.store.retrying(
            "read everything",
            crate::store::TxMode::Exclusive(crate::store::Lock::TriggerAccess),
            |s| s.snapshot(),
            &mut |_, _| Ok(true),
        )
    }

    /// Reads the same without the locks and in pages, each a short statement of its own: nobody
    /// waits for it, and it waits for nobody. A change that is made meanwhile may be seen half
    /// before and half after.
    ///
    /// # Errors
    /// The error of the database that is left after the bounded retries.
    pub fn look_at_everything(&self) -> Result<Snapshot> {
        let (mut place, mut snapshot) = (SnapshotPlace::default(), Snapshot::default());
        while self.store.glance("look at everything", |s| s.snapshot_page(&mut place, &mut snapshot))? {}
        Ok(snapshot)
    }
}

/// Fires as they are shown, with those heartbeats that are theirs.
fn shown(rows: Vec<FiredRow>, beats: Vec<HeartbeatRow>) -> Vec<FiredTrigger> {
    let mut beats: BTreeMap<String, HeartbeatRow> = beats.into_iter().map(|b| (b.fire_id.clone(), b)).collect();
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
