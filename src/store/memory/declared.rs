//! Declared tables in a session: rows read, inserted, changed and deleted by their tables.

use super::MemorySession;
use super::declared_tables::DeclaredTable;
use super::tables::Tables;
use crate::error::Result;
use crate::store::database::{TableRows, Which};
use crate::store::row::{Cell, HistoryRow, Table, TableDef, ToCells, cells_of};
use std::borrow::Cow;

impl Tables {
    /// The rows of a table, in the order of their keys. Rows that cannot be read are left out.
    pub(super) fn rows<T: Table>(&self) -> impl Iterator<Item = T> {
        let table = self.declared.get(T::DEF);
        table
            .into_iter()
            .flat_map(|table| table.rows.values().filter_map(|row| T::from_cells(table.shown(T::DEF, row)).ok()))
    }

    /// The first row whose field has this value. Only its own cells are read: whoever goes through
    /// all rows does it for each of many triggers.
    pub(super) fn row_with<T: Table>(&self, field: &str, value: &(impl ToCells + ?Sized)) -> Option<T> {
        let table = self.declared.get(T::DEF)?;
        let rows = table.chosen(&T::DEF.key_columns(), &Which::equal(T::DEF, field, value));
        T::from_cells(table.shown(T::DEF, rows.first()?)).ok()
    }

    /// Deletes the rows whose field has this value.
    pub(super) fn delete_with<T: Table>(&mut self, field: &str, value: &(impl ToCells + ?Sized)) {
        if let Some(table) = self.declared.there(T::DEF) {
            for key in table.keys(T::DEF, &Which::equal(T::DEF, field, value)) {
                table.rows.remove(&key);
            }
        }
    }

    /// The row of this key.
    pub(super) fn row_of<T: Table>(&self, key: &(impl ToCells + ?Sized)) -> Option<T> {
        let table = self.declared.get(T::DEF)?;
        T::from_cells(table.shown(T::DEF, table.rows.get(&cells_of(key))?)).ok()
    }

    /// Tells whether a table has any row.
    pub(super) fn has_rows(&self, table: &TableDef) -> bool {
        self.declared.get(table).is_some_and(|table| table.rows.values().next().is_some())
    }

    /// Deletes the row of this key.
    pub(super) fn remove_row<T: Table>(&mut self, key: &(impl ToCells + ?Sized)) {
        if let Some(table) = self.declared.there(T::DEF) {
            table.rows.remove(&cells_of(key));
        }
    }

    /// The table and the cells of its rows that are chosen.
    pub(super) fn chosen<T: Table>(&self, is_chosen: impl Fn(&T) -> bool) -> (&'static TableDef, Vec<Vec<Cell>>) {
        (T::DEF, self.rows::<T>().filter(|row| is_chosen(row)).map(|row| row.cells()).collect())
    }

    /// Deletes rows of a table that were chosen.
    pub(super) fn remove_chosen(&mut self, table: &'static TableDef, rows: &[Vec<Cell>]) {
        let key = table.key_columns();
        if let Some(stored) = self.declared.there(table) {
            rows.iter().for_each(|row| drop(stored.rows.remove(&stored.key(&key, row))));
        }
    }

    /// Deletes the rows that go.
    pub(super) fn delete_rows<T: Table>(&mut self, goes: impl Fn(&T) -> bool) {
        let (table, rows) = self.chosen(goes);
        self.remove_chosen(table, &rows);
    }

    /// Writes a row in the place of that of its key.
    pub(super) fn put_row<T: Table>(&mut self, row: &T) {
        let table = self.declared.of(T::DEF);
        let cells = row.cells();
        table.rows.put(table.key(&T::DEF.key_columns(), &cells), cells);
    }
}

impl MemorySession<'_> {
    /// A table as its rows are now. Rows of the history, of which every fire writes one, are not
    /// kept as cells.
    fn shown(&self, table: &TableDef) -> Option<Cow<'_, DeclaredTable>> {
        if table.name != HistoryRow::DEF.name {
            return self.tables.declared.get(table).map(Cow::Borrowed);
        }
        let mut shown = DeclaredTable::of(HistoryRow::DEF);
        let key = HistoryRow::DEF.key_columns();
        for row in self.tables.history.values() {
            let cells = row.cells();
            shown.rows.put(shown.key(&key, &cells), cells);
        }
        Some(Cow::Owned(shown))
    }

    fn may_change(&mut self, table: &TableDef) -> Result<()> {
        if table.is_locked { self.changes() } else { self.reads() }
    }
}

