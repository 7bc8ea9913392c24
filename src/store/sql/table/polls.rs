//! Polls, which nodes make again and again while nothing happens: one statement each, over several
//! tables.

use super::fired::RESERVED_BY_OTHERS;
use super::time;
use super::waiting::DueSearch;
use crate::error::Result;
use crate::store::database::PollRows;
use crate::store::row::{Exclusions, PollResult, TypeVersions};
use crate::store::sql::by_place::by_place;
use crate::store::sql::session::SqlSession;
use crate::store::sql::statement::Value;
use diesel::sql_types::{BigInt, Nullable};

by_place! {
    struct PollRow {
        now_ms: i64 as BigInt,
        changes: Option<i64> as Nullable<BigInt>,
        cancels: Option<i64> as Nullable<BigInt>,
        reserved_time: Option<i64> as Nullable<BigInt>,
        next_fire_time: Option<i64> as Nullable<BigInt>,
        ignoring_time: Option<i64> as Nullable<BigInt>,
    }
}

by_place! {
    struct LateRow {
        now_ms: i64 as BigInt,
        n: i64 as BigInt,
    }
}

impl PollRows for SqlSession<'_, '_> {
    fn poll(
        &mut self,
        instance: &str,
        horizon_ms: Option<i64>,
        misfire_threshold_ms: i64,
        job_types: &[String],
        versions: &TypeVersions,
        excluded: &Exclusions,
    ) -> Result<PollResult> {
        let now = self.now_in_statement()?;
        let (of_types, types) = self.of_types(job_types, versions);
        let (not_excluded, excluded) = self.not_excluded(excluded);
        let no_later_than = if horizon_ms.is_some() { format!("{} + ?", now.text) } else { "?".to_owned() };
        let mut last = Vec::new();
        if horizon_ms.is_some() {
            last.extend(now.value.clone());
        }
        last.push(horizon_ms.unwrap_or(i64::MAX).into());
        let before: Vec<Value> = now.value.iter().cloned().chain([misfire_threshold_ms.into()]).collect();
        let mut values = vec![self.name(), self.name(), self.name(), instance.into()];
        let mut times = ["NULL".to_owned(), "NULL".to_owned()];
        for (search, time) in DueSearch::of_table(self.backend()).iter().zip(&mut times) {
            values.extend(DueSearch::values(&self.name(), &last, &before));
            values.extend(types.iter().chain(&excluded).cloned());
            *time = format!(
                "(SELECT t.next_fire_time FROM {{p}}TRIGGERS t WHERE {} AND {of_types}{not_excluded} \
                 ORDER BY t.next_fire_time ASC LIMIT 1)",
                search.condition(&no_later_than, &format!("{} - ?", now.text))
            );
        }
        let [in_time, ignoring] = times;
        let text = format!(
            "SELECT {} AS now_ms, \
             (SELECT c.changes FROM {{p}}CN_CHANGES c WHERE c.sched_name = ?) AS changes, \
             (SELECT c.cancels FROM {{p}}CN_CHANGES c WHERE c.sched_name = ?) AS cancels, \
             (SELECT f.sched_time {RESERVED_BY_OTHERS} ORDER BY f.sched_time LIMIT 1) AS reserved_time, \
             {in_time} AS next_fire_time, {ignoring} AS ignoring_time",
            now.shown
        );
        let rows: Vec<PollRow> = self.load(&text, &values)?;
        let poll = |row: PollRow| PollResult {
            now_ms: now.or(row.now_ms),
            earliest_ms: time(row.next_fire_time).into_iter().chain(time(row.ignoring_time)).min(),
            reserved_ms: row.reserved_time,
            changes: row.changes.unwrap_or(0),
            cancels: row.cancels.unwrap_or(0),
        };
        Ok(rows.into_iter().next().map(poll).unwrap_or_default())
    }

    fn doubtful_heartbeats(&mut self, tolerance_ms: i64) -> Result<(i64, i64)> {
        let now = self.now_in_statement()?;
        let text = format!(
            "SELECT {shown} AS now_ms, COUNT(*) AS n FROM {{p}}CN_BEATS WHERE sched_name = ? \
             AND (beat_ms + limit_ms < {text} OR beat_ms > {text} + ?)",
            shown = now.shown,
            text = now.text
        );
        let mut values = vec![self.name()];
        values.extend(now.value.clone());
        values.extend(now.value.clone());
        values.push(tolerance_ms.into());
        let rows: Vec<LateRow> = self.load(&text, &values)?;
        Ok(rows.first().map(|row| (now.or(row.now_ms), row.n)).unwrap_or_default())
    }
}
