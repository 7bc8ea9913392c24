//! `jobdata.jsonl`: the two stored forms of job data, read and written.

use carnelian::{DataValue, JobDataMap};
use serde_json::Value;

use crate::report::{Mismatch, Outcome, Verdict, check_file, mismatch, same};

#[test]
fn jobdata() {
    check_file("jobdata.jsonl", |record| match record["kind"].as_str() {
        Some("properties") => properties(record),
        Some("properties_read") => properties_read(record),
        Some("java") => java(record),
        other => Err(mismatch("kind", "a known one", other)),
    });
}

fn properties(record: &Value) -> Outcome {
    if !record["error"].is_null() {
        return properties_of_other_types(record);
    }
    let data = decoded(record, JobDataMap::from_properties_text(&bytes(record)))?;
    let entries = list(&record["entries"]);
    same("number of entries", entries.len(), data.len())?;
    let text = data.to_properties_text().map_err(|error| mismatch("encode", "text", error))?;
    same("what we write, read", &data, &decoded(record, JobDataMap::from_properties_text(&text))?)?;
    same("lines", sorted_lines(&bytes(record), 2), sorted_lines(&text, 1))?;

    // From Quartz's entries, as far as Rust can hold them, to Quartz's lines.
    if data.foreign().next().is_some() {
        return Ok(Verdict::Equal);
    }
    let given: JobDataMap = entries.iter().map(|entry| (text_of(&entry[0]), data_value(&entry[1]))).collect();
    let text = given.to_properties_text().map_err(|error| mismatch("encode", "text", error))?;
    same("lines from entries", sorted_lines(&bytes(record), 2), sorted_lines(&text, 1))?;
    Ok(Verdict::Equal)
}

/// Values that Quartz refuses to write as text: numbers and truth values, of which we write the
/// text.
fn properties_of_other_types(record: &Value) -> Outcome {
    let entries = list(&record["entries"]);
    let given: JobDataMap = entries.iter().map(|entry| (text_of(&entry[0]), data_value(&entry[1]))).collect();
    let text = given.to_properties_text().map_err(|error| mismatch("encode", "text", error))?;
    let read = decoded(record, JobDataMap::from_properties_text(&text))?;
    for (key, value) in given.iter() {
        same(format!("text of `{key}`"), Some(value.to_string().as_str()), read.text(key))?;
    }
    Ok(Verdict::Deviating("known-values"))
}

fn properties_read(record: &Value) -> Outcome {
    let read = JobDataMap::from_properties_text(&bytes(record));
    if record["error"].is_null() {
        decoded(record, read)?;
    } else if let Ok(data) = read {
        return Err(mismatch("decode", "an error", data));
    }
    Ok(Verdict::Equal)
}

fn java(record: &Value) -> Outcome {
    if !record["error"].is_null() {
        // Not serialisable in Java: there is nothing to read, and nothing in Rust to write.
        return Ok(Verdict::Deviating("known-values"));
    }
    let stored = bytes(record);
    let data = decoded(record, JobDataMap::from_java_bytes(&stored))?;
    let encoded = stream(&data)?;
    same(
        "what we write, read and written",
        &encoded,
        &stream(&decoded(record, JobDataMap::from_java_bytes(&encoded))?)?,
    )?;

    // An update keeps what it does not touch.
    let mut updated = data.clone();
    updated.put("carnelian.added", 1_234_567);
    let read = JobDataMap::from_java_bytes(&stream(&updated)?);
    let mut read = read.map_err(|error| mismatch("decode", "a map", error))?;
    same("added", Some(DataValue::Int(1_234_567)), read.remove("carnelian.added"))?;
    same("what an update left", &encoded, &stream(&read)?)?;

    let flag = dirty_flag(&encoded).ok_or_else(|| mismatch("dirty flag", "its place", &encoded))?;
    same("dirty flag", 0, encoded[flag])?;
    let mut clean = stored.clone();
    clean[flag] = 0;
    // The difference is one in form only: the content has been compared above.
    if clean != encoded && holds_a_text_twice(&record["decoded"]) {
        return Ok(Verdict::Deviating("maps-have-no-history"));
    }
    if clean != encoded && share_a_bucket(&data, list(&record["decoded"])) {
        same("length of the stream", clean.len(), encoded.len())?;
        return Ok(Verdict::Deviating("maps-have-no-history"));
    }
    same("stream", String::from_utf8_lossy(&clean), String::from_utf8_lossy(&encoded))?;
    Ok(if encoded == stored { Verdict::Equal } else { Verdict::Deviating("maps-have-no-history") })
}

/// Tells whether two texts of a map are equal, at any depth.
fn holds_a_text_twice(decoded: &Value) -> bool {
    fn collect<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
        match value {
            Value::String(text) => texts.push(text),
            Value::Array(values) => values.iter().for_each(|value| collect(value, texts)),
            Value::Object(_) => collect(&value["v"], texts),
            _ => {}
        }
    }
    let mut texts = Vec::new();
    collect(decoded, &mut texts);
    texts.sort_unstable();
    texts.windows(2).any(|pair| pair[0] == pair[1])
}

