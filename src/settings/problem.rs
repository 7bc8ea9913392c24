//! Problems: what is wrong with a settings file, and what is only worth saying.

use std::fmt;

use super::redact::bounded;

/// Most problems that are kept; a file with more is not a settings file.
pub(crate) const MOST_PROBLEMS: usize = 1_000;

/// The place of a problem: file, line, key and value, without passwords.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub file: String,
    pub line: Option<usize>,
    pub key: Option<String>,
    pub value: Option<String>,
    /// Value after something was filled in.
    pub became: Option<String>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(key) = &self.key {
            write!(f, ": {}", bounded(key))?;
        }
        if let Some(value) = &self.value {
            write!(f, " = \"{value}\"")?;
        }
        if let Some(became) = &self.became {
            write!(f, " (here \"{became}\")")?;
        }
        Ok(())
    }
}

/// Kind of a [`SettingsError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SettingsErrorKind {
    /// The file cannot be read, or is too large.
    Unreadable,
    /// A line is not in the format of `java.util.Properties`.
    Syntax,
    /// Nobody knows this key.
    UnknownKey,
    /// The value is not one of those accepted.
    BadValue,
    /// A `${…}` or `$@…` leads nowhere.
    Reference,
    /// Something that the other settings ask for is not there.
    Missing,
}

/// One problem of a settings file; shown as `file:line: key = "value": what is accepted`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}{}", hint(.suggestion))]
pub struct SettingsError {
    pub(crate) place: Place,
    pub(crate) kind: SettingsErrorKind,
    pub(crate) message: String,
    pub(crate) suggestion: Option<String>,
}

fn hint(suggestion: &Option<String>) -> String {
    match suggestion {
        Some(name) => format!(" (did you mean `{name}`?)"),
        None => String::new(),
    }
}

impl SettingsError {
    /// The sort of problem.
    pub fn kind(&self) -> SettingsErrorKind {
        self.kind
    }

    /// The file, as it was named by the caller.
    pub fn file(&self) -> &str {
        &self.place.file
    }

    /// The line, from 1, if the problem stands on one.
    pub fn line(&self) -> Option<usize> {
        self.place.line
    }

    /// The key as it stands in the file; for something missing, the key to write.
    pub fn key(&self) -> Option<&str> {
        self.place.key.as_deref()
    }

    /// The value, shortened, with `***` for passwords.
    pub fn value(&self) -> Option<&str> {
        self.place.value.as_deref()
    }

    /// Values that are accepted.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The known name nearest to the one given.
    pub fn suggestion(&self) -> Option<&str> {
        self.suggestion.as_deref()
    }
}

/// A key of a settings file that has no effect here, or another effect than its author may expect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsWarning {
    pub(crate) place: Place,
    pub(crate) message: String,
}

impl SettingsWarning {
    /// The file, as it was named by the caller.
    pub fn file(&self) -> &str {
        &self.place.file
    }

    /// The line, from 1, if the warning is about one.
    pub fn line(&self) -> Option<usize> {
        self.place.line
    }

    /// The key as it stands in the file.
    pub fn key(&self) -> Option<&str> {
        self.place.key.as_deref()
    }

    /// The value, shortened, with `***` for passwords.
    pub fn value(&self) -> Option<&str> {
        self.place.value.as_deref()
    }

    /// Effect that the value has instead.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for SettingsWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// All problems of a settings file at once, in the order of its lines; `Display` writes one a line,
/// and `Debug` does the same, for programs whose `main` returns them.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", listed(.errors, *.left_out))]
pub struct SettingsErrors {
    errors: Vec<SettingsError>,
    warnings: Vec<SettingsWarning>,
    left_out: usize,
}

impl fmt::Debug for SettingsErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn listed(errors: &[SettingsError], left_out: usize) -> String {
    let mut lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
    if left_out > 0 {
        lines.push(format!("and {left_out} more problems"));
    }
    lines.join("\n")
}

impl SettingsErrors {
    pub(crate) fn new(mut errors: Vec<SettingsError>, warnings: Vec<SettingsWarning>) -> Self {
        let left_out = errors.len().saturating_sub(MOST_PROBLEMS);
        errors.truncate(MOST_PROBLEMS);
        Self { errors, warnings, left_out }
    }

    /// The problems, in the order of lines; at most a thousand.
    pub fn errors(&self) -> &[SettingsError] {
        &self.errors
    }

    /// Remarks for a report of everything.
    pub fn warnings(&self) -> &[SettingsWarning] {
        &self.warnings
    }

    /// Count of the problems beyond the first thousand, which are not listed.
    pub fn left_out(&self) -> usize {
        self.left_out
    }
}

impl<'a> IntoIterator for &'a SettingsErrors {
    type Item = &'a SettingsError;
    type IntoIter = std::slice::Iter<'a, SettingsError>;

    fn into_iter(self) -> Self::IntoIter {
        self.errors.iter()
    }
}
