//! `RawRow`: the values of a row as the server sent them, to be read by the types of a declared
//! table.

use crate::error::Result;
use crate::store::row::{Cell, Kind, TableDef, unreadable};
use diesel::deserialize::{self, FromSql};
use diesel::row::{Field, Row};
use diesel::sql_types::{self, BigInt};

/// A value whose column is a number, or anything else as bytes.
pub(super) enum Raw {
    Null,
    Int(i64),
    Bytes(Vec<u8>),
}

/// A row of whatever columns.
pub(super) struct RawRow(Vec<Raw>);

impl RawRow {
    /// The cells of a row of this table.
    pub(super) fn cells(self, table: &TableDef) -> Result<Vec<Cell>> {
        let cell = |(raw, (column, kind)): (Raw, (&str, Kind))| match (raw, kind) {
            (Raw::Null, _) => Ok(Cell::Null),
            (Raw::Int(value), Kind::Int) => Ok(Cell::Int(value)),
            (Raw::Bytes(bytes), Kind::Bytes) => Ok(Cell::Bytes(bytes)),
            (Raw::Bytes(bytes), Kind::Text) => {
                String::from_utf8(bytes).map(Cell::Text).map_err(|_| unreadable(table.name, column))
            }
            _ => Err(unreadable(table.name, column)),
        };
        self.0.into_iter().zip(table.columns()).map(cell).collect()
    }
}

/// Reads a row of a database, whose values are read by this function.
macro_rules! raw_row {
    ($feature:literal, $database:ty, $value:ident: $raw:ty => $read:expr) => {
        #[cfg(feature = $feature)]
        impl diesel::QueryableByName<$database> for RawRow {
            fn build<'a>(row: &impl diesel::row::NamedRow<'a, $database>) -> deserialize::Result<Self> {
                let read = |place| -> deserialize::Result<Raw> {
                    let field = Row::get(row, place).ok_or("a column is missing")?;
                    let Some($value) = field.value() else { return Ok(Raw::Null) };
                    $read
                };
                (0..row.field_count()).map(read).collect::<deserialize::Result<_>>().map(RawRow)
            }
        }
    };
}

raw_row!("sqlite", diesel::sqlite::Sqlite, value: SqliteValue => match value.value_type() {
    None => Ok(Raw::Null),
    Some(diesel::sqlite::SqliteType::Text) => {
        <String as FromSql<sql_types::Text, diesel::sqlite::Sqlite>>::from_sql(value).map(|text| Raw::Bytes(text.into_bytes()))
    }
    Some(diesel::sqlite::SqliteType::Binary) => {
        <Vec<u8> as FromSql<sql_types::Binary, diesel::sqlite::Sqlite>>::from_sql(value).map(Raw::Bytes)
    }
    Some(_) => <i64 as FromSql<BigInt, diesel::sqlite::Sqlite>>::from_sql(value).map(Raw::Int),
});

raw_row!("postgres", diesel::pg::Pg, value: PgValue => match value.get_oid().get() {
    // `int8`, which nearly all numbers of declared tables are, and `int2`.
    21 => <i16 as FromSql<sql_types::SmallInt, diesel::pg::Pg>>::from_sql(value).map(|value| Raw::Int(value.into())),
    20 => <i64 as FromSql<BigInt, diesel::pg::Pg>>::from_sql(value).map(Raw::Int),
    _ => Ok(Raw::Bytes(value.as_bytes().to_vec())),
});

raw_row!("mysql", diesel::mysql::Mysql, value: MysqlValue => match value.value_type() {
    diesel::mysql::MysqlType::Short => {
        <i16 as FromSql<sql_types::SmallInt, diesel::mysql::Mysql>>::from_sql(value).map(|value| Raw::Int(value.into()))
    }
    diesel::mysql::MysqlType::LongLong => {
        <i64 as FromSql<BigInt, diesel::mysql::Mysql>>::from_sql(value).map(Raw::Int)
    }
    _ => Ok(Raw::Bytes(value.as_bytes().to_vec())),
});
