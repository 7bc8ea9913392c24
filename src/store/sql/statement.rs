//! `Statement`: one SQL text with its values, for every database, prepared once per connection.

use super::by_place::by_place;
use crate::from::from;
use diesel::backend::Backend;
use diesel::deserialize::{self, FromSql};
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::result::QueryResult;
use diesel::sql_types;

/// A text with `?` for each value, `{p}` for the table prefix and `{i}` for the prefix without a
/// schema, as names of indexes have it.
///
/// The shape depends on the text alone, so the connection prepares it once and finds it again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Statement<'a> {
    pub text: &'a str,
    pub prefix: &'a str,
    pub values: &'a [Value],
}

/// A value for a `?`. Lists are for PostgreSQL, which takes a whole column of a batch as one value.
#[derive(Clone, Debug)]
#[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "lists are read by PostgreSQL only"))]
pub(super) enum Value {
    Int(Option<i64>),
    Text(Option<String>),
    Flag(bool),
    Bytes(Option<Vec<u8>>),
    Ints(Vec<Option<i64>>),
    Texts(Vec<Option<String>>),
    Flags(Vec<bool>),
    ManyBytes(Vec<Option<Vec<u8>>>),
}

/// A row of `SHOW SESSION VARIABLES` or `STATUS`.
#[derive(diesel::QueryableByName)]
pub(super) struct Variable {
    #[diesel(sql_type = sql_types::Text, column_name = "Value")]
    pub value: String,
}

by_place! {
    /// The answer to a `SELECT … AS n`.
    pub(super) struct Count {
        pub n: i64 as sql_types::BigInt,
    }
}

by_place! {
    /// The answer to a `SELECT … AS name`.
    pub(super) struct Name {
        pub name: String as sql_types::Text,
    }
}

from! {
    Value {
        i64 => |value| Self::Int(Some(value)),
        Option<i64> => |value| Self::Int(value),
        u64 => |value| Self::Int(Some(i64::try_from(value).unwrap_or(i64::MAX))),
        usize => |value| Self::Int(Some(i64::try_from(value).unwrap_or(i64::MAX))),
        &str => |value| Self::Text(Some(value.to_owned())),
        &String => |value| Self::Text(Some(value.clone())),
        Option<&str> => |value| Self::Text(value.map(str::to_owned)),
        bool => |value| Self::Flag(value),
        Option<&Vec<u8>> => |value| Self::Bytes(value.cloned()),
    }
}

impl Query for Statement<'_> {
    type SqlType = sql_types::Untyped;
}

impl QueryId for Statement<'_> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<C> diesel::RunQueryDsl<C> for Statement<'_> {}

/// Writes the text, asking `value` to bind each `?`.
fn walk<'b, DB: Backend>(
    statement: &'b Statement<'_>,
    mut out: AstPass<'_, 'b, DB>,
    bind: impl Fn(&mut AstPass<'_, 'b, DB>, &'b Value) -> QueryResult<()>,
) -> QueryResult<()> {
    let mut values = statement.values.iter();
    let mut rest = statement.text;
    // By bytes: both are ASCII, and the texts are long.
    while let Some(at) = rest.bytes().position(|byte| byte == b'?' || byte == b'{') {
        let (before, marked) = rest.split_at(at);
        out.push_sql(before);
        rest = match marked.get(..3) {
            Some("{p}") => {
                out.push_sql(statement.prefix);
                marked.get(3..).unwrap_or("")
            }
            Some("{i}") => {
                out.push_sql(statement.prefix.rsplit('.').next().unwrap_or(statement.prefix));
                marked.get(3..).unwrap_or("")
            }
            _ => {
                let missing = || diesel::result::Error::QueryBuilderError("fewer values than `?`".into());
                bind(&mut out, values.next().ok_or_else(missing)?)?;
                marked.get(1..).unwrap_or("")
            }
        };
    }
    out.push_sql(rest);
    Ok(())
}

#[cfg(any(feature = "sqlite", feature = "mysql"))]
fn unsupported<T>() -> QueryResult<T> {
    Err(diesel::result::Error::QueryBuilderError("a list is a value on PostgreSQL only".into()))
}

