//! Properties: the text format of `java.util.Properties`, with the line of each entry.

use std::iter::Peekable;
use std::str::Chars;

/// One `key = value` of a file, escapes resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Line where the entry begins, from 1.
    pub line: usize,
    pub key: String,
    /// As `java.util.Properties` keeps it: blanks at its end stay.
    pub value: String,
}

/// A place that is not in the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FormatProblem {
    pub line: usize,
    pub what: FormatFault,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FormatFault {
    #[error("the line is not UTF-8: save the file as UTF-8, or write the character as \\uXXXX")]
    NotUtf8,
    #[error("malformed \\u escape: expected four hexadecimal digits after \\u")]
    MalformedEscape,
    #[error("half of a surrogate pair: characters above U+FFFF are written as two \\uXXXX in a row")]
    LoneSurrogate,
}

/// Reads a whole file; entries come in file order, duplicates included.
///
/// A faulty entry is left out and reported, the rest is read.
pub(crate) fn parse(bytes: &[u8]) -> (Vec<Entry>, Vec<FormatProblem>) {
    let mut entries = Vec::new();
    let mut problems = Vec::new();
    let mut lines = NaturalLines::new(bytes);
    while let Some((first, line)) = lines.next() {
        let mut whole = match line {
            Ok(line) => line.trim_start_matches(is_blank).to_owned(),
            // A comment may be in any encoding, since nobody reads it.
            Err(bytes) if is_comment(bytes) => continue,
            Err(_) => {
                problems.push(FormatProblem { line: first, what: FormatFault::NotUtf8 });
                continue;
            }
        };
        if whole.is_empty() || whole.starts_with(['#', '!']) {
            continue;
        }
        let mut sound = true;
        while continues(&whole) {
            whole.pop();
            match lines.next() {
                Some((_, Ok(more))) => whole.push_str(more.trim_start_matches(is_blank)),
                Some((at, Err(_))) => {
                    problems.push(FormatProblem { line: at, what: FormatFault::NotUtf8 });
                    sound = false;
                    break;
                }
                None => break,
            }
        }
        if !sound || whole.is_empty() {
            continue;
        }
        match entry(&whole) {
            Ok((key, value)) => entries.push(Entry { line: first, key, value }),
            Err(what) => problems.push(FormatProblem { line: first, what }),
        }
    }
    (entries, problems)
}

fn is_comment(line: &[u8]) -> bool {
    let first = line.iter().find(|byte| !is_blank(char::from(**byte)));
    matches!(first, Some(b'#' | b'!'))
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\u{c}')
}

/// An odd number of backslashes at its end joins a line with the next.
fn continues(line: &str) -> bool {
    line.bytes().rev().take_while(|&b| b == b'\\').count() % 2 == 1
}

fn entry(line: &str) -> Result<(String, String), FormatFault> {
    let mut chars = line.chars().peekable();
    let mut key = String::new();
    let mut separated = false;
    while let Some(&c) = chars.peek() {
        if c == '=' || c == ':' || is_blank(c) {
            separated = true;
            break;
        }
        chars.next();
        key.push(if c == '\\' { escaped(&mut chars)? } else { c });
    }
    if separated {
        skip_blanks(&mut chars);
        if chars.next_if(|&c| c == '=' || c == ':').is_some() {
            skip_blanks(&mut chars);
        }
    }
    let mut value = String::new();
    while let Some(c) = chars.next() {
        value.push(if c == '\\' { escaped(&mut chars)? } else { c });
    }
    Ok((key, value))
}

fn skip_blanks(chars: &mut Peekable<Chars<'_>>) {
    while chars.next_if(|&c| is_blank(c)).is_some() {}
}

/// Character that stands behind a backslash.
fn escaped(chars: &mut Peekable<Chars<'_>>) -> Result<char, FormatFault> {
    Ok(match chars.next() {
        Some('t') => '\t',
        Some('n') => '\n',
        Some('r') => '\r',
        Some('f') => '\u{c}',
        Some('u') => return unicode(chars),
        Some(other) => other,
        // Unreachable for a joined line: its last backslash would have continued it.
        None => '\\',
    })
}

fn unicode(chars: &mut Peekable<Chars<'_>>) -> Result<char, FormatFault> {
    let first = four_digits(chars)?;
    if let Some(c) = char::from_u32(first) {
        return Ok(c);
    }
    let is_high = (0xD800..0xDC00).contains(&first);
    let paired = is_high && chars.next_if_eq(&'\\').is_some() && chars.next_if_eq(&'u').is_some();
    if !paired {
        return Err(FormatFault::LoneSurrogate);
    }
    let second = four_digits(chars)?;
    let low = second.checked_sub(0xDC00).filter(|low| *low < 0x400);
    low.and_then(|low| char::from_u32(0x10000 + ((first - 0xD800) << 10) + low)).ok_or(FormatFault::LoneSurrogate)
}

