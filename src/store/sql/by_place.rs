//! Rows of many columns, which are read by the places of these: to look for each by its name among
//! all the others takes a time that grows with the square of their number, and of some rows there
//! is one for every fire.

use diesel::backend::Backend;
use diesel::deserialize::{FromSql, Result};
use diesel::row::{Field, Row};

/// A value that can be read from the columns of a row, from some place on.
pub(super) trait ByPlace<DB: Backend>: Sized {
    /// Reads the columns from this place on, and moves it behind them.
    fn read<'a>(row: &impl Row<'a, DB>, place: &mut usize) -> Result<Self>;
}

/// The columns of a row that are read by itself, and not within something of several columns.
pub(super) trait Columns {
    /// The names of the columns, in their order.
    const NAMES: &'static [&'static str];

    /// The columns as they are selected: `alias` is that of the table with its dot, or nothing.
    fn select(alias: &str) -> String {
        let columns: Vec<String> = Self::NAMES.iter().map(|name| format!("{alias}{name} AS {name}")).collect();
        columns.join(", ")
    }
}

/// Reads one column. That its name is the one that is meant is seen where assertions are on, as
/// they are in tests: a statement always gives its columns in the same order.
pub(super) fn column<'a, DB, Type, T>(row: &impl Row<'a, DB>, place: &mut usize, name: &str) -> Result<T>
where
    DB: Backend,
    T: FromSql<Type, DB>,
{
    let field = row.get(*place).ok_or_else(|| format!("there is no column for `{name}`, at place {place}"))?;
    debug_assert_eq!(field.field_name(), Some(name), "at place {place}");
    *place += 1;
    T::from_nullable_sql(field.value()).map_err(|error| format!("column `{name}`: {error}").into())
}

/// Makes a struct that is read by place: a field is a column of its name, with its SQL type behind
/// `as`, or without one it is itself something of several columns.
macro_rules! by_place {
    ($(#[$attribute:meta])* $vis:vis struct $name:ident {
        $($field_vis:vis $field:ident: $type:ty $(as $sql:ty)?),* $(,)?
    }) => {
        $(#[$attribute])*
        $vis struct $name {
            $($field_vis $field: $type,)*
        }
        impl $crate::store::sql::by_place::Columns for $name {
            const NAMES: &'static [&'static str] = &[$($(by_place!(@name $field, $sql),)?)*];
        }
        by_place!(@on "sqlite", diesel::sqlite::Sqlite, $name { $($field: $type $(as $sql)?,)* });
        by_place!(@on "postgres", diesel::pg::Pg, $name { $($field: $type $(as $sql)?,)* });
        by_place!(@on "mysql", diesel::mysql::Mysql, $name { $($field: $type $(as $sql)?,)* });
    };
    (@on $feature:literal, $database:ty, $name:ident { $($field:ident: $type:ty $(as $sql:ty)?,)* }) => {
        #[cfg(feature = $feature)]
        impl $crate::store::sql::by_place::ByPlace<$database> for $name {
            fn read<'a>(
                row: &impl diesel::row::Row<'a, $database>,
                place: &mut usize,
            ) -> diesel::deserialize::Result<Self> {
                Ok(Self { $($field: by_place!(@read row, place, $field, $type $(, $sql)?),)* })
            }
        }
        #[cfg(feature = $feature)]
        impl diesel::QueryableByName<$database> for $name {
            fn build<'a>(row: &impl diesel::row::NamedRow<'a, $database>) -> diesel::deserialize::Result<Self> {
                $crate::store::sql::by_place::ByPlace::<$database>::read(row, &mut 0)
            }
        }
    };
    (@name $field:ident, $sql:ty) => { stringify!($field) };
    (@read $row:ident, $place:ident, $field:ident, $type:ty, $sql:ty) => {
        $crate::store::sql::by_place::column::<_, $sql, $type>($row, $place, stringify!($field))?
    };
    (@read $row:ident, $place:ident, $field:ident, $type:ty) => {
        $crate::store::sql::by_place::ByPlace::read($row, $place)?
    };
}
pub(super) use by_place;
