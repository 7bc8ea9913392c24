//! `Labels`: what sets a node apart from others.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// Labels that set a node apart from others: at most 32 names with a value each, in order of the
/// names.
///
/// Written as `zone=eu, gpu=yes`. A name has 1 to 63 letters, digits, `.`, `_`, `-` and `/`,
/// beginning with a letter or a digit; a value at most 63 characters without commas and control
/// characters, and it may be empty.
///
/// ```
/// use carnelian::node::Labels;
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
    /// Labels from pairs, checked; a second label of one name would be a mistake.
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

    /// The number of labels.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there are no labels.
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
}
