//! Reader: typed reads of known keys that collect every problem and every warning.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use super::keys::{self, DefaultValue, Key, Kind, Status};
use super::nearest::nearest;
use super::problem::{MOST_PROBLEMS, Place, SettingsError, SettingsErrorKind, SettingsWarning};
use super::properties::{self, FormatProblem};
use super::redact::MASK;
use super::source::{Role, Slot, Source};
use super::substitute::Environment;
use crate::span;

/// The values of one file, and their problems.
///
/// Every value is checked against its row of the table before anything is read. A read of a value
/// that failed gives the default, so that one mistake is one message.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    file: String,
    source: Source,
    errors: Vec<SettingsError>,
    warnings: Vec<SettingsWarning>,
    /// Defaults that go before those of the table.
    defaults: &'static [(&'static str, &'static str)],
}

impl Reader {
    pub fn new(file: &str, bytes: &[u8], free: &[String], environment: Environment<'_>) -> Self {
        let (entries, format_problems) = properties::parse(bytes);
        let mut reader =
            Self { file: file.to_owned(), source: Source::new(entries, free, environment), ..Self::default() };
        for FormatProblem { line, what } in format_problems {
            reader.errors.push(SettingsError {
                place: Place { file: file.to_owned(), line: Some(line), key: None, value: None, became: None },
                kind: SettingsErrorKind::Syntax,
                message: what.to_string(),
                suggestion: None,
            });
        }
        reader.look_through();
        reader
    }

    /// Reports what can be said of each entry by itself.
    fn look_through(&mut self) {
        for (line, key, later) in std::mem::take(&mut self.source.replaced) {
            let place = Place { file: self.file.clone(), line: Some(line), key: Some(key), value: None, became: None };
            self.warnings.push(SettingsWarning {
                place,
                message: format!("given again in line {later}, which is the one that counts"),
            });
        }
        let mut slots = std::mem::take(&mut self.source.slots);
        for (short, fault) in std::mem::take(&mut self.source.faults) {
            if let Some(slot) = slots.get_mut(&short) {
                slot.failed = true;
                self.push(slot.place(&self.file), SettingsErrorKind::Reference, fault.to_string(), None);
            }
        }
        for slot in slots.values_mut() {
            match slot.role {
                Role::Free => {}
                Role::Unknown => {
                    let (place, suggestion) = (slot.place(&self.file), slot.suggestion.take());
                    self.push(place, SettingsErrorKind::UnknownKey, "unknown key".to_owned(), suggestion);
                }
                Role::Known(row) => self.look_at(row, slot),
            }
        }
        self.source.slots = slots;
    }

    fn look_at(&mut self, row: &'static Key, slot: &mut Slot) {
        let Some(value) = slot.value.clone() else {
            return;
        };
        if value.is_empty() {
            // As in Quartz, an empty value is one that is not given.
            if !matches!(row.kind, Kind::Secret | Kind::Text) {
                self.warn_at(slot.place(&self.file), "no value: taken as not given");
            }
            slot.value = None;
            return;
        }
        if row.asks_for_default == Some(value.as_str()) {
            slot.value = None;
            return;
        }
        match row.status {
            Status::Ignored(reason) => self.warn_at(slot.place(&self.file), &format!("no effect: {reason}")),
            Status::Fixed { values, otherwise } => {
                if row.kind != Kind::Class
                    && let Err(accepted) = row.kind.check(&value)
                {
                    self.bad_value(slot, &accepted, &value);
                } else if !values.iter().any(|same| is_same(row.kind, same, &value)) {
                    self.warn_at(slot.place(&self.file), &format!("no effect: {otherwise}"));
                }
            }
            Status::Effective => {
                if let Err(accepted) = row.kind.check(&value) {
                    self.bad_value(slot, &accepted, &value);
                    slot.value = None;
                    slot.failed = true;
                }
            }
        }
    }

    fn bad_value(&mut self, slot: &Slot, accepted: &str, value: &str) {
        let suggestion = match slot.role {
            Role::Known(Key { kind: Kind::Choice(words), .. }) => {
                nearest(value, words.iter().map(|word| (*word).to_owned()))
            }
            Role::Known(Key { kind: Kind::Zone, .. }) => {
                nearest(value, chrono_tz::TZ_VARIANTS.iter().map(|zone| zone.name().to_owned()))
            }
            _ => None,
        };
        self.push(slot.place(&self.file), SettingsErrorKind::BadValue, accepted.to_owned(), suggestion);
    }

