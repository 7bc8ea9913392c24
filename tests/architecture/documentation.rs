//! The pages tell the truth: named tests and pages exist, and the tables agree with the source.

use super::{FLOORS, none, read};
use std::collections::BTreeSet;
use std::path::Path;

/// Texts between backticks that look like the names of tests.
fn test_names(page: &str) -> Vec<&str> {
    let code = page.split('`').skip(1).step_by(2);
    code.filter(|code| {
        code.matches('_').count() > 2
            && !code.starts_with("carnelian_")
            && code.bytes().all(|b| b == b'_' || b.is_ascii_lowercase())
    })
    .collect()
}

fn page(files: &[(String, String)], name: &str) -> String {
    let found = files.iter().find(|(file, _)| file == name);
    found.unwrap_or_else(|| panic!("there is no {name}")).1.clone()
}

/// A macro may make a test for each database: the name then ends with it.
fn exists(known: &str, name: &str) -> bool {
    let is_there = |name: &str| known.contains(&format!("fn {name}("));
    let bare = ["_on_sqlite", "_on_postgres", "_on_mysql", "_on_memory"].iter().find_map(|end| name.strip_suffix(end));
    is_there(name) || bare.is_some_and(is_there)
}

fn sources(files: &[(String, String)]) -> String {
    files.iter().filter(|(file, _)| file.ends_with(".rs")).map(|(_, text)| text.as_str()).collect()
}

#[test]
fn tests_that_the_documentation_names_exist() {
    let files = read("");
    let known = sources(&files);
    for (name, least) in [("docs/testing.md", 25), ("docs/requirements.md", 100)] {
        let text = page(&files, name);
        let names = test_names(&text);
        assert!(names.len() >= least, "{name}: {names:?}");
        let missing = names.iter().filter(|name| !exists(&known, name)).map(|name| (*name).to_owned());
        none(&format!("tests named in {name} that do not exist"), &missing.collect::<Vec<_>>());
    }
    let testing = page(&files, "docs/testing.md");
    for hazard in 1..=25 {
        assert!(testing.contains(&format!("| H{hazard} |")), "H{hazard} has no row in docs/testing.md");
    }
}

#[test]
fn each_planted_bug_has_its_place() {
    let mut wrong = Vec::new();
    let (mut file, mut places) = ("", 0);
    let list = std::fs::read_to_string("tests/simulator/planted.txt").unwrap();
    for line in list.lines() {
        if let Some(name) = line.strip_prefix("file: ") {
            file = name;
        }
        let Some(text) = line.strip_prefix("text: ") else { continue };
        places += 1;
        let source = std::fs::read_to_string(file).unwrap_or_else(|why| panic!("{file}: {why}"));
        let times = source.matches(&text.replace("\\n", "\n")).count();
        if times != 1 {
            wrong.push(format!("{file} has it {times} times: {text}"));
        }
    }
    assert!(places >= 50, "planted.txt names {places} places");
    none("texts of planted.txt that are not there once", &wrong);
}

/// Paths from the root of the tree. Braces stand for several paths, `tests/{storm,golden}.rs`; a
/// star ends a path.
fn paths(page: &str) -> Vec<String> {
    const TOPS: [&str; 5] = ["src/", "tests/", "benches/", "examples/", "migrations/"];
    let is_of_path = |c: char| c.is_ascii_alphanumeric() || "/._-{},*".contains(c);
    let words = page.split(|c: char| !is_of_path(c)).filter(|word| TOPS.iter().any(|top| word.starts_with(top)));
    let mut paths = Vec::new();
    for word in words {
        let word = word.split('*').next().unwrap_or_default().trim_end_matches(['.', ',', '-']);
        match word.split_once('{').and_then(|(start, rest)| Some((start, rest.split_once('}')?))) {
            Some((start, (middle, end))) => paths.extend(middle.split(',').map(|part| format!("{start}{part}{end}"))),
            None => paths.push(word.to_owned()),
        }
    }
    paths
}

