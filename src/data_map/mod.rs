//! `JobDataMap`: the named values that travel with a job or a trigger.

mod codec;

pub(crate) use codec::DataFormat;

use std::collections::BTreeMap;
use std::fmt;

/// One value of a [`JobDataMap`]: the types that both Rust and Java nodes understand.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum DataValue {
    /// Java's `null`.
    Null,
    /// A text.
    String(String),
    /// A truth value.
    Bool(bool),
    /// A Java `int`.
    Int(i32),
    /// A Java `long`.
    Long(i64),
    /// A Java `float`.
    Float(f32),
    /// A Java `double`.
    Double(f64),
    /// A Java `char`, a UTF-16 unit.
    Char(u16),
}

impl fmt::Display for DataValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::String(v) => f.write_str(v),
            Self::Bool(v) => v.fmt(f),
            Self::Int(v) => v.fmt(f),
            Self::Long(v) => v.fmt(f),
            Self::Float(v) => v.fmt(f),
            Self::Double(v) => v.fmt(f),
            Self::Char(v) => char::from_u32(u32::from(*v)).unwrap_or('\u{fffd}').fmt(f),
        }
    }
}

macro_rules! from_value {
    ($($from:ty => $variant:ident),*) => {
        $(impl From<$from> for DataValue {
            fn from(value: $from) -> Self {
                Self::$variant(value.into())
            }
        })*
    };
}
from_value!(String => String, &str => String, bool => Bool, i32 => Int, i64 => Long, f32 => Float, f64 => Double);

/// Named values for a job, kept in order of their names.
///
/// A job sees the job's map overlaid by the trigger's ([`JobDataMap::merged_with`]). A running job may change its
/// copy; the change is stored after the run if the job persists its data.
///
/// ```
/// use carnelian::JobDataMap;
///
/// let mut data = JobDataMap::new();
/// data.put("to", "ops@example.org");
/// data.put("attempts", 3);
/// assert_eq!(data.text("to"), Some("ops@example.org"));
/// assert_eq!(data.integer("attempts"), Some(3));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobDataMap {
    entries: BTreeMap<String, DataValue>,
}

impl JobDataMap {
    /// An empty map.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets `key` to `value` and returns what was there.
    pub fn put(&mut self, key: impl Into<String>, value: impl Into<DataValue>) -> Option<DataValue> {
        self.entries.insert(key.into(), value.into())
    }

    /// Takes `key` out.
    pub fn remove(&mut self, key: &str) -> Option<DataValue> {
        self.entries.remove(key)
    }

    /// The value of `key`.
    pub fn value(&self, key: &str) -> Option<&DataValue> {
        self.entries.get(key)
    }

    /// The text stored under `key`; none if it is another type.
    pub fn text(&self, key: &str) -> Option<&str> {
        match self.entries.get(key) {
            Some(DataValue::String(text)) => Some(text),
            _ => None,
        }
    }

    /// The whole number stored under `key`, also if it is stored as text, as it is where `useProperties` is set.
    pub fn integer(&self, key: &str) -> Option<i64> {
        match self.entries.get(key)? {
            DataValue::Int(v) => Some(i64::from(*v)),
            DataValue::Long(v) => Some(*v),
            DataValue::String(v) => v.trim().parse().ok(),
            _ => None,
        }
    }

    /// The number stored under `key`, also if it is stored as text.
    pub fn number(&self, key: &str) -> Option<f64> {
        match self.entries.get(key)? {
            DataValue::Float(v) => Some(f64::from(*v)),
            DataValue::Double(v) => Some(*v),
            DataValue::String(v) => v.trim().parse().ok(),
            _ => self.integer(key).map(|v| v as f64),
        }
    }

    /// The truth value stored under `key`, also if it is stored as the text `true` or `false`.
    pub fn flag(&self, key: &str) -> Option<bool> {
        match self.entries.get(key)? {
            DataValue::Bool(v) => Some(*v),
            DataValue::String(v) => v.trim().parse().ok(),
            _ => None,
        }
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The entries in order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &DataValue)> {
        self.entries.iter().map(|(k, v)| (k.as_str(), v))
    }

    /// This map with the entries of `over` laid over it.
    pub fn merged_with(&self, over: &JobDataMap) -> JobDataMap {
        let mut merged = self.clone();
        merged.entries.extend(over.entries.iter().map(|(k, v)| (k.clone(), v.clone())));
        merged
    }
}

impl<K: Into<String>, V: Into<DataValue>> FromIterator<(K, V)> for JobDataMap {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        Self { entries: entries.into_iter().map(|(k, v)| (k.into(), v.into())).collect() }
    }
}
