//! `Boxed`: the values that Java wraps into objects, such as `java.lang.Integer`.

use std::sync::{Arc, LazyLock};

use super::*;

/// A number, a character or a truth value as an object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Boxed {
    Bool(bool),
    Char(u16),
    Int(i32),
    Long(i64),
    Float(f32),
    Double(f64),
}

/// The classes of the boxes, in a graph of their own.
struct Boxes {
    graph: Arc<Graph>,
    boolean: NodeId,
    character: NodeId,
    integer: NodeId,
    long: NodeId,
    float: NodeId,
    double: NodeId,
}

static BOXES: LazyLock<Boxes> = LazyLock::new(|| {
    let mut graph = Graph::default();
    let number = graph.add_class("java.lang.Number", 0x86AC_951D_0B94_E08B, flag::SERIALIZABLE, &[], None);
    let mut add = |name, uid, code, parent| {
        graph.add_class(name, uid, flag::SERIALIZABLE, &[FieldSpec::Primitive(code, "value")], parent)
    };
    let boolean = add("java.lang.Boolean", 0xCD20_7280_D59C_FAEE, b'Z', None);
    let character = add("java.lang.Character", 0x348B_47D9_6B1A_2678, b'C', None);
    let integer = add("java.lang.Integer", 0x12E2_A0A4_F781_8738, b'I', Some(number));
    let long = add("java.lang.Long", 0x3B8B_E490_CC8F_23DF, b'J', Some(number));
    let float = add("java.lang.Float", 0xDAED_C9A2_DB3C_F0EC, b'F', Some(number));
    let double = add("java.lang.Double", 0x80B3_C24A_296B_FB04, b'D', Some(number));
    Boxes { boolean, character, integer, long, float, double, graph: Arc::new(graph) }
});

impl Boxed {
    /// The content of one of Java's boxes, if it is of a type known here.
    pub(crate) fn read(graph: &Graph, value: Value) -> Option<Self> {
        let class = graph.class_name_of(value);
        let content = graph.field(graph.object(value)?, class, "value")?;
        Some(match (class, content) {
            ("java.lang.Boolean", Value::Bool(v)) => Self::Bool(v),
            ("java.lang.Character", Value::Char(v)) => Self::Char(v),
            ("java.lang.Integer", Value::Int(v)) => Self::Int(v),
            ("java.lang.Long", Value::Long(v)) => Self::Long(v),
            ("java.lang.Float", Value::Float(v)) => Self::Float(f32::from_bits(v)),
            ("java.lang.Double", Value::Double(v)) => Self::Double(f64::from_bits(v)),
            _ => return None,
        })
    }

    /// The number of a value that Java's `valueOf` takes from a cache, so that every use of the
    /// value is one object.
    pub(super) fn constant(self) -> Option<i64> {
        match self {
            Self::Bool(v) => Some(i64::from(v)),
            Self::Char(v) => Some(i64::from(v)),
            Self::Int(v) => Some(i64::from(v)),
            Self::Long(v) => Some(v),
            Self::Float(_) | Self::Double(_) => None,
        }
        .filter(|v| (-128..=127).contains(v))
    }
}

impl Writer {
    /// A boxed value; one that Java holds once for all is written once.
    pub(crate) fn boxed(&mut self, value: Boxed) -> Result<(), String> {
        let boxes = &*BOXES;
        let (class, bytes) = match value {
            Boxed::Bool(v) => (boxes.boolean, vec![u8::from(v)]),
            Boxed::Char(v) => (boxes.character, v.to_be_bytes().to_vec()),
            Boxed::Int(v) => (boxes.integer, v.to_be_bytes().to_vec()),
            Boxed::Long(v) => (boxes.long, v.to_be_bytes().to_vec()),
            Boxed::Float(v) => (boxes.float, v.to_be_bytes().to_vec()),
            Boxed::Double(v) => (boxes.double, v.to_be_bytes().to_vec()),
        };
        let key = value.constant().map(|constant| (class, constant));
        if let Some(handle) = key.and_then(|key| self.boxed.get(&key).copied()) {
            self.reference(handle);
            return Ok(());
        }
        let handle = self.begin_object(&boxes.graph, class)?;
        if let Some(key) = key {
            self.boxed.insert(key, handle);
        }
        self.put(bytes);
        Ok(())
    }
}
