//! Redaction: how a text from outside may be shown in a message.

use std::collections::BTreeMap;
use std::fmt;

/// Text in place of a password.
pub(crate) const MASK: &str = "***";

/// Longest piece of an outside text that a message repeats, in characters.
const SHOWN: usize = 80;

/// Says if a key, a parameter or a variable of this name is likely to hold a password.
pub(crate) fn looks_secret(name: &str) -> bool {
    const WORDS: [&str; 10] = [
        "pass",
        "pwd",
        "secret",
        "token",
        "credential",
        "apikey",
        "accesskey",
        "privatekey",
        "authorization",
        "bearer",
    ];
    let name = name.to_ascii_lowercase().replace(['_', '-', '.'], "");
    WORDS.iter().any(|word| name.contains(word))
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

/// A name has its value behind `=`, `:` or the `>` of its element, and quotes of JSON between them;
/// an option such as `--password`, or `Bearer`, has it behind a blank.
fn scrub_parameters(text: &str) -> String {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    for (at, c) in text.char_indices() {
        if !matches!(c, '=' | ':' | '>' | ' ') {
            continue;
        }
        let Some(before) = text.get(..at) else {
            continue;
        };
        let named = before.trim_end().trim_end_matches(['"', '\'', '\\']);
        let name = named.rsplit(|c| !is_name(c)).next().unwrap_or_default();
        let is_before_blank = || name.starts_with("--") || name.eq_ignore_ascii_case("bearer");
        if looks_secret(name) && (c != ' ' || is_before_blank()) {
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
            r#"401 for {"user": "ops", "password": "S3NT"}"#,
            r#"{\"api_key\":\"S3NT\"}"#,
            "{'access-key': 'S3NT'}",
            "mysqldump --password S3NT jobs",
            "<password>S3NT</password>",
            "Authorization: Bearer S3NT",
            "401 Unauthorized, sent bearer S3NT",
        ] {
            let shown = shown(url);
            assert!(!shown.contains("S3NT"), "{url} shows as {shown}");
            assert!(shown.contains(MASK), "{url} shows as {shown}");
        }
    }

    #[test]
    fn harmless_text_stays_as_it_is() {
        for text in ["ten", "jdbc:postgresql://db:5432/x?sslmode=require", "a@b", "", "a new password of more letters"]
        {
            assert_eq!(shown(text), text);
        }
    }

    #[test]
    fn long_and_odd_text_is_tamed() {
        assert_eq!(shown(&"x".repeat(1_000_000)).chars().count(), SHOWN + 1);
        assert_eq!(shown("a\nb\u{1b}"), "a\\nb\\u{1b}");
    }
}
