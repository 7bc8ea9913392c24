//! `table!`: a table, declared once: the plain row, the columns with their types, and the key.

use crate::error::{Error, Result};
use crate::key::{JobKey, TriggerKey};
use std::vec::IntoIter;

/// A value of a column, as every database has it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cell {
    /// No value.
    Null,
    /// A number, a time in epoch milliseconds, or a flag.
    Int(i64),
    /// A text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Of [`Cell::Int`].
    Int,
    /// Of [`Cell::Text`].
    Text,
    /// Of [`Cell::Bytes`].
    Bytes,
}

/// A field of a row, with the columns that hold it.
#[derive(Debug)]
pub struct Field {
    /// The name of the field.
    pub name: &'static str,
    /// The names of the columns.
    pub columns: &'static [&'static str],
    /// The types of the columns.
    pub kinds: &'static [Kind],
}

/// The declaration of a table.
#[derive(Debug)]
pub struct TableDef {
    /// The name, without the prefix.
    pub name: &'static str,
    /// The fields that are the primary key, after the name of the scheduler.
    pub key: &'static [&'static str],
    /// Every field.
    pub fields: &'static [Field],
    /// True if rows change under `TRIGGER_ACCESS` only.
    pub is_locked: bool,
    /// The column that gets the time of the transaction when a row is written; no field holds it.
    pub stamp: Option<&'static str>,
}

impl TableDef {
    /// Every column that is written, with its type: those of the fields and the stamp.
    pub(in crate::store) fn written(&self) -> impl Iterator<Item = (&'static str, Kind)> {
        self.columns().chain(self.stamp.map(|column| (column, Kind::Int)))
    }

    /// Every column of a field with its type, in the order of the cells of a row.
    pub(in crate::store) fn columns(&self) -> impl Iterator<Item = (&'static str, Kind)> {
        self.fields.iter().flat_map(|field| field.columns.iter().copied().zip(field.kinds.iter().copied()))
    }

    /// The columns of these fields; a single column of a field, and the stamp, is named as it is.
    pub(in crate::store) fn columns_of(&self, fields: &[&str]) -> Vec<&'static str> {
        let field = |name: &str| self.fields.iter().find(|field| field.name == name).map(|field| field.columns);
        let all = || self.fields.iter().flat_map(|field| field.columns).chain(self.stamp.as_slice());
        let column = |name: &str| all().find(|column| **column == name).map(std::slice::from_ref);
        let columns = |name: &&str| field(name).or_else(|| column(name));
        debug_assert!(fields.iter().all(|name| columns(name).is_some()), "{}: one of {fields:?}", self.name);
        fields.iter().filter_map(columns).flatten().copied().collect()
    }

    /// The columns of the key.
    pub(in crate::store) fn key_columns(&self) -> Vec<&'static str> {
        self.columns_of(self.key)
    }
}

/// A row of a declared table.
pub trait Table: Sized + 'static {
    /// The declaration.
    const DEF: &'static TableDef;
    /// The values of the columns.
    fn cells(&self) -> Vec<Cell>;
    /// The row of these values.
    ///
    /// # Errors
    /// [`Error::Schema`] for a value that is not of the type of its column.
    fn from_cells(cells: Vec<Cell>) -> Result<Self>;
}

/// A value that can be written into columns.
pub trait ToCells {
    /// Appends the values of the columns.
    fn write(&self, row: &mut Vec<Cell>);
}

/// The values of the columns of a value.
pub(in crate::store) fn cells_of(value: &(impl ToCells + ?Sized)) -> Vec<Cell> {
    let mut cells = Vec::new();
    value.write(&mut cells);
    cells
}

/// A type of the fields of rows.
pub trait Column: ToCells + Sized {
    /// The types of the columns.
    const KINDS: &'static [Kind];
    /// Takes the values of the columns; none if one is of another type.
    fn read(row: &mut IntoIter<Cell>) -> Option<Self>;
}

/// The form in which columns hold a field, where the field's type alone does not say that.
pub trait Codec<T> {
    /// The types of the columns.
    const KINDS: &'static [Kind];
    /// Appends the values of the columns.
    fn write(value: &T, row: &mut Vec<Cell>);
    /// Takes the values of the columns; none if one is of another type.
    fn read(row: &mut IntoIter<Cell>) -> Option<T>;
}

