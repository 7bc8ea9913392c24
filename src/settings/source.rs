//! Source: the entries of one file, each with its row of the table and its value filled in.

use std::collections::BTreeMap;

use super::keys::{self, Key, Kind, QUARTZ_PREFIX};
use super::problem::Place;
use super::properties::Entry;
use super::redact::{MASK, looks_secret, shown};
use super::substitute::{Environment, Expanded, SubstitutionFault, expand};

/// Role of a key of the file.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Role {
    Known(&'static Key),
    /// Below a prefix that applications use freely.
    Free,
    Unknown,
}

/// The largest number of unknown keys that are compared with all known keys. A file with more is
/// not a settings file.
const MOST_COMPARED: usize = 100;

/// Most secrets that are looked for in messages.
const MOST_SECRETS: usize = 64;

/// One key of the file, the last one of its name.
#[derive(Debug)]
pub(crate) struct Slot {
    pub line: usize,
    /// The key as it stands in the file.
    pub written: String,
    pub role: Role,
    raw: String,
    /// The value, unless it could not be filled in.
    pub value: Option<String>,
    /// True if a problem of the value has been reported.
    pub failed: bool,
    filled_in: bool,
    private: bool,
    /// True if the key holds a password, so that its value is never shown.
    pub secret: bool,
    /// For an unknown key: the known one nearest to it.
    pub suggestion: Option<String>,
}

/// A reference that leads nowhere, or a substitution that failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReferenceFault {
    #[error(transparent)]
    Substitution(#[from] SubstitutionFault),
    #[error("expected $@ and the full name of another key that is given; write $$@ for a plain $@")]
    Missing,
    #[error("the key refers to itself")]
    Circle,
    #[error("the key referred to is a reference itself: only one step is taken")]
    Chain,
}

impl Slot {
    pub fn place(&self, file: &str) -> Place {
        let shown_as = |text: &str, hidden: bool| if hidden { MASK.to_owned() } else { shown(text) };
        let became = self.value.as_deref().filter(|_| self.filled_in && !self.secret);
        Place {
            value: Some(shown_as(&self.raw, self.secret)),
            became: became.map(|value| shown_as(value, self.private)),
            ..self.place_without_value(file)
        }
    }

    pub fn place_without_value(&self, file: &str) -> Place {
        Place {
            file: file.to_owned(),
            line: Some(self.line),
            key: Some(self.written.clone()),
            value: None,
            became: None,
        }
    }
}

/// Everything a file says, by short key.
#[derive(Debug, Default)]
pub(crate) struct Source {
    pub slots: BTreeMap<String, Slot>,
    /// Entries that a later one replaced: line, key, line of the later one.
    pub replaced: Vec<(usize, String, usize)>,
    /// Values that could not be filled in, by short key.
    pub faults: Vec<(String, ReferenceFault)>,
}

impl Source {
    /// Sorts out the entries and fills in their values.
    pub fn new(entries: Vec<Entry>, free: &[String], environment: Environment<'_>) -> Self {
        let mut source = Self::default();
        let mut compared = 0;
        for entry in entries {
            let role = role(&entry.key, free);
            let mut suggestion = None;
            let secret = match role {
                Role::Known(row) => row.kind == Kind::Secret || (row.name.ends_with('*') && looks_secret(&entry.key)),
                Role::Free => looks_secret(&entry.key),
                Role::Unknown if compared < MOST_COMPARED => {
                    compared += 1;
                    suggestion = keys::nearest_key(&entry.key);
                    let hides = match suggestion.as_deref().and_then(keys::find) {
                        Some(row) => row.kind == Kind::Secret,
                        // Text that nobody recognises beside a password may be a password.
                        None => keys::short_name(&entry.key).starts_with("dataSource."),
                    };
                    hides || looks_secret(&entry.key)
                }
                // Not looked at closely enough to be shown.
                Role::Unknown => true,
            };
            let short = match role {
                Role::Free => entry.key.clone(),
                _ => keys::short_name(&entry.key).to_owned(),
            };
            let raw = match role {
                Role::Free => entry.value,
                // Quartz, too, cuts blanks at both ends.
                _ => entry.value.trim().to_owned(),
            };
            let slot = Slot {
                line: entry.line,
                written: entry.key,
                role,
                raw,
                value: None,
                failed: false,
                filled_in: false,
                private: false,
                secret,
                suggestion,
            };
            let line = slot.line;
            if let Some(earlier) = source.slots.insert(short, slot) {
                source.replaced.push((earlier.line, earlier.written, line));
            }
        }
        source.fill_in(environment);
        source
    }

