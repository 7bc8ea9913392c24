//! The comment rule: a sentence begins with its subject, and a line has at most a hundred columns.

use super::read;

/// The longest line of a comment. Code has 120 columns; prose is harder to read in long lines.
const MOST_COLUMNS: usize = 100;

/// Words that begin a sentence without its subject: pronouns whose noun is in another sentence
/// ("It", "Those"), and clauses that stand where a reader expects a noun ("What is told", "Whether
/// it runs", "Where there is none").
const NO_SUBJECT: &[&str] = &[
    "How", "It", "Its", "So", "Such", "Their", "They", "Those", "What", "Whatever", "When", "Where", "Whether",
    "Which", "Who", "Whoever", "Whose",
];

/// Words that are pronouns before some words and belong to a noun otherwise: "This is", but "This
/// node".
const NO_SUBJECT_BEFORE: &[(&str, &[&str])] = &[
    ("One", &["of", "that", "which", "who"]),
    ("That", &["has", "is", "means", "was"]),
    ("The", &["same"]),
    ("These", &["are", "have", "wait", "were"]),
    ("This", &["can", "does", "has", "is", "may", "means", "must", "was", "will"]),
];

#[test]
fn comments_begin_with_their_subject() {
    let files = ["src/", "tests/", "benches/", "examples/"].into_iter().flat_map(below);
    let found = files
        .flat_map(|(path, text)| offences(&text).into_iter().map(move |(line, why)| format!("{path}:{line}: {why}")));
    let found: Vec<_> = found.collect();
    assert!(found.is_empty(), "comments break the rule (docs/architecture.md):\n{}", found.join("\n"));
}

/// The Rust files below a folder, by their paths.
fn below(top: &'static str) -> impl Iterator<Item = (String, String)> {
    read(top).into_iter().map(move |(file, text)| (format!("{top}{file}"), text))
}

/// The lines that break the rule, and why. Code examples are no prose.
fn offences(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let (mut before, mut is_code, mut begins) = (None, false, true);
    for (at, line) in text.lines().enumerate() {
        let Some((marker, words)) = comment(line) else {
            before = None;
            continue;
        };
        if before != Some(marker) {
            (is_code, begins) = (false, true);
        }
        before = Some(marker);
        if words.starts_with("```") {
            (is_code, begins) = (!is_code, true);
        }
        if is_code || words.starts_with("```") {
            continue;
        }
        let columns = line.chars().count();
        if columns > MOST_COLUMNS {
            found.push((at + 1, format!("{columns} columns")));
        }
        if words.is_empty() {
            begins = true;
            continue;
        }
        begins |= words.starts_with("* ") || words.starts_with("- ");
        for (place, sentence) in words.split(". ").enumerate() {
            if (place > 0 || begins) && lacks_subject(sentence) {
                found.push((at + 1, format!("begins without its subject: {sentence}")));
            }
        }
        begins = words.ends_with('.');
    }
    found
}

fn comment(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start();
    let marker = ["///", "//!", "//"].into_iter().find(|marker| line.starts_with(marker))?;
    Some((marker, line.strip_prefix(marker)?.trim()))
}

fn lacks_subject(sentence: &str) -> bool {
    let sentence = sentence.trim_start_matches(|c: char| !c.is_alphanumeric());
    let mut words = sentence.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let (Some(first), second) = (words.next(), words.next()) else { return false };
    let is_before = |nexts: &[&str]| second.is_some_and(|second| nexts.contains(&second));
    NO_SUBJECT.contains(&first) || NO_SUBJECT_BEFORE.iter().any(|(word, nexts)| *word == first && is_before(nexts))
}

#[test]
fn comments_without_a_subject_are_found() {
    let why = |text: &str| offences(text).into_iter().map(|(line, _)| line).collect::<Vec<_>>();
    for text in [
        "/// It goes on.",
        "//! The trigger. They are named.",
        "/// The trigger.\n///\n/// Where it is due.",
        "// * One that waits.",
        "/// - This is it.",
        "let x = 1; // see below\n    // Whether it runs.",
    ] {
        assert_eq!(why(text).len(), 1, "{text}");
    }
    for text in [
        "/// One fire of this node; what it does\n/// Where is no sentence here.",
        "/// This node fires. That trigger waits.",
        "/// ```\n/// // It is an example of a hundred columns and more, which nobody wraps since it is code and not prose\n/// ```",
        "let it = \"It\"; /* It */",
    ] {
        assert_eq!(why(text), [0_usize; 0], "{text}");
    }
    assert_eq!(why(&format!("// a\n// {}", "x".repeat(98))), [2]);
}
