//! Input from outside, broken at random: no reader panics, hangs or loses what it has read.
//!
//! The files of `tests/fuzz` are small inputs of each kind. Each is read as it is, and then broken
//! again and again, for `CARNELIAN_FUZZ_SECONDS` or some thousand times. `CARNELIAN_SEED` repeats a
//! failure: the seed of an input decides all of it. An input that has failed becomes a file.
#![cfg(all(
    feature = "job-files",
    feature = "java-streams",
    feature = "recurrence",
    feature = "postgres",
    feature = "mysql"
))]

use carnelian::calendar::Calendar;
use carnelian::clock::{Clock, SystemClock};
use carnelian::cron::CronExpression;
use carnelian::job_file::JobFile;
use carnelian::settings::{DataSourceUrl, Settings};
use carnelian::store::row::*;
use carnelian::{JobDataMap, JobKey, RecurrenceSchedule, Trigger, TriggerKey};
use chrono::{DateTime, Utc};
use std::panic::catch_unwind;
use std::path::Path;
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

/// A kind of input: where its files are, the words that readers look for, and the reader.
struct Target {
    name: &'static str,
    words: &'static [&'static str],
    read: fn(&[u8]),
}

const TARGETS: [Target; 8] = [
    Target {
        name: "properties",
        words: &[
            "org.quartz.",
            "carnelian.",
            "${",
            "}",
            "\\\n",
            "\\u00",
            "=",
            "dataSource.",
            "URL",
            "-1",
            "99999999999999999999",
        ],
        read: properties,
    },
    Target {
        name: "url",
        words: &[
            "jdbc:",
            "postgresql://",
            "mysql:",
            "sqlite:",
            "://",
            "@",
            "%",
            "%zz",
            "[",
            "]",
            ":",
            "?",
            "&",
            "=",
            ",",
        ],
        read: url,
    },
    Target {
        name: "cron",
        words: &["*", "?", "L", "W", "#", "/", "-", ",", "LW", "L-", "FEB", "SAT-MON", "99", "2147483648", " ", "\t"],
        read: cron,
    },
    Target {
        name: "rrule",
        words: &[
            "FREQ=",
            "SECONDLY",
            "YEARLY",
            "BYSETPOS=",
            "BYDAY=",
            "COUNT=",
            "UNTIL=",
            "INTERVAL=",
            "0",
            "-366",
            ";",
            "\n",
            "DTSTART:",
        ],
        read: rrule,
    },
    Target {
        name: "job_file",
        words: &[
            "<",
            ">",
            "</",
            "/>",
            "&amp;",
            "&#x0;",
            "<!--",
            "<![CDATA[",
            "<!DOCTYPE a [<!ENTITY b \"c\">]>",
            "&b;",
            "<trigger>",
            "<job>",
            "\"",
        ],
        read: job_file,
    },
    Target {
        name: "java_stream",
        words: &["sr", "t\0\x01a", "q\0~\0\0", "w\x04", "x", "p", "z\0\0\0\x01"],
        read: java_stream,
    },
    Target {
        name: "calendar_stream",
        words: &["sr", "t\0\x01a", "q\0~\0\0", "w\x04", "x", "p", "ur\0"],
        read: calendar_stream,
    },
    Target { name: "data_text", words: &["=", ":", "\\", "\\u", "\\uD83D", "#", "!", "\r", "\n"], read: data_text },
];

fn properties(bytes: &[u8]) {
    let read =
        Settings::from_text("fuzz", &String::from_utf8_lossy(bytes), |name| (name == "PW").then(|| SECRET.to_owned()));
    let shown = match read {
        Ok(settings) => format!("{settings:?} {:?}", settings.warnings()),
        Err(errors) => format!("{errors} {errors:?}"),
    };
    assert!(!shown.contains(SECRET) || !is_whole_password(bytes), "a password is shown: {shown}");
}

/// The value of the variable `PW`.
const SECRET: &str = "Zq7-secret-9";

/// The text names the variable as the password only.
fn is_whole_password(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let line = "org.quartz.dataSource.db.password = ${env:PW}\n";
    text.contains(line) && text.matches("env:PW").count() == 1
}

fn url(bytes: &[u8]) {
    if let Ok(url) = String::from_utf8_lossy(bytes).parse::<DataSourceUrl>() {
        assert!(!format!("{url:?} {} {}", url.reveal(), url.is_in_memory()).is_empty());
    }
}

fn cron(bytes: &[u8]) {
    let Ok(expression) = CronExpression::parse(&String::from_utf8_lossy(bytes)) else { return };
    assert!(!expression.explain().is_empty());
    let mut time = now();
    for _ in 0..5 {
        let Some(next) = expression.next_after(time, chrono_tz::Europe::Berlin, 2026) else { return };
        assert!(next > time, "{next} is not after {time}");
        time = next;
    }
}