    fn push(&mut self, place: Place, kind: SettingsErrorKind, message: String, suggestion: Option<String>) {
        self.errors.push(SettingsError { place, kind, message, suggestion });
    }

    fn warn_at(&mut self, place: Place, message: &str) {
        self.warnings.push(SettingsWarning { place, message: message.to_owned() });
    }

    /// The folder of the file, if it is one.
    pub fn folder(&self) -> Option<std::path::PathBuf> {
        std::path::Path::new(&self.file).parent().filter(|folder| !folder.as_os_str().is_empty()).map(Into::into)
    }

    /// The place where `key` stands, or would have to stand.
    fn place(&self, key: &str) -> Place {
        match self.source.slots.get(key) {
            Some(slot) => slot.place(&self.file),
            None => {
                let key = keys::find(key).filter(|row| row.name == key).map_or(key.to_owned(), Key::full_name);
                Place { file: self.file.clone(), line: None, key: Some(key), value: None, became: None }
            }
        }
    }

    /// Reports the value of `key`.
    pub fn refuse(&mut self, key: &str, message: impl Into<String>, suggestion: Option<String>) {
        self.push(self.place(key), SettingsErrorKind::BadValue, message.into(), suggestion);
    }

    /// Reports that the value of `key` asks for something that is not there.
    pub fn missing(&mut self, key: &str, message: impl Into<String>) {
        self.push(self.place(key), SettingsErrorKind::Missing, message.into(), None);
    }

    /// Warns about the value of `key`.
    pub fn warn(&mut self, key: &str, message: impl AsRef<str>) {
        self.warn_at(self.place(key), message.as_ref());
    }

    /// Warns about `groupNAME.…` at the first of its keys.
    pub fn warn_group(&mut self, group: &str, name: &str, message: &str) {
        let prefix = format!("{group}{name}.");
        let first = self
            .source
            .slots
            .iter()
            .filter(|(key, _)| key.starts_with(&prefix))
            .map(|(_, slot)| slot)
            .min_by_key(|slot| slot.line);
        if let Some(place) = first.map(|slot| slot.place_without_value(&self.file)) {
            self.warn_at(place, message);
        }
    }

    /// Says if the value of a key has been reported by itself.
    pub fn failed(&self, key: &str) -> bool {
        self.source.slots.get(key).is_some_and(|slot| slot.failed)
    }

    /// The value of a key, if it is given and sound.
    pub fn given(&self, key: &str) -> Option<&str> {
        self.source.slots.get(key).and_then(|slot| slot.value.as_deref())
    }

    /// Says if a key stands in the file, sound or not.
    pub fn stands(&self, key: &str) -> bool {
        self.source.slots.contains_key(key)
    }

    /// Has these defaults go before those of the table.
    pub fn set_defaults(&mut self, defaults: &'static [(&'static str, &'static str)]) {
        self.defaults = defaults;
    }

    /// The value, or the default of the profile, or that of the table.
    fn value(&self, key: &str) -> Option<&str> {
        let profiled = || self.defaults.iter().find(|(name, _)| *name == key).map(|(_, value)| *value);
        self.given(key).or_else(profiled).or_else(|| match keys::find(key)?.default {
            DefaultValue::Value(text) => Some(text),
            DefaultValue::None | DefaultValue::Derived(_) => None,
        })
    }

    pub fn text(&self, key: &str) -> Option<String> {
        self.value(key).map(str::to_owned)
    }

    /// A number of a key that the table gives a default.
    pub fn count(&self, key: &str) -> u32 {
        self.count_if_any(key).unwrap_or_default()
    }

    /// A number of a key that may be left out everywhere.
    pub fn count_if_any(&self, key: &str) -> Option<u32> {
        self.value(key).and_then(|value| value.parse().ok())
    }

