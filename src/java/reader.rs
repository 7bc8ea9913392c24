//! Reads an object stream that may be damaged or hostile: lengths are checked against the bytes
//! that are left, references against the nodes read so far, and nesting against a limit.

use super::*;

type Parsed<T> = Result<T, String>;

impl Graph {
    /// Reads the first object of a stream; what may follow it is ignored, as Java does.
    pub(crate) fn read(bytes: &[u8]) -> Result<(Graph, Value), String> {
        read(bytes)
    }
}

fn read(bytes: &[u8]) -> Parsed<(Graph, Value)> {
    if bytes.len() > MAX_STREAM_BYTES {
        return Err(format!("the stream of {} bytes is longer than the limit of {MAX_STREAM_BYTES}", bytes.len()));
    }
    let mut reader = Reader { rest: bytes, length: bytes.len(), graph: Graph::default() };
    if reader.array()? != MAGIC {
        return Err("it does not begin as a Java object stream does; is useProperties set as it was when this was \
             stored?"
            .to_owned());
    }
    let root = reader.value(0)?;
    Ok((reader.graph, root))
}

struct Reader<'a> {
    rest: &'a [u8],
    length: usize,
    graph: Graph,
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Parsed<&'a [u8]> {
        match self.rest.split_at_checked(count) {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(taken)
            }
            None => Err(format!("the stream ends after {} bytes, within a value", self.length)),
        }
    }

    fn array<const N: usize>(&mut self) -> Parsed<[u8; N]> {
        self.take(N)?.try_into().map_err(|_| self.wrong("the stream ends here"))
    }

    fn u8(&mut self) -> Parsed<u8> {
        self.array().map(|[byte]| byte)
    }

    fn u16(&mut self) -> Parsed<u16> {
        self.array().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Parsed<u32> {
        self.array().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Parsed<u64> {
        self.array().map(u64::from_be_bytes)
    }

    /// `what`, with the place.
    fn wrong(&self, what: impl std::fmt::Display) -> String {
        format!("{what}, at byte {}", self.length.saturating_sub(self.rest.len()))
    }

    /// A text behind its length of 16 bits.
    fn name(&mut self) -> Parsed<JavaText> {
        let length = self.u16()?;
        JavaText::from_modified_utf8(self.take(usize::from(length))?)
    }

    fn long_name(&mut self) -> Parsed<JavaText> {
        let length = self.u64()?;
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        JavaText::from_modified_utf8(self.take(length)?)
    }

    /// Gives `node` the next handle.
    fn add(&mut self, node: Node) -> Parsed<NodeId> {
        let id = u32::try_from(self.graph.nodes.len()).map_err(|_| self.wrong("too many objects"))?;
        self.graph.nodes.push(node);
        Ok(NodeId(id))
    }

    /// Puts `node` where it got its handle.
    fn fill(&mut self, id: NodeId, node: Node) {
        if let Some(place) = usize::try_from(id.0).ok().and_then(|at| self.graph.nodes.get_mut(at)) {
            *place = node;
        }
    }

    fn reference(&mut self) -> Parsed<NodeId> {
        let handle = self.u32()?;
        let id = handle.checked_sub(BASE_HANDLE).map(NodeId);
        match id.and_then(|id| Some((id, self.graph.node(id)?))) {
            Some((_, Node::Pending)) => Err(self.wrong("a class refers to itself before it is complete")),
            Some((id, _)) => Ok(id),
            None => Err(self.wrong(format_args!("reference to handle {handle:#x}, which nothing has"))),
        }
    }

    fn value(&mut self, depth: usize) -> Parsed<Value> {
        let tag = self.u8()?;
        self.tagged(tag, depth)
    }

    fn tagged(&mut self, tag: u8, depth: usize) -> Parsed<Value> {
        if depth >= MAX_DEPTH {
            return Err(self.wrong(format_args!("objects lie more than {MAX_DEPTH} deep in each other")));
        }
        let id = match tag {
            tag::NULL => return Ok(Value::Null),
            tag::REFERENCE => self.reference()?,
            tag::STRING => {
                let text = self.name()?;
                self.add(Node::Text(text))?
            }
            tag::LONG_STRING => {
                let text = self.long_name()?;
                self.add(Node::Text(text))?
            }
            tag::OBJECT => self.object(depth)?,
            tag::ARRAY => self.array_object(depth)?,
            tag::ENUM => {
                let class = self.class_of("an enum", depth)?;
                let id = self.add(Node::Enum { class, constant: class })?;
                let constant = self.text_object(depth)?;
                self.fill(id, Node::Enum { class, constant });
                id
            }
            tag::CLASS => {
                let class = self.class_desc(depth + 1)?;
                self.add(Node::Class { class })?
            }
            tag::CLASS_DESC => self.plain_class(depth)?,
            tag::PROXY_CLASS_DESC => self.proxy_class(depth)?,
            _ => return Err(self.wrong(format_args!("unexpected type code {tag:#04x}"))),
        };
        Ok(Value::Node(id))
    }

    /// A text that stands where only a text may.
    fn text_object(&mut self, depth: usize) -> Parsed<NodeId> {
        match self.value(depth + 1)? {
            Value::Node(id) if matches!(self.graph.node(id), Some(Node::Text(_))) => Ok(id),
            _ => Err(self.wrong("expected a text")),
        }
    }

    /// A class descriptor, or none.
    fn class_desc(&mut self, depth: usize) -> Parsed<Option<NodeId>> {
        match self.value(depth)? {
            Value::Null => Ok(None),
            Value::Node(id) if self.graph.class(id).is_some() => Ok(Some(id)),
            _ => Err(self.wrong("expected a class descriptor")),
        }
    }

    fn class_of(&mut self, what: &str, depth: usize) -> Parsed<NodeId> {
        self.class_desc(depth + 1)?.ok_or_else(|| self.wrong(format_args!("{what} without a class")))
    }

    fn plain_class(&mut self, depth: usize) -> Parsed<NodeId> {
        let name = self.name()?;
        let uid = i64::from_be_bytes(self.array()?);
        let id = self.add(Node::Pending)?;
        let flags = self.u8()?;
        let mut fields = Vec::new();
        for _ in 0..self.u16()? {
            let code = self.u8()?;
            let name = self.name()?;
            let type_name = match code {
                b'B' | b'C' | b'D' | b'F' | b'I' | b'J' | b'S' | b'Z' => None,
                b'L' | b'[' => Some(self.text_object(depth)?),
                _ => return Err(self.wrong(format_args!("unknown field type {code:#04x}"))),
            };
            fields.push(Field { code, name, type_name });
        }
        self.finish_class(id, ClassKind::Plain { name, uid, flags, fields }, depth)
    }

    fn proxy_class(&mut self, depth: usize) -> Parsed<NodeId> {
        let id = self.add(Node::Pending)?;
        let mut interfaces = Vec::new();
        for _ in 0..self.u32()? {
            interfaces.push(self.name()?);
        }
        self.finish_class(id, ClassKind::Proxy { interfaces }, depth)
    }

    fn finish_class(&mut self, id: NodeId, kind: ClassKind, depth: usize) -> Parsed<NodeId> {
        let annotation = self.contents(depth)?;
        let parent = self.class_desc(depth + 1)?;
        if parent.is_some_and(|parent| self.graph.lineage(parent).count() >= MAX_SUPER_CLASSES) {
            return Err(self.wrong(format_args!("a class has more than {MAX_SUPER_CLASSES} super classes")));
        }
        self.fill(id, Node::ClassDesc(ClassDesc { kind, annotation, parent }));
        Ok(id)
    }

    /// Blocks and objects up to the end mark.
    fn contents(&mut self, depth: usize) -> Parsed<Vec<Content>> {
        let mut contents = Vec::new();
        loop {
            let content = match self.u8()? {
                tag::END_BLOCK => return Ok(contents),
                tag::BLOCK => {
                    let length = self.u8()?;
                    Content::Block(self.take(usize::from(length))?.to_vec())
                }
                tag::LONG_BLOCK => {
                    let length = usize::try_from(self.u32()?).unwrap_or(usize::MAX);
                    Content::Block(self.take(length)?.to_vec())
                }
                tag => Content::Value(self.tagged(tag, depth + 1)?),
            };
            contents.push(content);
        }
    }

    fn object(&mut self, depth: usize) -> Parsed<NodeId> {
        let class = self.class_of("an object", depth)?;
        let id = self.add(Node::Object(Object { class, parts: Vec::new() }))?;
        let mut lineage: Vec<NodeId> = self.graph.lineage(class).map(|(id, _)| id).collect();
        let externalizable = self.flags(class) & flag::EXTERNALIZABLE != 0;
        if externalizable {
            lineage.truncate(1);
        }
        let mut parts = Vec::new();
        for class in lineage.into_iter().rev() {
            let flags = self.flags(class);
            let (fields, extra) = if externalizable {
                if flags & flag::BLOCK_DATA == 0 {
                    let name = self.graph.class_name(class);
                    return Err(self.wrong(format_args!("class {name} is stored in an outdated form without length")));
                }
                (Vec::new(), Some(self.contents(depth)?))
            } else {
                let fields = self.fields(class, depth)?;
                let own = flags & (flag::WRITE_METHOD | flag::SERIALIZABLE) == flag::WRITE_METHOD | flag::SERIALIZABLE;
                (fields, if own { Some(self.contents(depth)?) } else { None })
            };
            if !fields.is_empty() || extra.is_some() {
                parts.push(Part { class, fields, extra });
            }
        }
        self.fill(id, Node::Object(Object { class, parts }));
        Ok(id)
    }

    fn flags(&self, class: NodeId) -> u8 {
        match self.graph.class(class).map(|class| &class.kind) {
            Some(ClassKind::Plain { flags, .. }) => *flags,
            _ => flag::SERIALIZABLE,
        }
    }

    fn fields(&mut self, class: NodeId, depth: usize) -> Parsed<Vec<Value>> {
        let codes: Vec<u8> = match self.graph.class(class).map(|class| &class.kind) {
            Some(ClassKind::Plain { fields, .. }) => fields.iter().map(|field| field.code).collect(),
            _ => Vec::new(),
        };
        codes.into_iter().map(|code| self.field(code, depth)).collect()
    }

    fn field(&mut self, code: u8, depth: usize) -> Parsed<Value> {
        Ok(match code {
            b'Z' => Value::Bool(self.u8()? != 0),
            b'B' => Value::Byte(self.u8()?),
            b'C' => Value::Char(self.u16()?),
            b'S' => Value::Short(i16::from_be_bytes(self.array()?)),
            b'I' => Value::Int(i32::from_be_bytes(self.array()?)),
            b'J' => Value::Long(i64::from_be_bytes(self.array()?)),
            b'F' => Value::Float(self.u32()?),
            b'D' => Value::Double(self.u64()?),
            _ => self.value(depth + 1)?,
        })
    }

    fn array_object(&mut self, depth: usize) -> Parsed<NodeId> {
        let class = self.class_of("an array", depth)?;
        let width = match self.graph.class_name(class).as_bytes() {
            [b'[', b'B' | b'Z'] => Some(1),
            [b'[', b'C' | b'S'] => Some(2),
            [b'[', b'F' | b'I'] => Some(4),
            [b'[', b'D' | b'J'] => Some(8),
            [b'[', b'L' | b'[', ..] => None,
            _ => return Err(self.wrong(format_args!("{} is no array", self.graph.class_name(class)))),
        };
        let id = self.add(Node::Array(Array { class, elements: Elements::References(Vec::new()) }))?;
        let count = self.u32()?;
        let elements = match width {
            Some(width) => {
                let length = usize::try_from(count).ok().and_then(|count| count.checked_mul(width));
                Elements::Primitive { count, bytes: self.take(length.unwrap_or(usize::MAX))?.to_vec() }
            }
            None => Elements::References((0..count).map(|_| self.value(depth + 1)).collect::<Parsed<_>>()?),
        };
        self.fill(id, Node::Array(Array { class, elements }));
        Ok(id)
    }
}
