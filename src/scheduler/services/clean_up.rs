//! `CleanUp`: forgets what has been kept long enough (LT-86).

use super::service::{Next, Service};
use crate::error::Result;
use crate::listener::lifecycle_log;
use crate::scheduler::node::Node;
use crate::settings::HistorySettings;
use crate::store::CleanUpWork;
use std::sync::Arc;
use std::time::Duration;

/// The shortest interval of looks at the history, however short its retention.
const SHORTEST: Duration = Duration::from_secs(1);

/// The service that cleans up, on the node that serves longest; the others look whether they are it
/// by now. The service goes on in standby.
pub(crate) struct CleanUp {
    node: Arc<Node>,
    /// The work that the last look found, as far as it is not done.
    work: CleanUpWork,
    /// The number of rows that were forgotten since that look.
    forgotten: usize,
}

impl CleanUp {
    pub(crate) fn new(node: Arc<Node>) -> Self {
        Self { node, work: CleanUpWork::default(), forgotten: 0 }
    }
}

impl Service for CleanUp {
    fn run_once(&mut self) -> Result<Next> {
        let node = &*self.node;
        let interval = interval(&node.settings.history);
        let begun = node.clock.ticks();
        if !node.work_state.longest_serving.is_set() {
            self.work = CleanUpWork::default();
            return Ok(Next::At(begun.saturating_add(interval)));
        }
        if self.work.is_done() {
            (self.work, self.forgotten) = (node.store.upkeep().plan_clean_up()?, 0);
        }
        let pass = node.store.upkeep().clean_up_batch(&mut self.work)?;
        node.counters.forgotten_requests.add(pass.requests);
        node.counters.forgotten_history.add(pass.history);
        self.forgotten += pass.requests + pass.history;
        node.services.clean_up.record.set_rows(self.forgotten);
        if !self.work.is_done() {
            return Ok(Next::At(node.store.history().end_of_pause(begun)));
        }
        if self.forgotten > 0 {
            lifecycle_log::cleaned_up(self.forgotten);
        }
        Ok(Next::At(begun.saturating_add(interval)))
    }
}

/// The time between two looks at the history. A history that is kept for a short time is then at
/// most a tenth longer than that.
fn interval(settings: &HistorySettings) -> Duration {
    settings.clean_up_interval.min((settings.retention / 10).max(SHORTEST))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;

    #[test]
    fn a_short_retention_is_looked_after_more_often() {
        let mut settings = Settings::default().history;
        assert_eq!(interval(&settings), Duration::from_secs(600), "of seven days");
        for (retention_s, expected_s) in [(6_000, 600), (60, 6), (1, 1)] {
            settings.retention = Duration::from_secs(retention_s);
            assert_eq!(interval(&settings), Duration::from_secs(expected_s));
        }
        settings.clean_up_interval = Duration::from_millis(100);
        assert_eq!(interval(&settings), settings.clean_up_interval);
    }
}
