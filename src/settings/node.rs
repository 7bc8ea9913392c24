//! Node settings: what a node tells the others of itself, beside its name in the cluster.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::reader::Reader;

/// What a node tells the others of itself (`carnelian.node.*`, `carnelian.scheduler.nodeName`,
/// `carnelian.scheduler.role`, `carnelian.application.*`).
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
    /// The name of the machine or place, which stays when the node is started again; made from address and host name
    /// when the scheduler starts if there is none, as `10.1.2.3_web7`.
    /// Property `carnelian.scheduler.nodeName`.
    pub name: Option<String>,
    /// What people call the node; its name in the cluster if there is none.
    /// Property `carnelian.node.displayName`.
    pub display_name: Option<String>,
    /// What sets the node apart from others.
    /// Property `carnelian.node.labels`.
    pub labels: Labels,
    /// Whether the node runs jobs; it does.
    /// Property `carnelian.scheduler.role`.
    pub role: NodeRole,
    /// The application that the scheduler is a part of; the name of the scheduler if there is none.
    /// Property `carnelian.application.name`.
    pub application: Option<String>,
    /// Its version.
    /// Property `carnelian.application.version`.
    pub application_version: Option<String>,
}

/// What a node is there for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum NodeRole {
    /// It runs jobs (`worker`).
    #[default]
    Worker,
    /// It checks in and looks after the others, but runs no jobs (`observer`).
    Observer,
}

impl NodeRole {
    /// The word that stands for it in settings and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Worker => "worker",
            Self::Observer => "observer",
        }
    }

    /// The role of this word.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Worker, Self::Observer].into_iter().find(|role| role.name() == name)
    }
}

impl fmt::Display for NodeRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What sets a node apart from others: at most 32 names with a value each, in order of the names.
///
/// Written as `zone=eu, gpu=yes`. A name has 1 to 63 letters, digits, `.`, `_`, `-` and `/`, beginning with a letter or a
/// digit; a value at most 63 characters without commas and control characters, and it may be empty.
///
/// ```
/// use carnelian::settings::Labels;
///
/// let labels: Labels = "zone = eu,gpu=yes".parse().unwrap();
/// assert_eq!(labels.to_string(), "gpu=yes, zone=eu");
/// assert_eq!(labels.get("zone"), Some("eu"));
/// assert!("zone".parse::<Labels>().is_err());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Labels(BTreeMap<String, String>);

/// Most labels of a node.
const MOST_LABELS: usize = 32;

/// Most characters of a name, and of a value.
const MOST_CHARS: usize = 63;

impl Labels {
    /// These labels, checked; of two of one name the second would be a mistake.
    ///
    /// # Errors
    /// [`LabelsError`] says which label is not one.
    pub fn new<N: Into<String>, V: Into<String>>(
        labels: impl IntoIterator<Item = (N, V)>,
    ) -> Result<Self, LabelsError> {
        let mut checked = BTreeMap::new();
        for (name, value) in labels {
            let (name, value) = (name.into(), value.into());
            if !is_name(&name) {
                return Err(LabelsError::Name(shortened(&name)));
            }
            if value.chars().count() > MOST_CHARS || value.contains(',') || value.chars().any(char::is_control) {
                return Err(LabelsError::Value(name, shortened(&value)));
            }
            if let Some(earlier) = checked.insert(name.clone(), value) {
                return Err(LabelsError::Twice(name, earlier));
            }
        }
        if checked.len() > MOST_LABELS { Err(LabelsError::TooMany(checked.len())) } else { Ok(Self(checked)) }
    }

    /// The value of a label.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// All of them, in order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Why a text is no list of labels.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LabelsError {
    /// A part without `=`.
    #[error("`{0}` is no label: expected NAME=VALUE, with commas between labels")]
    Form(String),
    /// A name that is not one.
    #[error(
        "`{0}` is no name of a label: expected 1 to 63 letters, digits, `.`, `_`, `-` and `/`, beginning with a letter or digit"
    )]
    Name(String),
    /// A label whose value is too long or has characters that it may not have.
    #[error("label `{0}`: `{1}` is no value: expected at most 63 characters without commas and control characters")]
    Value(String, String),
    /// A name that stands twice.
    #[error("label `{0}` is given twice, first as `{1}`: expected each name once")]
    Twice(String, String),
    /// More labels than a node may have.
    #[error("{0} labels: expected at most 32")]
    TooMany(usize),
}

fn is_name(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/');
    name.len() <= MOST_CHARS && name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(is_letter)
}

/// As much of a text as an error message may show.
fn shortened(text: &str) -> String {
    text.chars().take(MOST_CHARS + 1).collect()
}

impl FromStr for Labels {
    type Err = LabelsError;

    fn from_str(text: &str) -> Result<Self, LabelsError> {
        let mut labels = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').ok_or_else(|| LabelsError::Form(shortened(part)))?;
            labels.push((name.trim(), value.trim()));
        }
        Self::new(labels)
    }
}

impl fmt::Display for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (name, value)) in self.iter().enumerate() {
            write!(f, "{}{name}={value}", if at == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
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
            application: reader.text("carnelian.application.name"),
            application_version: reader.text("carnelian.application.version"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_checked_and_in_order() {
        let labels: Labels = " gpu = yes ,, zone=eu,a.b/c-d_e=,formula=a=b,".parse().unwrap();
        let pairs: Vec<_> = labels.iter().collect();
        assert_eq!(pairs, [("a.b/c-d_e", ""), ("formula", "a=b"), ("gpu", "yes"), ("zone", "eu")]);
        assert_eq!(labels.to_string().parse(), Ok(labels));
        assert!("".parse::<Labels>().unwrap().is_empty());
        let long = "x".repeat(64);
        for (text, problem) in [
            ("gpu", LabelsError::Form("gpu".to_owned())),
            ("=yes", LabelsError::Name(String::new())),
            ("-gpu=yes", LabelsError::Name("-gpu".to_owned())),
            ("g p=1", LabelsError::Name("g p".to_owned())),
            ("größe=1", LabelsError::Name("größe".to_owned())),
            (&format!("{long}=1"), LabelsError::Name(long.clone())),
            (&format!("a={long}"), LabelsError::Value("a".to_owned(), long.clone())),
            ("a=x\u{7}y", LabelsError::Value("a".to_owned(), "x\u{7}y".to_owned())),
            ("a=1,a=2", LabelsError::Twice("a".to_owned(), "1".to_owned())),
        ] {
            assert_eq!(text.parse::<Labels>(), Err(problem), "{text}");
        }
        let many = |count: usize| Labels::new((0..count).map(|i| (format!("l{i}"), "x")));
        assert_eq!(many(32).unwrap().len(), 32);
        assert_eq!(many(33), Err(LabelsError::TooMany(33)));
    }

    #[test]
    fn roles_are_known_by_their_words() {
        for role in [NodeRole::Worker, NodeRole::Observer] {
            assert_eq!(NodeRole::from_name(role.name()), Some(role));
        }
        assert_eq!(NodeRole::from_name("master"), None);
    }
}
