//! Keys in forms: a key of two parts, or a plain name, in one field.

use super::form::Fields;
use crate::from::from;
use crate::key::{JobKey, TriggerKey, pair};
use crate::report::stored_split;
use serde_json::{Value, json};
use std::str::FromStr;

/// The subject of an action as a form or a JSON document has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// Group and name.
    Pair(String, String),
    /// A name alone: of a node, a fire, a lock or a group.
    Name(String),
}

impl Subject {
    /// Reads `["group","name"]`, or a text.
    pub(super) fn read(text: &str) -> Option<Self> {
        match serde_json::from_str(text) {
            Ok(value @ Value::Array(_)) => Self::of(&value),
            _ => Self::of(&Value::String(text.to_owned())),
        }
    }

    /// The subject of a JSON value; a text with a dot is both a pair and a name, and stays a name.
    pub(super) fn of(value: &Value) -> Option<Self> {
        let is_storable = |text: &str| !text.contains('\0');
        match value {
            Value::String(text) if !text.is_empty() && is_storable(text) => Some(Self::Name(text.clone())),
            _ => pair(value)
                .filter(|(group, name)| is_storable(group) && is_storable(name))
                .map(|(group, name)| Self::Pair(group.to_owned(), name.to_owned())),
        }
    }

    /// The text of the field.
    pub(super) fn to_field(&self) -> String {
        match self {
            Self::Pair(group, name) => json!([group, name]).to_string(),
            Self::Name(name) => name.clone(),
        }
    }

    /// The name alone.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Pair(group, name) => format!("{group}.{name}"),
            Self::Name(name) => name.clone(),
        }
    }

    /// The key of a trigger or a job.
    pub(super) fn key<K>(&self) -> crate::Result<K>
    where
        K: FromStr<Err = crate::Error> + for<'a> From<(&'a str, &'a str)>,
    {
        match self {
            Self::Pair(group, name) => Ok(K::from((group.as_str(), name.as_str()))),
            Self::Name(text) => text.parse(),
        }
    }
}

/// The name of the one thing that a query is about, as it was given.
pub(super) fn told(query: &Fields) -> Option<String> {
    match (query.get("key"), query.get("group"), query.get("name")) {
        (Some(key), ..) => Some(key.to_owned()),
        (None, Some(group), Some(name)) => Some(format!("{group}.{name}")),
        _ => query.get("fire").map(str::to_owned),
    }
}

/// The group and the name that a query is about: in two fields, or in `key` as the log of actions
/// has them, split at the first dot where that `is_there`.
pub(super) fn named(
    query: &Fields,
    is_there: impl Fn(&str, &str) -> crate::Result<bool>,
) -> crate::Result<Option<(String, String)>> {
    let (group, name, key) = (query.get("group"), query.get("name"), query.get("key").unwrap_or_default());
    if let (Some(group), Some(name)) = (group, name) {
        return Ok(Some((group.to_owned(), name.to_owned())));
    }
    Ok(stored_split(key, is_there)?.map(|(group, name)| (group.to_owned(), name.to_owned())))
}

from! {
    Subject {
        &TriggerKey => |key| Self::Pair(key.group().to_owned(), key.name().to_owned()),
        &JobKey => |key| Self::Pair(key.group().to_owned(), key.name().to_owned()),
        &str => |name| Self::Name(name.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_come_back_from_their_fields() {
        for key in [TriggerKey::new("a.b", "c\"d"), TriggerKey::named("<script>"), TriggerKey::new("[", "]")] {
            let field = Subject::from(&key).to_field();
            assert_eq!(Subject::read(&field).unwrap().key::<TriggerKey>().unwrap(), key, "{field}");
        }
        assert_eq!(Subject::read("a.b").unwrap().key::<JobKey>().unwrap(), JobKey::new("a", "b"));
        assert_eq!(Subject::read("[1]"), None);
        assert_eq!(Subject::read("[\"a\",\"b\\u0000\"]"), None);
        assert_eq!(Subject::read(""), None);
    }
}
