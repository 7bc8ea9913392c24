//! Streams that no Java ever wrote, and parts of streams in new company.

use super::*;
use crate::java::BASE_HANDLE;
use crate::java_text::{MAGIC, MAX_STREAM_BYTES};

/// Puts streams together.
fn stream(parts: &[&[u8]]) -> Vec<u8> {
    [&MAGIC[..], &parts.concat()].concat()
}

/// A class descriptor without super class.
fn class(name: &str, flags: u8, fields: &[u8]) -> Vec<u8> {
    let length = u16::try_from(name.len()).expect("short").to_be_bytes();
    [&[tag::CLASS_DESC], &length[..], name.as_bytes(), &[0; 8], &[flags], fields, &[tag::END_BLOCK, tag::NULL]].concat()
}

const NO_FIELDS: &[u8] = &[0, 0];
/// One field `a` of type `La;`.
const ONE_REFERENCE: &[u8] = &[0, 1, b'L', 0, 1, b'a', tag::STRING, 0, 3, b'L', b'a', b';'];

/// A `HashMap` with a text for a key.
fn hash_map(key: &[u8], value: &[u8]) -> Vec<u8> {
    let fields = b"\0\x02F\0\x0aloadFactorI\0\x09threshold";
    let class = class("java.util.HashMap", 3, fields);
    stream(&[&[tag::OBJECT], &class, &[0; 8], &[tag::BLOCK, 8], &[0; 8], key, value, &[tag::END_BLOCK]])
}

fn text(text: &str) -> Vec<u8> {
    [&[tag::STRING, 0, u8::try_from(text.len()).expect("short")], text.as_bytes()].concat()
}

fn reference(handle: u32) -> Vec<u8> {
    [&[tag::REFERENCE], &(BASE_HANDLE + handle).to_be_bytes()[..]].concat()
}

fn every_type() -> JobDataMap {
    let mut map = JobDataMap::new();
    map.put("text", "ä\0😀");
    map.put("null", DataValue::Null);
    map.put("yes", true);
    map.put("int", i32::MIN);
    map.put("small", 5);
    map.put("small too", 5);
    map.put("long", 5_i64);
    map.put("float", -0.0_f32);
    map.put("double", f64::MAX);
    map.put("char", DataValue::Char(0xDFFF));
    map
}

/// A map with a list that holds itself, and a text.
fn with_list() -> Vec<u8> {
    let list = class("a.List", 3, ONE_REFERENCE);
    // Handles: 0 HashMap, 1 the map, 2 key, 3 a.List, 4 `La;`, 5 the list.
    let value =
        [&[tag::OBJECT], &list[..], &reference(5), &text("in it"), &[tag::BLOCK, 1, 7, tag::END_BLOCK]].concat();
    hash_map(&text("list"), &value)
}

#[test]
fn all_types_come_back() {
    let map = every_type();
    let bytes = encode(&map).expect("a stream");
    assert_eq!(decode(&bytes).as_ref(), Ok(&map));
    // 13 entries and more make the table larger.
    let many: JobDataMap = (0..1000).map(|n| (format!("key {n}"), n)).collect();
    assert_eq!(decode(&encode(&many).expect("a stream")), Ok(many));
}

#[test]
fn a_foreign_value_moves_to_other_maps() {
    let list = decode(&with_list()).expect("a map");
    assert_eq!(list.foreign().collect::<Vec<_>>(), [("list".to_owned(), "a.List")]);
    let mut map = every_type().merged_with(&list);
    map.put("copy", list.value("list").expect("the list").clone());
    let other = decode(&hash_map(&text("other"), &[&[tag::OBJECT], &class("a.B", 2, NO_FIELDS)[..]].concat()));
    let map = map.merged_with(&other.expect("a map"));
    let again = decode(&encode(&map).expect("a stream")).expect("a map");
    assert_eq!(again, map);
    assert_eq!(again.value("copy"), again.value("list"), "one object still");
    assert_ne!(again.value("other"), again.value("list"));
    assert!(crate::data_map::properties::encode(&again).expect_err("no text").contains("`copy` is of class a.List"));
}

#[test]
fn keys_that_are_no_texts_are_kept() {
    for key in [
        vec![tag::NULL],
        vec![tag::STRING, 0, 3, 0xED, 0xA0, 0x80],
        [&[tag::OBJECT], &class("a.B", 2, NO_FIELDS)[..]].concat(),
    ] {
        let mut map = decode(&hash_map(&key, &text("v"))).expect("a map");
        assert_eq!((map.len(), map.iter().count(), map.foreign().count()), (1, 0, 1));
        map.put("more", 1);
        let again = decode(&encode(&map).expect("a stream")).expect("a map");
        assert_eq!((again.len(), again.iter().count(), again.foreign().count()), (2, 1, 1));
    }
}

#[test]
fn maps_of_java_are_accepted() {
    assert_eq!(decode(&hash_map(&text("k"), &text("v"))).expect("a map").text("k"), Some("v"));
    assert_eq!(decode(&stream(&[&[tag::NULL]])), Ok(JobDataMap::new()));
    let other = decode(&stream(&[&[tag::OBJECT], &class("a.B", 2, NO_FIELDS)])).expect_err("no map");
    assert!(other.contains("class a.B"), "{other}");
}

