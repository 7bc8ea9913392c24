//! Keys: what one row of the table of known keys says, and how a key of a file finds its row.

mod kind;
mod markdown;
mod table;

pub use kind::Kind;
pub use markdown::markdown;
pub use table::KEYS;

use super::nearest::nearest;

/// The prefix of Quartz's own keys, which may be left out.
pub const QUARTZ_PREFIX: &str = "org.quartz.";

/// One known key.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Key {
    /// The key without `org.quartz.`; `NAME` stands for one part, a `*` at the end for one or more.
    pub name: &'static str,
    /// Kind of values.
    pub kind: Kind,
    /// Value of a key that is not given.
    pub default: DefaultValue,
    /// Meaning, in one sentence.
    pub meaning: &'static str,
    /// Whether it has an effect here.
    pub status: Status,
    /// A value that asks for the default (`-1` for some keys of Quartz).
    pub asks_for_default: Option<&'static str>,
}

/// Value of a key that is not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultValue {
    /// This text, as if it stood in the file.
    Value(&'static str),
    /// Nothing.
    None,
    /// Something that depends on other settings, in words.
    Derived(&'static str),
}

/// Whether a key has an effect here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The key does what its meaning says.
    Effective,
    /// One behaviour is built in: its values give no warning, any other one gives this.
    Fixed {
        /// The values that say what is done anyway; class names may be short.
        values: &'static [&'static str],
        /// Explanation of what happens instead of any other value.
        otherwise: &'static str,
    },
    /// The key is accepted with this warning.
    Ignored(&'static str),
}

const fn key(name: &'static str, kind: Kind, default: &'static str, meaning: &'static str) -> Key {
    Key {
        name,
        kind,
        default: DefaultValue::Value(default),
        meaning,
        status: Status::Effective,
        asks_for_default: None,
    }
}

const fn optional(name: &'static str, kind: Kind, meaning: &'static str) -> Key {
    let mut row = key(name, kind, "", meaning);
    row.default = DefaultValue::None;
    row
}

impl Key {
    const fn derived(mut self, words: &'static str) -> Self {
        self.default = DefaultValue::Derived(words);
        self
    }

    const fn fixed(mut self, values: &'static [&'static str], otherwise: &'static str) -> Self {
        self.status = Status::Fixed { values, otherwise };
        self
    }

    const fn ignored(mut self, reason: &'static str) -> Self {
        self.status = Status::Ignored(reason);
        self
    }

    const fn default_by(mut self, value: &'static str) -> Self {
        self.asks_for_default = Some(value);
        self
    }

    /// The key as a file should spell it: with `org.quartz.` unless it exists only here.
    pub fn full_name(&self) -> String {
        if self.name.starts_with("carnelian.") { self.name.to_owned() } else { format!("{QUARTZ_PREFIX}{}", self.name) }
    }

    fn matches(&self, key: &str) -> bool {
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

    /// The pattern with the parts of `given` in place of `NAME`; nothing for a pattern that ends in `*`.
    fn filled_in(&self, given: &[&str]) -> Option<String> {
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

/// The key without `org.quartz.`, which is how the table spells it.
pub fn short_name(key: &str) -> &str {
    match key.strip_prefix(QUARTZ_PREFIX) {
        // `org.quartz.carnelian.…` does not exist.
        Some(rest) if !rest.starts_with("carnelian.") => rest,
        _ => key,
    }
}

/// The row of a key, written with or without `org.quartz.`; the most exact row wins.
///
/// ```
/// use carnelian::settings::keys;
///
/// let key = keys::find("org.quartz.dataSource.myDS.URL").unwrap();
/// assert_eq!(key.name, "dataSource.NAME.URL");
/// assert!(keys::find("org.quartz.dataSource.myDS.colour").is_none());
/// ```
pub fn find(key: &str) -> Option<&'static Key> {
    let key = short_name(key);
    KEYS.iter()
        .filter(|row| row.matches(key))
        .min_by_key(|row| (row.name.ends_with('*'), row.name.matches("NAME").count()))
}

/// The known key nearest to an unknown one, spelt with `org.quartz.` if that was.
pub(crate) fn nearest_key(unknown: &str) -> Option<String> {
    let short = unknown.strip_prefix(QUARTZ_PREFIX).unwrap_or(unknown);
    let parts: Vec<&str> = short.split('.').collect();
    let known = || KEYS.iter().filter_map(|row| row.filled_in(&parts));
    if short.len() != unknown.len() {
        return nearest(short, known()).map(|name| prefixed(&name));
    }
    nearest(unknown, known()).or_else(|| nearest(unknown, known().map(|name| prefixed(&name))))
}

fn prefixed(name: &str) -> String {
    if name.starts_with("carnelian.") { name.to_owned() } else { format!("{QUARTZ_PREFIX}{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_exact_row_wins() {
        for (key, row) in [
            ("org.quartz.threadPool.threadCount", Some("threadPool.threadCount")),
            ("threadPool.threadCount", Some("threadPool.threadCount")),
            ("plugin.x.class", Some("plugin.NAME.class")),
            ("plugin.x.jobs.a", Some("plugin.NAME.*")),
            ("context.key.a.b", Some("context.key.*")),
            ("context.key", None),
            ("dataSource..URL", None),
            ("threadPool.threadCount.x", None),
            ("org.quartz.carnelian.jobStore.clock", None),
            ("carnelian.jobStore.clock", Some("carnelian.jobStore.clock")),
            ("", None),
        ] {
            assert_eq!(find(key).map(|row| row.name), row, "{key}");
        }
    }

    #[test]
    fn every_default_is_a_legal_value() {
        for row in KEYS {
            if let DefaultValue::Value(text) = row.default {
                assert_eq!(row.kind.check(text), Ok(()), "{}", row.name);
            }
            if let Status::Fixed { values, .. } = row.status {
                for value in values {
                    assert_eq!(row.kind.check(value), Ok(()), "{}", row.name);
                }
            }
        }
    }

    #[test]
    fn rows_are_unique_and_say_something() {
        for (at, row) in KEYS.iter().enumerate() {
            assert!(KEYS.iter().skip(at + 1).all(|other| other.name != row.name), "{}", row.name);
            assert!(row.meaning.ends_with('.'), "{}: {}", row.name, row.meaning);
        }
    }

    #[test]
    fn a_misspelt_key_finds_its_neighbour() {
        for (given, meant) in [
            ("org.quartz.threadPool.threadCont", "org.quartz.threadPool.threadCount"),
            ("threadpool.threadcount", "threadPool.threadCount"),
            ("org.quarz.threadPool.threadCount", "org.quartz.threadPool.threadCount"),
            ("dataSource.myDS.pasword", "dataSource.myDS.password"),
            ("org.quartz.dataSource.myDS.url", "org.quartz.dataSource.myDS.URL"),
            ("carnelian.jobStore.clok", "carnelian.jobStore.clock"),
            ("org.quartz.carnelian.jobStore.clock", "carnelian.jobStore.clock"),
        ] {
            assert_eq!(nearest_key(given).as_deref(), Some(meant), "{given}");
        }
        for key in ["spring.main.banner", "dataSource.myDS.foo", "org.quartz.threadPool.colour"] {
            assert_eq!(nearest_key(key), None, "{key}");
        }
    }
}
