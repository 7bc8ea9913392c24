//! `Login`: who somebody is, and what that person may do.

use super::session::Session;
use crate::settings::DashboardRole;

/// A person who is known to the dashboard, and the person's role.
///
/// ```
/// use carnelian::dashboard::Login;
///
/// assert!(Login::operator("ada").may_act() && !Login::viewer("bob").may_act());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    name: String,
    role: DashboardRole,
}

impl Login {
    /// A person who looks at everything but the data of jobs.
    pub fn viewer(name: impl Into<String>) -> Self {
        Self::new(name, DashboardRole::Viewer)
    }

    /// A person who looks at everything and changes it.
    pub fn operator(name: impl Into<String>) -> Self {
        Self::new(name, DashboardRole::Operator)
    }

    pub(super) fn new(name: impl Into<String>, role: DashboardRole) -> Self {
        Self { name: name.into(), role }
    }

    /// The name under which actions are written down.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// True for an operator.
    pub fn may_act(&self) -> bool {
        self.role == DashboardRole::Operator
    }
}

/// A person who looks at a page.
#[derive(Clone, Debug)]
pub(super) struct User {
    pub(super) login: Login,
    pub(super) session: Session,
    /// The token that forms carry.
    pub(super) token: String,
}