    pub fn flag(&self, key: &str) -> bool {
        self.value(key).is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    /// A duration of Quartz or of ours; the table says which texts are legal.
    pub fn duration(&self, key: &str) -> Duration {
        self.duration_if_any(key).unwrap_or_default()
    }

    /// A duration of a key that may be left out everywhere.
    pub fn duration_if_any(&self, key: &str) -> Option<Duration> {
        self.value(key).and_then(span::parse)
    }

    pub fn seconds(&self, key: &str) -> Duration {
        Duration::from_secs(self.value(key).and_then(|value| value.parse().ok()).unwrap_or(0))
    }

    /// An address to listen on.
    pub fn address(&self, key: &str) -> Option<SocketAddr> {
        self.value(key).and_then(|value| value.parse().ok())
    }

    /// Says if a choice is `word`.
    pub fn chose(&self, key: &str, word: &str) -> bool {
        self.value(key).is_some_and(|value| value.eq_ignore_ascii_case(word))
    }

    /// The choice of a key, of all that have a name; the default if it is not given.
    pub fn choice<T: Copy + Default, const N: usize>(&self, key: &str, all: [T; N], name: fn(T) -> &'static str) -> T {
        all.into_iter().find(|one| self.chose(key, name(*one))).unwrap_or_default()
    }

    /// The keys below a prefix, without it, with their values.
    pub fn below(&self, prefix: &str) -> BTreeMap<String, String> {
        let slots = self.source.slots.iter();
        slots.filter_map(|(key, slot)| Some((key.strip_prefix(prefix)?.to_owned(), slot.value.clone()?))).collect()
    }

    /// The names of `group.NAME.…`, whether their keys are sound or not.
    pub fn names(&self, group: &str) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for (key, slot) in &self.source.slots {
            let name = key.strip_prefix(group).and_then(|rest| rest.split_once('.'));
            if let (Some((name, _)), Role::Known(_)) = (name, slot.role)
                && !names.iter().any(|other| other == name)
            {
                names.push(name.to_owned());
            }
        }
        names
    }

    /// The keys that belong to applications.
    pub fn free(&self) -> BTreeMap<String, String> {
        let slots = self.source.slots.iter();
        slots
            .filter(|(_, slot)| matches!(slot.role, Role::Free))
            .filter_map(|(key, slot)| Some((key.clone(), slot.value.clone()?)))
            .collect()
    }

    /// Everything found, in the order of lines, with the secrets of the file taken out.
    pub fn finish(mut self) -> (Vec<SettingsError>, Vec<SettingsWarning>) {
        self.errors.sort_by_key(|error| error.place.line);
        self.warnings.sort_by_key(|warning| warning.place.line);
        let secrets = self.source.secrets();
        let clean = |text: &mut String| {
            for secret in &secrets {
                if text.contains(secret) {
                    *text = text.replace(secret, MASK);
                }
            }
        };
        for error in self.errors.iter_mut().take(MOST_PROBLEMS) {
            error.place.value.iter_mut().for_each(clean);
            error.place.became.iter_mut().for_each(clean);
            clean(&mut error.message);
        }
        self.warnings.truncate(MOST_PROBLEMS);
        for warning in &mut self.warnings {
            warning.place.value.iter_mut().for_each(clean);
            warning.place.became.iter_mut().for_each(clean);
            clean(&mut warning.message);
        }
        (self.errors, self.warnings)
    }
}

/// Class names may be written without their package; words do not care about case.
fn is_same(kind: Kind, same: &str, value: &str) -> bool {
    match kind {
        Kind::Class => is_class(value, same),
        _ => same.eq_ignore_ascii_case(value),
    }
}

/// Says if `written` is the class `full`, or its name without the package.
pub(crate) fn is_class(written: &str, full: &str) -> bool {
    written == full || full.rsplit('.').next() == Some(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(text: &str) -> Reader {
        Reader::new("f", text.as_bytes(), &[], &|_| None)
    }

    #[test]
    fn a_value_that_failed_reads_as_the_default_and_is_reported_once() {
        let reader = reader("threadPool.threadCount=ten\njobStore.isClustered=yes");
        assert_eq!(reader.count("threadPool.threadCount"), 10);
        assert!(!reader.flag("jobStore.isClustered"));
        assert!(reader.failed("threadPool.threadCount"));
        assert_eq!(reader.finish().0.len(), 2);
    }

    #[test]
    fn groups_are_found_by_name() {
        let reader = reader("dataSource.b.URL=x\ndataSource.a.user=x\ndataSource.b.user=y\ndataSource.c.zzz=1");
        assert_eq!(reader.names("dataSource."), ["a", "b"]);
        let below = reader.below("dataSource.b.");
        assert_eq!(below.get("user").map(String::as_str), Some("y"));
    }

    #[test]
    fn classes_may_be_written_without_their_package() {
        assert!(is_class("a.b.C", "a.b.C") && is_class("C", "a.b.C"));
        assert!(!is_class("x.C", "a.b.C") && !is_class("", "a.b.C"));
    }
}
