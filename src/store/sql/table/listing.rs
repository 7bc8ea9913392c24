//! Pages of `TRIGGERS` and `JOB_DETAILS`. The database cuts them: a page costs one statement, and
//! no more memory than its rows. In order of the key, which is name and group, the database reads
//! the index of the key from the page's place on, and no further than the page needs.

use super::marks::marks;
use super::place::{after_place, place_values};
use super::recurrences::kind_of;
use super::{converted, time};
use crate::epoch::moment;
use crate::error::Result;
use crate::hash::HashMap;
use crate::key::{JobKey, TriggerKey};
use crate::store::database::{ListingRows, Session};
use crate::store::row::{Grouped, JobQuery, JobRow, ListOrder, Listed, RecurrenceRow, TriggerQuery, TriggerSummary};
use crate::store::sql::by_place::{Columns, by_place};
use crate::store::sql::session::SqlSession;
use crate::store::sql::statement::{Name, Value};
use crate::trigger::DEFAULT_PRIORITY;
use diesel::sql_types::{BigInt, Integer, Nullable, SmallInt, Text};

/// The next fire time, for an order in which "none" is last.
const NEXT: &str = "CASE WHEN t.next_fire_time > 0 THEN t.next_fire_time ELSE 9223372036854775807 END";

by_place! {
    struct Row {
        trigger_name: String as Text,
        trigger_group: String as Text,
        job_name: String as Text,
        job_group: String as Text,
        next_fire_time: Option<i64> as Nullable<BigInt>,
        prev_fire_time: Option<i64> as Nullable<BigInt>,
        priority: Option<i32> as Nullable<Integer>,
        trigger_state: String as Text,
        trigger_type: String as Text,
        misfire_instr: Option<i16> as Nullable<SmallInt>,
    }
}

impl From<Row> for TriggerSummary {
    fn from(row: Row) -> Self {
        Self {
            key: TriggerKey::new(row.trigger_group, row.trigger_name),
            job: JobKey::new(row.job_group, row.job_name),
            kind: kind_of(row.trigger_type),
            state: row.trigger_state,
            next_fire_time: time(row.next_fire_time).map(moment),
            previous_fire_time: time(row.prev_fire_time).map(moment),
            priority: row.priority.unwrap_or(DEFAULT_PRIORITY),
            misfire: i32::from(row.misfire_instr.unwrap_or(0)),
        }
    }
}

/// Conditions with their values.
#[derive(Default)]
struct Conditions {
    text: String,
    values: Vec<Value>,
}

impl Conditions {
    fn add(&mut self, text: &str, values: impl IntoIterator<Item = Value>) {
        self.text.push_str(text);
        self.values.extend(values);
    }

    fn groups(&mut self, column: &str, groups: Option<&[String]>) {
        let Some(groups) = groups else { return };
        // No group is none of them, and an empty list is no SQL.
        let marks = if groups.is_empty() { "NULL".to_owned() } else { vec!["?"; groups.len()].join(", ") };
        self.add(&format!(" AND {column} IN ({marks})"), groups.iter().map(Value::from));
    }

    fn limit(&mut self, limit: Option<usize>) {
        if let Some(limit) = limit {
            self.add(" LIMIT ?", [limit.into()]);
        }
    }
}

impl SqlSession<'_, '_> {
    fn of_triggers(&self, query: &TriggerQuery, groups: Option<&[String]>) -> Conditions {
        let mut conditions = Conditions { text: String::new(), values: vec![self.name()] };
        conditions.groups("t.trigger_group", groups);
        if let Some(job) = &query.job {
            conditions.add(" AND t.job_name = ? AND t.job_group = ?", [job.name().into(), job.group().into()]);
        }
        match query.kind.as_deref() {
            Some("RRULE") => conditions.add(" AND t.trigger_type IN ('RRULE', 'RRULE_IG')", []),
            Some(kind) => conditions.add(" AND t.trigger_type = ?", [kind.into()]),
            None => {}
        }
        if let Some(state) = query.state {
            conditions.add(" AND t.trigger_state = ?", [state.name().into()]);
        }
        if query.filter.asks_for_marks() {
            let (marked, values) = self.marked(&query.filter);
            let text = format!(
                " AND (t.job_name, t.job_group) IN (SELECT j.job_name, j.job_group FROM {{p}}JOB_DETAILS j{} \
                 WHERE j.sched_name = ?{marked})",
                marks(self.backend())
            );
            conditions.add(&text, std::iter::once(self.name()).chain(values));
        }
        conditions
    }

