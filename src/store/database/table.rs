//! `TableRows`: what a database does with the rows of declared tables.

use crate::error::Result;
use crate::store::row::{Cell, TableDef, ToCells, cells_of};

/// A comparison of a column with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// `=`
    Equal,
    /// `<`; no value is not.
    Below,
    /// `<=`; no value is not.
    AtMost,
}

/// The rows of a table that are meant, and their order.
#[derive(Debug, Default)]
pub struct Which {
    /// Conditions that all hold.
    pub tests: Vec<(&'static str, Compare, Cell)>,
    /// The place that the rows come after, in the order of these columns; empty for all rows.
    pub behind: Vec<(&'static str, Cell)>,
    /// The columns have the values of one of these rows.
    pub any_of: Option<(Vec<&'static str>, Vec<Vec<Cell>>)>,
    /// The columns that the rows are in the order of.
    pub order: Vec<&'static str>,
    /// True for an order from the largest to the smallest.
    pub descending: bool,
    /// The most rows.
    pub limit: Option<usize>,
    /// The number of first rows that are left out.
    pub skipped: usize,
}

impl Which {
    /// The rows whose field has this value.
    pub(crate) fn equal(table: &TableDef, field: &str, value: &(impl ToCells + ?Sized)) -> Self {
        let columns = table.columns_of(&[field]).into_iter();
        let tests = columns.zip(cells_of(value)).map(|(column, cell)| (column, Compare::Equal, cell)).collect();
        Self { tests, ..Self::default() }
    }
}

/// The operations of a database on declared tables.
pub trait TableRows {
    /// Reads rows.
    fn select_from(&mut self, table: &'static TableDef, which: &Which) -> Result<Vec<Vec<Cell>>>;
    /// Counts the rows that all conditions hold for, whatever their keys, order and limit.
    fn count_in(&mut self, table: &'static TableDef, which: &Which) -> Result<u64>;
    /// Writes new rows; a unique key is violated if one is there.
    fn insert_into(&mut self, table: &'static TableDef, rows: Vec<Vec<Cell>>) -> Result<()>;
    /// Writes a row over that of its key, in one statement; these columns keep the values they
    /// have.
    fn upsert_into(&mut self, table: &'static TableDef, row: Vec<Cell>, kept: &[&str]) -> Result<()>;
    /// Sets columns of rows; returns how many rows there were.
    fn update_in(&mut self, table: &'static TableDef, which: &Which, sets: &[(&'static str, Cell)]) -> Result<usize>;
    /// Deletes rows; returns how many there were.
    fn delete_from(&mut self, table: &'static TableDef, which: &Which) -> Result<usize>;
}
