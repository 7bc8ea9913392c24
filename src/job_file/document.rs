//! The document: a bounded tree of elements with their lines, read from bytes that nobody vouches
//! for.
//!
//! A document type is refused, as Quartz does, so that there is no entity to expand and nothing to
//! fetch.

use super::problem::JobFileError;
use quick_xml::NsReader;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::name::{Namespace, ResolveResult};
use std::borrow::Cow;

/// Largest file that is read, in bytes.
pub(super) const FILE_LIMIT: usize = 16 * 1024 * 1024;

/// Deepest nesting; the format has seven.
const MOST_DEPTH: usize = 32;

/// Most attributes of an element; the format has three.
const MOST_ATTRIBUTES: usize = 32;

/// The namespace of job files, of version 1.8 and of version 2.0.
pub(super) const NAMESPACE: &str = "http://www.quartz-scheduler.org/xml/JobSchedulingData";

/// An element with what stands in it.
#[derive(Debug, Default)]
pub(super) struct Element {
    /// The name without a prefix.
    pub name: String,
    pub line: usize,
    /// True if the element is in the namespace of job files.
    pub is_ours: bool,
    /// The names of its attributes, without those that are XML's own.
    pub attributes: Vec<String>,
    /// The texts between its children, in one.
    pub text: String,
    pub children: Vec<Element>,
}

impl Element {
    /// The text without blanks at both ends, as Java cuts them.
    pub fn trimmed(&self) -> &str {
        self.text.trim_matches(|c| c <= ' ')
    }
}

/// Reads the one element of a document.
pub(super) fn read(file: &str, bytes: &[u8]) -> Result<Element, JobFileError> {
    let text = decoded(bytes).map_err(|(line, why)| JobFileError::of_file(file, why).at(line))?;
    let mut parser = Parser { file, text: &text, counted: 0, line: 1 };
    parser.document()
}

struct Parser<'a> {
    file: &'a str,
    text: &'a str,
    /// Up to here lines are counted.
    counted: usize,
    line: usize,
}

impl Parser<'_> {
    fn document(&mut self) -> Result<Element, JobFileError> {
        let mut reader = NsReader::from_str(self.text);
        reader.config_mut().expand_empty_elements = true;
        let mut open: Vec<Element> = Vec::new();
        let mut root = None;
        loop {
            let line = self.line_at(reader.buffer_position());
            let event = reader.read_event().map_err(|why| {
                let line = self.line_at(reader.error_position());
                JobFileError::of_file(self.file, format!("not well-formed XML: {why}")).at(line)
            })?;
            let refuse = |why: &str| Err(JobFileError::of_file(self.file, why).at(line));
            match event {
                Event::Start(start) => {
                    if root.is_some() {
                        return refuse("expected the end of the file after the one element of the document");
                    }
                    if open.len() >= MOST_DEPTH {
                        return refuse("elements are nested too deeply");
                    }
                    let is_ours = matches!(reader.resolver().resolve_element(start.name()).0,
                        ResolveResult::Bound(Namespace(name)) if name == NAMESPACE);
                    open.push(self.begun(&start, line, is_ours)?);
                }
                Event::End(_) => match (open.pop(), open.last_mut()) {
                    (Some(element), Some(parent)) => parent.children.push(element),
                    (element, _) => root = element,
                },
                Event::Text(text) => match open.last_mut() {
                    Some(element) => element.text.push_str(&text.xml10_content()),
                    None if text.trim_matches('\u{feff}').trim().is_empty() => {}
                    None if root.is_none() => return refuse("this is no XML, which begins with `<`"),
                    None => return refuse("expected nothing but the one element of the document"),
                },
                Event::CData(text) => match open.last_mut() {
                    Some(element) => element.text.push_str(&text.xml10_content()),
                    None => return refuse("expected nothing but the one element of the document"),
                },
                Event::GeneralRef(reference) => match (open.last_mut(), character(&reference)) {
                    (Some(element), Some(c)) => element.text.push(c),
                    _ => return refuse(&unknown_reference(&reference)),
                },
                Event::DocType(_) => {
                    return refuse("a DOCTYPE is not allowed (nor is it by Quartz): delete it and write values out");
                }
                Event::Decl(_) | Event::Comment(_) | Event::PI(_) | Event::Empty(_) => {}
                Event::Eof => break,
            }
        }
        if let Some(element) = open.last() {
            let why = "the file ends before the end of this element";
            return Err(JobFileError::new(self.file, element.line, &element.name, why));
        }
        root.ok_or_else(|| JobFileError::of_file(self.file, "expected an element <job-scheduling-data>"))
    }

    fn begun(&self, start: &BytesStart<'_>, line: usize, is_ours: bool) -> Result<Element, JobFileError> {
        let name = start.local_name().as_ref().to_owned();
        let mut attributes = Vec::new();
        for attribute in start.attributes() {
            let attribute = attribute
                .map_err(|why| JobFileError::new(self.file, line, &name, format!("not well-formed XML: {why}")))?;
            let written: &str = attribute.key.as_ref();
            // Namespaces, and hints such as xsi:schemaLocation.
            if written != "xmlns" && !written.contains(':') {
                attributes.push(written.to_owned());
            }
            if attributes.len() > MOST_ATTRIBUTES {
                return Err(JobFileError::new(self.file, line, &name, "too many attributes"));
            }
        }
        Ok(Element { name, line, is_ours, attributes, ..Element::default() })
    }

    /// The line of a place in the file; places are asked for in ascending order, but for errors.
    fn line_at(&mut self, position: u64) -> usize {
        let position = usize::try_from(position).unwrap_or(usize::MAX);
        if position < self.counted {
            let passed = self.text.get(..position).unwrap_or_default();
            return passed.matches('\n').count() + 1;
        }
        let passed = self.text.get(self.counted..position).unwrap_or_default();
        self.line += passed.matches('\n').count();
        self.counted = position;
        self.line
    }
}

