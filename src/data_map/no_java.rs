//! The place of `java` in a program without the feature `java-streams`: every stream but that of an
//! empty map is refused.

use super::JobDataMap;

const REFUSAL: &str = "a Java object stream needs the feature `java-streams` of the crate carnelian; \
     without it job data is stored as text, with jobStore.useProperties = true";

/// An object of a stream: there is none.
#[derive(Clone, PartialEq)]
pub(super) enum ForeignObject {}

impl ForeignObject {
    pub(super) fn class_name(&self) -> &str {
        match *self {}
    }

    pub(super) fn is_same(&self, _: &Self) -> bool {
        match *self {}
    }
}

pub(super) fn decode(_: &[u8]) -> Result<JobDataMap, String> {
    Err(REFUSAL.to_owned())
}

pub(super) fn encode(_: &JobDataMap) -> Result<Vec<u8>, String> {
    Err(REFUSAL.to_owned())
}
