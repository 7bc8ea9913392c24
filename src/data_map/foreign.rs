//! `ForeignValue`: what a Java node stored and Rust has no type for.

use std::fmt;

use super::java::ForeignObject;
use crate::java_text::JavaText;

/// A value stored by a Java node for which there is no [`DataValue`](super::DataValue) of its own,
/// such as a `java.util.Date` or a list.
///
/// A foreign value can be named, copied, moved to another map and removed. The crate writes the
/// value back as it was read.
///
/// Two values are equal if their serialised forms in Java are.
#[derive(Clone, PartialEq)]
pub struct ForeignValue(Repr);

#[derive(Clone, PartialEq)]
pub(super) enum Repr {
    /// A text with half a surrogate pair.
    Text(JavaText),
    /// An object of a stream that was read.
    #[cfg_attr(not(feature = "java-streams"), allow(dead_code, reason = "no stream is read"))]
    Object(ForeignObject),
}

impl ForeignValue {
    pub(super) fn text(text: JavaText) -> Self {
        Self(Repr::Text(text))
    }

    #[cfg(feature = "java-streams")]
    pub(super) fn object(object: ForeignObject) -> Self {
        Self(Repr::Object(object))
    }

    /// The Java class, such as `java.util.Date`, or `[B` for an array of bytes.
    pub fn class_name(&self) -> &str {
        match &self.0 {
            Repr::Text(_) => "java.lang.String",
            Repr::Object(object) => object.class_name(),
        }
    }

    #[cfg(feature = "java-streams")]
    pub(super) fn repr(&self) -> &Repr {
        &self.0
    }

    /// The text, if it is one that Rust cannot hold.
    pub(super) fn as_text(&self) -> Option<&JavaText> {
        match &self.0 {
            Repr::Text(text) => Some(text),
            Repr::Object(_) => None,
        }
    }

    /// Says if both are one object of one stream, or equal texts.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Repr::Text(a), Repr::Text(b)) => a == b,
            (Repr::Object(a), Repr::Object(b)) => a.is_same(b),
            _ => false,
        }
    }
}

impl fmt::Debug for ForeignValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ForeignValue").field(&self.class_name()).finish()
    }
}

/// The class in angle brackets, or the text with its odd half shown as `\uD800`.
impl fmt::Display for ForeignValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Text(text) => f.write_str(&text.shown()),
            Repr::Object(object) => write!(f, "<{}>", object.class_name()),
        }
    }
}
