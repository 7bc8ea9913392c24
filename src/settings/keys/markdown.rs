//! Markdown: the table of keys as the documentation shows it.

use std::fmt::Write as _;

use super::{DefaultValue, KEYS, Key, Status};

const SECTIONS: &[(&str, &[&str])] = &[
    ("Scheduler", &["scheduler.", "context.", "managementRESTService.", "threadExecutor."]),
    ("Thread pool", &["threadPool."]),
    ("Job store", &["jobStore."]),
    ("Data sources", &["dataSource."]),
    ("Listeners and plugins", &["jobListener.", "triggerListener.", "plugin."]),
    ("Keys that exist only here", &["carnelian."]),
];

/// All known keys as Markdown: first those with an effect, then those that are only accepted.
pub fn markdown() -> String {
    let mut out = String::new();
    for (title, prefixes) in SECTIONS {
        let rows = || KEYS.iter().filter(|row| prefixes.iter().any(|prefix| row.name.starts_with(prefix)));
        line(&mut out, format_args!("### {title}\n"));
        let effective: Vec<&Key> = rows().filter(|row| row.status == Status::Effective).collect();
        if !effective.is_empty() {
            line(&mut out, format_args!("| Key | Default | Unit or form | Meaning |\n|---|---|---|---|"));
            for row in effective {
                let (name, default, unit) = (row.name, default(row), row.kind.unit());
                line(&mut out, format_args!("| `{name}` | {default} | {unit} | {} |", row.meaning));
            }
            out.push('\n');
        }
        let accepted: Vec<&Key> = rows().filter(|row| row.status != Status::Effective).collect();
        if !accepted.is_empty() {
            line(&mut out, format_args!("Accepted, with a warning where it asks for something else:\n"));
            line(&mut out, format_args!("| Key | In Quartz | Here |\n|---|---|---|"));
            for row in accepted {
                line(&mut out, format_args!("| `{}` | {} | {} |", row.name, row.meaning, here(row)));
            }
            out.push('\n');
        }
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{text}");
}

fn default(row: &Key) -> String {
    match row.default {
        DefaultValue::Value(value) => format!("`{value}`"),
        DefaultValue::None => "–".to_owned(),
        DefaultValue::Derived(words) => words.to_owned(),
    }
}

fn here(row: &Key) -> String {
    match row.status {
        Status::Effective => String::new(),
        Status::Ignored(reason) => format!("No effect: {reason}."),
        Status::Fixed { values, otherwise } => {
            let values: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
            format!("As {}: {otherwise}.", values.join(" or "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_in_the_document_once() {
        let text = markdown();
        for row in KEYS {
            let cell = format!("| `{}` |", row.name);
            assert_eq!(text.matches(&cell).count(), 1, "{}", row.name);
        }
    }
}
