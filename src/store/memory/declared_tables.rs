//! Declared tables in maps: rows of cells, by the cells of their keys.

use super::journal::Journaled;
use crate::store::database::{Compare, Which};
use crate::store::row::{Cell, TableDef};
use std::collections::BTreeMap;

/// The rows of one table. Several declarations may show different columns of it; the one that is
/// written has all.
#[derive(Clone, Default)]
pub(super) struct DeclaredTable {
    columns: Vec<&'static str>,
    pub(super) rows: Journaled<Vec<Cell>, Vec<Cell>>,
}

/// Every declared table that has been written, by its name.
#[derive(Clone, Default)]
pub(super) struct DeclaredTables(BTreeMap<&'static str, DeclaredTable>);

impl DeclaredTable {
    pub(super) fn of(table: &TableDef) -> Self {
        Self { columns: table.written().map(|(column, _)| column).collect(), rows: Journaled::default() }
    }

    pub(super) fn place(&self, column: &str) -> Option<usize> {
        self.columns.iter().position(|one| *one == column)
    }

    fn cell<'r>(&self, row: &'r [Cell], column: &str) -> &'r Cell {
        self.place(column).and_then(|place| row.get(place)).unwrap_or(&Cell::Null)
    }

    /// True if the row is meant; `is_found` if it was found by one of the wanted keys.
    fn takes(&self, row: &[Cell], which: &Which, is_found: bool) -> bool {
        let passes = |(column, compare, wanted): &(&str, Compare, Cell)| match (self.cell(row, column), compare) {
            (Cell::Null, _) => false,
            (cell, Compare::Equal) => cell == wanted,
            (cell, Compare::Below) => cell < wanted,
            (cell, Compare::AtMost) => cell <= wanted,
        };
        let is_any = |(columns, values): &(Vec<&str>, Vec<Vec<Cell>>)| {
            values
                .iter()
                .any(|value| columns.iter().zip(value).all(|(column, wanted)| self.cell(row, column) == wanted))
        };
        let place = which.behind.iter().map(|(_, cell)| cell);
        let is_behind =
            which.behind.iter().map(|(column, _)| self.cell(row, column)).gt(place) || which.behind.is_empty();
        which.tests.iter().all(passes) && is_behind && (is_found || which.any_of.as_ref().is_none_or(is_any))
    }

    /// The rows that are meant, in the order of their keys; by key, where the whole key is given.
    pub(super) fn chosen(&self, key: &[&str], which: &Which) -> Vec<&Vec<Cell>> {
        let whole_key = key.iter().map(|column| (*column, Compare::Equal));
        let mut is_found = false;
        let rows: Vec<&Vec<Cell>> = match &which.any_of {
            Some((columns, values)) if columns == key => {
                is_found = true;
                values.iter().filter_map(|key| self.rows.get(key)).collect()
            }
            _ if which.tests.iter().map(|(column, compare, _)| (*column, *compare)).eq(whole_key) => {
                let key: Vec<Cell> = which.tests.iter().map(|(.., cell)| cell.clone()).collect();
                self.rows.get(&key).into_iter().collect()
            }
            _ => self.rows.values().collect(),
        };
        rows.into_iter().filter(|row| self.takes(row, which, is_found)).collect()
    }

    pub(super) fn key(&self, key: &[&str], row: &[Cell]) -> Vec<Cell> {
        key.iter().map(|column| self.cell(row, column).clone()).collect()
    }

    pub(super) fn keys(&self, table: &TableDef, which: &Which) -> Vec<Vec<Cell>> {
        let key = table.key_columns();
        self.chosen(&key, which).into_iter().map(|row| self.key(&key, row)).collect()
    }

    pub(super) fn shown(&self, table: &TableDef, row: &[Cell]) -> Vec<Cell> {
        table.columns().map(|(column, _)| self.cell(row, column).clone()).collect()
    }
}

impl DeclaredTables {
    pub(super) fn commit(&mut self) {
        self.0.values_mut().for_each(|table| table.rows.commit());
    }

    pub(super) fn roll_back(&mut self) {
        self.0.values_mut().for_each(|table| table.rows.roll_back());
    }

    pub(super) fn of(&mut self, table: &'static TableDef) -> &mut DeclaredTable {
        self.0.entry(table.name).or_insert_with(|| DeclaredTable::of(table))
    }

    pub(super) fn get(&self, table: &TableDef) -> Option<&DeclaredTable> {
        self.0.get(table.name)
    }

    /// A table as it was written, whatever of it is declared.
    pub(super) fn there(&mut self, table: &TableDef) -> Option<&mut DeclaredTable> {
        self.0.get_mut(table.name)
    }
}