fn four_digits(chars: &mut Peekable<Chars<'_>>) -> Result<u32, FormatFault> {
    let mut code = 0;
    for _ in 0..4 {
        let digit = chars.next().and_then(|c| c.to_digit(16));
        code = code * 16 + digit.ok_or(FormatFault::MalformedEscape)?;
    }
    Ok(code)
}

/// Lines as they stand in the file (ended by LF, CR or CR LF), with their numbers. A line that is
/// not UTF-8 comes as its bytes.
struct NaturalLines<'a> {
    rest: &'a [u8],
    number: usize,
}

impl<'a> NaturalLines<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        let rest = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        Self { rest, number: 0 }
    }
}

impl<'a> Iterator for NaturalLines<'a> {
    type Item = (usize, Result<&'a str, &'a [u8]>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        self.number += 1;
        let end = self.rest.iter().position(|b| matches!(b, b'\n' | b'\r'));
        let (line, rest) = self.rest.split_at_checked(end.unwrap_or(self.rest.len()))?;
        self.rest = rest
            .strip_prefix(b"\r\n")
            .or_else(|| rest.strip_prefix(b"\n"))
            .or_else(|| rest.strip_prefix(b"\r"))
            .unwrap_or(rest);
        Some((self.number, std::str::from_utf8(line).map_err(|_| line)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(usize, String, String)> {
        let (entries, problems) = parse(text.as_bytes());
        assert_eq!(problems, [], "{text:?}");
        entries.into_iter().map(|e| (e.line, e.key, e.value)).collect()
    }

    fn one(line: usize, key: &str, value: &str) -> Vec<(usize, String, String)> {
        vec![(line, key.to_owned(), value.to_owned())]
    }

    #[test]
    fn every_separator_is_read() {
        for text in ["a=b", "a:b", "a b", "a = b", "a\t:\t b", "  a   b", "a=b\r\n", "\u{feff}a=b\n", "a\\\n =b"] {
            assert_eq!(read(text), one(1, "a", "b"), "{text:?}");
        }
        assert_eq!(read("a==b"), one(1, "a", "=b"));
        assert_eq!(read("a  =  b  "), one(1, "a", "b  "));
        assert_eq!(read("a"), one(1, "a", ""));
        assert_eq!(read("=b"), one(1, "", "b"));
    }

    #[test]
    fn comments_and_blank_lines_are_skipped_and_counted() {
        assert_eq!(read("# one\n! two \\\n\n   \t\r\r  # five\nk=v"), one(7, "k", "v"));
        assert_eq!(read(""), []);
    }

    #[test]
    fn lines_are_continued() {
        assert_eq!(read("a = x, \\\n    y, \\\r\n\tz\nb=1").first(), one(1, "a", "x, y, z").first());
        assert_eq!(read("a=x\\\\\nb=y").len(), 2);
        assert_eq!(read("a=x\\"), one(1, "a", "x"));
        assert_eq!(read("a=x\\\n# no comment"), one(1, "a", "x# no comment"));
        assert_eq!(read("\\\n\\\n"), []);
    }

    #[test]
    fn escapes_are_resolved() {
        assert_eq!(read(r"a\ b\=\:c = \t\n\r\f\#\\"), one(1, "a b=:c", "\t\n\r\u{c}#\\"));
        assert_eq!(read(r"k = \u00e4\u00E4 \uD83D\uDE00"), one(1, "k", "ää 😀"));
        assert_eq!(read("k = ä"), one(1, "k", "ä"));
    }

    /// Files of Java services have comments in any encoding.
    #[test]
    fn a_comment_need_not_be_utf8() {
        let (entries, problems) = parse(b"# \xD6\xF7\n  !\xE4\\\nk=v");
        assert_eq!((entries.len(), problems.len()), (1, 0));
    }

    #[test]
    fn what_is_no_text_is_reported_with_its_line() {
        let cases: [(&[u8], usize, FormatFault); 6] = [
            (b"a=1\nb=\\u12", 2, FormatFault::MalformedEscape),
            (b"\n\na=\\u12G4", 3, FormatFault::MalformedEscape),
            (b"a=\\uD83D!", 1, FormatFault::LoneSurrogate),
            (b"a=\\uD83D\\u0041", 1, FormatFault::LoneSurrogate),
            (b"a=\\uDE00", 1, FormatFault::LoneSurrogate),
            (b"a=1\nb=x\\\n\xE4", 3, FormatFault::NotUtf8),
        ];
        for (bytes, line, what) in cases {
            assert_eq!(parse(bytes).1, [FormatProblem { line, what }], "{bytes:?}");
        }
    }
}
