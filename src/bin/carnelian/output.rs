//! Output: JSON for programs, text for people, complaints on standard error.

use crate::failure::{Failure, Outcome};
use crate::page::Part;
pub use crate::shown::{ago, or_dash, span, time};
use crate::table::printable;
pub use crate::table::{fields, table};
use serde_json::{Value, json};
use std::io::Write;

/// The form of a command's answer.
#[derive(Clone, Copy)]
pub struct Output {
    json: bool,
    quiet: bool,
}

impl Output {
    /// Answers in JSON, or in text; a quiet one says nothing of what was done.
    pub fn new(json: bool, quiet: bool) -> Self {
        Self { json, quiet }
    }

    /// The answer: the JSON document, or what `text` makes.
    pub fn answer(&self, json: Value, text: impl FnOnce() -> String) -> Outcome {
        if self.json { write(&format!("{json:#}\n")) } else { write(&text()) }
    }

    /// A line that says what was done; with `--json` the same as a document.
    pub fn done(&self, json: Value, line: &str) -> Outcome {
        if self.quiet && !self.json {
            return Ok(());
        }
        self.answer(json, || format!("{line}\n"))
    }

    /// As [`done`](Self::done), with exit code 1 if the answer is "no".
    pub fn verdict(&self, json: Value, line: &str, yes: bool) -> Outcome {
        self.done(json, line)?;
        yes_or_no(yes)
    }

    /// A list: the JSON array of the documents, or a table with a row of cells each. `none` stands
    /// for a table without rows.
    pub fn list<T, const N: usize>(
        &self,
        none: &str,
        heading: [&str; N],
        things: &[T],
        document: impl Fn(&T) -> Value,
        cells: impl Fn(&T) -> [String; N],
    ) -> Outcome {
        self.answer(things.iter().map(document).collect(), || match things {
            [] => format!("{none}\n"),
            things => table(heading, things.iter().map(cells)),
        })
    }

    /// A part of a list: as [`list`](Self::list) if it is the end of the list; else a JSON object
    /// of the `items` and `next`, or a table with a line about the rest.
    pub fn part<T, const N: usize>(
        &self,
        none: &str,
        heading: [&str; N],
        part: &Part<T>,
        document: impl Fn(&T) -> Value,
        cells: impl Fn(&T) -> [String; N],
    ) -> Outcome {
        let is_behind_all = part.total.is_some_and(|total| total > 0);
        let none = if is_behind_all { "nothing comes after this place" } else { none };
        let Some(next) = &part.next else { return self.list(none, heading, &part.items, document, cells) };
        let items: Vec<Value> = part.items.iter().map(document).collect();
        self.answer(json!({"items": items, "next": next}), || {
            let mut text = table(heading, part.items.iter().map(cells));
            if !self.quiet {
                text.push_str(&part.rest());
            }
            text
        })
    }

    /// A warning on standard error, unless it is to be quiet.
    pub fn warn(&self, text: &str) {
        if !self.quiet {
            complain(&format!("warning: {text}"));
        }
    }

    /// True if nothing is to be said of what is done.
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// True if the answer is JSON.
    pub fn is_json(&self) -> bool {
        self.json
    }
}

/// Writes to standard output at once.
pub fn write(text: &str) -> Outcome {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// One line on standard error; a closed one is nobody's loss. Errors repeat texts of rows.
pub fn complain(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "carnelian: {}", printable(line));
}

/// Succeeds if the answer is "yes"; standard output has said so.
pub fn yes_or_no(yes: bool) -> Outcome {
    if yes { Ok(()) } else { Err(Failure::No) }
}