/// The codec of a field whose type says how columns hold it.
#[derive(Debug)]
pub struct Plain;

impl<T: Column> Codec<T> for Plain {
    const KINDS: &'static [Kind] = T::KINDS;
    fn write(value: &T, row: &mut Vec<Cell>) {
        value.write(row);
    }
    fn read(row: &mut IntoIter<Cell>) -> Option<T> {
        T::read(row)
    }
}

/// The codec of a time whose column holds 0 for none.
#[derive(Debug)]
pub struct ZeroIsNone;

impl Codec<Option<i64>> for ZeroIsNone {
    const KINDS: &'static [Kind] = &[Kind::Int];
    fn write(value: &Option<i64>, row: &mut Vec<Cell>) {
        row.push(Cell::Int(value.unwrap_or(0)));
    }
    fn read(row: &mut IntoIter<Cell>) -> Option<Option<i64>> {
        i64::read(row).map(|ms| Some(ms).filter(|ms| *ms > 0))
    }
}

/// The codec of a field that no column of the table holds: whoever reads a row fills it in.
#[derive(Debug)]
pub struct NotStored;

impl<T: Default> Codec<T> for NotStored {
    const KINDS: &'static [Kind] = &[];
    fn write(_: &T, _: &mut Vec<Cell>) {}
    fn read(_: &mut IntoIter<Cell>) -> Option<T> {
        Some(T::default())
    }
}

/// Types that one column holds: how a value is written, how it is read, and the value in place of
/// one that cannot be read, where the column may not be null.
macro_rules! columns {
    ($($type:ty, $kind:ident: |$value:ident| $write:expr, |$read:ident| $back:expr $(, else $else:expr)?;)*) => {$(
        impl $crate::store::row::table::ToCells for $type {
            fn write(&self, row: &mut Vec<$crate::store::row::table::Cell>) {
                let $value = self;
                row.push($crate::store::row::table::Cell::$kind($write));
            }
        }
        impl $crate::store::row::table::Column for $type {
            const KINDS: &'static [$crate::store::row::table::Kind] = &[$crate::store::row::table::Kind::$kind];
            fn read(row: &mut std::vec::IntoIter<$crate::store::row::table::Cell>) -> Option<Self> {
                match row.next() {
                    Some($crate::store::row::table::Cell::$kind($read)) => $back $(.or(Some($else)))?,
                    _ => None,
                }
            }
        }
        impl $crate::store::row::table::ToCells for Option<$type> {
            fn write(&self, row: &mut Vec<$crate::store::row::table::Cell>) {
                match self {
                    Some(value) => value.write(row),
                    None => row.push($crate::store::row::table::Cell::Null),
                }
            }
        }
        impl $crate::store::row::table::Column for Option<$type> {
            const KINDS: &'static [$crate::store::row::table::Kind] = &[$crate::store::row::table::Kind::$kind];
            fn read(row: &mut std::vec::IntoIter<$crate::store::row::table::Cell>) -> Option<Self> {
                match row.next() {
                    Some($crate::store::row::table::Cell::$kind($read)) => Some($back),
                    Some($crate::store::row::table::Cell::Null) => Some(None),
                    _ => None,
                }
            }
        }
    )*};
}
columns! {
    i64, Int: |value| *value, |cell| Some(cell);
    // A number of another range was written by hand.
    u32, Int: |value| i64::from(*value), |cell| u32::try_from(cell).ok(), else 0;
    u64, Int: |value| i64::try_from(*value).unwrap_or(i64::MAX), |cell| u64::try_from(cell).ok(), else 0;
    bool, Int: |value| i64::from(*value), |cell| Some(cell != 0);
    String, Text: |value| value.clone(), |cell| Some(cell);
    Vec<u8>, Bytes: |value| value.clone(), |cell| Some(cell);
}
pub(in crate::store) use columns;

impl ToCells for str {
    fn write(&self, row: &mut Vec<Cell>) {
        row.push(Cell::Text(self.to_owned()));
    }
}