/// The character of a reference: one of the five that XML names, or a character by its number.
fn character(reference: &BytesRef<'_>) -> Option<char> {
    let named: &str = reference;
    match named {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "apos" => Some('\''),
        "quot" => Some('"'),
        _ => reference.resolve_char_ref().ok().flatten().filter(|c| is_xml_character(*c)),
    }
}

fn unknown_reference(reference: &BytesRef<'_>) -> String {
    let name: &str = reference;
    let name = crate::error::shorten(&name.escape_default().to_string(), 40);
    format!("`&{name};` stands for nothing here: expected &lt; &gt; &amp; &apos; &quot; or a character such as &#233;")
}

fn is_xml_character(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{fffd}' | '\u{10000}'..)
}

/// The bytes as text, by their byte order mark or by what the XML declaration says.
fn decoded(bytes: &[u8]) -> Result<Cow<'_, str>, (usize, String)> {
    if bytes.len() > FILE_LIMIT {
        return Err((1, format!("larger than {FILE_LIMIT} bytes")));
    }
    let utf16 = |rest: &[u8], unit: fn([u8; 2]) -> u16| {
        let units = rest.chunks(2).map(|pair| <[u8; 2]>::try_from(pair).map_or(0xdc00, unit));
        char::decode_utf16(units).collect::<Result<String, _>>().map(Cow::Owned).map_err(|_| not_in("UTF-16"))
    };
    let text = match bytes {
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes)?,
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes)?,
        [0xef, 0xbb, 0xbf, rest @ ..] => utf8(rest)?,
        bytes => match declared(bytes).as_deref() {
            None | Some("UTF-8" | "US-ASCII" | "ASCII") => utf8(bytes)?,
            Some("ISO-8859-1" | "LATIN1") => bytes.iter().map(|byte| char::from(*byte)).collect(),
            Some(other) => {
                let other = crate::error::shorten(&other.escape_default().to_string(), 40);
                return Err((1, format!("encoding \"{other}\": expected UTF-8, UTF-16, US-ASCII or ISO-8859-1")));
            }
        },
    };
    match text.find(|c| !is_xml_character(c)) {
        Some(at) => {
            let before = text.get(..at).unwrap_or_default();
            Err((before.matches('\n').count() + 1, "a control character, which XML does not allow".to_owned()))
        }
        None => Ok(text),
    }
}

fn not_in(encoding: &str) -> (usize, String) {
    (1, format!("a byte that is not {encoding}: save the file as UTF-8, or say in <?xml encoding=…?> what it is"))
}

fn utf8(bytes: &[u8]) -> Result<Cow<'_, str>, (usize, String)> {
    std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|error| {
        let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
        (before.iter().filter(|byte| **byte == b'\n').count() + 1, not_in("UTF-8").1)
    })
}

