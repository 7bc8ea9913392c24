//! `JobFileErrors`: the problems of a job file, each with its place.

use crate::error::shorten;
use crate::setters::setters;
use std::fmt;

/// Most problems that are kept; a file with more is not a job file.
const MOST_PROBLEMS: usize = 1_000;

/// One problem of a job file; shown as `file:line: <element> "value": what was expected`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobFileError {
    file: String,
    line: Option<usize>,
    element: Option<String>,
    value: Option<String>,
    message: String,
}

impl JobFileError {
    pub(super) fn new(file: &str, line: usize, element: &str, message: impl Into<String>) -> Self {
        Self {
            line: Some(line),
            element: Some(shorten(&element.escape_default().to_string(), 80)),
            ..Self::of_file(file, message)
        }
    }

    /// A problem of the file as a whole.
    pub(super) fn of_file(file: &str, message: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line: None, element: None, value: None, message: message.into() }
    }

    setters! {
        pub(super) fn at(line: usize) { self.line = Some(line) }

        pub(super) fn with_value(value: &str) { self.value = Some(shorten(&value.escape_default().to_string(), 80)) }
    }

    /// The file, as it was named by the caller.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The line, from 1, if the problem stands on one.
    pub fn line(&self) -> Option<usize> {
        self.line
    }

    /// The name of the element.
    pub fn element(&self) -> Option<&str> {
        self.element.as_deref()
    }

    /// The value, shortened if it is long.
    pub fn value(&self) -> Option<&str> {
        self.value.as_deref()
    }

    /// Expectation that was not met.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for JobFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(element) = &self.element {
            write!(f, ": <{element}>")?;
        }
        if let Some(value) = &self.value {
            write!(f, " \"{value}\"")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for JobFileError {}

/// All problems of a job file at once, in the order of its lines; `Display` and `Debug` write one a
/// line.
#[derive(Clone, PartialEq, Eq)]
pub struct JobFileErrors {
    errors: Vec<JobFileError>,
    left_out: usize,
}

impl JobFileErrors {
    pub(super) fn new(mut errors: Vec<JobFileError>) -> Self {
        errors.sort_by_key(|error| error.line);
        let left_out = errors.len().saturating_sub(MOST_PROBLEMS);
        errors.truncate(MOST_PROBLEMS);
        Self { errors, left_out }
    }

    /// The problems, in the order of lines; at most a thousand.
    pub fn errors(&self) -> &[JobFileError] {
        &self.errors
    }

    /// Count of the problems beyond the first thousand, which are not listed.
    pub fn left_out(&self) -> usize {
        self.left_out
    }
}

impl From<JobFileError> for JobFileErrors {
    fn from(error: JobFileError) -> Self {
        Self::new(vec![error])
    }
}

impl fmt::Debug for JobFileErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for JobFileErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, error) in self.errors.iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            error.fmt(f)?;
        }
        if self.left_out > 0 {
            write!(f, "\nand {} more problems", self.left_out)?;
        }
        Ok(())
    }
}

impl std::error::Error for JobFileErrors {}

impl From<JobFileErrors> for crate::Error {
    fn from(errors: JobFileErrors) -> Self {
        crate::Error::JobFile(errors.to_string())
    }
}
