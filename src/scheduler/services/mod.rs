//! The services of a node: each has a thread of its own, and all of them the loop in `service`.
//! Beside them stand the parts of services: boards, watches and reports.

pub(crate) mod acquirer;
mod alarm_board;
pub(crate) mod auditor;
pub(crate) mod clean_up;
pub(crate) mod cluster_manager;
pub(crate) mod completer;
pub(crate) mod dispatcher;
pub(crate) mod heartbeat_keeper;
#[cfg(feature = "job-files")]
pub(crate) mod job_file_watcher;
pub(crate) mod listener_thread;
pub(crate) mod misfire_handler;
pub(crate) mod monitor;
pub(crate) mod notification_listener;
mod orphan_watch;
mod recovery_mode_watch;
mod reporter;
pub(crate) mod run_watch;
pub(crate) mod service;
