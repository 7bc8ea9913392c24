//! Writes an object stream: parts of graphs that were read, and values of our own.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::*;

/// Begins with the same parts of a graph as the reader did, so it meets at most twice its depth.
const MAX_DEPTH_WRITTEN: usize = 2 * MAX_DEPTH;
/// Class descriptors longer than this are not compared with those of other graphs.
const MAX_SIGNATURE_BYTES: usize = 1 << 14;

/// A stream being written.
///
/// Equal texts and equal class descriptors are written once and referred to after that, as Java
/// does with constants and classes. Other objects are written once only if they were one object in
/// the stream they come from.
pub(crate) struct Writer {
    out: Vec<u8>,
    handles: u32,
    /// By the address of the graph, which the values being written keep alive.
    nodes: HashMap<(usize, NodeId), u32>,
    classes: HashMap<Vec<u8>, u32>,
    /// The handles of class descriptors that are not written to their end: nobody could read a
    /// reference to one.
    open_classes: HashSet<u32>,
    texts: HashMap<JavaText, u32>,
    /// Boxed values that Java holds once for all.
    pub(super) boxed: HashMap<(NodeId, i64), u32>,
    depth: usize,
}

impl Writer {
    pub(crate) fn new() -> Self {
        Self {
            out: MAGIC.to_vec(),
            handles: 0,
            nodes: HashMap::new(),
            classes: HashMap::new(),
            open_classes: HashSet::new(),
            texts: HashMap::new(),
            boxed: HashMap::new(),
            depth: 0,
        }
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.out
    }

    pub(crate) fn put(&mut self, bytes: impl AsRef<[u8]>) {
        self.out.extend_from_slice(bytes.as_ref());
    }

    fn next_handle(&mut self) -> u32 {
        let handle = BASE_HANDLE.wrapping_add(self.handles);
        self.handles = self.handles.wrapping_add(1);
        handle
    }

    pub(super) fn reference(&mut self, handle: u32) {
        self.put([tag::REFERENCE]);
        self.put(handle.to_be_bytes());
    }

    /// Begins a new object of a class of `graph`; its fields come next.
    pub(crate) fn begin_object(&mut self, graph: &Arc<Graph>, class: NodeId) -> Result<u32, String> {
        self.put([tag::OBJECT]);
        self.value(graph, Value::Node(class))?;
        Ok(self.next_handle())
    }

    /// A text as an object.
    pub(crate) fn text(&mut self, text: &JavaText) -> Result<(), String> {
        if let Some(handle) = self.texts.get(text) {
            let handle = *handle;
            self.reference(handle);
            return Ok(());
        }
        let handle = self.next_handle();
        self.texts.insert(text.clone(), handle);
        let bytes = text.to_modified_utf8();
        match u16::try_from(bytes.len()) {
            Ok(length) => {
                self.put([tag::STRING]);
                self.put(length.to_be_bytes());
            }
            Err(_) => {
                self.put([tag::LONG_STRING]);
                self.put((bytes.len() as u64).to_be_bytes());
            }
        }
        self.put(bytes);
        Ok(())
    }

    /// A text behind its length, without a handle.
    fn name(&mut self, text: &JavaText) -> Result<(), String> {
        let bytes = text.to_modified_utf8();
        let length = u16::try_from(bytes.len()).map_err(|_| "a name is too long for a Java stream".to_owned())?;
        self.put(length.to_be_bytes());
        self.put(bytes);
        Ok(())
    }

    /// A value of `graph` with all that it points to.
    pub(crate) fn value(&mut self, graph: &Arc<Graph>, value: Value) -> Result<(), String> {
        match value {
            Value::Null => self.put([tag::NULL]),
            Value::Bool(v) => self.put([u8::from(v)]),
            Value::Byte(v) => self.put([v]),
            Value::Char(v) => self.put(v.to_be_bytes()),
            Value::Short(v) => self.put(v.to_be_bytes()),
            Value::Int(v) => self.put(v.to_be_bytes()),
            Value::Long(v) => self.put(v.to_be_bytes()),
            Value::Float(v) => self.put(v.to_be_bytes()),
            Value::Double(v) => self.put(v.to_be_bytes()),
            Value::Node(id) => {
                if self.depth >= MAX_DEPTH_WRITTEN {
                    return Err(format!("objects lie more than {MAX_DEPTH_WRITTEN} deep in each other"));
                }
                self.depth += 1;
                let done = self.node(graph, id);
                self.depth -= 1;
                return done;
            }
        }
        Ok(())
    }