impl TableRows for MemorySession<'_> {
    fn select_from(&mut self, table: &'static TableDef, which: &Which) -> Result<Vec<Vec<Cell>>> {
        self.reads()?;
        let Some(stored) = self.shown(table) else { return Ok(Vec::new()) };
        let mut rows = stored.chosen(&table.key_columns(), which);
        let order = |row: &[Cell]| -> Vec<Cell> { stored.key(&which.order, row) };
        rows.sort_by(|a, b| if which.descending { order(b).cmp(&order(a)) } else { order(a).cmp(&order(b)) });
        let page = rows.into_iter().skip(which.skipped).take(which.limit.unwrap_or(usize::MAX));
        Ok(page.map(|row| stored.shown(table, row)).collect())
    }

    fn count_in(&mut self, table: &'static TableDef, which: &Which) -> Result<u64> {
        let all = Which { tests: which.tests.clone(), behind: which.behind.clone(), ..Which::default() };
        Ok(self.select_from(table, &all)?.len() as u64)
    }

    fn insert_into(&mut self, table: &'static TableDef, rows: Vec<Vec<Cell>>) -> Result<()> {
        self.may_change(table)?;
        if table.name == HistoryRow::DEF.name {
            for row in rows {
                let row = HistoryRow::from_cells(row)?;
                self.tables.history.put(row.fire_id.as_str().into(), row);
            }
            return Ok(());
        }
        let key_columns = table.key_columns();
        for row in rows {
            let stored = self.tables.declared.of(table);
            let key = stored.key(&key_columns, &row);
            if stored.rows.get(&key).is_some() {
                return Err(self.duplicate(table.name, format_args!("{key:?}")));
            }
            stored.rows.put(key, row);
        }
        Ok(())
    }

    fn upsert_into(&mut self, table: &'static TableDef, mut row: Vec<Cell>, kept: &[&str]) -> Result<()> {
        self.may_change(table)?;
        let stored = self.tables.declared.of(table);
        let key = stored.key(&table.key_columns(), &row);
        if let Some(old) = stored.rows.get(&key) {
            let kept = kept.iter().filter_map(|column| stored.place(column));
            for (place, cell) in kept.filter_map(|place| Some((place, old.get(place)?.clone()))) {
                if let Some(new) = row.get_mut(place) {
                    *new = cell;
                }
            }
        }
        stored.rows.put(key, row);
        Ok(())
    }

    fn update_in(&mut self, table: &'static TableDef, which: &Which, sets: &[(&'static str, Cell)]) -> Result<usize> {
        self.may_change(table)?;
        let Some(stored) = self.tables.declared.there(table) else { return Ok(0) };
        let keys = stored.keys(table, which);
        let places: Vec<(Option<usize>, &Cell)> = sets.iter().map(|(name, cell)| (stored.place(name), cell)).collect();
        for key in &keys {
            stored.rows.change(key, |row| {
                for (place, cell) in &places {
                    if let Some(old) = place.and_then(|place| row.get_mut(place)) {
                        *old = Cell::clone(cell);
                    }
                }
            });
        }
        Ok(keys.len())
    }

    fn delete_from(&mut self, table: &'static TableDef, which: &Which) -> Result<usize> {
        self.may_change(table)?;
        let Some(keys) = self.shown(table).map(|stored| stored.keys(table, which)) else { return Ok(0) };
        let tables = &mut *self.tables;
        let remove = |key: &&Vec<Cell>| match (tables.declared.there(table), key.as_slice()) {
            (Some(stored), _) => stored.rows.remove(*key).is_some(),
            (None, [Cell::Text(fire_id)]) => tables.history.remove(fire_id.as_str()).is_some(),
            _ => false,
        };
        Ok(keys.iter().filter(remove).count())
    }
}
