//! `Rows`: the rows of declared tables, read and written by a few operations that every table has.

use super::session::Session;
use super::table::{Compare, Which};
use crate::error::Result;
use crate::store::row::{Cell, Table, ToCells, cells_of};
use std::marker::PhantomData;

impl dyn Session + '_ {
    /// The rows of a table, all of them until conditions say which.
    pub fn rows<T: Table>(&mut self) -> Rows<'_, T> {
        Rows { session: self, which: Which::default(), row: PhantomData }
    }

    /// The row whose key has this value.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn row<T: Table>(&mut self, key: &(impl ToCells + ?Sized)) -> Result<Option<T>> {
        let rows = Rows { session: self, which: Which::default(), row: PhantomData };
        rows.tested(T::DEF.key, Compare::Equal, key).first()
    }

    /// The values of rows as they are written now.
    pub(super) fn written<T: Table>(&mut self, rows: &[T]) -> Result<Vec<Vec<Cell>>> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let stamp = T::DEF.stamp.map(|_| self.now_ms()).transpose()?.map(Cell::Int);
        Ok(rows.iter().map(|row| row.cells().into_iter().chain(stamp.clone()).collect()).collect())
    }

    /// Writes a new row; a unique key is violated if one is there.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn insert<T: Table>(&mut self, row: &T) -> Result<()> {
        self.insert_all(std::slice::from_ref(row))
    }

    /// Writes new rows; a unique key is violated if one is there.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn insert_all<T: Table>(&mut self, rows: &[T]) -> Result<()> {
        let rows = self.written(rows)?;
        self.insert_into(T::DEF, rows)
    }

    /// Writes a row in the place of that of the same key.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn put<T: Table>(&mut self, row: &T) -> Result<()> {
        self.put_all(std::slice::from_ref(row))
    }

    /// Writes rows in the place of those of the same keys.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn put_all<T: Table>(&mut self, rows: &[T]) -> Result<()> {
        let rows = self.written(rows)?;
        let keys = T::DEF.key_columns();
        let place = |key: &&str| T::DEF.columns().position(|(column, _)| column == *key);
        let places: Vec<usize> = keys.iter().filter_map(place).collect();
        let key = |row: &Vec<Cell>| places.iter().filter_map(|place| row.get(*place).cloned()).collect();
        let any_of = (!keys.is_empty()).then(|| (keys, rows.iter().map(key).collect()));
        self.delete_from(T::DEF, &Which { any_of, ..Which::default() })?;
        self.insert_into(T::DEF, rows)
    }

    /// Writes a row over that of its key, in one statement; these fields keep the values they have.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn upsert<T: Table>(&mut self, row: &T, kept: &[&str]) -> Result<()> {
        let row = self.written(std::slice::from_ref(row))?.pop().unwrap_or_default();
        self.upsert_into(T::DEF, row, &T::DEF.columns_of(kept))
    }
}

/// Rows of a table that are to be read, counted, changed or deleted.
#[must_use = "nothing happens until it is said what to do with the rows"]
pub struct Rows<'s, T> {
    session: &'s mut dyn Session,
    which: Which,
    row: PhantomData<T>,
}

