//! Matchers: which groups an operation is meant for, which jobs or triggers a listener hears.

use crate::key::{JobKey, TriggerKey};

/// Chooses jobs or triggers by their group, as Quartz's `GroupMatcher` does.
///
/// Comparison is literal and case-sensitive on every database: `%` and `_` mean themselves.
///
/// ```
/// use carnelian::GroupMatcher;
/// assert!(GroupMatcher::starts_with("bill").matches("billing"));
/// assert!(!GroupMatcher::equals("A_B").matches("AXB"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupMatcher {
    /// The group of exactly this name.
    Equals(String),
    /// Groups that begin with this text.
    StartsWith(String),
    /// Groups that end with this text.
    EndsWith(String),
    /// Groups in which this text occurs.
    Contains(String),
    /// All groups.
    Any,
}

impl GroupMatcher {
    /// The group of exactly this name.
    pub fn equals(group: impl Into<String>) -> Self {
        Self::Equals(group.into())
    }

    /// Groups that begin with `text`.
    pub fn starts_with(text: impl Into<String>) -> Self {
        Self::StartsWith(text.into())
    }

    /// Groups that end with `text`.
    pub fn ends_with(text: impl Into<String>) -> Self {
        Self::EndsWith(text.into())
    }

    /// Groups in which `text` occurs.
    pub fn contains(text: impl Into<String>) -> Self {
        Self::Contains(text.into())
    }

    /// All groups.
    pub fn any() -> Self {
        Self::Any
    }

    /// True if `group` is one of those meant.
    pub fn matches(&self, group: &str) -> bool {
        match self {
            Self::Equals(text) => group == text,
            Self::StartsWith(text) => group.starts_with(text.as_str()),
            Self::EndsWith(text) => group.ends_with(text.as_str()),
            Self::Contains(text) => group.contains(text.as_str()),
            Self::Any => true,
        }
    }
}

/// Chooses the jobs or triggers that a listener hears, by their keys: Quartz's `KeyMatcher`,
/// `NameMatcher`, `GroupMatcher`, `EverythingMatcher`, and what can be made of them with and, or,
/// not.
///
/// ```
/// use carnelian::{GroupMatcher, KeyMatcher};
///
/// let billing = KeyMatcher::from(GroupMatcher::equals("billing"));
/// let reports = KeyMatcher::name(GroupMatcher::starts_with("report-"));
/// let matcher = billing.and(reports.not()).or(KeyMatcher::key("shop", "invoice"));
/// assert!(matcher.matches("billing", "debit"));
/// assert!(!matcher.matches("billing", "report-1"));
/// assert!(matcher.matches("shop", "invoice"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyMatcher {
    /// Every key.
    Everything,
    /// Exactly one key.
    Key {
        /// The group of the key.
        group: String,
        /// The name of the key.
        name: String,
    },
    /// Keys of these groups.
    Group(GroupMatcher),
    /// Keys whose name is one of these, whatever their group.
    Name(GroupMatcher),
    /// Keys that both match.
    And(Box<KeyMatcher>, Box<KeyMatcher>),
    /// Keys that one of them matches.
    Or(Box<KeyMatcher>, Box<KeyMatcher>),
    /// Keys that it does not match.
    Not(Box<KeyMatcher>),
}

impl KeyMatcher {
    /// The key of this group and name alone.
    pub fn key(group: impl Into<String>, name: impl Into<String>) -> Self {
        Self::Key { group: group.into(), name: name.into() }
    }

    /// Keys whose name is one of these; the comparisons are those of groups.
    #[doc(alias = "NameMatcher")]
    pub fn name(names: GroupMatcher) -> Self {
        Self::Name(names)
    }

    /// Keys that this and `other` match.
    #[doc(alias = "AndMatcher")]
    #[must_use]
    pub fn and(self, other: impl Into<KeyMatcher>) -> Self {
        Self::And(Box::new(self), Box::new(other.into()))
    }

    /// Keys that this or `other` matches.
    #[doc(alias = "OrMatcher")]
    #[must_use]
    pub fn or(self, other: impl Into<KeyMatcher>) -> Self {
        Self::Or(Box::new(self), Box::new(other.into()))
    }

    /// Keys that this does not match.
    #[doc(alias = "NotMatcher")]
    #[must_use]
    #[expect(clippy::should_implement_trait, reason = "beside `and` and `or`, which have no operators either")]
    pub fn not(self) -> Self {
        Self::Not(Box::new(self))
    }

    /// True if the key of this group and name is one of those meant.
    pub fn matches(&self, group: &str, name: &str) -> bool {
        match self {
            Self::Everything => true,
            Self::Key { group: g, name: n } => g == group && n == name,
            Self::Group(groups) => groups.matches(group),
            Self::Name(names) => names.matches(name),
            Self::And(a, b) => a.matches(group, name) && b.matches(group, name),
            Self::Or(a, b) => a.matches(group, name) || b.matches(group, name),
            Self::Not(a) => !a.matches(group, name),
        }
    }
}

impl From<GroupMatcher> for KeyMatcher {
    fn from(groups: GroupMatcher) -> Self {
        match groups {
            GroupMatcher::Any => Self::Everything,
            groups => Self::Group(groups),
        }
    }
}

impl From<JobKey> for KeyMatcher {
    fn from(key: JobKey) -> Self {
        Self::key(key.group(), key.name())
    }
}

impl From<TriggerKey> for KeyMatcher {
    fn from(key: TriggerKey) -> Self {
        Self::key(key.group(), key.name())
    }
}
