//! `JobStore`: the store of one scheduler: its database and its settings.

use super::actor::Actor;
use super::catalogue::GroupCommit;
use super::decoded_calendars::DecodedCalendars;
use super::meters::StoreMeters;
use super::{Database, DeadFireHandler, NodeView};
use crate::clock::Clock;
use crate::epoch::millis;
use crate::error::Result;
use crate::job::{ExecutionStrategy, Strategy};
use crate::settings::{PollingStrategy, Settings};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// The store of one scheduler, on any [`Database`].
///
/// The operations are methods of its handles, such as [`JobStore::firing`]. Each operation is one
/// transaction unless it says otherwise: it happens whole or not at all. Transient failures of the
/// database are retried within a bound; what is left is returned.
#[derive(Clone)]
pub struct JobStore {
    pub(super) database: Arc<dyn Database>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) settings: Arc<Settings>,
    pub(super) decoded_calendars: Arc<DecodedCalendars>,
    pub(super) dead_fires: Option<Arc<dyn DeadFireHandler>>,
    /// The counts of its transactions.
    pub(crate) meters: Arc<StoreMeters>,
    /// The queue of threads that store triggers at the same time.
    pub(super) group_commit: Arc<GroupCommit>,
    /// The number of times that the way to the database was lost.
    pub(super) losses: Arc<AtomicU64>,
    /// The knowledge of the node that uses this store.
    pub(crate) view: NodeView,
    /// The actor under whose name actions are written down.
    pub(super) actor: Arc<Actor>,
}

impl JobStore {
    /// The store of the scheduler that `settings` names.
    pub fn new(database: Arc<dyn Database>, clock: Arc<dyn Clock>, settings: impl Into<Arc<Settings>>) -> Self {
        let settings: Arc<Settings> = settings.into();
        let name = settings.node.actor.as_deref().unwrap_or(&settings.scheduler.instance_name);
        Self {
            actor: Actor::program(name, "-"),
            database,
            clock,
            settings,
            decoded_calendars: Arc::default(),
            dead_fires: None,
            meters: Arc::default(),
            group_commit: Arc::default(),
            losses: Arc::default(),
            view: NodeView::default(),
        }
    }

    /// The store whose node has this strategy too: it spreads the ticks of jobs that have chosen it
    /// by this name.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a name that no strategy can have, and [`Error::Refused`] for one that
    /// is taken.
    pub fn with_execution_strategy(
        mut self,
        name: impl Into<String>,
        strategy: Arc<dyn ExecutionStrategy>,
    ) -> Result<Self> {
        let name = name.into();
        Strategy::check_name(&name)?;
        Arc::make_mut(&mut self.view.strategies).add(name, strategy)?;
        Ok(self)
    }

    /// The store whose recoveries ask `handler` for jobs whose policy is
    /// [`OnDead::Ask`](crate::OnDead::Ask).
    pub fn with_dead_fire_handler(mut self, handler: Arc<dyn DeadFireHandler>) -> Self {
        self.dead_fires = Some(handler);
        self
    }

    /// Gives the store as the node of this view uses it, which counts for itself.
    pub(crate) fn seen_by(self, view: NodeView) -> Self {
        Self { view, meters: Arc::default(), group_commit: Arc::default(), ..self }
    }

    /// Gives the store as the node of this name uses it: actions are written down under the name
    /// that `carnelian.actor` gives, else under the node's.
    pub(crate) fn of_instance(mut self, instance: &str) -> Self {
        self.actor = Actor::program(self.settings.node.actor.as_deref().unwrap_or(instance), instance);
        self
    }

    /// The settings that the store was made with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// A node of Quartz was a member of the cluster at the last check-in: one with a row in
    /// `SCHEDULER_STATE` and none in our side table. Always false in a store that no node checks in
    /// with.
    pub fn is_beside_quartz(&self) -> bool {
        self.view.is_beside_quartz()
    }

    /// A node of Quartz may hold triggers: one is a member, or was within the last hour.
    pub(crate) fn may_meet_quartz(&self) -> bool {
        self.view.may_meet_quartz(self.clock.ticks())
    }

    /// The names of the nodes that were members of the cluster at the last check-in, in order.
    pub(crate) fn members(&self) -> std::sync::Arc<[String]> {
        self.view.members()
    }

    /// The way in which due triggers are taken at present: what the settings say, or
    /// [`PollingStrategy::Lock`] beside a node of Quartz and on a database without `SKIP LOCKED`.
    ///
    /// # Errors
    /// The error of the database when it is asked, once, what it can do.
    pub fn polling_strategy(&self) -> Result<PollingStrategy> {
        let wanted = self.settings.job_store.polling_strategy;
        if wanted == PollingStrategy::Lock || self.is_beside_quartz() || !self.database.claims_rows()? {
            return Ok(PollingStrategy::Lock);
        }
        Ok(wanted)
    }

    /// The tolerance of the failure rule; a take-over delay leaves slow zombies more time to
    /// notice.
    pub(super) fn tolerance(&self) -> Duration {
        self.settings.job_store.checkin_misfire_threshold + self.settings.cluster.takeover_delay
    }

    /// Triggers due before this time are late.
    pub(super) fn misfired_before(&self, now_ms: i64) -> i64 {
        now_ms.saturating_sub(millis(self.settings.job_store.misfire_threshold))
    }

    /// The database below.
    pub fn database(&self) -> &dyn Database {
        &*self.database
    }

    /// True if this node takes due triggers in the order of the recovery mode.
    pub fn is_in_recovery_mode(&self) -> bool {
        self.view.is_in_recovery_mode()
    }

    /// The store's time, epoch milliseconds.
    ///
    /// # Errors
    /// The error of the database that is left after the bounded retries.
    pub fn now_ms(&self) -> Result<i64> {
        self.read("read the clock", |s| s.now_ms())
    }
}
