//! `Backend`: the words of each database, and whether this program was built with it.

pub use crate::settings::url::Backend;

impl Backend {
    /// The name for people.
    pub fn name(self) -> &'static str {
        self.pick("SQLite", "PostgreSQL", "MySQL")
    }

    /// The value that is this database's, of one for each.
    pub(super) const fn pick<T: Copy>(self, sqlite: T, postgres: T, mysql: T) -> T {
        match self {
            Backend::Sqlite => sqlite,
            Backend::Postgres => postgres,
            Backend::Mysql => mysql,
        }
    }

    /// An error, in words, for a database that this program was built without.
    pub(super) fn check_built_in(self) -> Result<(), String> {
        let (feature, is_built_in) = match self {
            Backend::Sqlite => ("sqlite", cfg!(feature = "sqlite")),
            Backend::Postgres => ("postgres", cfg!(feature = "postgres")),
            Backend::Mysql => ("mysql", cfg!(feature = "mysql")),
        };
        if is_built_in {
            return Ok(());
        }
        let name = self.name();
        Err(format!("this program was built without {name}: build it with carnelian's feature `{feature}`"))
    }
}
