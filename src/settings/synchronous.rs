//! `Synchronous`: how far SQLite has written a commit when it says that it is done.

use super::reader::Reader;
use super::url::DataSourceUrl;
use crate::words::words;

const KEY: &str = "carnelian.dataSource.synchronous";

/// The level to which SQLite has written a commit when it says that it is done (`PRAGMA
/// synchronous`, in WAL mode).
///
/// The file is sound after any crash on either level. Commits are whole or gone, and the death of a
/// *process* loses nothing. The levels differ in what the crash of the *machine* (its system or its
/// power) may take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Synchronous {
    /// Every commit is on the disk (`full`): nothing that was committed is lost, whatever crashes.
    #[default]
    Full,
    /// A commit is with the operating system, and reaches the disk with the next checkpoint
    /// (`normal`), some 4 MB of changes later. The crash of the machine may take the last commits,
    /// in their order: stored triggers are gone, and recorded fires begin again. Fences may be
    /// drawn a second time, so that a resource that [compares them](crate::JobContext::fence) may
    /// refuse later runs.
    Normal,
}

words! {
    /// The word of the property `carnelian.dataSource.synchronous`.
    ///
    /// ```
    /// use carnelian::settings::Synchronous;
    ///
    /// assert_eq!(Synchronous::default().name(), "full");
    /// ```
    Synchronous {
        Full = "full",
        Normal = "normal",
    }
}

impl Synchronous {
    pub(crate) fn read(reader: &Reader) -> Self {
        Self::ALL.into_iter().find(|one| reader.chose(KEY, one.name())).unwrap_or_default()
    }

    /// Warns if it is given for a database that decides about this by itself.
    pub(crate) fn warn_of_no_effect(reader: &mut Reader, url: Option<&DataSourceUrl>) {
        let is_sqlite = matches!(url, Some(DataSourceUrl::Sqlite { .. }));
        if reader.given(KEY).is_some() && !is_sqlite {
            reader
                .warn(KEY, "no effect: it is for SQLite; a server has settings of its own for what a commit waits for");
        }
    }
}