fn stream(data: &JobDataMap) -> Result<Vec<u8>, Mismatch> {
    data.to_java_bytes().map_err(|error| mismatch("encode", "a stream", error))
}

/// Tells whether two of the keys come to stand in one place of a `HashMap`'s table, in which the
/// order of arrival decides.
fn share_a_bucket(data: &JobDataMap, entries: &[Value]) -> bool {
    let mut capacity: u32 = 16;
    while entries.len() as u32 > capacity / 4 * 3 {
        capacity *= 2;
    }
    let bucket = |entry: &Value| {
        let key = text_of(&entry[0]);
        let lone = |text: &str| u16::from_str_radix(text.strip_prefix("\\u")?, 16).ok();
        let units = match (data.value(&key), lone(&key)) {
            (None, Some(unit)) => vec![unit],
            _ => key.encode_utf16().collect(),
        };
        let hash = units.iter().fold(0_u32, |hash, unit| hash.wrapping_mul(31).wrapping_add(u32::from(*unit)));
        (hash ^ hash >> 16) & (capacity - 1)
    };
    let mut buckets: Vec<_> = entries.iter().map(bucket).collect();
    buckets.sort_unstable();
    buckets.windows(2).any(|pair| pair[0] == pair[1])
}

/// Compares a map that was read with the `decoded` of the record.
fn decoded(record: &Value, read: carnelian::Result<JobDataMap>) -> Result<JobDataMap, Mismatch> {
    let data = read.map_err(|error| mismatch("decode", "a map", error.to_string()))?;
    let entries = list(&record["decoded"]);
    if record["decoded"].is_array() {
        same("number of entries", entries.len(), data.len())?;
    }
    for entry in entries {
        let (key, expected) = (text_of(&entry[0]), &entry[1]);
        let foreign = data.foreign().find(|(foreign, _)| *foreign == key);
        match (data.value(&key), foreign) {
            (Some(DataValue::Foreign(got)), _) => {
                same(format!("class of `{key}`"), class_of(expected), got.class_name())?;
                if got.class_name() == "java.lang.String" {
                    let text = expected.as_str().or(expected["v"].as_str()).unwrap_or_default();
                    same(format!("`{key}`"), text, got.to_string().as_str())?;
                }
            }
            (Some(got), _) => same(format!("`{key}`"), &comparable(data_value(expected)), &comparable(got.clone()))?,
            (None, Some((_, class))) => same(format!("class of `{key}`"), class_of(expected), class)?,
            (None, None) => return Err(mismatch(format!("`{key}`"), expected, "nothing")),
        }
    }
    Ok(data)
}

/// Floating point numbers as bits, so that NaN is equal and 0.0 not -0.0.
fn comparable(value: DataValue) -> DataValue {
    match value {
        DataValue::Double(v) => DataValue::Long(v.to_bits().cast_signed()),
        DataValue::Float(v) => DataValue::Int(v.to_bits().cast_signed()),
        other => other,
    }
}

/// A value of the golden data: text, null or tagged with its class.
pub fn data_value(value: &Value) -> DataValue {
    if let Some(text) = value.as_str() {
        return text.into();
    }
    let v = &value["v"];
    let text = v.as_str().unwrap_or_default();
    let bits = || u64::from_str_radix(value["bits"].as_str().expect("bits"), 16).expect("hexadecimal bits");
    match class_of(value) {
        "null" => DataValue::Null,
        "java.lang.String" => text.into(),
        "java.lang.Boolean" => v.as_bool().expect("a truth value").into(),
        "java.lang.Integer" => i32::try_from(v.as_i64().expect("a number")).expect("an int").into(),
        "java.lang.Long" => text.parse::<i64>().expect("a long").into(),
        "java.lang.Character" => DataValue::Char(u16::try_from(v.as_u64().expect("a number")).expect("a unit")),
        "java.lang.Double" => f64::from_bits(bits()).into(),
        "java.lang.Float" => f32::from_bits(u32::try_from(bits()).expect("32 bits")).into(),
        other => panic!("a value of class {other} is no DataValue of its own"),
    }
}

fn class_of(value: &Value) -> &str {
    if value.is_string() { "java.lang.String" } else { value["t"].as_str().unwrap_or("null") }
}

/// The lines after the comments at the head.
fn sorted_lines(text: &[u8], comments: usize) -> Vec<&str> {
    let mut lines: Vec<_> = std::str::from_utf8(text).expect("ASCII").lines().skip(comments).collect();
    lines.sort_unstable();
    lines
}

/// The place of the flag `dirty`: behind the descriptor of the last class.
fn dirty_flag(stream: &[u8]) -> Option<usize> {
    let mark = b"Ljava/util/Map;xp";
    stream.windows(mark.len()).position(|window| window == mark).map(|at| at + mark.len())
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text_of(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

fn bytes(record: &Value) -> Vec<u8> {
    base64(record["bytes"].as_str().expect("bytes"))
}

pub fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for byte in text.bytes().filter(|byte| *byte != b'=') {
        let digit = DIGITS.iter().position(|digit| *digit == byte).expect("a base64 digit");
        bits = bits << 6 | u32::try_from(digit).expect("six bits");
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xFF) as u8);
        }
    }
    bytes
}
