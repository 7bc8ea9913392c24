//! History settings: what is written down of the fires that have ended, and how long it is kept.

use std::time::Duration;

use super::reader::Reader;

/// What is written down of the fires that have ended, and how long it is kept (`carnelian.history.*`).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HistorySettings {
    /// Which fires are written down; all.
    /// Property `carnelian.history.record`.
    pub record: HistoryRecord,
    /// How long they are kept; seven days.
    /// Property `carnelian.history.retention` (ms, or a text such as `30d`).
    pub retention: Duration,
    /// How many are kept at most, the newest; 100000.
    /// Property `carnelian.history.maxRows`.
    pub max_rows: u32,
    /// How often what is too old, or too much, is forgotten, by the node that serves longest; one minute.
    /// Property `carnelian.history.cleanUpInterval` (ms, or a text such as `1h`).
    pub clean_up_interval: Duration,
}

/// Which fires are written into the history.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HistoryRecord {
    /// Every fire that has ended, and every misfire (`all`).
    #[default]
    All,
    /// Those that did not end well (`problems`).
    Problems,
    /// None (`none`).
    None,
}

impl HistorySettings {
    pub(crate) fn read(reader: &Reader) -> Self {
        const RECORD: &str = "carnelian.history.record";
        let record = match (reader.chose(RECORD, "none"), reader.chose(RECORD, "problems")) {
            (true, _) => HistoryRecord::None,
            (_, true) => HistoryRecord::Problems,
            _ => HistoryRecord::All,
        };
        Self {
            record,
            retention: reader.duration("carnelian.history.retention"),
            clean_up_interval: reader.duration("carnelian.history.cleanUpInterval"),
            max_rows: reader.count("carnelian.history.maxRows").unwrap_or(1),
        }
    }
}
