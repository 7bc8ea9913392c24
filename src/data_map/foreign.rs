//! `ForeignValue`: what a Java node stored and Rust has no type for.

use std::fmt;
use std::sync::Arc;

use crate::java::{Graph, JavaText, Value, Writer};

/// A value stored by a Java node for which there is no [`DataValue`](super::DataValue) of its own,
/// such as a `java.util.Date` or a list.
///
/// A foreign value can be named, copied, moved to another map and removed; it is written back as it
/// was read.
#[derive(Clone)]
pub struct ForeignValue(Repr);

#[derive(Clone)]
enum Repr {
    /// A text with half a surrogate pair.
    Text(JavaText),
    /// An object of a stream that was read.
    Object { class: String, graph: Arc<Graph>, value: Value },
}

impl ForeignValue {
    pub(super) fn text(text: JavaText) -> Self {
        Self(Repr::Text(text))
    }

    pub(super) fn object(graph: &Arc<Graph>, value: Value) -> Self {
        let class = graph.class_name_of(value).to_owned();
        Self(Repr::Object { class, graph: Arc::clone(graph), value })
    }

    /// The Java class, such as `java.util.Date`, or `[B` for an array of bytes.
    pub fn class_name(&self) -> &str {
        match &self.0 {
            Repr::Text(_) => "java.lang.String",
            Repr::Object { class, .. } => class,
        }
    }

    /// The text, if it is one that Rust cannot hold.
    pub(super) fn as_text(&self) -> Option<&JavaText> {
        match &self.0 {
            Repr::Text(text) => Some(text),
            Repr::Object { .. } => None,
        }
    }

    pub(super) fn write(&self, writer: &mut Writer) -> Result<(), String> {
        match &self.0 {
            Repr::Text(text) => writer.text(text),
            Repr::Object { graph, value, .. } => writer.value(graph, *value),
        }
    }

    /// True if both are one object of one stream, or equal texts.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Repr::Text(a), Repr::Text(b)) => a == b,
            (Repr::Object { graph: a, value: v, .. }, Repr::Object { graph: b, value: w, .. }) => {
                Arc::ptr_eq(a, b) && v == w
            }
            _ => false,
        }
    }

    fn stream(&self) -> Result<Vec<u8>, String> {
        let mut writer = Writer::new();
        self.write(&mut writer)?;
        Ok(writer.into_bytes())
    }
}

/// Equal if Java's serialised forms are.
impl PartialEq for ForeignValue {
    fn eq(&self, other: &Self) -> bool {
        self.is_same(other)
            || match (&self.0, &other.0) {
                (Repr::Object { .. }, Repr::Object { .. }) => {
                    matches!((self.stream(), other.stream()), (Ok(a), Ok(b)) if a == b)
                }
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
            Repr::Object { class, .. } => write!(f, "<{class}>"),
        }
    }
}
