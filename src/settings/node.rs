//! Node settings: what a node tells the others of itself, beside its name in the cluster.

use super::reader::Reader;
use crate::node::{Labels, NodeRole};

/// Description of a node for the others (`carnelian.node.*`, `carnelian.scheduler.nodeName`,
/// `carnelian.scheduler.role`, `carnelian.application.*`, `carnelian.actor`).
///
/// ```
/// use carnelian::settings::{NodeRole, Settings};
///
/// let text = "
///     carnelian.scheduler.nodeName = rack7-a
///     carnelian.node.displayName = Billing A
///     carnelian.node.labels = zone=eu, gpu=yes
///     carnelian.application.version = 3.1.4
/// ";
/// let node = Settings::from_text("carnelian.properties", text, |_| None)?.node;
/// assert_eq!(node.name.as_deref(), Some("rack7-a"));
/// assert_eq!((node.labels.get("zone"), node.labels.get("gpu")), (Some("eu"), Some("yes")));
/// assert_eq!(node.role, NodeRole::Worker);
/// # Ok::<(), carnelian::settings::SettingsErrors>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeSettings {
    /// The name of the machine or place, which stays when the node is started again. Without one
    /// the scheduler makes it at its start from address and host name, such as `10.1.2.3_web7`.
    /// Property `carnelian.scheduler.nodeName`.
    pub name: Option<String>,
    /// Name of the node for people; its name in the cluster if there is none.
    /// Property `carnelian.node.displayName`.
    pub display_name: Option<String>,
    /// Labels that set the node apart from others.
    /// Property `carnelian.node.labels`.
    pub labels: Labels,
    /// The role of the node: it runs jobs, or it only checks in and looks after the others; it runs
    /// jobs.
    /// Property `carnelian.scheduler.role`.
    pub role: NodeRole,
    /// The application that the scheduler is a part of; the name of the scheduler if there is none.
    /// Property `carnelian.application.name`.
    pub application: Option<String>,
    /// The name under which actions of this program are written down; the name of the node if there
    /// is none.
    /// Property `carnelian.actor`.
    pub actor: Option<String>,
    /// The version of the application.
    /// Property `carnelian.application.version`.
    pub application_version: Option<String>,
}

impl NodeSettings {
    pub(crate) fn read(reader: &Reader) -> Self {
        let observes = reader.chose("carnelian.scheduler.role", NodeRole::Observer.name());
        let labels = reader.text("carnelian.node.labels").and_then(|labels| labels.parse().ok());
        Self {
            name: reader.text("carnelian.scheduler.nodeName"),
            display_name: reader.text("carnelian.node.displayName"),
            labels: labels.unwrap_or_default(),
            role: if observes { NodeRole::Observer } else { NodeRole::Worker },
            actor: reader.text("carnelian.actor"),
            application: reader.text("carnelian.application.name"),
            application_version: reader.text("carnelian.application.version"),
        }
    }
}
