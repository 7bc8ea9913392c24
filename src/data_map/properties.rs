//! The text form of a `java.util.Properties`, as Quartz stores it where `useProperties` is set.

use super::{DataValue, ForeignValue, JobDataMap};
use crate::java_text::JavaText;

/// The text of the map, all values as text, in order of their names. Quartz writes the date as a
/// second comment; left out here, equal maps are equal bytes.
pub(super) fn encode(map: &JobDataMap) -> Result<Vec<u8>, String> {
    let mut out = b"#\n".to_vec();
    for (key, value) in &map.entries {
        let units = units(value).map_err(|class| refusal(key, class))?;
        line(&mut out, key.encode_utf16(), &units);
    }
    for (key, value) in &map.unnamed {
        let named = |class| refusal(&key.to_string(), class);
        let key_units = units(key).map_err(named)?;
        line(&mut out, key_units.into_iter(), &units(value).map_err(named)?);
    }
    Ok(out)
}

fn refusal(key: &str, class: &str) -> String {
    format!("the value of `{key}` is of class {class}, which cannot be stored as text, as useProperties asks for")
}

/// A value as text, or the class that has none.
fn units(value: &DataValue) -> Result<Vec<u16>, &str> {
    let text = match value {
        DataValue::Null => String::new(),
        DataValue::Char(unit) => return Ok(vec![*unit]),
        DataValue::Foreign(foreign) => match foreign.as_text() {
            Some(JavaText::IllFormed(units)) => return Ok(units.clone()),
            Some(JavaText::Text(text)) => text.clone(),
            None => return Err(foreign.class_name()),
        },
        _ => value.to_string(),
    };
    Ok(text.encode_utf16().collect())
}

fn line(out: &mut Vec<u8>, key: impl Iterator<Item = u16>, value: &[u16]) {
    key.for_each(|unit| escape(out, unit, true));
    out.push(b'=');
    for (at, unit) in value.iter().enumerate() {
        escape(out, *unit, at == 0);
    }
    out.push(b'\n');
}

fn escape(out: &mut Vec<u8>, unit: u16, escape_space: bool) {
    match u8::try_from(unit).unwrap_or(0) {
        b' ' if escape_space => out.extend(b"\\ "),
        b'\t' => out.extend(b"\\t"),
        b'\n' => out.extend(b"\\n"),
        b'\r' => out.extend(b"\\r"),
        0x0C => out.extend(b"\\f"),
        byte @ (b'\\' | b'=' | b':' | b'#' | b'!') => out.extend([b'\\', byte]),
        byte @ 0x20..=0x7E => out.push(byte),
        _ => out.extend(format!("\\u{unit:04X}").bytes()),
    }
}

/// Reads what `java.util.Properties.load` reads. A later line of the same name wins.
pub(super) fn decode(bytes: &[u8]) -> Result<JobDataMap, String> {
    let mut map = JobDataMap::new();
    let mut lines = Lines { rest: bytes };
    while let Some(line) = lines.next_logical() {
        let (key, value) = pair(&line)?;
        map.put_read(data_value(key), data_value(value))?;
    }
    Ok(map)
}

fn data_value(units: Vec<u16>) -> DataValue {
    match JavaText::from_units(units) {
        JavaText::Text(text) => DataValue::String(text),
        text => DataValue::Foreign(ForeignValue::text(text)),
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | 0x0C)
}

/// Logical lines: comments and blank lines left out, continued lines joined.
struct Lines<'a> {
    rest: &'a [u8],
}

impl<'a> Lines<'a> {
    /// The next line as it stands, without its end and its leading blanks.
    fn next_natural(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let end = self.rest.iter().position(|byte| matches!(byte, b'\r' | b'\n')).unwrap_or(self.rest.len());
        let (line, rest) = self.rest.split_at_checked(end)?;
        self.rest = match rest {
            [b'\r', b'\n', rest @ ..] | [_, rest @ ..] => rest,
            [] => rest,
        };
        let blanks = line.iter().take_while(|byte| is_blank(**byte)).count();
        line.get(blanks..)
    }

    fn next_logical(&mut self) -> Option<Vec<u8>> {
        loop {
            let mut natural = self.next_natural()?;
            if matches!(natural.first(), None | Some(b'#' | b'!')) {
                continue;
            }
            let mut line = Vec::new();
            while natural.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1 {
                line.extend(natural.iter().take(natural.len() - 1));
                // A comment sign on a continued line is text; a blank line ends it.
                natural = self.next_natural().unwrap_or_default();
            }
            line.extend(natural);
            if !line.is_empty() {
                return Some(line);
            }
        }
    }
}

/// Splits a line at the first sign or blank that is not escaped.
fn pair(line: &[u8]) -> Result<(Vec<u16>, Vec<u16>), String> {
    let mut escaped = false;
    let end = line.iter().position(|byte| {
        let ends = !escaped && (is_blank(*byte) || matches!(byte, b'=' | b':'));
        escaped = *byte == b'\\' && !escaped;
        ends
    });
    let (key, rest) = line.split_at_checked(end.unwrap_or(line.len())).unwrap_or((line, &[]));
    let skip_blanks = |bytes: &[u8]| bytes.iter().take_while(|byte| is_blank(**byte)).count();
    let mut value = rest.get(skip_blanks(rest)..).unwrap_or_default();
    if let [b'=' | b':', after @ ..] = value {
        value = after.get(skip_blanks(after)..).unwrap_or_default();
    }
    let key = unescape(key, "a key")?;
    let name = JavaText::from_units(key.clone()).shown();
    Ok((key, unescape(value, &format!("the value of `{name}`"))?))
}

