//! Java's object streams (`java.io.ObjectOutputStream`), read into a graph that can be searched and
//! written back.
//!
//! The graph keeps everything a stream says, also about unknown classes, so that a part of the
//! graph can be put into another stream. A node is one thing with a handle in the stream. The index
//! of a node is its handle, less the base.

mod boxed;
mod build;
mod modified_utf8;
mod reader;
mod writer;

pub(crate) use boxed::Boxed;
pub(crate) use build::{FieldSpec, PartSpec};
pub(crate) use writer::Writer;

use crate::java_text::{JavaText, MAGIC, MAX_STREAM_BYTES};

/// The depth to which objects may lie in each other when read. Written objects may lie deeper,
/// since other parts come first.
const MAX_DEPTH: usize = 64;
/// Most super classes that a class may have.
const MAX_SUPER_CLASSES: usize = 64;

pub(crate) const BASE_HANDLE: u32 = 0x7E_0000;

/// The type codes of a stream.
pub(crate) mod tag {
    pub(crate) const NULL: u8 = 0x70;
    pub(crate) const REFERENCE: u8 = 0x71;
    pub(crate) const CLASS_DESC: u8 = 0x72;
    pub(crate) const OBJECT: u8 = 0x73;
    pub(crate) const STRING: u8 = 0x74;
    pub(crate) const ARRAY: u8 = 0x75;
    pub(crate) const CLASS: u8 = 0x76;
    pub(crate) const BLOCK: u8 = 0x77;
    pub(crate) const END_BLOCK: u8 = 0x78;
    pub(crate) const LONG_BLOCK: u8 = 0x7A;
    pub(crate) const LONG_STRING: u8 = 0x7C;
    pub(crate) const PROXY_CLASS_DESC: u8 = 0x7D;
    pub(crate) const ENUM: u8 = 0x7E;
}

/// The flags of a class descriptor.
pub(crate) mod flag {
    pub(crate) const WRITE_METHOD: u8 = 1;
    pub(crate) const SERIALIZABLE: u8 = 2;
    pub(crate) const EXTERNALIZABLE: u8 = 4;
    pub(crate) const BLOCK_DATA: u8 = 8;
}

/// The place of a node in its [`Graph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct NodeId(u32);

/// The content of a field, of an array's element or of the root.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Node(NodeId),
    Bool(bool),
    Byte(u8),
    Char(u16),
    Short(i16),
    Int(i32),
    Long(i64),
    /// The bits, so that every NaN stays what it is.
    Float(u32),
    Double(u64),
}

#[derive(Debug)]
enum Node {
    /// A class descriptor of which the beginning has been read.
    Pending,
    Text(JavaText),
    ClassDesc(ClassDesc),
    Object(Object),
    Array(Array),
    Enum {
        class: NodeId,
        constant: NodeId,
    },
    /// A `java.lang.Class`.
    Class {
        class: Option<NodeId>,
    },
}

#[derive(Debug)]
struct ClassDesc {
    kind: ClassKind,
    annotation: Vec<Content>,
    parent: Option<NodeId>,
}

#[derive(Debug)]
enum ClassKind {
    Plain { name: JavaText, uid: i64, flags: u8, fields: Vec<Field> },
    Proxy { interfaces: Vec<JavaText> },
}

#[derive(Debug)]
struct Field {
    /// `B C D F I J S Z`, or `L` and `[` for references.
    code: u8,
    name: JavaText,
    /// The type of a reference, a text such as `Ljava/util/Map;`.
    type_name: Option<NodeId>,
}

/// An object: the part that each of its classes wrote, the top-most first. Classes that wrote
/// nothing have no part.
#[derive(Debug)]
pub(crate) struct Object {
    class: NodeId,
    parts: Vec<Part>,
}

#[derive(Debug)]
struct Part {
    class: NodeId,
    fields: Vec<Value>,
    /// Contents that the class's `writeObject` added.
    extra: Option<Vec<Content>>,
}