#[test]
fn lengths_are_measured_before_they_are_believed() {
    let array = |name| [&[tag::ARRAY], &class(name, 2, NO_FIELDS)[..], &[0xFF; 4]].concat();
    let hostile = [
        stream(&[&[tag::LONG_STRING], &[0xFF; 8]]),
        stream(&[&[tag::LONG_STRING, 0, 0, 0, 0, 0x7F, 0xFF, 0xFF, 0xFF]]),
        stream(&[&[tag::STRING, 0xFF, 0xFF, b'x']]),
        stream(&[&array("[B")]),
        stream(&[&array("[J")]),
        stream(&[&array("[Ljava.lang.String;")]),
        stream(&[&[tag::PROXY_CLASS_DESC], &[0xFF; 4]]),
        stream(&[&[tag::CLASS_DESC, 0, 1, b'a'], &[0; 8], &[2, 0xFF, 0xFF]]),
        hash_map(&text("k"), &[tag::LONG_BLOCK, 0xFF, 0xFF, 0xFF, 0xFF]),
    ];
    for bytes in hostile {
        let reason = decode(&bytes).expect_err("nothing is there");
        assert!(reason.contains("the stream ends"), "{reason}");
    }
    let reason = decode(&vec![0; MAX_STREAM_BYTES + 1]).expect_err("too long");
    assert!(reason.contains("limit"), "{reason}");
}

#[test]
fn nesting_and_lineage_have_limits() {
    let first = class("a.B", 2, ONE_REFERENCE);
    let inner = [vec![tag::OBJECT], reference(3)].concat();
    let nested =
        |depth| hash_map(&text("k"), &[&[tag::OBJECT], &first[..], &inner.repeat(depth), &[tag::NULL]].concat());
    assert!(decode(&nested(60)).is_ok());
    assert!(decode(&nested(50_000)).expect_err("too deep").contains("64 deep"));

    // Two streams: classes as a chain of references, each the super class of the next, and classes
    // within each other.
    let mut chain = Vec::new();
    for n in 0..200_u32 {
        let mut next = class("a.B", 2, NO_FIELDS);
        next.pop();
        next.extend(n.checked_sub(1).map_or(vec![tag::NULL], |before| reference(before + 3)));
        chain.extend(next);
    }
    assert!(decode(&hash_map(&text("k"), &chain)).expect_err("too long").contains("64 super classes"));
    let mut open = class("a.B", 2, NO_FIELDS);
    open.pop();
    assert!(decode(&hash_map(&text("k"), &open.repeat(10_000))).expect_err("too deep").contains("64 deep"));
}

/// Objects that refer to those before them are read at no depth, and are deep when the last is
/// written alone.
#[test]
fn a_chain_of_references_is_not_written_without_end() {
    let first = [&[tag::OBJECT], &class("a.B", 2, ONE_REFERENCE)[..], &[tag::NULL]].concat();
    // The handles: 0 HashMap, 1 the map, 2 a.B, 3 `La;`, 4 the first object, 5…: one object as the
    // key of the next.
    let mut chain = first;
    for n in 0..10_001_u32 {
        chain.extend([vec![tag::OBJECT], reference(2), reference(4 + n)].concat());
    }
    let mut map = decode(&hash_map(&[], &chain));
    assert!(map.as_ref().expect_err("many keys").contains("1000 keys"));
    // The handles of a map with texts as keys: 2 the first key, 3 a.B, 4 `La;`, 5 the first object,
    // then key and object in turn.
    let mut chain = [&text("0")[..], &[tag::OBJECT], &class("a.B", 2, ONE_REFERENCE), &[tag::NULL]].concat();
    for n in 0..10_000_u32 {
        chain.extend([text(&format!("k{n}")), vec![tag::OBJECT], reference(3), reference(5 + 2 * n)].concat());
    }
    map = decode(&hash_map(&[], &chain));
    let mut map = map.expect("a map");
    assert_eq!(map.len(), 10_001);
    let last = map.remove("k9999").expect("the last");
    let alone: JobDataMap = [("last", last.clone())].into_iter().collect();
    assert!(encode(&alone).expect_err("too deep").contains("128 deep"));
    assert!(last == last.clone() && map.value("k9998") != Some(&last));
}

#[test]
fn references_lead_only_to_what_has_been_read() {
    for handle in [0, 1, 100, u32::MAX - BASE_HANDLE] {
        assert!(decode(&stream(&[&reference(handle)])).expect_err("nothing there").contains("nothing has"));
    }
    let mut selfish = class("a.B", 2, NO_FIELDS);
    selfish.pop();
    let own_parent = stream(&[&[tag::OBJECT], &selfish, &reference(0)]);
    assert!(decode(&own_parent).expect_err("its own super class").contains("refers to itself"));
    assert!(decode(&hash_map(&text("k"), &reference(1))).expect_err("itself").contains("contains itself"));
}

/// Every stream cut short, and with every bit changed, is read or refused. A map that is read can
/// be written and read again.
#[test]
fn damaged_streams_do_no_harm() {
    let foreign = decode(&with_list()).expect("a map");
    let whole = encode(&every_type().merged_with(&foreign)).expect("a stream");
    for end in 0..whole.len() {
        assert!(decode(whole.get(..end).unwrap_or_default()).is_err(), "cut at {end}");
    }
    let mut read = 0;
    for at in 0..whole.len() {
        for change in [1, 2, 4, 8, 16, 32, 64, 128, 0xFF] {
            let mut damaged = whole.clone();
            damaged[at] ^= change;
            if let Ok(map) = decode(&damaged) {
                read += 1;
                let written = encode(&map).expect("what was read is written");
                let again = decode(&written).expect("what was written is read");
                assert_eq!(encode(&again).expect("a stream").len(), written.len(), "byte {at} ^ {change}");
            }
        }
    }
    assert!(read > 100, "{read}");
}
