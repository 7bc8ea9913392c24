//! `ForeignObject`: an object of a stream that was read, for which Rust has no type.

use std::sync::Arc;

use crate::java::{Graph, Value, Writer};

/// An object, with the graph of the stream that it was read from.
#[derive(Clone)]
pub(in crate::data_map) struct ForeignObject {
    class: String,
    graph: Arc<Graph>,
    value: Value,
}

impl ForeignObject {
    pub(super) fn new(graph: &Arc<Graph>, value: Value) -> Self {
        Self { class: graph.class_name_of(value).to_owned(), graph: Arc::clone(graph), value }
    }

    pub(in crate::data_map) fn class_name(&self) -> &str {
        &self.class
    }

    /// Says if both are one object of one stream.
    pub(in crate::data_map) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.graph, &other.graph) && self.value == other.value
    }

    pub(super) fn write(&self, writer: &mut Writer) -> Result<(), String> {
        writer.value(&self.graph, self.value)
    }

    fn stream(&self) -> Result<Vec<u8>, String> {
        let mut writer = Writer::new();
        self.write(&mut writer)?;
        Ok(writer.into_bytes())
    }
}

/// Objects are equal if their serialised forms are.
impl PartialEq for ForeignObject {
    fn eq(&self, other: &Self) -> bool {
        self.is_same(other) || matches!((self.stream(), other.stream()), (Ok(a), Ok(b)) if a == b)
    }
}
