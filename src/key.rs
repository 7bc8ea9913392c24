//! `JobKey` and `TriggerKey`: a name within a group, unique within a scheduler.

use crate::error::{Error, Result};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The group of a key that was given none.
pub const DEFAULT_GROUP: &str = "DEFAULT";

/// The group of the one-shot triggers that run the work of a failed instance again.
pub const RECOVERY_GROUP: &str = "RECOVERING_JOBS";

/// The group of the one-shot triggers that try the work of a failed run again.
pub const RETRY_GROUP: &str = "RETRYING_JOBS";

/// The group of the one-shot triggers that go on with the work of a run that ended because its node
/// did.
pub const INTERRUPTED_GROUP: &str = "INTERRUPTED_JOBS";

/// The group of the one-shot triggers that go on with work that asked for it.
pub const CONTINUED_GROUP: &str = "CONTINUED_JOBS";

/// The groups of the triggers that run work again, whatever for.
pub(crate) const RERUN_GROUPS: [&str; 4] = [RECOVERY_GROUP, RETRY_GROUP, INTERRUPTED_GROUP, CONTINUED_GROUP];

/// The group of the one-shot triggers of jobs that follow runs of others.
pub const FOLLOWING_GROUP: &str = "FOLLOWING_JOBS";

/// The group of the one-shot triggers of single nodes' parts of ticks that several nodes run.
pub const BROADCAST_GROUP: &str = "BROADCAST_JOBS";

/// The group of the jobs and triggers that submissions become.
pub const SUBMITTED_GROUP: &str = "SUBMITTED";

/// The group of the one-shot triggers that a backfill stores.
pub const BACKFILL_GROUP: &str = "BACKFILL";

/// The longest name or group, in characters: what fits Quartz's tables on every database.
pub const MAX_NAME_CHARS: usize = 190;

macro_rules! key {
    ($name:ident, $what:literal, $alias:literal) => {
        #[doc = concat!("The identity of a ", $what, ": group and name, written `group.name`.")]
        ///
        /// Ordered as in Quartz: the group `DEFAULT` first, then by group, then by name.
        ///
        /// ```
        #[doc = concat!("use carnelian::", stringify!($name), ";")]
        ///
        #[doc = concat!("let key = ", stringify!($name), "::new(\"billing\", \"nightly\");")]
        /// assert_eq!(key.to_string(), "billing.nightly");
        #[doc = concat!("assert_eq!(\"nightly\".parse::<", stringify!($name), ">()?.group(), \"DEFAULT\");")]
        /// # Ok::<(), carnelian::Error>(())
        /// ```
        #[doc(alias = $alias)]
        #[derive(Clone, PartialEq, Eq, Hash)]
        pub struct $name {
            /// The group, and right after it the name: a fire copies its keys often, which is to
            /// cost no memory.
            text: Arc<str>,
            /// The byte at which the name begins.
            split: usize,
        }

        impl $name {
            #[doc = concat!("The key of the ", $what, " called `name` in `group`.")]
            ///
            /// A key is checked when it is used: only then is it known whether the names can be
            /// stored.
            pub fn new(group: impl Into<String>, name: impl Into<String>) -> Self {
                let mut text: String = group.into();
                let split = text.len();
                text.push_str(&name.into());
                Self { text: text.into(), split }
            }

            /// A key in the group `DEFAULT`.
            pub fn named(name: impl Into<String>) -> Self {
                Self::new(DEFAULT_GROUP, name)
            }

            /// A key in `group` with a name that no other has: sixteen random hexadecimal digits.
            ///
            /// # Errors
            /// [`Error::Refused`] if the operating system gives no random numbers.
            #[doc(alias = "createUniqueName")]
            pub fn unique(group: impl Into<String>) -> Result<Self> {
                Ok(Self::new(group, crate::random::hex()?))
            }

            /// The group.
            pub fn group(&self) -> &str {
                self.text.get(..self.split).unwrap_or_default()
            }

            /// The name within the group.
            pub fn name(&self) -> &str {
                self.text.get(self.split..).unwrap_or_default()
            }

            /// Checks that both parts can be stored on every database.
            ///
            /// # Errors
            /// [`Error::Invalid`] if a part is empty, longer than [`MAX_NAME_CHARS`], or has
            /// control characters.
            pub fn check(&self) -> Result<()> {
                check_name(concat!($what, " group"), self.group())?;
                check_name(concat!($what, " name"), self.name())
            }
        }

        impl Ord for $name {
            fn cmp(&self, other: &Self) -> std::cmp::Ordering {
                if Arc::ptr_eq(&self.text, &other.text) && self.split == other.split {
                    return std::cmp::Ordering::Equal;
                }
                let by_group = match (self.group(), other.group()) {
                    (a, b) if a == b => std::cmp::Ordering::Equal,
                    (DEFAULT_GROUP, _) => std::cmp::Ordering::Less,
                    (_, DEFAULT_GROUP) => std::cmp::Ordering::Greater,
                    (a, b) => a.cmp(b),
                };
                by_group.then_with(|| self.name().cmp(other.name()))
            }
        }

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
                Some(self.cmp(other))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).field("group", &self.group()).field("name", &self.name()).finish()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}.{}", self.group(), self.name())
            }
        }

        impl FromStr for $name {
            type Err = Error;

            /// Reads `group.name`, splitting at the first dot, or a bare name in the group
            /// `DEFAULT`. A key whose group has a dot is written as JSON: `["group","name"]`.
            fn from_str(text: &str) -> Result<Self> {
                let json = if text.starts_with('[') { serde_json::from_str(text).ok() } else { None };
                let key = match json.as_ref().and_then(pair).or_else(|| text.split_once('.')) {
                    _ if text.starts_with("[\"") && json.is_none() => {
                        return Err(Error::invalid($what, text, "expected JSON, such as [\"com.acme\",\"nightly\"]"));
                    }
                    Some((group, name)) => Self::new(group, name),
                    None => Self::named(text),
                };
                key.check()?;
                Ok(key)
            }
        }

        impl From<(&str, &str)> for $name {
            fn from((group, name): (&str, &str)) -> Self {
                Self::new(group, name)
            }
        }
    };
}

