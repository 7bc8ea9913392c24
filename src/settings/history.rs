//! History settings: what is written down of the fires that have ended, and how long it is kept.

use log::LevelFilter;
use std::time::Duration;

use super::reader::Reader;

/// The history of fires that have ended: the fires that are recorded, and for how long
/// (`carnelian.history.*`).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HistorySettings {
    /// The fires that are recorded; all.
    /// Property `carnelian.history.record`.
    pub record: HistoryRecord,
    /// Age at which rows are deleted; seven days.
    /// Property `carnelian.history.retention` (ms, or a text such as `30d`).
    pub retention: Duration,
    /// Most rows that are kept, the newest; 0, the default, for as many as `retention` leaves, and
    /// 100000 with a store in memory.
    /// Property `carnelian.history.maxRows`.
    pub max_rows: u32,
    /// The interval at which the longest-serving node deletes rows that are too old or too many;
    /// ten minutes. A tenth of `retention`, if that is less.
    /// Property `carnelian.history.cleanUpInterval` (ms, or a text such as `1h`).
    pub clean_up_interval: Duration,
    /// Most rows that are kept of one job, the newest; 0, the default, for no limit.
    /// Property `carnelian.history.maxRowsPerJob`; for one job
    /// [`JobPolicy::keep_history`](crate::JobPolicy::keep_history).
    pub max_rows_per_job: u32,
    /// A switch: misfires are recorded as well; true.
    /// Property `carnelian.history.misfires`.
    pub misfires: bool,
    /// The lowest level of the lines that are kept of a run's log; [`LevelFilter::Off`], so that
    /// none are.
    /// Property `carnelian.history.log`; for one job
    /// [`JobPolicy::capture_log`](crate::JobPolicy::capture_log).
    pub log: LevelFilter,
    /// Bytes of such lines that are kept of a run; 16384.
    /// Property `carnelian.history.logMaxBytes`.
    pub log_max_bytes: u32,
}

/// The fires that are recorded in the history.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HistoryRecord {
    /// Every fire that has ended, and every misfire (`all`).
    #[default]
    All,
    /// Fires that did not end well (`problems`).
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
            max_rows: reader.count("carnelian.history.maxRows"),
            max_rows_per_job: reader.count("carnelian.history.maxRowsPerJob"),
            misfires: reader.flag("carnelian.history.misfires"),
            log: reader.text("carnelian.history.log").and_then(|level| level.parse().ok()).unwrap_or(LevelFilter::Off),
            log_max_bytes: reader.count("carnelian.history.logMaxBytes"),
        }
    }
}
