//! `LockForm`: how the lock of a cluster excludes others: by holding its row, or by writing it too.

use super::reader::Reader;
use crate::words::words;

const KEY: &str = "carnelian.jobStore.lockForm";

/// The form in which a transaction takes a lock of the cluster.
///
/// On one server a row that is held excludes all others. In a cluster of databases whose members
/// all take writes it excludes those on the same member only; there a lock has to be written: of
/// two transactions that have written it side by side, the cluster lets one be committed, and the
/// other is tried again. The form must be the same on all nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LockForm {
    /// Written if the server is a member of a Galera cluster (`wsrep_on`), held otherwise (`auto`).
    #[default]
    Auto,
    /// Held (`held`): one server takes the writes of all nodes.
    Held,
    /// Held and written (`written`), on any server. For clusters with several writers that are not
    /// recognised, such as MySQL's Group Replication, on which this was never tried.
    Written,
}

words! {
    /// The word of the property `carnelian.jobStore.lockForm`.
    ///
    /// ```
    /// use carnelian::settings::LockForm;
    ///
    /// assert_eq!(LockForm::default().name(), "auto");
    /// ```
    LockForm {
        Auto = "auto",
        Held = "held",
        Written = "written",
    }
}

impl LockForm {
    pub(crate) fn read(reader: &Reader) -> Self {
        Self::ALL.into_iter().find(|one| reader.chose(KEY, one.name())).unwrap_or_default()
    }
}
