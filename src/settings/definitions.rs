//! Definition settings: what is done with jobs that programs define in code.

use super::reader::Reader;

/// Treatment of jobs that programs define in code (`carnelian.definitions.*`).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DefinitionSettings {
    /// The name under which the definitions of this program are remembered; `default`. Programs
    /// that share a scheduler and define different jobs need different names.
    /// Property `carnelian.definitions.source`.
    pub source: String,
    /// A switch: the start deletes jobs that this program no longer defines. The default is no: the
    /// log names them.
    /// Property `carnelian.definitions.orphaned` (`report` or `delete`).
    pub delete_orphaned: bool,
}

impl DefinitionSettings {
    pub(crate) fn read(reader: &Reader) -> Self {
        Self {
            source: reader.text("carnelian.definitions.source").unwrap_or_default(),
            delete_orphaned: reader.chose("carnelian.definitions.orphaned", "delete"),
        }
    }
}