/// The encoding that the XML declaration names, in capitals.
fn declared(bytes: &[u8]) -> Option<String> {
    let head = bytes.get(..bytes.len().min(200))?;
    let head: String = head.iter().map(|byte| char::from(*byte)).collect();
    let (declaration, _) = head.strip_prefix("<?xml")?.split_once("?>")?;
    let (_, rest) = declaration.split_once("encoding")?;
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let (name, _) = rest.get(1..)?.split_once(quote)?;
    Some(name.to_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Element {
        read("f.xml", text.as_bytes()).unwrap()
    }

    fn complaint(bytes: &[u8]) -> String {
        read("f.xml", bytes).unwrap_err().to_string()
    }

    #[test]
    fn a_tree_keeps_texts_and_lines() {
        let root = parsed(
            "<?xml version='1.0'?>\n<!-- x -->\n<a z='1' xmlns:q='u' q:y='2'>\n <b> 1 &lt;&#x32;<![CDATA[<3>]]> </b>\n<c/></a>\n",
        );
        assert_eq!((root.name.as_str(), root.line, root.attributes.len()), ("a", 3, 1));
        let texts: Vec<_> = root.children.iter().map(|e| (e.name.as_str(), e.line, e.trimmed())).collect();
        assert_eq!(texts, [("b", 4, "1 <2<3>"), ("c", 5, "")]);
    }

    #[test]
    fn the_namespace_may_be_the_default_or_have_a_prefix() {
        assert!(parsed(&format!("<a xmlns='{NAMESPACE}'/>")).is_ours);
        assert!(parsed(&format!("<q:a xmlns:q='{NAMESPACE}'/>")).is_ours);
        assert!(!parsed("<a xmlns='http://other'/>").is_ours);
        assert!(!parsed("<a/>").is_ours);
    }

    #[test]
    fn what_is_no_document_is_refused_with_its_line() {
        for (text, expected) in [
            ("", "f.xml: expected an element"),
            ("<a>\n<b>\n</a>", "f.xml:3: not well-formed XML"),
            ("<a>\n\n<b>", "f.xml:3: <b>: the file ends"),
            ("<a/>\n<b/>", "f.xml:2: expected the end of the file"),
            ("<a/>x", "f.xml:1: expected nothing but"),
            ("<a>\n&nbsp;</a>", "f.xml:2: `&nbsp;` stands for nothing here"),
            ("<a>&#0;</a>", "stands for nothing"),
            ("<a>&#1;</a>", "stands for nothing"),
            ("<a>\n\u{1}</a>", "f.xml:2: a control character"),
            ("<a b='1' b='2'/>", "not well-formed"),
            ("<a", "not well-formed"),
        ] {
            let complaint = complaint(text.as_bytes());
            assert!(complaint.contains(expected), "{text}: {complaint}");
        }
    }

    #[test]
    fn nothing_is_fetched_and_nothing_grows() {
        let bomb = "<?xml version='1.0'?>\n<!DOCTYPE a [<!ENTITY b 'x'><!ENTITY c '&b;&b;&b;'>]>\n<a>&c;</a>";
        assert!(complaint(bomb.as_bytes()).starts_with("f.xml:2: a DOCTYPE is not allowed"));
        let outside = "<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/hostname'>]>\n<a>&b;</a>";
        assert!(complaint(outside.as_bytes()).starts_with("f.xml:1: a DOCTYPE is not allowed"));
        assert!(complaint("<a>".repeat(100_000).as_bytes()).contains("nested too deeply"));
        let many: String = (0..1_000).map(|n| format!(" a{n}='1'")).collect();
        assert!(complaint(format!("<a{many}/>").as_bytes()).contains("too many attributes"));
        assert!(complaint(&vec![b' '; FILE_LIMIT + 1]).contains("larger than"));
    }

    #[test]
    fn encodings() {
        let latin = b"<?xml version=\"1.0\" encoding=\"iso-8859-1\"?><a>\xe9</a>";
        assert_eq!(read("f", latin).unwrap().text, "\u{e9}");
        let wide: Vec<u8> = "\u{feff}<a>\u{e9}</a>".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(read("f", &wide).unwrap().text, "\u{e9}");
        assert_eq!(read("f", "\u{feff}<a>\u{e9}</a>".as_bytes()).unwrap().text, "\u{e9}");
        assert!(complaint(b"<a>\n\xe9</a>").starts_with("f.xml:2: a byte that is not UTF-8"));
        assert!(complaint(b"<?xml version='1.0' encoding='EBCDIC'?><a/>").contains("encoding \"EBCDIC\""));
        assert!(complaint(b"\xff\xfe<").contains("UTF-16"));
    }
}
