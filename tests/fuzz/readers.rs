//! Readers of input from outside, for any bytes: each reads or refuses them, and what it has read
//! can be stored and read again.
//!
//! `tests/library/fuzz.rs` breaks the files of the corpora at random; the targets beside this file
//! are for cargo-fuzz.

use carnelian::calendar::Calendar;
use carnelian::cron::CronExpression;
use carnelian::job_file::JobFile;
use carnelian::settings::{DataSourceUrl, Settings};
use carnelian::store::row::*;
use carnelian::{JobDataMap, JobKey, RecurrenceSchedule, Trigger, TriggerKey};
use chrono::{DateTime, Utc};

pub type Reader = fn(&[u8]);

/// All of them, by the names of their corpora.
pub const READERS: [(&str, Reader); 9] = [
    ("calendar_stream", calendar_stream),
    ("cron", cron),
    ("data_text", data_text),
    ("java_stream", java_stream),
    ("job_file", job_file),
    ("properties", properties),
    ("rrule", rrule),
    ("side_row", side_row),
    ("url", url),
];

/// Reads bytes as a target of this name does.
pub fn read(name: &str, bytes: &[u8]) {
    let reader = READERS.iter().find(|(of, _)| *of == name).expect("a target of this name").1;
    reader(bytes);
}

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

/// The text names the variable as the password only, in a line that no other goes on in.
fn is_whole_password(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let Some((before, _)) = text.split_once("org.quartz.dataSource.db.password = ${env:PW}\n") else { return false };
    let begins_a_line = before.is_empty() || before.ends_with('\n') && !before.ends_with("\\\n");
    begins_a_line && text.matches("env:PW").count() == 1
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
    // NaN is not equal to itself, and the entries of a `HashMap` come in any order.
    assert_eq!(letters(&again), letters(&data));
}

/// The letters of a map as it is shown, in order: the same of maps with the same entries.
fn letters(data: &JobDataMap) -> String {
    let mut letters: Vec<char> = format!("{data:?}").chars().collect();
    letters.sort_unstable();
    letters.into_iter().collect()
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

/// A row of any table, from columns that nobody here has written: the first byte names the table,
/// the others are its cells.
fn side_row(bytes: &[u8]) {
    const TABLES: [fn(&mut Bytes); 18] = [
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
    let mut bytes = Bytes(bytes);
    let table = usize::from(bytes.next()) % TABLES.len();
    TABLES[table](&mut bytes);
}

fn row<T: Table>(bytes: &mut Bytes) {
    let kinds = T::DEF.fields.iter().flat_map(|field| field.kinds);
    let cells = kinds.map(|kind| bytes.cell(*kind)).collect();
    if let Ok(row) = T::from_cells(cells) {
        assert!(T::from_cells(row.cells()).is_ok(), "{}: what was read is not read again", T::DEF.name);
    }
}

/// Bytes to be taken one by one; zeros follow them.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn next(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    fn take(&mut self, n: usize) -> &'a [u8] {
        let (taken, left) = self.0.split_at(n.min(self.0.len()));
        self.0 = left;
        taken
    }

    /// A value that a column of this type may hold, now and then of another type.
    fn cell(&mut self, kind: Kind) -> Cell {
        let kind = match self.next() % 64 {
            0..8 => return Cell::Null,
            8 => Kind::Int,
            9 => Kind::Text,
            10 => Kind::Bytes,
            _ => kind,
        };
        let length = usize::from(self.next());
        match kind {
            Kind::Int if length < 128 => Cell::Int(length as i64 - 1),
            Kind::Int => Cell::Int(self.take(8).iter().fold(0, |number, byte| (number << 8) | i64::from(*byte))),
            Kind::Text => Cell::Text(String::from_utf8_lossy(self.take(length)).into_owned()),
            Kind::Bytes => Cell::Bytes(self.take(length).to_vec()),
        }
    }
}
