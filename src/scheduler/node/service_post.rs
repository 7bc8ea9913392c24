//! `ServicePosts`: how each service of a node is woken, and how it is doing.

use crate::scheduler::health::ServiceRecord;
use crate::signal::Signal;
use std::sync::Arc;

/// The way to wake one service, and its health.
pub(crate) struct ServicePost {
    pub(crate) signal: Arc<Signal>,
    pub(crate) record: Arc<ServiceRecord>,
}

impl ServicePost {
    fn new(name: &'static str) -> Self {
        Self { signal: Arc::default(), record: Arc::new(ServiceRecord::new(name)) }
    }

    /// Has the service begin a pass soon.
    pub(crate) fn wake(&self) {
        self.signal.raise();
    }
}

/// The services of a node, by name. The names are those that users see in health and in metrics.
pub(crate) struct ServicePosts {
    pub(crate) acquirer: ServicePost,
    pub(crate) dispatcher: ServicePost,
    pub(crate) misfire: ServicePost,
    pub(crate) cluster: ServicePost,
    pub(crate) completer: ServicePost,
    pub(crate) heartbeat: ServicePost,
    pub(crate) run_watch: ServicePost,
    pub(crate) monitor: ServicePost,
    pub(crate) clean_up: ServicePost,
    pub(crate) audit: ServicePost,
    pub(crate) listener_thread: ServicePost,
    /// Only where the database can notify.
    pub(crate) notification_listener: ServicePost,
    /// Only where the settings name job files.
    pub(crate) job_files: ServicePost,
    has_job_files: bool,
}

impl ServicePosts {
    /// `listeners` is the signal of the events that wait for listeners.
    pub(super) fn new(listeners: &Arc<Signal>, has_job_files: bool) -> Self {
        Self {
            acquirer: ServicePost::new("acquirer"),
            dispatcher: ServicePost::new("dispatcher"),
            misfire: ServicePost::new("misfire"),
            cluster: ServicePost::new("cluster"),
            completer: ServicePost::new("completer"),
            heartbeat: ServicePost::new("heartbeat"),
            run_watch: ServicePost::new("run-watch"),
            monitor: ServicePost::new("monitor"),
            clean_up: ServicePost::new("clean-up"),
            audit: ServicePost::new("audit"),
            listener_thread: ServicePost { signal: Arc::clone(listeners), ..ServicePost::new("listeners") },
            notification_listener: ServicePost::new("notification-listener"),
            job_files: ServicePost::new("job-files"),
            has_job_files,
        }
    }

    /// The services that this node has.
    pub(crate) fn present(&self) -> impl Iterator<Item = &ServicePost> {
        let always = [
            &self.acquirer,
            &self.dispatcher,
            &self.misfire,
            &self.cluster,
            &self.completer,
            &self.heartbeat,
            &self.run_watch,
            &self.monitor,
            &self.clean_up,
            &self.audit,
            &self.listener_thread,
        ];
        let listener = Some(&self.notification_listener).filter(|post| post.record.is_started());
        let job_files = Some(&self.job_files).filter(|_| self.has_job_files);
        always.into_iter().chain(listener).chain(job_files)
    }
}
