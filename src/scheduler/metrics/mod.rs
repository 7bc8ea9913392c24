//! Metrics: what a node counts and measures, kept in plain atomics, and shown as Prometheus text or
//! through the facade.

mod cluster;
#[cfg(feature = "metrics")]
mod facade;
mod families;
mod meters;
mod process;
mod sample;
mod text;

#[cfg(feature = "dashboard")]
pub(crate) use cluster::cluster_metrics_text;
pub(crate) use families::{Workers, families};
pub(crate) use meters::{Metrics, View};
pub(crate) use text::render;