impl<A: ToCells, B: ToCells> ToCells for (A, B) {
    fn write(&self, row: &mut Vec<Cell>) {
        self.0.write(row);
        self.1.write(row);
    }
}

macro_rules! keys {
    ($($key:ident)*) => {$(
        impl ToCells for $key {
            fn write(&self, row: &mut Vec<Cell>) {
                self.name().write(row);
                self.group().write(row);
            }
        }
        impl Column for $key {
            const KINDS: &'static [Kind] = &[Kind::Text, Kind::Text];
            fn read(row: &mut IntoIter<Cell>) -> Option<Self> {
                let (name, group) = (String::read(row)?, String::read(row)?);
                Some($key::new(group, name))
            }
        }
        impl ToCells for Option<$key> {
            fn write(&self, row: &mut Vec<Cell>) {
                self.as_ref().map(|key| key.name().to_owned()).write(row);
                self.as_ref().map(|key| key.group().to_owned()).write(row);
            }
        }
        impl Column for Option<$key> {
            const KINDS: &'static [Kind] = &[Kind::Text, Kind::Text];
            fn read(row: &mut IntoIter<Cell>) -> Option<Self> {
                let (name, group): (Option<String>, Option<String>) = (Column::read(row)?, Column::read(row)?);
                Some(name.zip(group).map(|(name, group)| $key::new(group, name)))
            }
        }
    )*};
}
keys!(JobKey TriggerKey);

/// That a row has a value that its declaration does not know.
pub(in crate::store) fn unreadable(table: &str, field: &str) -> Error {
    Error::Schema(format!("{table}: the value of `{field}` is not of the type that this program knows"))
}

/// Declares a table: its name, the fields of its key, and the struct of its rows. A field is held
/// by the column of its name, or by those after `=`; `as` names a [`Codec`]. Rows of a table
/// `under` a lock change under that lock only; the column that is `stamped` gets the time of the
/// transaction.
macro_rules! table {
    ($(#[$attribute:meta])* pub struct $row:ident in $name:literal by [$($key:ident),*]
        $(under $lock:ident)? $(stamped $stamp:ident)? {
        $($(#[$doc:meta])* pub $field:ident: $type:ty $(as $codec:ty)? $(= [$($column:ident),*])?,)*
    }) => {
        $(#[$attribute])*
        pub struct $row {
            $($(#[$doc])* pub $field: $type,)*
        }
        impl $crate::store::row::Table for $row {
            const DEF: &'static $crate::store::row::TableDef = &$crate::store::row::TableDef {
                name: $name,
                key: &[$(stringify!($key)),*],
                fields: &[$($crate::store::row::Field {
                    name: stringify!($field),
                    columns: table!(@columns $field $(= [$($column),*])?),
                    kinds: <table!(@codec $($codec)?) as $crate::store::row::Codec<$type>>::KINDS,
                }),*],
                is_locked: !<[&str]>::is_empty(&[$(stringify!($lock))?]),
                stamp: table!(@stamp $($stamp)?),
            };
            fn cells(&self) -> Vec<$crate::store::row::Cell> {
                let mut row = Vec::new();
                $(<table!(@codec $($codec)?) as $crate::store::row::Codec<$type>>::write(&self.$field, &mut row);)*
                row
            }
            fn from_cells(cells: Vec<$crate::store::row::Cell>) -> $crate::error::Result<Self> {
                let mut row = cells.into_iter();
                $(let $field = <table!(@codec $($codec)?) as $crate::store::row::Codec<$type>>::read(&mut row)
                    .ok_or_else(|| $crate::store::row::table::unreadable($name, stringify!($field)))?;)*
                Ok(Self { $($field),* })
            }
        }
    };
    (@columns $field:ident) => { &[stringify!($field)] };
    (@columns $field:ident = [$($column:ident),*]) => { &[$(stringify!($column)),*] };
    (@stamp) => { None };
    (@stamp $stamp:ident) => { Some(stringify!($stamp)) };
    (@codec) => { $crate::store::row::table::Plain };
    (@codec $codec:ty) => { $codec };
}
pub(in crate::store) use table;
