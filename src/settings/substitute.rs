//! Substitution: `${env:NAME}`, `${env:NAME:default}` and `${file:PATH}` inside a value.

use std::fs::File;
use std::io::Read;

use super::redact::{bounded, looks_secret};

/// Largest file that `${file:PATH}` reads, in bytes.
const FILE_LIMIT: u64 = 64 * 1024;

/// The variables for `${env:NAME}`: the process environment, or a function of a test.
pub(crate) type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A value with everything filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Expanded {
    pub text: String,
    /// True if anything was filled in, so that the text differs from the file.
    pub filled_in: bool,
    /// True if a part came from a place where passwords are kept, so that the text is never shown.
    pub private: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SubstitutionFault {
    #[error(
        "`${{` without `}}`: expected ${{env:NAME}}, ${{env:NAME:default}} or ${{file:PATH}}; write $${{ for a plain ${{"
    )]
    Unclosed,
    #[error(
        "unknown substitution: expected ${{env:NAME}}, ${{env:NAME:default}} or ${{file:PATH}}; write $${{ for a plain ${{"
    )]
    UnknownForm,
    #[error("a substitution inside a substitution: the default of ${{env:NAME:default}} is plain text")]
    Nested,
    #[error("expected a name in ${{env:NAME}}: letters, digits and _, not beginning with a digit")]
    BadName,
    #[error("environment variable `{0}` is not set: set it, or give a default as in ${{env:{0}:default}}")]
    Unset(String),
    #[error("file `{path}` cannot be read: {reason}")]
    Unreadable { path: String, reason: String },
    #[error("file `{path}` is larger than 65536 bytes")]
    TooLarge { path: String },
    #[error("file `{path}` is not UTF-8 text")]
    NotText { path: String },
}

/// Fills in every `${…}` of `raw`; what was filled in is not looked through again.
pub(crate) fn expand(raw: &str, environment: Environment<'_>) -> Result<Expanded, SubstitutionFault> {
    let mut out = Expanded { text: String::new(), filled_in: false, private: false };
    let mut rest = raw;
    while let Some((before, after)) = rest.split_once("${") {
        if let Some(before) = before.strip_suffix('$') {
            out.text.push_str(before);
            out.text.push_str("${");
            out.filled_in = true;
            rest = after;
            continue;
        }
        out.text.push_str(before);
        let (inner, after) = after.split_once('}').ok_or(SubstitutionFault::Unclosed)?;
        if inner.contains("${") {
            return Err(SubstitutionFault::Nested);
        }
        out.filled_in = true;
        match inner.split_once(':') {
            Some(("env", name)) => {
                let (name, default) = match name.split_once(':') {
                    Some((name, default)) => (name, Some(default)),
                    None => (name, None),
                };
                out.private |= looks_secret(name);
                out.text.push_str(&variable(name, default, environment)?);
            }
            Some(("file", path)) => {
                out.private = true;
                out.text.push_str(&file(path)?);
            }
            _ => return Err(SubstitutionFault::UnknownForm),
        }
        rest = after;
    }
    out.text.push_str(rest);
    Ok(out)
}

/// A variable that is set but empty counts as unset where there is a default, as in a shell's `:-`.
fn variable(name: &str, default: Option<&str>, environment: Environment<'_>) -> Result<String, SubstitutionFault> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(is_word) || name.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(SubstitutionFault::BadName);
    }
    match (environment(name), default) {
        (Some(value), None) => Ok(value),
        (Some(value), Some(_)) if !value.is_empty() => Ok(value),
        (_, Some(default)) => Ok(default.to_owned()),
        (None, None) => Err(SubstitutionFault::Unset(bounded(name))),
    }
}

/// The text of a file without the newline at its end.
fn file(path: &str) -> Result<String, SubstitutionFault> {
    let shown = || bounded(path);
    let unreadable = |error: std::io::Error| SubstitutionFault::Unreadable { path: shown(), reason: error.to_string() };
    let mut bytes = Vec::new();
    File::open(path).map_err(unreadable)?.take(FILE_LIMIT + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > FILE_LIMIT {
        return Err(SubstitutionFault::TooLarge { path: shown() });
    }
    let text = String::from_utf8(bytes).map_err(|_| SubstitutionFault::NotText { path: shown() })?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    Ok(text.strip_suffix('\r').unwrap_or(text).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(name: &str) -> Option<String> {
        match name {
            "POD" => Some("node-7".to_owned()),
            "DB_PASSWORD" => Some("S3NT".to_owned()),
            "EMPTY" => Some(String::new()),
            "TRICKY" => Some("${env:POD}".to_owned()),
            _ => None,
        }
    }

    fn text(raw: &str) -> Result<String, SubstitutionFault> {
        expand(raw, &environment).map(|expanded| expanded.text)
    }

    #[test]
    fn variables_are_filled_in() {
        for (raw, expected) in [
            ("plain $ } text", "plain $ } text"),
            ("${env:POD}", "node-7"),
            ("a-${env:POD}-${env:POD}-b", "a-node-7-node-7-b"),
            ("${env:NONE:http://x:1}", "http://x:1"),
            ("${env:NONE:}", ""),
            ("${env:EMPTY}", ""),
            ("${env:EMPTY:full}", "full"),
            ("${env:TRICKY}", "${env:POD}"),
            ("$${env:POD}", "${env:POD}"),
        ] {
            assert_eq!(text(raw).as_deref(), Ok(expected), "{raw}");
        }
    }

    #[test]
    fn what_cannot_be_filled_in_is_an_error() {
        for (raw, fault) in [
            ("${env:NONE}", SubstitutionFault::Unset("NONE".to_owned())),
            ("${env:POD", SubstitutionFault::Unclosed),
            ("${evn:POD}", SubstitutionFault::UnknownForm),
            ("${user.home}", SubstitutionFault::UnknownForm),
            ("${env:}", SubstitutionFault::BadName),
            ("${env:A B}", SubstitutionFault::BadName),
            ("${env:A:${env:POD}}", SubstitutionFault::Nested),
        ] {
            assert_eq!(text(raw), Err(fault), "{raw}");
        }
        assert!(matches!(text("${file:/no/such/file}"), Err(SubstitutionFault::Unreadable { .. })));
        assert!(matches!(text("${file:}"), Err(SubstitutionFault::Unreadable { .. })));
    }

    #[test]
    fn a_file_is_read_without_its_last_newline_and_is_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("password");
        std::fs::write(&path, "S3NT\r\n").unwrap();
        let expanded = expand(&format!("${{file:{}}}", path.display()), &environment).unwrap();
        assert_eq!((expanded.text.as_str(), expanded.private), ("S3NT", true));
        std::fs::write(&path, vec![b'x'; 70_000]).unwrap();
        assert!(matches!(text(&format!("${{file:{}}}", path.display())), Err(SubstitutionFault::TooLarge { .. })));
        std::fs::write(&path, b"\xff").unwrap();
        assert!(matches!(text(&format!("${{file:{}}}", path.display())), Err(SubstitutionFault::NotText { .. })));
    }

    #[test]
    fn a_variable_named_like_a_password_is_private() {
        assert!(expand("${env:DB_PASSWORD}", &environment).unwrap().private);
        assert!(!expand("${env:POD}", &environment).unwrap().private);
    }
}
