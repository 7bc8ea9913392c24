//! Durations as whole milliseconds, for serde.

use serde::{Deserialize, Deserializer, Serializer};
use std::time::Duration;

pub(super) fn serialize<S: Serializer>(time: &Duration, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_u64(crate::epoch::whole_millis(*time))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Duration, D::Error> {
    u64::deserialize(input).map(Duration::from_millis)
}

/// A duration that may be missing, as whole milliseconds.
pub(super) mod optional {
    use serde::{Deserialize, Deserializer, Serializer};
    use std::time::Duration;

    #[expect(clippy::ref_option, reason = "serde calls it so")]
    pub(in crate::job) fn serialize<S: Serializer>(time: &Option<Duration>, out: S) -> Result<S::Ok, S::Error> {
        match time {
            Some(time) => super::serialize(time, out),
            None => out.serialize_none(),
        }
    }

    pub(in crate::job) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(input)?.map(Duration::from_millis))
    }
}
