//! Everything, page by page, for `doctor` and for the invariants.

use super::fired_row::{self, Row as FiredColumns};
use super::place::{after_place, place_values};
use super::schedules::KIND_TABLES;
use super::trigger_row::KeyRow;
use super::{BARE_KEY, converted, trigger_keys};
use crate::error::Result;
use crate::key::TriggerKey;
use crate::store::database::{ClusterRows, Session, SnapshotRows};
use crate::store::row::{FiredRow, InstanceSelection, RecoveryRow, Snapshot, SnapshotPlace};
use crate::store::sql::by_place::by_place;
use crate::store::sql::session::SqlSession;
use crate::store::sql::statement::{Name, Value};
use diesel::sql_types::{BigInt, Text};

/// The most rows of a page.
const PAGE: usize = 1_000;

by_place! {
    /// The key of a row of a kind, and how many triggers there are of it.
    struct KindRow {
        trigger_name: String as Text,
        trigger_group: String as Text,
        n: i64 as BigInt,
    }
}

impl SnapshotRows for SqlSession<'_, '_> {
    fn snapshot_page(&mut self, place: &mut SnapshotPlace, into: &mut Snapshot) -> Result<bool> {
        let columns: &[&str] = match place.part {
            0 => &["t.trigger_name", "t.trigger_group"],
            1 => &["j.job_name", "j.job_group"],
            2 => &["entry_id"],
            3 => &["origin_fire_id"],
            _ => &["k.trigger_name", "k.trigger_group"],
        };
        let (tail, values) = self.page(columns, &place.after);
        let read = match place.part {
            0 => {
                let rows = self.load_triggers(&format!("t.sched_name = ?{tail}"), &values)?;
                let last = rows.last().map(|row| vec![row.key.name().to_owned(), row.key.group().to_owned()]);
                (rows.len(), last, into.triggers.extend(rows))
            }
            1 => {
                let rows = self.load_jobs(&tail, &values)?;
                let last = rows.last().map(|row| vec![row.key.name().to_owned(), row.key.group().to_owned()]);
                (rows.len(), last, into.jobs.extend(rows))
            }
            2 => {
                let columns = fired_row::columns();
                let text = format!("SELECT {columns} FROM {{p}}FIRED_TRIGGERS WHERE sched_name = ?{tail}");
                let rows: Vec<FiredColumns> = self.load(&text, &values)?;
                let last = rows.last().map(|row| vec![row.entry_id.clone()]);
                (rows.len(), last, into.fired.extend(rows.into_iter().map(FiredRow::from)))
            }
            3 => {
                let rows: Vec<RecoveryRow> = self.rows_after::<RecoveryRow>(&tail, &values)?;
                let last = rows.last().map(|row| vec![row.origin_fire_id.clone()]);
                (rows.len(), last, into.recoveries.extend(rows))
            }
            part => match KIND_TABLES.get(part - 4) {
                Some(table) => {
                    let text = format!(
                        "SELECT k.trigger_name AS trigger_name, k.trigger_group AS trigger_group, (SELECT COUNT(*) \
                         FROM {{p}}TRIGGERS t WHERE t.sched_name = k.sched_name AND t.trigger_name = k.trigger_name \
                         AND t.trigger_group = k.trigger_group) AS n FROM {{p}}{table} k WHERE k.sched_name = ?{tail}"
                    );
                    let rows: Vec<KindRow> = self.load(&text, &values)?;
                    let last = rows.last().map(|row| vec![row.trigger_name.clone(), row.trigger_group.clone()]);
                    let stray = rows.iter().filter(|row| row.n == 0);
                    let stray =
                        stray.map(|row| (table.to_string(), format!("{}.{}", row.trigger_group, row.trigger_name)));
                    (rows.len(), last, into.stray_schedules.extend(stray))
                }
                None => return self.read_rest(into).map(|()| false),
            },
        };
        *place = match read {
            (PAGE, Some(after), ()) => SnapshotPlace { after, ..*place },
            _ => SnapshotPlace { part: place.part + 1, after: Vec::new() },
        };
        Ok(true)
    }

    fn delete_stray_schedules(&mut self) -> Result<Vec<TriggerKey>> {
        self.assert_trigger_access();
        let mut stray = Vec::new();
        for table in KIND_TABLES {
            let text = format!(
                "SELECT k.trigger_name AS trigger_name, k.trigger_group AS trigger_group FROM {{p}}{table} k \
                 WHERE k.sched_name = ? AND NOT EXISTS (SELECT 1 FROM {{p}}TRIGGERS t WHERE t.sched_name = k.sched_name \
                 AND t.trigger_name = k.trigger_name AND t.trigger_group = k.trigger_group)"
            );
            let keys: Vec<TriggerKey> = converted(self.load::<KeyRow>(&text, &[self.name()])?);
            if !keys.is_empty() {
                self.delete_rows(table, &BARE_KEY, &trigger_keys(&keys), "")?;
            }
            stray.extend(keys);
        }
        Ok(stray)
    }
}

impl SqlSession<'_, '_> {
    /// Reads the tables of few rows, and puts all rows in the order in which they are shown.
    fn read_rest(&mut self, into: &mut Snapshot) -> Result<()> {
        let text = "SELECT lock_name AS name FROM {p}LOCKS WHERE sched_name = ? ORDER BY lock_name";
        let locks: Vec<Name> = self.load(text, &[self.name()])?;
        into.locks = locks.into_iter().map(|row| row.name).collect();
        into.instances = self.instances(InstanceSelection::All)?;
        let session: &mut dyn Session = self;
        into.paused_groups = session.paused_groups()?;
        into.calendars = session.rows().by(&["name"]).list()?;
        into.triggers.sort_by(|a, b| a.key.cmp(&b.key));
        into.jobs.sort_by(|a, b| a.key.cmp(&b.key));
        into.fired.sort_by(|a, b| (a.fired_ms, &a.fire_id).cmp(&(b.fired_ms, &b.fire_id)));
        Ok(())
    }

    /// The end of a statement that reads the page behind the row of a key, in the order of these
    /// columns, which begin an index: whatever was read before, the page costs the same. The values
    /// come with the text, the scheduler's name first.
    fn page(&self, columns: &[&str], after: &[String]) -> (String, Vec<Value>) {
        let mut values = vec![self.name()];
        let behind = match (columns, after) {
            ([first], [a]) => {
                values.push(a.into());
                format!(" AND {first} > ?")
            }
            ([first, second], [a, b]) => {
                values.extend(place_values(a, b));
                format!(" AND {}", after_place(first, second))
            }
            _ => String::new(),
        };
        (format!("{behind} ORDER BY {} LIMIT {PAGE}", columns.join(", ")), values)
    }
}
