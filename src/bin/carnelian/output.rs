//! Output: JSON for programs, tables for people, complaints on standard error.

use crate::failure::{Failure, Outcome};
use chrono::DateTime;
use serde_json::Value;
use std::io::Write;

/// The form of a command's answer.
#[derive(Clone, Copy)]
pub struct Output {
    json: bool,
}

impl Output {
    /// Answers in JSON, or in text.
    pub fn new(json: bool) -> Self {
        Self { json }
    }

    /// The answer: the JSON document, or what `text` makes.
    pub fn answer(&self, json: Value, text: impl FnOnce() -> String) -> Outcome {
        if self.json { write(&format!("{json:#}\n")) } else { write(&text()) }
    }

    /// A line that says what was done; with `--json` the same as a document.
    pub fn done(&self, json: Value, line: &str) -> Outcome {
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
        none: Option<&str>,
        heading: [&str; N],
        things: &[T],
        document: impl Fn(&T) -> Value,
        cells: impl Fn(&T) -> [String; N],
    ) -> Outcome {
        self.answer(things.iter().map(document).collect(), || match none {
            Some(none) if things.is_empty() => format!("{none}\n"),
            _ => table(heading, things.iter().map(cells)),
        })
    }
}

/// Writes to standard output at once.
pub fn write(text: &str) -> Outcome {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// One line on standard error; a closed one is nobody's loss.
pub fn complain(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "carnelian: {line}");
}

/// A table with a heading; numbers are for the caller to write, columns are as wide as they need to
/// be.
pub fn table<const N: usize>(heading: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let rows = std::iter::once(heading.map(str::to_owned)).chain(rows);
    let rows: Vec<[String; N]> = rows.map(|row| row.map(|cell| printable(&cell))).collect();
    let mut widths = [0; N];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (width, cell) in widths.iter().zip(row) {
            line.push_str(&format!("{cell:<width$}  "));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Lines of `name: value`; those without a value are left out.
pub fn fields(fields: &[(&str, Option<String>)]) -> String {
    let width = fields.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0) + 1;
    fields
        .iter()
        .filter_map(|(name, value)| Some((name, value.as_ref()?)))
        .map(|(name, value)| format!("{:<width$}  {}\n", format!("{name}:"), printable(value)))
        .collect()
}

/// Succeeds if the answer is "yes"; standard output has said so.
pub fn yes_or_no(yes: bool) -> Outcome {
    if yes { Ok(()) } else { Err(Failure::No) }
}

/// The value as text; `-` for none.
pub fn or_dash(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

/// A moment for people; `-` for none.
pub fn time(ms: Option<i64>) -> String {
    match ms.map(|ms| (ms, DateTime::from_timestamp_millis(ms))) {
        Some((_, Some(time))) => time.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
        Some((ms, None)) => format!("{ms} ms"),
        None => "-".to_owned(),
    }
}

/// A time span for people, from milliseconds.
pub fn span(ms: i64) -> String {
    let ms = ms.unsigned_abs();
    let (seconds, minutes, hours) = (ms / 1_000, ms / 60_000, ms / 3_600_000);
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{seconds}.{} s", ms % 1_000 / 100),
        60_000..3_600_000 => format!("{minutes} min {} s", seconds % 60),
        3_600_000..86_400_000 => format!("{hours} h {} min", minutes % 60),
        _ => format!("{} d {} h", hours / 24, hours % 24),
    }
}

/// A moment before now, for people.
pub fn ago(ms: i64, now_ms: i64) -> String {
    format!("{} ago", span(now_ms.saturating_sub(ms).max(0)))
}

/// The text without control characters: rows are written by anybody and must not drive a terminal.
fn printable(text: &str) -> String {
    if text.chars().any(char::is_control) { text.escape_default().to_string() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_harmless() {
        let rows = [["ä", "1"], ["a\u{1b}", "2"]].map(|row| row.map(str::to_owned));
        assert_eq!(table(["x", "n"], rows), "x        n\nä        1\na\\u{1b}  2\n");
    }

    #[test]
    fn spans_have_two_parts_at_most() {
        let shown = [7, 1_250, 61_000, 3_700_000, 90_000_000, -1_250].map(span);
        assert_eq!(shown, ["7 ms", "1.2 s", "1 min 1 s", "1 h 1 min", "1 d 1 h", "1.2 s"]);
    }
}