fn rrule(bytes: &[u8]) {
    let Ok(schedule) = RecurrenceSchedule::new(&String::from_utf8_lossy(bytes)) else { return };
    assert!(RecurrenceSchedule::new(schedule.rule()).is_ok(), "{} is not read again", schedule.rule());
    let trigger = Trigger::builder(TriggerKey::named("t"), JobKey::named("j")).start_at(now()).schedule(schedule);
    let Ok(trigger) = trigger.build() else { return };
    let mut time = now();
    for _ in 0..5 {
        let Some(next) = trigger.fire_time_after(time, now()) else { return };
        assert!(next > time, "{next} is not after {time}");
        time = next;
    }
}

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp_millis(1_772_366_400_000).unwrap()
}

fn job_file(bytes: &[u8]) {
    if let Err(errors) = JobFile::parse("fuzz.xml", bytes, chrono_tz::UTC) {
        assert!(!errors.to_string().is_empty());
    }
}

fn java_stream(bytes: &[u8]) {
    let Ok(data) = JobDataMap::from_java_bytes(bytes) else { return };
    let Ok(stored) = data.to_java_bytes() else { return };
    let again = JobDataMap::from_java_bytes(&stored).expect("what was written can be read");
    // NaN is not equal to itself.
    assert_eq!(format!("{again:?}"), format!("{data:?}"));
}

fn calendar_stream(bytes: &[u8]) {
    let Ok(calendar) = Calendar::from_java_bytes(bytes) else { return };
    let Ok(stored) = calendar.to_java_bytes() else { return };
    assert!(Calendar::from_java_bytes(&stored).is_ok(), "what was written can be read");
}

fn data_text(bytes: &[u8]) {
    let Ok(data) = JobDataMap::from_properties_text(bytes) else { return };
    let stored = data.to_properties_text().expect("texts can be stored");
    assert_eq!(JobDataMap::from_properties_text(&stored).expect("what was written can be read"), data);
}

/// The files of a kind.
fn corpus(target: &Target) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz").join(target.name);
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files.into_iter().map(|file| std::fs::read(file).unwrap()).collect()
}

/// An input, broken in one to eight places.
fn broken(dice: &mut Dice, corpus: &[Vec<u8>], words: &[&str]) -> Vec<u8> {
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
            3 => drop(input.splice(from..from, words[dice.below(words.len())].bytes())),
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
    let target = TARGETS.iter().find(|target| target.name == name).unwrap();
    let (corpus, read) = (corpus(target), target.read);
    corpus.iter().for_each(|input| read(input));
    // Each of them is looked for in all keys that there are.
    let inputs = if name == "properties" { INPUTS / 20 } else { INPUTS };
    many(name, inputs, |seed| {
        let input = broken(&mut Dice(seed), &corpus, target.words);
        let fault = fault(|| read(&input))?;
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

/// A value that a column of this type may hold, now and then of another type.
fn cell(dice: &mut Dice, kind: Kind) -> Cell {
    const NUMBERS: [i64; 7] = [0, 1, -1, i64::MIN, i64::MAX, 1_772_366_400_000, 4_294_967_296];
    const TEXTS: [&str; 9] = ["", "a", "succeeded", "{}", "[1,2", "1,2,,x", "🦀", "a\0b", "ACQUIRED"];
    let kind = if dice.below(40) == 0 { [Kind::Int, Kind::Text, Kind::Bytes][dice.below(3)] } else { kind };
    match kind {
        _ if dice.below(6) == 0 => Cell::Null,
        Kind::Int => Cell::Int(NUMBERS[dice.below(NUMBERS.len())]),
        Kind::Text => Cell::Text(TEXTS[dice.below(TEXTS.len())].repeat(1 + dice.below(3))),
        Kind::Bytes => Cell::Bytes((0..dice.below(40)).map(|_| dice.below(256) as u8).collect()),
    }
}

/// A row of any table from columns that nobody here has written.
fn row<T: Table>(dice: &mut Dice) {
    let kinds = T::DEF.fields.iter().flat_map(|field| field.kinds);
    let cells = kinds.map(|kind| cell(dice, *kind)).collect();
    if let Ok(row) = T::from_cells(cells) {
        assert!(T::from_cells(row.cells()).is_ok(), "{}: what was read is not read again", T::DEF.name);
    }
}

#[test]
fn side_rows_are_read_or_refused() {
    let readers: [fn(&mut Dice); 18] = [
        row::<ActionRow>,
        row::<BegunRow>,
        row::<BlacklistRow>,
        row::<CheckpointRow>,
        row::<ContinuationRow>,
        row::<DefinitionRow>,
        row::<HeartbeatRow>,
        row::<HistoryRow>,
        row::<JobMarksRow>,
        row::<JobPolicyRow>,
        row::<LastRunRow>,
        row::<LimitRow>,
        row::<NodeRow>,
        row::<ParkedRow>,
        row::<PrefetchedRow>,
        row::<RecoveryRow>,
        row::<RecurrenceRow>,
        row::<TypePolicyRow>,
    ];
    many("side rows", INPUTS, |seed| {
        let mut dice = Dice(seed);
        fault(move || (0..20).for_each(|_| readers[dice.below(readers.len())](&mut dice)))
    });
}
