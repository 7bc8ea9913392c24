//! `Plans`: for tests, the statements of a database with how it ran each of them.

use parking_lot::Mutex;

/// A statement, and how it was run.
#[derive(Clone, Debug)]
pub struct Explained {
    /// The purpose of the transaction.
    pub purpose: &'static str,
    /// The statement, with `?` for its values.
    pub text: String,
    /// The plans in the words of the database: on PostgreSQL that of this run and that for any
    /// values, on SQLite a line each.
    pub plans: Vec<String>,
}

/// The statements that were explained; none are until [`Plans::begin`].
#[derive(Debug, Default)]
pub struct Plans {
    explained: Mutex<Option<Vec<Explained>>>,
}

impl Plans {
    /// From now on statements are explained. On servers each is run twice, and what the first run
    /// did is taken back.
    pub fn begin(&self) {
        self.explained.lock().get_or_insert_default();
    }

    /// Ends it, and gives what was explained.
    pub fn take(&self) -> Vec<Explained> {
        self.explained.lock().take().unwrap_or_default()
    }

    pub(super) fn is_on(&self) -> bool {
        self.explained.lock().is_some()
    }

    pub(super) fn note(&self, explained: Explained) {
        if let Some(all) = self.explained.lock().as_mut() {
            all.push(explained);
        }
    }
}
