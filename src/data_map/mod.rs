//! `JobDataMap`: the named values that travel with a job or a trigger.

mod codec;
mod foreign;
#[cfg(feature = "java-streams")]
mod java;
#[cfg(not(feature = "java-streams"))]
#[path = "no_java.rs"]
mod java;
mod properties;
mod typed;

use std::collections::BTreeMap;
use std::fmt;

pub(crate) use codec::DataFormat;
#[cfg(feature = "java-streams")]
pub(crate) use codec::MAX_STORED_BYTES;
pub use foreign::ForeignValue;
pub(crate) use typed::PAYLOAD;

/// The largest number of keys of a stored map that are no Rust texts.
const MAX_UNNAMED: usize = 1000;

/// A value of a [`JobDataMap`]: the types that both Rust and Java nodes understand.
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
    /// Anything else that a Java node stored: named, and written back untouched.
    Foreign(ForeignValue),
}

impl DataValue {
    /// This number in the Java type of another; none if it is not exactly the same, or not two
    /// numbers.
    fn as_kind_of(&self, other: &Self) -> Option<Self> {
        match (other, self) {
            (Self::Int(_), Self::Long(v)) => i32::try_from(*v).ok().map(Self::Int),
            (Self::Long(_), Self::Int(v)) => Some(Self::Long(i64::from(*v))),
            (Self::Float(_), Self::Double(v)) => {
                Some(*v as f32).filter(|short| f64::from(*short) == *v).map(Self::Float)
            }
            (Self::Double(_), Self::Float(v)) => Some(Self::Double(f64::from(*v))),
            _ => None,
        }
    }

    /// The Java class of the value.
    fn java_class(&self) -> &str {
        match self {
            Self::Null => "null",
            Self::String(_) => "java.lang.String",
            Self::Bool(_) => "java.lang.Boolean",
            Self::Int(_) => "java.lang.Integer",
            Self::Long(_) => "java.lang.Long",
            Self::Float(_) => "java.lang.Float",
            Self::Double(_) => "java.lang.Double",
            Self::Char(_) => "java.lang.Character",
            Self::Foreign(v) => v.class_name(),
        }
    }
}

/// The value as text, as it is stored where `useProperties` is set; numbers as both Rust and Java
/// read them.
impl fmt::Display for DataValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::String(v) => f.write_str(v),
            Self::Bool(v) => v.fmt(f),
            Self::Int(v) => v.fmt(f),
            Self::Long(v) => v.fmt(f),
            Self::Float(v) if v.is_infinite() => f.write_str(infinity(v.is_sign_negative())),
            Self::Float(v) => write!(f, "{v:?}"),
            Self::Double(v) if v.is_infinite() => f.write_str(infinity(v.is_sign_negative())),
            Self::Double(v) => write!(f, "{v:?}"),
            Self::Foreign(v) => v.fmt(f),
            Self::Char(v) => char::from_u32(u32::from(*v)).unwrap_or('\u{fffd}').fmt(f),
        }
    }
}

/// Java reads no other word for it.
fn infinity(negative: bool) -> &'static str {
    if negative { "-Infinity" } else { "Infinity" }
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
from_value!(
    String => String, &str => String, &String => String, char => String, bool => Bool, u8 => Int, u16 => Int, i32 => Int,
    u32 => Long, i64 => Long, f32 => Float, f64 => Double
);

/// Named values for a job, kept in order of their names.
///
/// A job sees the job's map overlaid by the trigger's ([`JobDataMap::merged_with`]). A running job
/// may change its copy; the change is stored after the run if the job persists its data.
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
    /// Entries of Java whose key is no Rust text: null, half a surrogate pair, or an object. Kept
    /// so that an update does not lose them.
    unnamed: Vec<(DataValue, DataValue)>,
}

