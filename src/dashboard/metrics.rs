//! `/metrics`: the metrics of the scheduler in this process, or of the cluster if there is none.

use super::response::Response;
use super::view::View;
use crate::scheduler::{Scheduler, cluster_metrics_text};

/// The metrics in Prometheus's text format.
pub(super) fn text(scheduler: Option<&Scheduler>, view: &View<'_>) -> Response {
    let text = scheduler.map_or_else(|| cluster_metrics_text(&view.load), Scheduler::metrics_text);
    Response::metrics(text)
}