    fn node(&mut self, graph: &Arc<Graph>, id: NodeId) -> Result<(), String> {
        let place = (Arc::as_ptr(graph) as usize, id);
        if let Some(handle) = self.nodes.get(&place).copied() {
            if self.open_classes.contains(&handle) {
                return Err("a class has an object of its own among its annotations".to_owned());
            }
            self.reference(handle);
            return Ok(());
        }
        if let Some(value) = Boxed::read(graph, Value::Node(id)).filter(|value| value.constant().is_some()) {
            return self.boxed(value);
        }
        match graph.node(id) {
            Some(Node::Text(text)) => self.text(text)?,
            Some(Node::ClassDesc(class)) => self.class_desc(graph, place, class)?,
            Some(Node::Object(object)) => {
                let handle = self.begin_object(graph, object.class)?;
                self.nodes.insert(place, handle);
                for part in &object.parts {
                    for field in &part.fields {
                        self.value(graph, *field)?;
                    }
                    if let Some(extra) = &part.extra {
                        self.contents(graph, extra)?;
                    }
                }
            }
            Some(Node::Array(array)) => {
                self.put([tag::ARRAY]);
                self.value(graph, Value::Node(array.class))?;
                let handle = self.next_handle();
                self.nodes.insert(place, handle);
                match &array.elements {
                    Elements::Primitive { count, bytes } => {
                        self.put(count.to_be_bytes());
                        self.put(bytes);
                    }
                    Elements::References(values) => {
                        let count = u32::try_from(values.len()).map_err(|_| "an array is too long".to_owned())?;
                        self.put(count.to_be_bytes());
                        for value in values {
                            self.value(graph, *value)?;
                        }
                    }
                }
            }
            Some(Node::Enum { class, constant }) => {
                self.put([tag::ENUM]);
                self.value(graph, Value::Node(*class))?;
                let handle = self.next_handle();
                self.nodes.insert(place, handle);
                self.value(graph, Value::Node(*constant))?;
            }
            Some(Node::Class { class }) => {
                self.put([tag::CLASS]);
                self.value(graph, class.map_or(Value::Null, Value::Node))?;
                let handle = self.next_handle();
                self.nodes.insert(place, handle);
            }
            Some(Node::Pending) | None => return Err("an object of the stream is missing".to_owned()),
        }
        Ok(())
    }

    fn class_desc(&mut self, graph: &Arc<Graph>, place: (usize, NodeId), class: &ClassDesc) -> Result<(), String> {
        let signature = signature(graph, place.1);
        if let Some(handle) = signature.as_ref().and_then(|signature| self.classes.get(signature).copied()) {
            self.nodes.insert(place, handle);
            self.reference(handle);
            return Ok(());
        }
        let handle;
        match &class.kind {
            ClassKind::Plain { name, uid, flags, fields } => {
                self.put([tag::CLASS_DESC]);
                self.name(name)?;
                self.put(uid.to_be_bytes());
                handle = self.next_handle();
                self.put([*flags]);
                let count = u16::try_from(fields.len()).map_err(|_| "a class has too many fields".to_owned())?;
                self.put(count.to_be_bytes());
                for field in fields {
                    self.put([field.code]);
                    self.name(&field.name)?;
                    if let Some(type_name) = field.type_name {
                        self.value(graph, Value::Node(type_name))?;
                    }
                }
            }
            ClassKind::Proxy { interfaces } => {
                self.put([tag::PROXY_CLASS_DESC]);
                handle = self.next_handle();
                let count = u32::try_from(interfaces.len()).map_err(|_| "a class is too large".to_owned())?;
                self.put(count.to_be_bytes());
                for interface in interfaces {
                    self.name(interface)?;
                }
            }
        }
        self.nodes.insert(place, handle);
        if let Some(signature) = signature {
            self.classes.insert(signature, handle);
        }
        self.open_classes.insert(handle);
        self.contents(graph, &class.annotation)?;
        self.value(graph, class.parent.map_or(Value::Null, Value::Node))?;
        self.open_classes.remove(&handle);
        Ok(())
    }

    fn contents(&mut self, graph: &Arc<Graph>, contents: &[Content]) -> Result<(), String> {
        for content in contents {
            match content {
                Content::Value(value) => self.value(graph, *value)?,
                Content::Block(bytes) => {
                    match (u8::try_from(bytes.len()), u32::try_from(bytes.len())) {
                        (Ok(length), _) => self.put([tag::BLOCK, length]),
                        (_, Ok(length)) => {
                            self.put([tag::LONG_BLOCK]);
                            self.put(length.to_be_bytes());
                        }
                        _ => return Err("a block of data is too long".to_owned()),
                    }
                    self.put(bytes);
                }
            }
        }
        self.put([tag::END_BLOCK]);
        Ok(())
    }
}

/// The key of a descriptor: equal for two descriptors exactly if both say the same of the class and
/// its super classes. Descriptors that cannot be compared, since they hold objects or are very
/// long, have none.
fn signature(graph: &Graph, class: NodeId) -> Option<Vec<u8>> {
    let mut signature = Vec::new();
    let add = |signature: &mut Vec<u8>, text: &JavaText| {
        let bytes = text.to_modified_utf8();
        signature.extend((bytes.len() as u64).to_be_bytes());
        signature.extend(bytes);
        (signature.len() <= MAX_SIGNATURE_BYTES).then_some(())
    };
    for (_, class) in graph.lineage(class) {
        if !class.annotation.is_empty() {
            return None;
        }
        match &class.kind {
            ClassKind::Plain { name, uid, flags, fields } => {
                add(&mut signature, name)?;
                signature.extend(uid.to_be_bytes());
                signature.push(*flags);
                signature.extend((fields.len() as u64).to_be_bytes());
                for field in fields {
                    signature.push(field.code);
                    add(&mut signature, &field.name)?;
                    if let Some(type_name) = field.type_name {
                        add(&mut signature, graph.text(Value::Node(type_name))?)?;
                    }
                }
            }
            ClassKind::Proxy { .. } => return None,
        }
    }
    Some(signature)
}
