//! Building a graph of objects that is to be written, instead of reading one.

use super::*;

/// A field of a class. Java writes first the primitive fields by name, then the references by name.
#[derive(Clone, Copy)]
pub(crate) enum FieldSpec<'a> {
    /// The type code and the name.
    Primitive(u8, &'a str),
    /// The name and the type, such as `Ljava/lang/String;` or `[I`.
    Reference(&'a str, &'a str),
}

/// Part of an object that one class writes.
pub(crate) struct PartSpec {
    pub(crate) class: NodeId,
    pub(crate) fields: Vec<Value>,
    /// Contents that its own `writeObject` adds, if it has one.
    pub(crate) extra: Option<Vec<Content>>,
}

impl Graph {
    fn add(&mut self, node: Node) -> NodeId {
        self.nodes.push(node);
        // More nodes than fit would be refused when they are written: the last id leads nowhere.
        NodeId(u32::try_from(self.nodes.len() - 1).unwrap_or(u32::MAX))
    }

    /// A class, with the number by which Java knows this form of it.
    pub(crate) fn add_class(
        &mut self,
        name: &str,
        uid: u64,
        flags: u8,
        fields: &[FieldSpec<'_>],
        parent: Option<NodeId>,
    ) -> NodeId {
        let text = |text: &str| JavaText::Text(text.to_owned());
        let fields = fields.iter().map(|field| match *field {
            FieldSpec::Primitive(code, name) => Field { code, name: text(name), type_name: None },
            FieldSpec::Reference(name, type_name) => Field {
                code: if type_name.starts_with('[') { b'[' } else { b'L' },
                name: text(name),
                type_name: Some(self.add(Node::Text(text(type_name)))),
            },
        });
        let fields = fields.collect();
        let kind = ClassKind::Plain { name: text(name), uid: uid.cast_signed(), flags, fields };
        self.add(Node::ClassDesc(ClassDesc { kind, annotation: Vec::new(), parent }))
    }

    /// An object: what each of its classes writes, the top-most first.
    pub(crate) fn add_object(&mut self, class: NodeId, parts: Vec<PartSpec>) -> Value {
        let part = |PartSpec { class, fields, extra }| Part { class, fields, extra };
        Value::Node(self.add(Node::Object(Object { class, parts: parts.into_iter().map(part).collect() })))
    }

    /// A text.
    pub(crate) fn add_text(&mut self, text: &str) -> Value {
        Value::Node(self.add(Node::Text(JavaText::Text(text.to_owned()))))
    }

    /// An array of a primitive type, each element as its big-endian bytes.
    pub(crate) fn add_array<const N: usize>(
        &mut self,
        class: NodeId,
        elements: impl IntoIterator<Item = [u8; N]>,
    ) -> Value {
        let bytes = elements.into_iter().collect::<Vec<_>>().concat();
        let count = u32::try_from(bytes.len() / N.max(1)).unwrap_or(u32::MAX);
        Value::Node(self.add(Node::Array(Array { class, elements: Elements::Primitive { count, bytes } })))
    }
}
