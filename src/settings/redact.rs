//! Redaction: how a text from outside may be shown in a message.

use std::collections::BTreeMap;
use std::fmt;

/// Text in place of a password.
pub(crate) const MASK: &str = "***";

/// Longest piece of an outside text that a message repeats, in characters.
const SHOWN: usize = 80;

/// Says if a key, a parameter or a variable of this name is likely to hold a password.
pub(crate) fn looks_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["pass", "pwd", "secret", "token", "credential", "apikey"].iter().any(|word| name.contains(word))
}

/// The text as a message may show it: no password of a URL, no control characters, not long.
pub(crate) fn shown(text: &str) -> String {
    bounded(&scrub(text))
}

/// Control characters escaped and the length cut, for texts that hold no password.
pub(crate) fn bounded(text: &str) -> String {
    let mut out = String::new();
    for (count, c) in text.chars().enumerate() {
        if count == SHOWN {
            out.push('…');
            break;
        }
        if c.is_control() {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// Replaces passwords in anything that looks like a URL or a list of parameters.
///
/// This function hides too much rather than too little. A URL that does not parse has its password
/// in an unknown place: everything between the user and the last `@` goes, and everything behind
/// `password=`.
pub(crate) fn scrub(text: &str) -> String {
    scrub_parameters(&scrub_user_info(text))
}

fn scrub_user_info(text: &str) -> String {
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), text),
    };
    match rest.rsplit_once('@') {
        Some((user_info, host)) => match user_info.split_once(':') {
            Some((user, _)) => format!("{scheme}{user}:{MASK}@{host}"),
            None => text.to_owned(),
        },
        None => text.to_owned(),
    }
}

fn scrub_parameters(text: &str) -> String {
    for (at, c) in text.char_indices() {
        if c != '=' && c != ':' {
            continue;
        }
        let Some(before) = text.get(..at) else {
            continue;
        };
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        let name = before.trim_end().rsplit(|c| !is_name(c)).next();
        if name.is_some_and(looks_secret) {
            return format!("{before}{c}{MASK}");
        }
    }
    text.to_owned()
}

/// A map whose Debug form masks the values of keys that look secret.
pub(crate) struct RedactedMap<'a>(pub(crate) &'a BTreeMap<String, String>);

impl fmt::Debug for RedactedMap<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.0.iter().map(|(key, value)| {
            let value = if looks_secret(key) { MASK.to_owned() } else { scrub(value) };
            (key, value)
        });
        f.debug_map().entries(entries).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_in_a_url_is_hidden_wherever_it_stands() {
        for url in [
            "postgres://me:S3NT@db:5432/x",
            "postgres://me:S3NT@S3NT/S3NT@db/x",
            "jdbc:postgresql://db/x?user=me&password=S3NT",
            "jdbc:postgresql://db/x?user=me&PASSWORD = S3NT&S3NT&b=S3NT",
            "jdbc:mysql:me:S3NT@db/x",
            "//me:S3NT@db",
            "mysql://db/x;pwd=S3NT",
            "sslpassword=S3NT",
        ] {
            let shown = shown(url);
            assert!(!shown.contains("S3NT"), "{url} shows as {shown}");
            assert!(shown.contains(MASK), "{url} shows as {shown}");
        }
    }

    #[test]
    fn harmless_text_stays_as_it_is() {
        for text in ["ten", "jdbc:postgresql://db:5432/x?sslmode=require", "a@b", ""] {
            assert_eq!(shown(text), text);
        }
    }

    #[test]
    fn long_and_odd_text_is_tamed() {
        assert_eq!(shown(&"x".repeat(1_000_000)).chars().count(), SHOWN + 1);
        assert_eq!(shown("a\nb\u{1b}"), "a\\nb\\u{1b}");
    }
}
