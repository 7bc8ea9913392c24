//! `Key`: one row of the table of known keys.

use super::kind::Kind;

/// The prefix of Quartz's own keys, which may be left out.
pub const QUARTZ_PREFIX: &str = "org.quartz.";

/// One known key.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Key {
    /// The key without `org.quartz.`; `NAME` stands for one part, a `*` at the end for one or more.
    pub name: &'static str,
    /// The values that the key takes.
    pub kind: Kind,
    /// The value that holds when the key is not given.
    pub default: DefaultValue,
    /// The effect of the key, in one sentence.
    pub meaning: &'static str,
    /// The status: whether the key has an effect here.
    pub status: Status,
    /// A value that asks for the default (`-1` for some keys of Quartz).
    pub asks_for_default: Option<&'static str>,
}

/// The value that holds when a key is not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultValue {
    /// This text, as if it stood in the file.
    Value(&'static str),
    /// Nothing.
    None,
    /// Something that depends on other settings, in words.
    Derived(&'static str),
}

/// The status of a key: with an effect here, or without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The key has its effect.
    Effective,
    /// One behaviour is built in: its values give no warning, any other one gives this.
    Fixed {
        /// The values that say what is done anyway; class names may be short.
        values: &'static [&'static str],
        /// The consequence of any other value.
        otherwise: &'static str,
    },
    /// The key is accepted with this warning.
    Ignored(&'static str),
}

pub(super) const fn key(name: &'static str, kind: Kind, default: &'static str, meaning: &'static str) -> Key {
    Key {
        name,
        kind,
        default: DefaultValue::Value(default),
        meaning,
        status: Status::Effective,
        asks_for_default: None,
    }
}

pub(super) const fn optional(name: &'static str, kind: Kind, meaning: &'static str) -> Key {
    let mut row = key(name, kind, "", meaning);
    row.default = DefaultValue::None;
    row
}

impl Key {
    pub(super) const fn derived(mut self, words: &'static str) -> Self {
        self.default = DefaultValue::Derived(words);
        self
    }

    pub(super) const fn fixed(mut self, values: &'static [&'static str], otherwise: &'static str) -> Self {
        self.status = Status::Fixed { values, otherwise };
        self
    }

    pub(super) const fn ignored(mut self, reason: &'static str) -> Self {
        self.status = Status::Ignored(reason);
        self
    }

    pub(super) const fn default_by(mut self, value: &'static str) -> Self {
        self.asks_for_default = Some(value);
        self
    }

    /// The key as a file should spell it: with `org.quartz.` unless it exists only here.
    pub fn full_name(&self) -> String {
        if self.name.starts_with("carnelian.") { self.name.to_owned() } else { format!("{QUARTZ_PREFIX}{}", self.name) }
    }

    /// True if the key stands for many.
    pub(super) fn is_pattern(&self) -> bool {
        self.name.ends_with('*') || self.name.split('.').any(|part| part == "NAME")
    }

    pub(super) fn matches(&self, key: &str) -> bool {
        let mut given = key.split('.');
        for part in self.name.split('.') {
            match (part, given.next()) {
                ("*", Some(first)) => return !first.is_empty(),
                ("NAME", Some(name)) if !name.is_empty() => {}
                (part, Some(same)) if part == same => {}
                _ => return false,
            }
        }
        given.next().is_none()
    }

    /// The pattern with the parts of `given` in place of `NAME`, or `None` for a pattern that ends
    /// in `*`.
    pub(super) fn filled_in(&self, given: &[&str]) -> Option<String> {
        let mut parts = Vec::new();
        for (at, part) in self.name.split('.').enumerate() {
            match part {
                "*" => return None,
                "NAME" => parts.push(*given.get(at).filter(|name| !name.is_empty())?),
                part => parts.push(part),
            }
        }
        Some(parts.join("."))
    }
}