#[test]
fn paths_that_the_documentation_names_exist() {
    let pages = read("").into_iter().filter(|(file, _)| file == "README.md" || file.starts_with("docs/"));
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let missing = pages.flat_map(|(file, text)| {
        let lost = paths(&text).into_iter().filter(|path| !root.join(path).exists());
        lost.map(|path| format!("{file}: {path}")).collect::<Vec<_>>()
    });
    none("paths named in the documentation that do not exist", &missing.collect::<Vec<_>>());
    assert_eq!(paths("(tests/{a,b}.rs), `src/c/*.rs`."), ["tests/a.rs", "tests/b.rs", "src/c/"]);
}

#[test]
fn every_requirement_has_one_line_that_says_something() {
    let files = read("");
    let text = page(&files, "docs/requirements.md");
    let rows: Vec<Vec<&str>> = text.lines().filter(|line| line.starts_with("| ")).map(cells).collect();
    let rows: Vec<_> = rows.into_iter().filter(|row| row[0].contains('-') && !row[0].starts_with('-')).collect();
    let ids: BTreeSet<&str> = rows.iter().map(|row| row[0]).collect();
    assert_eq!((rows.len(), ids.len()), (268, 268), "each item of the checklist has one line");
    let silent = rows.iter().filter(|row| row.len() != 4 || (row[2].is_empty() && row[3].is_empty()));
    let open = rows.iter().filter(|row| !row[3].is_empty() && !row[3].starts_with("decided"));
    none("requirements of which something is missing", &open.map(|row| row.join(" | ")).collect::<Vec<_>>());
    none("requirements that are neither shown nor missing", &silent.map(|row| row.join(" | ")).collect::<Vec<_>>());
}

#[test]
fn the_floors_are_those_that_the_tests_hold() {
    let text = page(&read(""), "docs/architecture.md");
    let modules = |row: &[&str]| row[1].split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let told: Vec<(String, Vec<String>)> =
        rows_below(&text, "## Floors").iter().map(|row| (row[0].to_owned(), modules(row))).collect();
    let held = FLOORS.iter().rev().map(|(floor, modules)| {
        ((*floor).to_owned(), modules.iter().map(|module| module.trim_end_matches('=').to_owned()).collect::<Vec<_>>())
    });
    let held: Vec<_> = held.collect();
    let row = |(floor, modules): &(String, Vec<String>)| format!("| {floor} | `{}` |", modules.join("`, `"));
    let rows: Vec<String> = held.iter().map(row).collect();
    assert!(told == held, "the rows of `Floors` in docs/architecture.md begin so:\n{}", rows.join("\n"));
}

#[test]
fn the_glossary_has_each_word_once_and_in_order() {
    let text = page(&read(""), "docs/architecture.md");
    let rows = rows_below(&text, "## Glossary");
    assert!(rows.len() >= 60, "{} words", rows.len());
    let incomplete = rows.iter().filter(|row| row.len() != 4 || row[1].is_empty());
    none(
        "words without a meaning, or without both columns",
        &incomplete.map(|row| row.join(" | ")).collect::<Vec<_>>(),
    );
    let words: Vec<String> = rows.iter().map(|row| row[0].to_lowercase()).collect();
    let misplaced = words.windows(2).filter(|pair| pair[0] >= pair[1]).map(|pair| pair.join(" before "));
    none("words that are not in order, or twice in the glossary", &misplaced.collect::<Vec<_>>());
}

/// The rows of the first table below a heading, without its head.
fn rows_below<'a>(text: &'a str, heading: &str) -> Vec<Vec<&'a str>> {
    let (_, below) = text.split_once(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("no heading {heading}"));
    let table = below.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    table.skip(2).map(cells).collect()
}

/// The cells of a row, where `\|` is no border.
fn cells(line: &str) -> Vec<&str> {
    let inner = line.trim().trim_start_matches('|').trim_end_matches('|');
    let mut cells = Vec::new();
    let mut from = 0;
    for (at, _) in inner.match_indices('|').filter(|(at, _)| !inner[..*at].ends_with('\\')) {
        cells.push(inner[from..at].trim());
        from = at + 1;
    }
    cells.push(inner[from..].trim());
    cells
}