/// `bytes` are ISO-8859-1, whose bytes are the first 256 units.
fn unescape(bytes: &[u8], what: &str) -> Result<Vec<u16>, String> {
    let mut units = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    loop {
        let (unit, after) = match rest {
            [] => return Ok(units),
            [b'\\'] => return Ok(units),
            [b'\\', b'u', after @ ..] => {
                let (digits, after) = after.split_at_checked(4).unwrap_or((&[], &[]));
                let digit = |unit: u32, byte: &u8| Some(unit << 4 | char::from(*byte).to_digit(16)?);
                let unit = digits.iter().try_fold(0, digit).filter(|_| digits.len() == 4);
                let unit = unit.and_then(|unit| u16::try_from(unit).ok());
                (unit.ok_or_else(|| format!("{what} holds a `\\u` without four hexadecimal digits"))?, after)
            }
            [b'\\', byte, after @ ..] => match byte {
                b't' => (0x09, after),
                b'n' => (0x0A, after),
                b'f' => (0x0C, after),
                b'r' => (0x0D, after),
                other => (u16::from(*other), after),
            },
            [byte, after @ ..] => (u16::from(*byte), after),
        };
        units.push(unit);
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(String, String)> {
        let map = decode(text.as_bytes()).expect("a map");
        map.iter().map(|(key, value)| (key.to_owned(), value.to_string())).collect()
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn reads_what_java_reads() {
        let cases: &[(&str, &[(&str, &str)])] = &[
            ("", &[]),
            ("# a\n! b\n \t\n", &[]),
            ("a=1\rb:2\r\nc 3\nd", &[("a", "1"), ("b", "2"), ("c", "3"), ("d", "")]),
            ("a \t=\x0c x =y ", &[("a", "x =y ")]),
            ("a==b", &[("a", "=b")]),
            ("a\\=b\\ c=d", &[("a=b c", "d")]),
            ("a=1\\\n   2\\\r\n\t#3", &[("a", "12#3")]),
            ("a=1\\\\\nb=2", &[("a", "1\\"), ("b", "2")]),
            ("a=\\t\\n\\r\\f\\q\\u00fC", &[("a", "\t\n\r\x0cqü")]),
            ("a=1\na=2", &[("a", "2")]),
            ("a=x\\", &[("a", "x")]),
            ("=v", &[("", "v")]),
        ];
        for (text, expected) in cases {
            assert_eq!(read(text), pairs(expected), "{text:?}");
        }
        assert_eq!(decode(b"a=\xE9").expect("a map").text("a"), Some("é"));
    }

    #[test]
    fn refuses_a_malformed_escape_and_names_the_key() {
        for text in ["k=\\u12", "k=\\u12G4", "k=\\u+123", "k=\\u"] {
            let reason = decode(text.as_bytes()).expect_err(text);
            assert!(reason.starts_with("the value of `k` holds a `\\u`"), "{reason}");
        }
        assert!(decode(b"\\u00=v").is_err());
    }

    #[test]
    fn writes_sorted_and_escaped() {
        let mut map = JobDataMap::new();
        map.put("b c", " x y");
        map.put("a", 1.0);
        map.put("é😀", f64::NEG_INFINITY);
        map.put("n", DataValue::Null);
        map.put("u", DataValue::Char(0xD800));
        let text = String::from_utf8(encode(&map).expect("text")).expect("ASCII");
        assert_eq!(text, "#\na=1.0\nb\\ c=\\ x y\nn=\nu=\\uD800\n\\u00E9\\uD83D\\uDE00=-Infinity\n");
    }

    #[test]
    fn half_a_surrogate_pair_is_kept() {
        let text = b"#\na=\\uD800x\n\\uDC00=v\n";
        let mut map = decode(text).expect("a map");
        assert_eq!(encode(&map).expect("text"), text);
        assert_eq!(map.foreign().count(), 2);
        map.put("b", "new");
        assert_eq!(encode(&map).expect("text"), b"#\na=\\uD800x\nb=new\n\\uDC00=v\n");
    }

    #[test]
    fn hostile_bytes_do_no_harm() {
        for length in 0..4 {
            for number in 0..12_u32.pow(length) {
                let byte = |at| b"\\u0=:# \t\n\r\xFFa".get((number / 12_u32.pow(at) % 12) as usize).copied();
                let bytes: Vec<u8> = (0..length).filter_map(byte).collect();
                if let Ok(map) = decode(&bytes) {
                    let again = decode(&encode(&map).expect("text")).expect("a map");
                    assert_eq!(map, again, "{bytes:?}");
                }
            }
        }
        let many: String = (0..2000).map(|n| format!("\\uD800{n}=x\n")).collect();
        assert!(decode(many.as_bytes()).expect_err("too many").contains("1000"));
    }
}
