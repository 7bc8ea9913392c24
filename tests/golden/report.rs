//! Reading a golden file, judging its records, and saying how many came out equal.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use serde_json::Value;

/// The number of wrong records that are shown.
const SHOWN: usize = 20;

/// The result of a check of one record: an error is a wrong record.
pub type Outcome = Result<Verdict, Mismatch>;

/// The result for a record that is not wrong.
pub enum Verdict {
    /// All that the record says holds for us too.
    Equal,
    /// The rule of that name in `tests/golden/deviations` holds, and our outcome is the one that
    /// the rule names.
    Deviating(&'static str),
}

/// A difference from a record.
pub struct Mismatch {
    what: String,
    expected: String,
    got: String,
}

impl Mismatch {
    /// Says where it was found.
    #[cfg(feature = "sqlite")]
    pub fn at(self, place: &str) -> Self {
        Self { what: format!("{place}: {}", self.what), ..self }
    }
}

/// Demands that a value is the expected one.
pub fn same<T: PartialEq + Debug>(what: impl Into<String>, expected: T, got: T) -> Result<(), Mismatch> {
    if expected == got { Ok(()) } else { Err(mismatch(what, expected, got)) }
}

/// A difference that is no plain inequality.
pub fn mismatch(what: impl Into<String>, expected: impl Debug, got: impl Debug) -> Mismatch {
    Mismatch { what: what.into(), expected: format!("{expected:?}"), got: format!("{got:?}") }
}

/// Judges every record of a file, prints the count and panics if a record is wrong.
pub fn check_file(file: &str, check: impl Fn(&Value) -> Outcome) {
    let mut tally = Tally::new(file);
    for line in read_file(file).lines().filter(|line| !line.is_empty()) {
        let record: Value =
            serde_json::from_str(&show_lone_surrogates(line)).unwrap_or_else(|error| panic!("{file}: {error}: {line}"));
        tally.judge(&record["id"], check(&record));
    }
    tally.finish();
}

/// The text of a golden file; the project's own where the folder that is named has none of this
/// name.
pub fn read_file(file: &str) -> String {
    let named = folder().join(file);
    read(&if named.exists() { named } else { own_folder().join(file) })
}

/// The sum over the records of one file.
pub struct Tally {
    file: String,
    rules: Deviations,
    checked: usize,
    deviating: usize,
    wrong: Vec<(String, Mismatch)>,
}

impl Tally {
    pub fn new(file: &str) -> Self {
        Self { file: file.to_owned(), rules: Deviations::read(), checked: 0, deviating: 0, wrong: Vec::new() }
    }

    pub fn judge(&mut self, id: impl ToString, outcome: Outcome) {
        self.checked += 1;
        let mismatch = match outcome {
            Ok(Verdict::Equal) => return,
            Ok(Verdict::Deviating(rule)) if self.rules.allow(rule, &self.file) => {
                self.deviating += 1;
                return;
            }
            Ok(Verdict::Deviating(rule)) => mismatch("deviation", "a rule of tests/golden/deviations", rule),
            Err(mismatch) => mismatch,
        };
        self.wrong.push((id.to_string(), mismatch));
    }

    /// Prints the count and panics if a record is wrong.
    pub fn finish(self) {
        let Self { file, checked, deviating, wrong, .. } = self;
        let mut out = String::from("\n");
        for (id, Mismatch { what, expected, got }) in wrong.iter().take(SHOWN) {
            out += &format!("{file} {id}: {what}\n  expected {expected}\n  got      {got}\n");
        }
        out += &format!("{file} checked={checked} wrong={} deviating={deviating}\n", wrong.len());
        // Not `print!`, which the harness keeps to itself while tests pass.
        let _ = io::stdout().lock().write_all(out.as_bytes());
        assert!(checked > 0, "{file} holds no record");
        assert!(wrong.is_empty(), "{file}: {} of {checked} records are wrong", wrong.len());
    }
}

/// A JSON text in which half a surrogate pair, which no Rust text can hold, is spelled out:
/// `\ud800` as `\\uD800`.
fn show_lone_surrogates(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    let mut rest = json;
    let unit = |text: &str| u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok();
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        let low = escape.get(6..).and_then(unit);
        let length = match unit(escape) {
            None => 2,
            Some(0xD800..=0xDBFF) if low.is_some_and(|low| (0xDC00..=0xDFFF).contains(&low)) => 12,
            Some(_) => 6,
        };
        let lone = length == 6 && unit(escape).is_some_and(|unit| (0xD800..=0xDFFF).contains(&unit));
        let (escape, after) = escape.split_at(length);
        shown += before;
        shown += &if lone { format!("\\\\u{}", escape[2..].to_uppercase()) } else { escape.to_owned() };
        rest = after;
    }
    shown + rest
}

/// The folder of the data: `CARNELIAN_GOLDEN`, or one beside the tests.
fn folder() -> PathBuf {
    env::var_os("CARNELIAN_GOLDEN").map_or_else(own_folder, PathBuf::from)
}

fn own_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The rules of `tests/golden/deviations`: the files of each.
struct Deviations(BTreeMap<String, Vec<String>>);

impl Deviations {
    fn read() -> Self {
        let mut rules: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        let mut name = String::new();
        for line in read(&own_folder().join("deviations")).lines() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            match line.strip_prefix("  ").map(|line| line.split_once(": ")) {
                None => name = line.to_owned(),
                Some(Some((key, value))) => {
                    rules.entry(name.clone()).or_default().insert(key.to_owned(), value.to_owned());
                }
                Some(None) => panic!("deviations: rule `{name}`: expected `key: value`, found `{line}`"),
            }
        }
        let files = rules.into_iter().map(|(name, parts)| {
            for key in ["files", "where", "quartz", "ours", "why"] {
                assert!(parts.contains_key(key), "deviations: rule `{name}` lacks `{key}`");
            }
            (name, parts["files"].split_whitespace().map(str::to_owned).collect())
        });
        Deviations(files.collect())
    }

    fn allow(&self, rule: &str, file: &str) -> bool {
        self.0.get(rule).is_some_and(|files| files.iter().any(|known| known == file))
    }
}
