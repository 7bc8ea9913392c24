//! Failure: why a command ends with another exit code than 0.

use std::process::ExitCode;

/// The outcome of a command.
pub type Outcome<T = ()> = Result<T, Failure>;

/// The ways in which a command does not end well.
#[derive(Debug)]
pub enum Failure {
    /// The answer is "no", and standard output has said so.
    No,
    /// The answer is "no", with the reason.
    Refused(String),
    /// The command line or the settings are wrong.
    Usage(String),
    /// The database cannot be used, or not under this instance id.
    Database(String),
    /// Nobody reads standard output any more.
    OutputClosed,
}

impl Failure {
    /// A job or trigger is not there; with a way to name another group where the key has dots.
    pub fn missing(what: &str, group: &str, name: &str) -> Self {
        let advice = name.rsplit_once('.').map_or(String::new(), |(more, last)| {
            let other = serde_json::json!([format!("{group}.{more}"), last]);
            format!(": its group would be `{group}`; a group with a dot is written as in '{other}'")
        });
        Self::Refused(format!("{what} `{group}.{name}` does not exist{advice}"))
    }

    /// Says it on standard error, and gives the exit code.
    pub fn report(&self) -> ExitCode {
        let (code, text) = match self {
            Failure::No => (1, None),
            Failure::Refused(text) => (1, Some(text)),
            Failure::Usage(text) => (2, Some(text)),
            Failure::Database(text) => (3, Some(text)),
            Failure::OutputClosed => (0, None),
        };
        for line in text.iter().flat_map(|text| text.lines()) {
            crate::output::complain(line);
        }
        ExitCode::from(code)
    }
}

impl From<carnelian::Error> for Failure {
    fn from(error: carnelian::Error) -> Self {
        use carnelian::Error;
        let text = error.to_string();
        match error {
            Error::Database(_) | Error::AlreadyRunning { .. } => Failure::Database(text),
            Error::Schema(_) => Failure::Database(with_advice(text)),
            Error::Invalid { .. }
            | Error::Cron(_)
            | Error::NeverFires { .. }
            | Error::Settings(_)
            | Error::JobFile(_) => Failure::Usage(text),
            _ => Failure::Refused(text),
        }
    }
}

/// The way out of missing tables, unless the text names it already.
fn with_advice(text: String) -> String {
    if text.contains("carnelian migrate") { text } else { format!("{text}; `carnelian migrate` makes the tables") }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Failure::OutputClosed,
            _ => Failure::Refused(format!("standard output: {error}")),
        }
    }
}