/// A field is named as it is declared.
impl<T: Table> Rows<'_, T> {
    fn tested(mut self, fields: &[&str], compare: Compare, value: &(impl ToCells + ?Sized)) -> Self {
        let columns = T::DEF.columns_of(fields).into_iter();
        self.which.tests.extend(columns.zip(cells_of(value)).map(|(column, cell)| (column, compare, cell)));
        self
    }

    /// Rows whose field has this value.
    pub fn with(self, field: &str, value: &(impl ToCells + ?Sized)) -> Self {
        self.tested(&[field], Compare::Equal, value)
    }

    /// Rows whose field is smaller; a field without a value is left out.
    pub fn below(self, field: &str, value: i64) -> Self {
        self.tested(&[field], Compare::Below, &value)
    }

    /// Rows whose field is a text that comes before this one.
    pub fn before(self, field: &str, text: &str) -> Self {
        self.tested(&[field], Compare::Below, text)
    }

    /// Rows that come after this place in the order of these fields.
    pub fn behind(mut self, fields: &[&str], place: &[&dyn ToCells]) -> Self {
        let mut cells = Vec::new();
        place.iter().for_each(|value| value.write(&mut cells));
        self.which.behind = T::DEF.columns_of(fields).into_iter().zip(cells).collect();
        self
    }

    /// Rows whose field is not larger; a field without a value is left out.
    pub fn at_most(self, field: &str, value: i64) -> Self {
        self.tested(&[field], Compare::AtMost, &value)
    }

    /// Rows whose fields have one of these values.
    pub fn any_of(mut self, fields: &[&str], values: &[impl ToCells]) -> Self {
        let values = values.iter().map(|value| cells_of(value)).collect();
        self.which.any_of = Some((T::DEF.columns_of(fields), values));
        self
    }

    /// The order of these fields.
    pub fn by(mut self, fields: &[&str]) -> Self {
        self.which.order = T::DEF.columns_of(fields);
        self
    }

    /// The order from the largest value of these fields to the smallest.
    pub fn latest_by(mut self, fields: &[&str]) -> Self {
        self.which.descending = true;
        self.by(fields)
    }

    /// The most rows.
    pub fn limit(mut self, rows: usize) -> Self {
        self.which.limit = Some(rows);
        self
    }

    /// The number of first rows that are left out.
    pub fn skip(mut self, rows: usize) -> Self {
        self.which.skipped = rows;
        self
    }

    /// Reads the rows.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn list(self) -> Result<Vec<T>> {
        self.session.select_from(T::DEF, &self.which)?.into_iter().map(T::from_cells).collect()
    }

    /// Reads the first row.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn first(self) -> Result<Option<T>> {
        Ok(self.list()?.into_iter().next())
    }

    /// Counts the rows that all conditions hold for.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn count(self) -> Result<u64> {
        self.session.count_in(T::DEF, &self.which)
    }

    /// Sets a field of the rows; returns how many there were.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn set(self, field: &str, value: &(impl ToCells + ?Sized)) -> Result<usize> {
        let sets: Vec<_> = T::DEF.columns_of(&[field]).into_iter().zip(cells_of(value)).collect();
        self.session.update_in(T::DEF, &self.which, &sets)
    }

    /// Writes all of this row but its key into the rows; returns how many there were.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn write(self, row: &T) -> Result<usize> {
        let row = self.session.written(std::slice::from_ref(row))?.pop().unwrap_or_default();
        let (columns, key) = (T::DEF.written().map(|(column, _)| column), T::DEF.key_columns());
        let sets: Vec<_> = columns.zip(row).filter(|(column, _)| !key.contains(column)).collect();
        self.session.update_in(T::DEF, &self.which, &sets)
    }

    /// Deletes the rows; returns how many there were.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn delete(self) -> Result<usize> {
        self.session.delete_from(T::DEF, &self.which)
    }

    /// Deletes the first rows in the order of a field, and those whose field has the same value as
    /// that of the last of them; returns how many there were.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn delete_first(mut self, field: &str, rows: usize) -> Result<usize> {
        let order = T::DEF.columns_of(&[field]);
        let place = order.first().and_then(|first| T::DEF.columns().position(|(column, _)| column == *first));
        let tests = self.which.tests.clone();
        let last =
            Which { tests, order: order.clone(), limit: Some(1), skipped: rows.saturating_sub(1), ..Which::default() };
        let last = self.session.select_from(T::DEF, &last)?.pop();
        let value = last.zip(place).and_then(|(row, place)| row.get(place).cloned());
        self.which.tests.extend(order.into_iter().zip(value).map(|(column, cell)| (column, Compare::AtMost, cell)));
        self.delete()
    }
}
