//! Stories: functions of the suite, compiled once, each of them a test on every database.

use super::kit::Open;
use std::cell::Cell;

thread_local! {
    static OPEN: Cell<Option<Open>> = const { Cell::new(None) };
}

/// The way in which the database of this thread's story is opened.
pub fn open() -> Open {
    OPEN.get().expect("a thread that tells a story")
}

/// Tells a story on a database.
pub fn tell(open: Open, story: fn()) {
    OPEN.set(Some(open));
    story();
}

/// A test of a story on each database.
macro_rules! on_each_database {
    ($story:ident $($more:item)*) => {
        mod $story {
            #[test]
            fn memory() {
                $crate::stories::tell($crate::databases::memory, super::$story);
            }

            #[cfg(feature = "sqlite")]
            #[test]
            fn sqlite() {
                $crate::stories::tell($crate::databases::sqlite, super::$story);
            }

            #[cfg(feature = "postgres")]
            #[test]
            fn postgres() {
                $crate::stories::tell($crate::databases::postgres, super::$story);
            }

            #[cfg(feature = "mysql")]
            #[test]
            fn mysql() {
                $crate::stories::tell($crate::databases::mysql, super::$story);
            }

            $($more)*
        }
    };
}
pub(crate) use on_each_database;

/// A test of a story of how triggers are taken, also where that is done by locking their rows
/// (DS-48, DS-65).
macro_rules! on_each_strategy {
    ($story:ident) => {
        $crate::stories::on_each_database! {
            $story

            #[cfg(feature = "postgres")]
            #[test]
            fn postgres_claiming() {
                $crate::stories::tell($crate::databases::postgres_claiming, super::$story);
            }

            #[cfg(feature = "mysql")]
            #[test]
            fn mysql_claiming() {
                $crate::stories::tell($crate::databases::mysql_claiming, super::$story);
            }
        }
    };
}
pub(crate) use on_each_strategy;