impl JobDataMap {
    /// An empty map.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets `key` to `value` and returns what was there.
    ///
    /// A number that takes the place of another has its Java type, if it can be told so exactly: a
    /// node of Quartz whose job asks for `getInt` would fail on a `long`.
    ///
    /// ```
    /// use carnelian::{DataValue, JobDataMap};
    ///
    /// let mut data = JobDataMap::new();
    /// data.put("sent", 1_i32); // as Java's `put("sent", 1)`
    /// let sent = data.integer("sent").unwrap_or(0);
    /// data.put("sent", sent + 1); // an i64
    /// assert_eq!(data.value("sent"), Some(&DataValue::Int(2)));
    /// ```
    pub fn put(&mut self, key: impl Into<String>, value: impl Into<DataValue>) -> Option<DataValue> {
        let (key, value) = (key.into(), value.into());
        let value = self.entries.get(&key).and_then(|before| value.as_kind_of(before)).unwrap_or(value);
        self.entries.insert(key, value)
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

    /// The whole number stored under `key`, also if it is stored as text, as it is where
    /// `useProperties` is set.
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

    /// The truth value stored under `key`, also if it is stored as the text `true` or `false`, in
    /// small letters or capitals as in Java.
    pub fn flag(&self, key: &str) -> Option<bool> {
        match self.entries.get(key)? {
            DataValue::Bool(v) => Some(*v),
            DataValue::String(v) => v.trim().to_ascii_lowercase().parse().ok(),
            _ => None,
        }
    }

    /// True if there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of entries, including those of Java whose key is no Rust text.
    pub fn len(&self) -> usize {
        self.entries.len() + self.unnamed.len()
    }

    /// The entries that a Java node stored and Rust cannot read: key and class of each. Foreign
    /// entries are kept, and written back untouched.
    pub fn foreign(&self) -> impl Iterator<Item = (String, &str)> {
        let unnamed = self.unnamed.iter().map(|(key, value)| (key.to_string(), value.java_class()));
        let named = self.entries.iter().filter_map(|(key, value)| match value {
            DataValue::Foreign(value) => Some((key.clone(), value.class_name())),
            _ => None,
        });
        named.chain(unnamed)
    }

    /// [`put_any`](Self::put_any) for entries that are being read.
    fn put_read(&mut self, key: DataValue, value: DataValue) -> Result<(), String> {
        self.put_any(key, value);
        match self.unnamed.len() {
            0..=MAX_UNNAMED => Ok(()),
            _ => Err(format!("more than {MAX_UNNAMED} keys are no texts")),
        }
    }

    /// Sets an entry whose key may be none that Rust can name.
    fn put_any(&mut self, key: DataValue, value: DataValue) {
        match key {
            DataValue::String(key) => {
                self.entries.insert(key, value);
            }
            key => match self.unnamed.iter_mut().find(|(there, _)| same_key(there, &key)) {
                Some((_, there)) => *there = value,
                None => self.unnamed.push((key, value)),
            },
        }
    }

    /// The entries in order of their keys, those of Java left out whose key is no Rust text.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &DataValue)> {
        self.entries.iter().map(|(k, v)| (k.as_str(), v))
    }

    /// A copy of this map with the entries of `over` laid over it.
    pub fn merged_with(&self, over: &JobDataMap) -> JobDataMap {
        let mut merged = self.clone();
        merged.entries.extend(over.entries.iter().map(|(k, v)| (k.clone(), v.clone())));
        over.unnamed.iter().for_each(|(k, v)| merged.put_any(k.clone(), v.clone()));
        merged
    }
}

/// True if two keys are the same; keys that are objects are only if they come from the same stream.
fn same_key(a: &DataValue, b: &DataValue) -> bool {
    match (a, b) {
        (DataValue::Foreign(a), DataValue::Foreign(b)) => a.is_same(b),
        _ => a == b,
    }
}

impl<K: Into<String>, V: Into<DataValue>> FromIterator<(K, V)> for JobDataMap {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        Self { entries: entries.into_iter().map(|(k, v)| (k.into(), v.into())).collect(), unnamed: Vec::new() }
    }
}
