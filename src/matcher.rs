//! `GroupMatcher`: which groups an operation is meant for.

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

    /// Whether `group` is one of those meant.
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
