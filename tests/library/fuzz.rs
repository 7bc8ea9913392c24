//! Input from outside, broken at random: no reader panics, hangs or loses what it has read.
//!
//! The files of `tests/fuzz/corpus` are small inputs of each kind. Each is read as it is, and then
//! broken again and again, for `CARNELIAN_FUZZ_SECONDS` or some thousand times. `CARNELIAN_SEED`
//! repeats a failure: the seed of an input decides all of it. An input that has failed becomes a
//! file. `tests/fuzz/run` looks for inputs by the paths that they take through the code.
#![cfg(all(
    feature = "job-files",
    feature = "java-streams",
    feature = "recurrence",
    feature = "postgres",
    feature = "mysql"
))]

#[path = "../fuzz/readers.rs"]
mod readers;

use carnelian::clock::{Clock, SystemClock};
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Broken inputs of each kind, where no time is given.
const INPUTS: u64 = 2_000;

/// No input takes more of a processor's time, by far, in a build for tests.
const LONGEST: Duration = Duration::from_secs(5);

/// Numbers that follow from a seed (SplitMix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % n.max(1) as u64).unwrap()
    }
}

/// The folder of the corpora and dictionaries.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz")
}

/// The files of a kind.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = std::fs::read_dir(folder().join("corpus").join(name)).unwrap();
    let mut files: Vec<_> = folder.map(|file| file.unwrap().path()).collect();
    files.sort();
    files.into_iter().map(|file| std::fs::read(file).unwrap()).collect()
}

/// The words that the readers of a kind look for: a dictionary of libFuzzer has one in each line,
/// `"words\x0a"`.
fn dictionary(name: &str) -> Vec<Vec<u8>> {
    let text = std::fs::read_to_string(folder().join(format!("{name}.dict"))).unwrap();
    text.lines().map(|line| word(line.strip_prefix('"').and_then(|line| line.strip_suffix('"')).unwrap())).collect()
}

fn word(mut quoted: &str) -> Vec<u8> {
    let mut word = Vec::new();
    while let Some(byte) = quoted.bytes().next() {
        let (value, length) = match quoted.as_bytes() {
            [b'\\', b'x', ..] => (u8::from_str_radix(&quoted[2..4], 16).unwrap(), 4),
            [b'\\', escaped, ..] => (*escaped, 2),
            _ => (byte, 1),
        };
        word.push(value);
        quoted = &quoted[length..];
    }
    word
}

/// An input, broken in one to eight places.
fn broken(dice: &mut Dice, corpus: &[Vec<u8>], words: &[Vec<u8>]) -> Vec<u8> {
    /// No input becomes longer by parts that are repeated.
    const LONGEST_INPUT: usize = 4 << 10;
    let mut input = corpus[dice.below(corpus.len())].clone();
    for _ in 0..=dice.below(8) {
        let from = dice.below(input.len() + 1);
        let to = (from + dice.below(1 + (input.len() - from).min(40))).min(input.len());
        let part = input[from..to].to_vec();
        match dice.below(7) {
            0 if from < input.len() => input[from] = dice.below(256) as u8,
            1 if from < input.len() => input[from] ^= 1 << dice.below(8),
            2 => drop(input.drain(from..to)),
            3 => drop(input.splice(from..from, words[dice.below(words.len())].clone())),
            4 => drop(input.splice(to..to, part)),
            5 => {
                let other = &corpus[dice.below(corpus.len())];
                let start = dice.below(other.len() + 1);
                drop(input.splice(from..to, other[start..].iter().take(60).copied().collect::<Vec<_>>()));
            }
            _ => {
                let times = 1 << dice.below(12);
                drop(input.splice(from..from, part.repeat(times.min(LONGEST_INPUT / part.len().max(1)))));
            }
        }
    }
    input.truncate(LONGEST_INPUT);
    input
}

/// The time that processors have had for this thread: a busy machine makes no input slow.
fn processor_time() -> Duration {
    let read = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(read).expect("time goes on")
}

/// Reads an input, and says what of it is as it must not be.
fn fault(read: impl FnOnce() + std::panic::UnwindSafe) -> Option<String> {
    let begun = processor_time();
    let panicked = catch_unwind(read).is_err();
    let took = processor_time() - begun;
    match panicked {
        true => Some("it panics".to_owned()),
        false if took > LONGEST => Some(format!("it takes {took:?}")),
        false => None,
    }
}

/// The first seed, and for how long inputs of a kind are broken.
fn asked_for() -> (u64, Option<Duration>) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("CARNELIAN_SEED").unwrap_or_else(|| getrandom::u64().unwrap() >> 16);
    println!("CARNELIAN_SEED={first}");
    (first, number("CARNELIAN_FUZZ_SECONDS").map(Duration::from_secs))
}

/// Breaks inputs until it has been enough, and counts them.
fn many(name: &str, inputs: u64, mut one: impl FnMut(u64) -> Option<String>) {
    let ((first, time), clock) = (asked_for(), SystemClock::default());
    let mut count = 0;
    while time.map_or(count < inputs, |time| clock.ticks() < time) {
        let seed = first + count;
        if let Some(fault) = one(seed) {
            panic!("{name} CARNELIAN_SEED={seed}: {fault}");
        }
        count += 1;
    }
    println!("{name}: {count} inputs");
}

fn fuzz(name: &str) {
    let (corpus, words) = (corpus(name), dictionary(name));
    corpus.iter().for_each(|input| readers::read(name, input));
    // Each of them is looked for in all keys that there are.
    let inputs = if name == "properties" { INPUTS / 20 } else { INPUTS };
    many(name, inputs, |seed| {
        let input = broken(&mut Dice(seed), &corpus, &words);
        let fault = fault(|| readers::read(name, &input))?;
        let kept = std::env::temp_dir().join(format!("carnelian-fuzz-{name}-{seed}"));
        std::fs::write(&kept, &input).unwrap();
        Some(format!("{fault}; the input is {}", kept.display()))
    });
}

#[test]
fn properties_files_are_read_or_refused() {
    fuzz("properties");
}

#[test]
fn urls_are_read_or_refused() {
    fuzz("url");
}

#[test]
fn cron_expressions_are_read_or_refused() {
    fuzz("cron");
}

#[test]
fn recurrence_rules_are_read_or_refused() {
    fuzz("rrule");
}

#[test]
fn job_files_are_read_or_refused() {
    fuzz("job_file");
}

#[test]
fn streams_of_java_are_read_or_refused() {
    fuzz("java_stream");
}

#[test]
fn calendars_of_java_are_read_or_refused() {
    fuzz("calendar_stream");
}

#[test]
fn data_in_text_is_read_or_refused() {
    fuzz("data_text");
}

#[test]
fn side_rows_are_read_or_refused() {
    fuzz("side_row");
}
