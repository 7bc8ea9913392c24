//! Keys: what one row of the table of known keys says, and how a key of a file finds its row.

mod key;
mod kind;
mod markdown;
mod table;

pub use key::{DefaultValue, Key, QUARTZ_PREFIX, Status};
pub use kind::Kind;
pub use markdown::markdown;
pub use table::KEYS;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::nearest::nearest;

/// The rows that are no patterns, by their names: each of the many reads of settings asks for one.
static PLAIN: LazyLock<BTreeMap<&str, &Key>> =
    LazyLock::new(|| KEYS.iter().filter(|row| !row.is_pattern()).map(|row| (row.name, row)).collect());

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
    let patterns = || KEYS.iter().filter(|row| row.is_pattern() && row.matches(key));
    let most_exact = || patterns().min_by_key(|row| (row.name.ends_with('*'), row.name.matches("NAME").count()));
    PLAIN.get(key).copied().or_else(most_exact)
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
