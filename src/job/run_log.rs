//! `RunLog`: the lines that one run has logged, within a bound.

use crate::epoch::moment;
use crate::error::bounded;
use chrono::{DateTime, Utc};
use log::{Level, LevelFilter};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::time::Duration;

/// The longest message of a line, in bytes.
const MAX_MESSAGE_BYTES: usize = 4_000;

/// The size of a line beside its texts.
const LINE_BYTES: usize = 32;

/// The target of the line that says how many are missing.
const MARK: &str = "carnelian";

/// A line that was logged while a run went on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LogLine {
    /// The time of the line, by the clock of the store.
    #[serde(rename = "ms", with = "epoch_ms")]
    pub at: DateTime<Utc>,
    /// The level of the line.
    #[serde(with = "level")]
    pub level: Level,
    /// The part of the program that wrote the line.
    pub target: String,
    /// The message.
    pub message: String,
}

/// A line as its node has it: with the time in ticks of its clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedLine {
    /// The time of the line.
    pub at: Duration,
    /// The level of the line.
    pub level: Level,
    /// The part of the program that wrote the line.
    pub target: String,
    /// The message.
    pub message: String,
}

/// The lines of one run. Beyond the bound those in the middle go: how it began stays, and how it
/// ended.
#[derive(Debug)]
pub(crate) struct RunLog {
    level: LevelFilter,
    max_bytes: usize,
    head: Vec<CapturedLine>,
    head_bytes: usize,
    tail: VecDeque<CapturedLine>,
    tail_bytes: usize,
    cut: u64,
}

impl RunLog {
    /// Keeps lines of this level and more important ones, about so many bytes.
    pub(crate) fn new(level: LevelFilter, max_bytes: usize) -> Self {
        Self { level, max_bytes, head: Vec::new(), head_bytes: 0, tail: VecDeque::new(), tail_bytes: 0, cut: 0 }
    }

    /// Keeps a line; one that is not important enough is passed over.
    pub(crate) fn push(&mut self, at: Duration, level: Level, target: &str, message: &str) {
        if level > self.level {
            return;
        }
        let longest = MAX_MESSAGE_BYTES.min(self.max_bytes / 4);
        let line = CapturedLine { at, level, target: bounded(target, 200), message: bounded(message, longest) };
        let bytes = size(&line);
        if self.tail.is_empty() && self.head_bytes + bytes <= self.max_bytes / 4 {
            self.head_bytes += bytes;
            self.head.push(line);
            return;
        }
        self.tail_bytes += bytes;
        self.tail.push_back(line);
        while self.head_bytes + self.tail_bytes > self.max_bytes && self.tail.len() > 1 {
            let Some(oldest) = self.tail.pop_front() else { break };
            self.tail_bytes = self.tail_bytes.saturating_sub(size(&oldest));
            self.cut += 1;
        }
    }

    /// The lines so far; one in the middle says how many are missing there.
    pub(crate) fn lines(&self) -> Vec<CapturedLine> {
        let mut lines = self.head.clone();
        if let (1.., Some(next)) = (self.cut, self.tail.front()) {
            let message = format!("… {} lines are left out here …", self.cut);
            lines.push(CapturedLine { at: next.at, level: Level::Warn, target: MARK.to_owned(), message });
        }
        lines.extend(self.tail.iter().cloned());
        lines
    }
}

fn size(line: &CapturedLine) -> usize {
    line.message.len() + line.target.len() + LINE_BYTES
}

/// The lines of a run as they are stored; `at_ms` says when ticks were.
pub(crate) fn encode(lines: &[CapturedLine], at_ms: impl Fn(Duration) -> i64) -> String {
    let line = |line: &CapturedLine| LogLine {
        at: moment(at_ms(line.at)),
        level: line.level,
        target: line.target.clone(),
        message: line.message.clone(),
    };
    let lines: Vec<LogLine> = lines.iter().map(line).collect();
    // Texts and numbers are always JSON.
    serde_json::to_string(&lines).unwrap_or_else(|_| "[]".to_owned())
}

/// The lines of a run as they were stored, perhaps by a later version.
pub(crate) fn decode(text: &str) -> Result<Vec<LogLine>, String> {
    serde_json::from_str(text).map_err(|why| format!("LOG_LINES: {why}"))
}

/// A moment as its epoch milliseconds.
mod epoch_ms {
    use chrono::{DateTime, Utc};
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(time: &DateTime<Utc>, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_i64(time.timestamp_millis())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<DateTime<Utc>, D::Error> {
        i64::deserialize(input).map(crate::epoch::moment)
    }
}

/// A level by its name in small letters.
mod level {
    use log::Level;
    use serde::{Deserialize, Deserializer, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
    pub(super) fn serialize<S: Serializer>(level: &Level, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(&level.as_str().to_ascii_lowercase())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Level, D::Error> {
        String::deserialize(input)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(log: &RunLog) -> Vec<String> {
        log.lines().into_iter().map(|line| line.message).collect()
    }

    #[test]
    fn lines_of_less_importance_are_passed_over() {
        let mut log = RunLog::new(LevelFilter::Info, 1_000);
        log.push(Duration::ZERO, Level::Debug, "t", "no");
        log.push(Duration::ZERO, Level::Error, "t", "yes");
        assert_eq!(messages(&log), ["yes"]);
        let mut off = RunLog::new(LevelFilter::Off, 1_000);
        off.push(Duration::ZERO, Level::Error, "t", "no");
        assert!(off.lines().is_empty());
    }

    /// LT-58: bounded, whatever a run logs.
    #[test]
    fn beyond_the_bound_the_middle_is_left_out_and_said() {
        let mut log = RunLog::new(LevelFilter::Trace, 1_000);
        for i in 0..100 {
            log.push(Duration::from_millis(i), Level::Info, "t", &format!("line {i}"));
        }
        let lines = log.lines();
        let kept: usize = lines.iter().map(size).sum();
        assert!(kept <= 1_000 + 100, "{kept}");
        assert_eq!((lines[0].message.as_str(), lines[lines.len() - 1].message.as_str()), ("line 0", "line 99"));
        let mark = lines.iter().find(|line| line.target == MARK).unwrap();
        assert_eq!(mark.message, format!("… {} lines are left out here …", 100 - (lines.len() - 1)));
    }

    #[test]
    fn a_long_message_is_cut_between_two_characters() {
        let mut log = RunLog::new(LevelFilter::Trace, 400);
        log.push(Duration::ZERO, Level::Info, "t", &"ä".repeat(300));
        let message = &messages(&log)[0];
        assert!(message.len() <= 100 && message.ends_with("ä…"), "{message}");
        assert_eq!(bounded("äb", 2), "…".get(..0).unwrap().to_owned() + "…");
    }

    #[test]
    fn lines_are_stored_as_text_and_read_again() {
        let mut log = RunLog::new(LevelFilter::Trace, 1_000);
        log.push(Duration::from_millis(7), Level::Warn, "shop::paper", "no \"paper\"\n");
        let text = encode(&log.lines(), |at| 1_000 + i64::try_from(at.as_millis()).unwrap());
        assert_eq!(text, r#"[{"ms":1007,"level":"warn","target":"shop::paper","message":"no \"paper\"\n"}]"#);
        let lines = decode(&text).unwrap();
        assert_eq!(
            (lines[0].at.timestamp_millis(), lines[0].level, lines[0].message.as_str()),
            (1007, Level::Warn, "no \"paper\"\n")
        );
        assert!(decode("[").unwrap_err().starts_with("LOG_LINES: "));
    }
}