#[cfg(feature = "postgres")]
impl QueryFragment<diesel::pg::Pg> for Statement<'_> {
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, diesel::pg::Pg>) -> QueryResult<()> {
        use sql_types::{Array, BigInt, Binary, Bool, Nullable, Text};
        walk(self, out, |out, value| match value {
            Value::Int(v) => out.push_bind_param::<Nullable<BigInt>, _>(v),
            Value::Text(v) => out.push_bind_param::<Nullable<Text>, _>(v),
            Value::Flag(v) => out.push_bind_param::<Bool, _>(v),
            Value::Bytes(v) => out.push_bind_param::<Nullable<Binary>, _>(v),
            Value::Ints(v) => out.push_bind_param::<Array<Nullable<BigInt>>, _>(v),
            Value::Texts(v) => out.push_bind_param::<Array<Nullable<Text>>, _>(v),
            Value::Flags(v) => out.push_bind_param::<Array<Bool>, _>(v),
            Value::ManyBytes(v) => out.push_bind_param::<Array<Nullable<Binary>>, _>(v),
        })
    }
}

/// Makes a statement bind its values on a database without lists, where a flag is a number.
#[cfg(any(feature = "sqlite", feature = "mysql"))]
macro_rules! binds {
    ($backend:ty, $flag:ty, $yes:expr, $no:expr) => {
        impl QueryFragment<$backend> for Statement<'_> {
            fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, $backend>) -> QueryResult<()> {
                use sql_types::{BigInt, Binary, Nullable, Text};
                walk(self, out, |out, value| match value {
                    Value::Int(v) => out.push_bind_param::<Nullable<BigInt>, _>(v),
                    Value::Text(v) => out.push_bind_param::<Nullable<Text>, _>(v),
                    Value::Flag(true) => out.push_bind_param::<$flag, _>($yes),
                    Value::Flag(false) => out.push_bind_param::<$flag, _>($no),
                    Value::Bytes(v) => out.push_bind_param::<Nullable<Binary>, _>(v),
                    Value::Ints(_) | Value::Texts(_) | Value::Flags(_) | Value::ManyBytes(_) => unsupported(),
                })
            }
        }
    };
}

// Quartz's scripts make flags of VARCHAR(1); others make BIT(1) or TINYINT(1), as Liquibase does of
// a boolean. A number fits all of them.
#[cfg(feature = "mysql")]
binds!(diesel::mysql::Mysql, sql_types::TinyInt, &1_i8, &0_i8);
#[cfg(feature = "sqlite")]
binds!(diesel::sqlite::Sqlite, sql_types::BigInt, &1_i64, &0_i64);

/// The SQL type of Quartz's flags: `bool` on PostgreSQL, `VARCHAR(1)` or a kind of
/// number on MySQL, a number on SQLite.
#[derive(Clone, Copy, Debug, QueryId, diesel::sql_types::SqlType)]
pub(super) struct FlagType;

/// A flag as read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flag(bool);

impl From<Flag> for bool {
    fn from(flag: Flag) -> Self {
        flag.0
    }
}

#[cfg(feature = "postgres")]
impl FromSql<FlagType, diesel::pg::Pg> for Flag {
    fn from_sql(value: diesel::pg::PgValue<'_>) -> deserialize::Result<Self> {
        <bool as FromSql<sql_types::Bool, diesel::pg::Pg>>::from_sql(value).map(Flag)
    }
}

#[cfg(feature = "mysql")]
impl FromSql<FlagType, diesel::mysql::Mysql> for Flag {
    fn from_sql(value: diesel::mysql::MysqlValue<'_>) -> deserialize::Result<Self> {
        Ok(Flag(matches!(value.as_bytes(), b"1" | b"true" | b"TRUE" | b"Y" | b"y" | [1])))
    }
}

#[cfg(feature = "sqlite")]
impl FromSql<FlagType, diesel::sqlite::Sqlite> for Flag {
    fn from_sql(
        value: <diesel::sqlite::Sqlite as diesel::backend::Backend>::RawValue<'_>,
    ) -> deserialize::Result<Self> {
        <i32 as FromSql<sql_types::Integer, diesel::sqlite::Sqlite>>::from_sql(value).map(|v| Flag(v != 0))
    }
}