    fn of_jobs(&self, query: &JobQuery, groups: Option<&[String]>) -> Conditions {
        let mut conditions = Conditions { text: String::new(), values: vec![self.name()] };
        conditions.groups("j.job_group", groups);
        if let Some(job_type) = &query.job_type {
            conditions.add(" AND j.job_class_name = ?", [job_type.into()]);
        }
        if query.filter.asks_for_marks() {
            let (marked, values) = self.marked(&query.filter);
            conditions.add(&marked, values);
        }
        conditions
    }

    /// The misfire instructions of recurrences, which their own rows have.
    fn fill_in_misfires(&mut self, rows: &mut [TriggerSummary]) -> Result<()> {
        let keys: Vec<TriggerKey> = rows.iter().filter(|row| row.kind == "RRULE").map(|row| row.key.clone()).collect();
        if keys.is_empty() {
            return Ok(());
        }
        let session: &mut dyn Session = self;
        let stored = session.rows::<RecurrenceRow>().any_of(&["trigger"], &keys).list()?;
        let misfires: HashMap<TriggerKey, i64> = stored.into_iter().map(|row| (row.trigger, row.misfire)).collect();
        for row in rows.iter_mut() {
            let misfire = misfires.get(&row.key).and_then(|misfire| i32::try_from(*misfire).ok());
            row.misfire = misfire.unwrap_or(row.misfire);
        }
        Ok(())
    }
}

impl ListingRows for SqlSession<'_, '_> {
    fn trigger_page(&mut self, query: &TriggerQuery, groups: Option<&[String]>) -> Result<Vec<TriggerSummary>> {
        let mut conditions = self.of_triggers(query, groups);
        let behind = after_place("t.trigger_name", "t.trigger_group");
        let by_key = "t.trigger_name, t.trigger_group";
        if let Some((key, next_ms)) = &query.after {
            let of_key = place_values(key.name(), key.group());
            let next_ms = next_ms.filter(|ms| *ms > 0).unwrap_or(i64::MAX);
            match query.order {
                ListOrder::Key => conditions.add(&format!(" AND {behind}"), of_key),
                ListOrder::NextFireTime => conditions.add(
                    &format!(" AND ({NEXT} > ? OR ({NEXT} = ? AND ({behind})))"),
                    [next_ms.into(), next_ms.into()].into_iter().chain(of_key),
                ),
            }
        }
        let order = match query.order {
            ListOrder::Key => by_key.to_owned(),
            ListOrder::NextFireTime => format!("{NEXT}, {by_key}"),
        };
        conditions.add(&format!(" ORDER BY {order}"), []);
        conditions.limit(query.limit);
        let text =
            format!("SELECT {} FROM {{p}}TRIGGERS t WHERE t.sched_name = ?{}", Row::select("t."), conditions.text);
        let mut rows: Vec<TriggerSummary> = converted(self.load::<Row>(&text, &conditions.values)?);
        self.fill_in_misfires(&mut rows)?;
        Ok(rows)
    }

    fn job_page(&mut self, query: &JobQuery, groups: Option<&[String]>) -> Result<Vec<JobRow>> {
        let mut conditions = self.of_jobs(query, groups);
        if let Some(key) = &query.after {
            let behind = format!(" AND {}", after_place("j.job_name", "j.job_group"));
            conditions.add(&behind, place_values(key.name(), key.group()));
        }
        conditions.add(" ORDER BY j.job_name, j.job_group", []);
        conditions.limit(query.limit);
        self.load_jobs(&conditions.text, &conditions.values)
    }

    fn count_listed(&mut self, query: Listed<'_>, groups: Option<&[String]>) -> Result<usize> {
        let (from, conditions) = match query {
            Listed::Triggers(query) => {
                ("{p}TRIGGERS t WHERE t.sched_name = ?".to_owned(), self.of_triggers(query, groups))
            }
            Listed::Jobs(query) => {
                let joins = if query.filter.asks_for_marks() { marks(self.backend()) } else { String::new() };
                (format!("{{p}}JOB_DETAILS j{joins} WHERE j.sched_name = ?"), self.of_jobs(query, groups))
            }
        };
        let text = format!("SELECT COUNT(*) AS n FROM {from}{}", conditions.text);
        Ok(usize::try_from(self.count(&text, &conditions.values)?).unwrap_or(0))
    }

    fn groups(&mut self, of: Grouped) -> Result<Vec<String>> {
        let (table, group) = match of {
            Grouped::Jobs => ("JOB_DETAILS", "job_group"),
            Grouped::Triggers => ("TRIGGERS", "trigger_group"),
        };
        let text = format!("SELECT DISTINCT {group} AS name FROM {{p}}{table} WHERE sched_name = ? ORDER BY {group}");
        Ok(self.load::<Name>(&text, &[self.name()])?.into_iter().map(|row| row.name).collect())
    }
}