    fn fill_in(&mut self, environment: Environment<'_>) {
        let mut filled = Vec::new();
        for (short, slot) in &self.slots {
            match self.filled(short, slot, environment) {
                Ok(expanded) => filled.push((short.clone(), expanded)),
                Err(fault) => self.faults.push((short.clone(), fault)),
            }
        }
        for (short, expanded) in filled {
            if let Some(slot) = self.slots.get_mut(&short) {
                slot.value = Some(expanded.text);
                slot.filled_in = expanded.filled_in;
                slot.private = expanded.private;
            }
        }
    }

    fn filled(&self, short: &str, slot: &Slot, environment: Environment<'_>) -> Result<Expanded, ReferenceFault> {
        if let Some(rest) = slot.raw.strip_prefix("$$@") {
            let mut expanded = expand(rest, environment)?;
            expanded.text.insert_str(0, "$@");
            expanded.filled_in = true;
            return Ok(expanded);
        }
        let Some(name) = slot.raw.strip_prefix("$@") else {
            return Ok(expand(&slot.raw, environment)?);
        };
        let name = name.trim();
        let other = self.slots.get_key_value(keys::short_name(name)).or_else(|| self.slots.get_key_value(name));
        let Some((other_short, other)) = other else {
            return Err(ReferenceFault::Missing);
        };
        if other_short == short {
            return Err(ReferenceFault::Circle);
        }
        if let Some(further) = other.raw.strip_prefix("$@") {
            return Err(if keys::short_name(further.trim()) == short {
                ReferenceFault::Circle
            } else {
                ReferenceFault::Chain
            });
        }
        let mut expanded = self.filled(other_short, other, environment)?;
        expanded.filled_in = true;
        expanded.private |= other.secret;
        Ok(expanded)
    }

    /// The texts that no message may contain: the values of secret keys, and variables that came
    /// from places for secrets.
    pub fn secrets(&self) -> Vec<&str> {
        let hidden = self.slots.values().filter(|slot| !matches!(slot.role, Role::Unknown));
        let mut secrets: Vec<&str> = Vec::new();
        for slot in hidden.filter(|slot| slot.secret || slot.private) {
            secrets.extend(slot.value.as_deref());
            if slot.secret {
                secrets.push(&slot.raw);
            }
        }
        // Short ones would blank out half the words of a message; they are masked where they stand.
        secrets.retain(|secret| secret.chars().count() >= 4);
        secrets.truncate(MOST_SECRETS);
        secrets
    }
}

fn role(key: &str, free: &[String]) -> Role {
    if let Some(row) = keys::find(key) {
        return Role::Known(row);
    }
    let is_free = !key.starts_with(QUARTZ_PREFIX)
        && free.iter().any(|prefix| key.strip_prefix(prefix.as_str()).is_some_and(|rest| !rest.is_empty()));
    if is_free { Role::Free } else { Role::Unknown }
}

#[cfg(test)]
mod tests {
    use super::super::properties::parse;
    use super::*;

    fn source(text: &str) -> Source {
        let environment = |name: &str| (name == "DB_PASSWORD").then(|| "S3NT1NEL".to_owned());
        Source::new(parse(text.as_bytes()).0, &["demo.".to_owned()], &environment)
    }

    #[test]
    fn keys_meet_under_their_short_name_and_the_last_counts() {
        let source = source("org.quartz.threadPool.threadCount=1\nthreadPool.threadCount= 2 \ndemo.x=1 ");
        let slot = source.slots.get("threadPool.threadCount").unwrap();
        assert_eq!((slot.line, slot.value.as_deref()), (2, Some("2")));
        let replaced = (1, "org.quartz.threadPool.threadCount".to_owned(), 2);
        assert_eq!(source.replaced, [replaced]);
        assert_eq!(source.slots.get("demo.x").unwrap().value.as_deref(), Some("1 "));
    }

    #[test]
    fn a_reference_to_a_secret_is_one_itself() {
        let source = source("dataSource.d.password=${env:DB_PASSWORD}\ncontext.key.a=$@dataSource.d.password");
        let slot = source.slots.get("context.key.a").unwrap();
        assert_eq!(slot.value.as_deref(), Some("S3NT1NEL"));
        assert_eq!(slot.place("f").to_string(), "f:2: context.key.a = \"$@dataSource.d.password\" (here \"***\")");
        assert!(source.secrets().contains(&"S3NT1NEL"));
    }

    #[test]
    fn an_unknown_key_that_may_hold_a_password_is_not_shown() {
        for (text, shown) in [
            ("dataSource.d.pasword=x", false),
            ("dataSource.d.blabla=x", false),
            ("my.secret=x", false),
            ("dataSource.d.maxConection=x", true),
            ("colour=x", true),
        ] {
            let source = source(text);
            let slot = source.slots.values().next().unwrap();
            assert_eq!(!slot.secret, shown, "{text}");
        }
    }
}
