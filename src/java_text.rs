//! `JavaText`: a text as Java holds it, UTF-16 units, of which not every sequence is a Rust
//! `String`.
//!
//! Both stored forms of job data have such texts; the object streams alone are behind the feature
//! `java-streams`.

/// A Java `String`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum JavaText {
    /// Any text that Rust can hold.
    Text(String),
    /// Holds a surrogate without its other half: kept as it is, so that it can be written back.
    IllFormed(Vec<u16>),
}

impl JavaText {
    pub(crate) fn from_units(units: Vec<u16>) -> Self {
        match String::from_utf16(&units) {
            Ok(text) => Self::Text(text),
            Err(_) => Self::IllFormed(units),
        }
    }

    /// The text for people: a lone surrogate is shown as `\uD800`.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::IllFormed(units) => char::decode_utf16(units.iter().copied())
                .map(|unit| unit.map_or_else(|e| format!("\\u{:04X}", e.unpaired_surrogate()), String::from))
                .collect(),
        }
    }
}

/// First bytes of an object stream.
pub(crate) const MAGIC: [u8; 4] = [0xAC, 0xED, 0x00, 0x05];

/// True if `bytes` begin as an object stream does.
pub(crate) fn is_stream(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// Longer streams, and longer texts of properties, are not read.
pub(crate) const MAX_STREAM_BYTES: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lone_surrogates_are_kept_and_shown() {
        assert_eq!(JavaText::from_units(vec![0x61, 0xD800]).shown(), "a\\uD800");
        assert_eq!(JavaText::from_units(vec![0xD83D, 0xDE00]), JavaText::Text("😀".into()));
    }
}
