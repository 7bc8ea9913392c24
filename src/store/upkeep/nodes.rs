//! The row of a node: what the node says of itself, and its place among those that serve.

use crate::epoch::millis;
use crate::error::storable;
use crate::node::{NodeInfo, NodeReport, NodeRole};
use crate::store::row::{IncarnationRow, NodeRow};

/// The row of a node that says this now. Texts are cut to their columns: a name that is too long is
/// no reason to miss a check-in.
pub(super) fn row(instance: &str, report: &NodeReport, now_ms: i64) -> NodeRow {
    let NodeInfo { node_name, display_name, application, application_version, library_version, host, ip, .. } =
        &report.info;
    let optional = |text: &Option<String>, limit| text.as_ref().map(|text| storable(text, limit));
    NodeRow {
        instance: instance.to_owned(),
        started_ms: now_ms.saturating_sub(millis(report.uptime)),
        seen_ms: now_ms,
        info: NodeInfo {
            node_name: storable(node_name, 200),
            display_name: storable(display_name, 200),
            application: storable(application, 120),
            application_version: optional(application_version, 120),
            library_version: storable(library_version, 60),
            host: optional(host, 255),
            ip: optional(ip, 60),
            ..report.info.clone()
        },
    }
}

/// The place of a node that registers under this incarnation.
pub(super) fn incarnation(instance: &str, incarnation: &str, report: &NodeReport, now_ms: i64) -> IncarnationRow {
    let info = row(instance, report, now_ms).info;
    IncarnationRow {
        incarnation: incarnation.to_owned(),
        instance: instance.to_owned(),
        host: info.host,
        address: info.ip,
        registered_ms: now_ms,
    }
}

/// The place of a node among those that serve, `next` for the newest. An observer comes after all
/// others, or it would be the one that fires in active-passive mode.
pub(super) fn place(report: Option<&NodeReport>, next: i64) -> i64 {
    let observes = report.is_some_and(|report| report.info.role == NodeRole::Observer);
    if observes { i64::MAX } else { next }
}
