//! Tables and lines of fields for people.

use crate::look::{Look, look};

/// The least width into which the last column is folded.
const LEAST_FOLDED: usize = 24;

/// A table with a heading; numbers are for the caller to write, columns are as wide as they need to
/// be. On a terminal the last column is folded into the columns that are left.
pub fn table<const N: usize>(heading: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    lay_out(heading, rows, look())
}

/// A table whose rows are a line each, however wide.
pub fn unfolded<const N: usize>(heading: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    lay_out(heading, rows, Look { width: None, ..look() })
}

fn lay_out<const N: usize>(heading: [&str; N], rows: impl IntoIterator<Item = [String; N]>, look: Look) -> String {
    let rows: Vec<[String; N]> = rows.into_iter().map(|row| row.map(|cell| printable(&cell))).collect();
    let mut widths = heading.map(|title| title.chars().count());
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let before: usize = widths.iter().take(N.saturating_sub(1)).map(|width| width + 2).sum();
    let room = look.width.map(|all| all.saturating_sub(before)).filter(|room| *room >= LEAST_FOLDED);
    let mut text = String::new();
    push_line(&mut text, &heading.map(str::to_owned), &widths, |title| paint(title, "1", look));
    for mut row in rows {
        let mut folded = Vec::new();
        if let (Some(last), Some(room)) = (row.last_mut(), room) {
            folded = fold(last, room);
            *last = if folded.is_empty() { String::new() } else { folded.remove(0) };
        }
        push_line(&mut text, &row, &widths, |cell| colour_of(cell).map_or(cell.to_owned(), |c| paint(cell, c, look)));
        for more in folded {
            text.push_str(&format!("{:before$}{more}\n", ""));
        }
    }
    text
}

/// A line of cells; what is painted is as wide as it was before.
fn push_line<const N: usize>(
    text: &mut String,
    cells: &[String; N],
    widths: &[usize; N],
    painted: impl Fn(&str) -> String,
) {
    let mut line = String::new();
    for (at, (width, cell)) in widths.iter().zip(cells).enumerate() {
        line.push_str(&painted(cell));
        if at + 1 < N {
            line.push_str(&" ".repeat(width.saturating_sub(cell.chars().count()) + 2));
        }
    }
    text.push_str(line.trim_end());
    text.push('\n');
}

/// The lines of at most so many columns into which a text is folded, at its spaces.
fn fold(text: &str, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The colour of a word that stands for a state or an outcome: red for what is bad, yellow for what
/// waits, green for what is well.
fn colour_of(word: &str) -> Option<&'static str> {
    match word {
        "failed" | "lost" | "timed_out" | "ERROR" | "silent" => Some("31"),
        "PAUSED" | "BLOCKED" | "PAUSED_BLOCKED" | "cancelled" | "interrupted" | "misfired" | "vetoed" | "standby"
        | "stopping" => Some("33"),
        "succeeded" | "running" | "EXECUTING" | "firing" | "alive" => Some("32"),
        _ => None,
    }
}

fn paint(text: &str, code: &str, look: Look) -> String {
    if look.has_colour && !text.is_empty() { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
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

/// The text without control characters: rows are written by anybody and must not drive a terminal.
pub fn printable(text: &str) -> String {
    let escaped = |c: char| if c.is_control() { c.escape_default().collect() } else { String::from(c) };
    text.chars().map(escaped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows<const N: usize, const M: usize>(rows: [[&str; N]; M]) -> Vec<[String; N]> {
        rows.into_iter().map(|row| row.map(str::to_owned)).collect()
    }

    #[test]
    fn columns_are_aligned_and_harmless() {
        let shown = lay_out(["x", "n"], rows([["ä", "1"], ["a\u{1b}", "2"]]), Look::default());
        assert_eq!(shown, "x        n\nä        1\na\\u{1b}  2\n");
    }

    #[test]
    fn the_last_column_is_folded_into_the_terminal() {
        let narrow = Look { is_person: true, width: Some(30), has_colour: false };
        let shown = lay_out(["K", "WHY"], rows([["a", "one two three four five six seven eight"]]), narrow);
        assert_eq!(shown, "K  WHY\na  one two three four five six\n   seven eight\n");
        let tiny = Look { width: Some(20), ..narrow };
        assert_eq!(lay_out(["K", "W"], rows([["a", &"word ".repeat(9)]]), tiny).lines().count(), 2);
    }

    #[test]
    fn states_have_colours_where_a_person_looks() {
        let person = Look { is_person: true, width: None, has_colour: true };
        let shown = lay_out(["S", "N"], rows([["failed", "1"]]), person);
        assert_eq!(shown, "\u{1b}[1mS\u{1b}[0m       \u{1b}[1mN\u{1b}[0m\n\u{1b}[31mfailed\u{1b}[0m  1\n");
    }
}