/// A piece of what a class wrote by its own method.
#[derive(Debug)]
pub(crate) enum Content {
    Block(Vec<u8>),
    Value(Value),
}

#[derive(Debug)]
struct Array {
    class: NodeId,
    elements: Elements,
}

#[derive(Debug)]
enum Elements {
    /// Of a primitive type: as in the stream.
    Primitive {
        count: u32,
        bytes: Vec<u8>,
    },
    References(Vec<Value>),
}

/// Everything that got a handle in one stream.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    nodes: Vec<Node>,
}

impl Graph {
    fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(usize::try_from(id.0).ok()?)
    }

    fn class(&self, id: NodeId) -> Option<&ClassDesc> {
        match self.node(id)? {
            Node::ClassDesc(class) => Some(class),
            _ => None,
        }
    }

    /// The class and its super classes, at most [`MAX_SUPER_CLASSES`] of them, the concrete one
    /// first.
    fn lineage(&self, class: NodeId) -> impl Iterator<Item = (NodeId, &ClassDesc)> {
        let with_id = |id: NodeId| self.class(id).map(|class| (id, class));
        std::iter::successors(with_id(class), move |(_, class)| class.parent.and_then(with_id)).take(MAX_SUPER_CLASSES)
    }

    fn class_name(&self, id: NodeId) -> &str {
        match self.class(id).map(|class| &class.kind) {
            Some(ClassKind::Plain { name, .. }) => name.as_str().unwrap_or("?"),
            Some(ClassKind::Proxy { .. }) => "java.lang.reflect.Proxy",
            None => "?",
        }
    }

    /// The object that `value` points to.
    pub(crate) fn object(&self, value: Value) -> Option<&Object> {
        match value {
            Value::Node(id) => match self.node(id)? {
                Node::Object(object) => Some(object),
                _ => None,
            },
            _ => None,
        }
    }

    /// The text that `value` points to.
    pub(crate) fn text(&self, value: Value) -> Option<&JavaText> {
        match value {
            Value::Node(id) => match self.node(id)? {
                Node::Text(text) => Some(text),
                _ => None,
            },
            _ => None,
        }
    }

    /// The bytes of an array of a primitive type that `value` points to.
    pub(crate) fn bytes(&self, value: Value) -> Option<&[u8]> {
        match value {
            Value::Node(id) => match self.node(id)? {
                Node::Array(Array { elements: Elements::Primitive { bytes, .. }, .. }) => Some(bytes),
                _ => None,
            },
            _ => None,
        }
    }

    /// The name of the class of what `value` points to.
    pub(crate) fn class_name_of(&self, value: Value) -> &str {
        let Value::Node(id) = value else { return "null" };
        match self.node(id) {
            Some(Node::Text(_)) => "java.lang.String",
            Some(Node::Object(Object { class, .. }) | Node::Array(Array { class, .. }) | Node::Enum { class, .. }) => {
                self.class_name(*class)
            }
            Some(Node::Class { .. }) => "java.lang.Class",
            Some(Node::ClassDesc(_)) => "java.io.ObjectStreamClass",
            Some(Node::Pending) | None => "?",
        }
    }

    /// The field `name` that `class` declares, in `object`.
    pub(crate) fn field(&self, object: &Object, class: &str, name: &str) -> Option<Value> {
        let part = object.parts.iter().find(|part| self.class_name(part.class) == class)?;
        let ClassKind::Plain { fields, .. } = &self.class(part.class)?.kind else { return None };
        let at = fields.iter().position(|field| field.name.as_str() == Some(name))?;
        part.fields.get(at).copied()
    }

    /// Contents that `class` added to `object` by its own `writeObject`.
    pub(crate) fn extra<'a>(&self, object: &'a Object, class: &str) -> Option<&'a [Content]> {
        object.parts.iter().find(|part| self.class_name(part.class) == class)?.extra.as_deref()
    }
}