key!(JobKey, "job", "org.quartz.JobKey");
key!(TriggerKey, "trigger", "org.quartz.TriggerKey");

/// The group and the name of a key as JSON: `["group","name"]`.
pub(crate) fn pair(json: &Value) -> Option<(&str, &str)> {
    match json.as_array()?.as_slice() {
        [Value::String(group), Value::String(name)] => Some((group, name)),
        _ => None,
    }
}

/// Each key once, in order.
pub(crate) fn distinct<'a, K: Ord + Clone + 'a>(keys: impl Iterator<Item = &'a K>) -> Vec<K> {
    keys.collect::<BTreeSet<_>>().into_iter().cloned().collect()
}

/// Checks one part of a key, or another name that the tables hold in 190 characters.
pub(crate) fn check_name(what: &'static str, name: &str) -> Result<()> {
    check_text(what, name, MAX_NAME_CHARS)?;
    if name.is_empty() {
        return Err(Error::invalid(what, name, "expected at least one character"));
    }
    Ok(())
}

/// The most characters of the id of an instance: a node of Quartz names the triggers of its
/// recoveries after the dead one, in columns of [`MAX_NAME_CHARS`], and recovers nobody if one
/// fails.
pub(crate) const MAX_INSTANCE_CHARS: usize = MAX_NAME_CHARS - "recover__".len() - 13;

/// The reason for that length.
pub(crate) const WHY_SO_SHORT: &str = "nodes of Quartz name the triggers of their recoveries after it";

/// Checks the id of an instance.
pub(crate) fn check_instance_id(id: &str) -> Result<()> {
    if id.chars().count() > MAX_INSTANCE_CHARS {
        let expected = format!("expected at most {MAX_INSTANCE_CHARS} characters: {WHY_SO_SHORT}");
        return Err(Error::invalid("instance id", id, expected));
    }
    check_name("instance id", id)
}

/// Checks a text that is stored in a column of `limit` characters.
pub(crate) fn check_text(what: &'static str, text: &str, limit: usize) -> Result<()> {
    if text.chars().count() > limit {
        return Err(Error::invalid(what, text, format!("expected at most {limit} characters")));
    }
    if let Some(c) = text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t' | '\r')) {
        let shown = text.escape_default().to_string();
        return Err(Error::invalid(what, shown, format!("the control character {:?} cannot be stored", c)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_group_sorts_first() {
        let mut keys = vec![JobKey::new("A", "x"), JobKey::named("z"), JobKey::named("b")];
        keys.sort();
        assert_eq!(keys, [JobKey::named("b"), JobKey::named("z"), JobKey::new("A", "x")]);
    }

    #[test]
    fn a_group_with_a_dot_is_written_as_json() {
        let read = |text: &str| text.parse::<JobKey>().ok();
        assert_eq!(read(r#"["com.acme.billing","nightly"]"#), Some(JobKey::new("com.acme.billing", "nightly")));
        assert_eq!(read(r#" ["a","b"]"#), Some(JobKey::named(r#" ["a","b"]"#)));
        assert_eq!(read("com.acme.nightly"), Some(JobKey::new("com", "acme.nightly")));
        assert_eq!(read("[x].[y]"), Some(JobKey::new("[x]", "[y]")));
        assert_eq!(read(r#"["a"]"#), Some(JobKey::named(r#"["a"]"#)));
        assert_eq!(read(r#"["","b"]"#), None);
        assert_eq!(read(r#"["a.b"#), None, "JSON that is cut off");
    }

    #[test]
    fn names_that_no_table_can_hold_are_refused() {
        assert!(JobKey::new("g", "x".repeat(190)).check().is_ok());
        assert!(JobKey::new("g", "ü".repeat(191)).check().is_err());
        assert!(JobKey::new("g", "a\0b").check().is_err());
        assert!(JobKey::new("", "a").check().is_err());
        assert!(JobKey::new("g'; DROP TABLE x; --", "100 % 😀").check().is_ok());
    }
}
