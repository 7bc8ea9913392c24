//! The start of a node: the first check-in, then all of its threads.

use super::node::{Node, ServicePost};
use super::run::begin_log::StoredBeginLog;
use super::run::completion_queue::{CompletionQueue, OwnedCompletion};
use super::run::registry::Registry;
use super::run::run_handle::FireTask;
use super::run::run_shell::RunShell;
use super::run::worker_pool::WorkerPool;
use super::services::acquirer::{Acquirer, Leftovers};
use super::services::auditor::Auditor;
use super::services::clean_up::CleanUp;
use super::services::cluster_manager::ClusterManager;
use super::services::completer::Completer;
use super::services::dispatcher::{Dispatcher, Precommitted};
use super::services::heartbeat_keeper::HeartbeatKeeper;
use super::services::listener_thread::ListenerThread;
use super::services::misfire_handler::MisfireHandler;
use super::services::monitor::Monitor;
use super::services::notification_listener::NotificationListener;
use super::services::run_watch::{GivenUp, RunWatch};
use super::services::service::{LoopParts, Service, ServiceThread, spawn};
use super::shutdown::Threads;
use crate::error::Result;
use crate::listener::lifecycle_log;
use crate::signal::Signal;
use crossbeam_channel::{Sender, bounded};
use std::sync::Arc;

/// The first check-in, then all threads; if one of them cannot be had, none is left.
pub(crate) fn launch(node: &Arc<Node>, registry: &Arc<Registry>, workers: usize, stopped: &Signal) -> Result<Threads> {
    let cluster = check_in(node, stopped)?;
    let (sender, queue) = completions(node, workers);
    let shell = RunShell { node: Arc::clone(node), registry: Arc::clone(registry), ended_sender: sender.clone() };
    let worker_prefix = match &node.settings.thread_pool.thread_name_prefix {
        Some(prefix) => prefix.clone(),
        None => format!("{}-worker", node.name),
    };
    let freed = Arc::clone(&node.services.acquirer.signal);
    let begin_log = Arc::new(StoredBeginLog::new(node));
    let run_fire = move |fire: FireTask| shell.run(fire);
    let pool = Arc::new(WorkerPool::start(workers, &worker_prefix, freed, Some(begin_log), run_fire)?);

    let services = services(node, registry, cluster, &pool, sender, queue);
    let mut threads = Threads { pool, services: Vec::with_capacity(services.len()) };
    for (post, service) in services {
        match spawn_service(node, post, service) {
            Ok(thread) => threads.services.push(thread),
            Err(error) => {
                threads.pool.close();
                threads.services.iter().for_each(ServiceThread::stop);
                return Err(error);
            }
        }
    }
    Ok(threads)
}

/// The first check-in, on tables that are there and of this version.
pub(super) fn check_in(node: &Arc<Node>, stopped: &Signal) -> Result<ClusterManager> {
    node.store.database().check_schema()?;
    node.store.database().check_rights()?;
    node.store.diagnosis().other_names()?.iter().for_each(|names| lifecycle_log::other_schedulers(names));
    node.store.database().session_limit()?.iter().for_each(|limit| lifecycle_log::guarded(limit));
    // Before the first check-in: what that finds must not keep the next ones waiting.
    node.listeners.open();
    let mut cluster = ClusterManager::new(Arc::clone(node));
    match cluster.begin(stopped) {
        Ok(()) => Ok(cluster),
        Err(error) => {
            cluster.stopped();
            Err(error)
        }
    }
}

/// The way of completions from so many workers to the store.
pub(super) fn completions(node: &Node, workers: usize) -> (Sender<OwnedCompletion>, Arc<CompletionQueue>) {
    // Prefetched fires may all have ended before the first of them is recorded.
    let batch = usize::try_from(node.settings.scheduler.batch_max_count).unwrap_or(0);
    let (sender, receiver) = bounded(workers.saturating_add(batch).saturating_mul(2).clamp(16, 2000));
    (sender, Arc::new(CompletionQueue::new(receiver)))
}

/// The services of a node that has checked in, each with its post.
pub(super) fn services<'a>(
    node: &'a Arc<Node>,
    registry: &Arc<Registry>,
    cluster: ClusterManager,
    pool: &Arc<WorkerPool<FireTask>>,
    sender: Sender<OwnedCompletion>,
    queue: Arc<CompletionQueue>,
) -> Vec<(&'a ServicePost, Box<dyn Service>)> {
    node.set_pool(pool);
    let precommitted = Arc::new(Precommitted::default());
    let dispatcher = Dispatcher::new(Arc::clone(node), Arc::clone(pool), Arc::clone(&precommitted));
    let leftovers = Arc::new(Leftovers::default());
    let acquirer = Acquirer::new(
        Arc::clone(node),
        Arc::clone(registry),
        Arc::clone(pool),
        precommitted,
        Arc::clone(&queue),
        Arc::clone(&leftovers),
    );
    let completer = Completer::new(Arc::clone(node), Arc::clone(&queue), leftovers);
    let given_up = Arc::new(GivenUp::default());
    let heartbeat = HeartbeatKeeper::new(Arc::clone(node), Arc::clone(pool), Arc::clone(&given_up));
    let run_watch = RunWatch::new(Arc::clone(node), Arc::clone(pool), (sender, queue), given_up);
    let monitor = Monitor::new(Arc::clone(node), Arc::clone(pool));
    let posts = &node.services;
    let mut services: Vec<(&ServicePost, Box<dyn Service>)> = vec![
        (&posts.completer, Box::new(completer)),
        (&posts.misfire, Box::new(MisfireHandler::new(Arc::clone(node)))),
        (&posts.cluster, Box::new(cluster)),
        (&posts.dispatcher, Box::new(dispatcher)),
        (&posts.acquirer, Box::new(acquirer)),
        (&posts.heartbeat, Box::new(heartbeat)),
        (&posts.run_watch, Box::new(run_watch)),
        (&posts.clean_up, Box::new(CleanUp::new(Arc::clone(node)))),
        (&posts.monitor, Box::new(monitor)),
        (&posts.audit, Box::new(Auditor::new(Arc::clone(node)))),
        (&posts.listener_thread, Box::new(ListenerThread::new(Arc::clone(node)))),
    ];
    if let Some(listener) = NotificationListener::new(Arc::clone(node)) {
        services.push((&posts.notification_listener, Box::new(listener)));
    }
    services
}

pub(crate) fn spawn_service(node: &Node, post: &ServicePost, service: Box<dyn Service>) -> Result<ServiceThread> {
    let thread_name = match &node.settings.scheduler.thread_name {
        Some(name) if post.record.name == "acquirer" => name.clone(),
        _ => format!("{}-{}", node.name, post.record.name),
    };
    spawn(service, thread_name, loop_parts(node, post))
}

/// The parts of the loop of a service of this post.
pub(super) fn loop_parts(node: &Node, post: &ServicePost) -> LoopParts {
    LoopParts {
        clock: Arc::clone(&node.clock),
        signal: Arc::clone(&post.signal),
        record: Arc::clone(&post.record),
        log_threshold: node.settings.job_store.retry_log_threshold,
        longest_retry: node.settings.job_store.db_retry_interval,
    }
}
