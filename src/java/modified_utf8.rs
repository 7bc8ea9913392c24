//! Java's "modified UTF-8", and the hash of a Java `String`.

use crate::java_text::JavaText;

impl JavaText {
    /// The text, if Rust can hold it.
    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::IllFormed(_) => None,
        }
    }

    /// `java.lang.String.hashCode()`.
    pub(crate) fn java_hash(&self) -> i32 {
        let add = |hash: i32, unit: u16| hash.wrapping_mul(31).wrapping_add(i32::from(unit));
        match self {
            Self::Text(text) => text.encode_utf16().fold(0, add),
            Self::IllFormed(units) => units.iter().copied().fold(0, add),
        }
    }

    /// Reads the "modified UTF-8" of Java streams. NUL is two bytes there, and a character outside
    /// the BMP is two surrogates of three bytes each.
    pub(crate) fn from_modified_utf8(bytes: &[u8]) -> Result<Self, String> {
        let mut units = Vec::with_capacity(bytes.len());
        let mut rest = bytes.iter().copied();
        while let Some(first) = rest.next() {
            let mut tail = || match rest.next() {
                Some(byte) if byte & 0xC0 == 0x80 => Ok(u16::from(byte & 0x3F)),
                _ => Err("a text is not in Java's modified UTF-8".to_owned()),
            };
            let unit = match first {
                0..=0x7F => u16::from(first),
                0xC0..=0xDF => u16::from(first & 0x1F) << 6 | tail()?,
                0xE0..=0xEF => u16::from(first & 0x0F) << 12 | tail()? << 6 | tail()?,
                _ => return Err("a text is not in Java's modified UTF-8".to_owned()),
            };
            units.push(unit);
        }
        Ok(Self::from_units(units))
    }

    pub(crate) fn to_modified_utf8(&self) -> Vec<u8> {
        match self {
            Self::Text(text) => modified_utf8(text),
            Self::IllFormed(units) => encode(units.iter().copied()),
        }
    }
}

/// `text` in Java's modified UTF-8.
pub(crate) fn modified_utf8(text: &str) -> Vec<u8> {
    encode(text.encode_utf16())
}

fn encode(units: impl Iterator<Item = u16>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for unit in units {
        let [high, low] = unit.to_be_bytes();
        let tail = 0x80 | low & 0x3F;
        let middle = (high & 0x0F) << 2 | low >> 6;
        match unit {
            1..=0x7F => bytes.push(low),
            0 | 0x80..=0x7FF => bytes.extend([0xC0 | middle, tail]),
            0x800.. => bytes.extend([0xE0 | high >> 4, 0x80 | middle, tail]),
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_survives_modified_utf8() {
        for unit in 0..=u16::MAX {
            let text = JavaText::from_units(vec![unit]);
            assert_eq!(JavaText::from_modified_utf8(&text.to_modified_utf8()), Ok(text));
        }
        assert_eq!(modified_utf8("\0é中😀"), b"\xC0\x80\xC3\xA9\xE4\xB8\xAD\xED\xA0\xBD\xED\xB8\x80");
    }

    #[test]
    fn malformed_bytes_are_refused() {
        for bytes in [&b"\x80"[..], b"\xC3", b"\xE4\xB8", b"\xC3A", b"\xF0\x9F\x98\x80", b"\xFF"] {
            assert!(JavaText::from_modified_utf8(bytes).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn the_hash_is_that_of_java() {
        assert_eq!(JavaText::Text("hello".into()).java_hash(), 99_162_322);
    }
}
