//! Failure: why a command ends with another exit code than 0.

use carnelian::report::missing;
use carnelian::store::JobStore;
use serde_json::json;
use std::fmt::Display;
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
    /// A job or trigger is not there.
    pub fn missing(store: &JobStore, what: &str, key: impl Display) -> Self {
        Self::Refused(missing(store, what, &key.to_string()))
    }

    /// The failure for an error of the store, which a key that was split at a wrong dot may have
    /// caused.
    pub fn of(store: &JobStore, error: carnelian::Error) -> Self {
        match &error {
            carnelian::Error::NotFound { what: what @ ("job" | "trigger"), key, hint } => {
                let (plain, told) = (format!("{what} `{key}` does not exist"), missing(store, what, key));
                Self::Refused(if told == plain { plain + hint } else { told })
            }
            _ => error.into(),
        }
    }

    /// Says it on standard error, and gives the exit code. A "no" is an answer, which a program
    /// that reads JSON has on standard output too.
    pub fn report(&self, as_json: bool) -> ExitCode {
        if let (Failure::Refused(text), true) = (self, as_json) {
            let _ = crate::output::write(&format!("{}\n", json!({"error": text})));
        }
        let (code, text) = match self {
            Failure::No => (1, None),
            Failure::Refused(text) => (1, Some(text)),
            Failure::Usage(text) => (2, Some(text)),
            Failure::Database(text) => (3, Some(text)),
            Failure::OutputClosed => (0, None),
        };
        // A database may say its reason in several lines; the problems of a file are a line each.
        let one_line = |text: &String| text.lines().map(str::trim).collect::<Vec<_>>().join(" ");
        let text = text.map(|text| if code == 3 { one_line(text) } else { text.clone() });
        for line in text.iter().flat_map(|text| text.lines()) {
            crate::output::complain(line);
        }
        ExitCode::from(code)
    }
}

impl From<carnelian::Error> for Failure {
    fn from(error: carnelian::Error) -> Self {
        use carnelian::Error;
        let text = in_words_of_commands(&error.to_string());
        match error {
            Error::Database(_) | Error::Schema(_) | Error::AlreadyRunning { .. } => Failure::Database(text),
            Error::Invalid { .. }
            | Error::Cron(_)
            | Error::NeverFires { .. }
            | Error::Settings(_)
            | Error::JobFile(_) => Failure::Usage(text),
            _ => Failure::Refused(text),
        }
    }
}

/// The text of an error without the words of the library, where a command has words of its own.
fn in_words_of_commands(text: &str) -> String {
    const WORDS: [(&str, &str); 6] = [
        ("`IfExists::Replace`, ", ""),
        ("call `Scheduler::migrate`, or run `carnelian migrate`", "run `carnelian migrate`"),
        ("`Backfill::most`, ", ""),
        (", `JobDetailBuilder::durable`", ""),
        ("JobDetailBuilder::even_beside_quartz, ", ""),
        ("JobDetailBuilder::even_if_deprecated, ", ""),
    ];
    WORDS.iter().fold(text.to_owned(), |text, (library, command)| text.replace(library, command))
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Failure::OutputClosed,
            _ => Failure::Refused(format!("standard output: {error}")),
        }
    }
}
