//! Between `JobDataMap` and its Java form.

mod known;
mod object;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::foreign::Repr;
use super::{DataValue, ForeignValue, JobDataMap};
use crate::java::{Boxed, Content, Graph, Object, Value, Writer, tag};
use crate::java_text::JavaText;
use known::{DIRTY_FLAG_MAP, KNOWN};
pub(super) use object::ForeignObject;

/// Reads a stored map: Quartz's own, or any of Java's common maps, which Quartz accepts as well.
pub(super) fn decode(bytes: &[u8]) -> Result<JobDataMap, String> {
    let (graph, root) = Graph::read(bytes)?;
    let graph = Arc::new(graph);
    let mut map = JobDataMap::new();
    if root == Value::Null {
        return Ok(map);
    }
    let unreadable = || format!("the stored object is of class {}, no map known here", graph.class_name_of(root));
    let outer = graph.object(root).ok_or_else(unreadable)?;
    let inner = graph.field(outer, DIRTY_FLAG_MAP, "map").unwrap_or(root);
    if inner == Value::Null {
        return Ok(map);
    }
    let pairs = graph.object(inner).and_then(|object| pairs(&graph, object)).ok_or_else(unreadable)?;
    for (key, value) in pairs {
        if [key, value].iter().any(|it| *it == root || *it == inner) {
            return Err("the map contains itself".to_owned());
        }
        map.put_read(data_value(&graph, key), data_value(&graph, value))?;
    }
    Ok(map)
}

/// The keys and values of a `HashMap`, `LinkedHashMap`, `Hashtable`, `Properties` or `TreeMap`.
fn pairs(graph: &Graph, map: &Object) -> Option<Vec<(Value, Value)>> {
    let classes = ["java.util.HashMap", "java.util.Hashtable", "java.util.TreeMap"];
    let extra = classes.iter().find_map(|class| graph.extra(map, class))?;
    let (Content::Block(_), entries) = extra.split_first()? else { return None };
    let (entries, []) = entries.as_chunks::<2>() else { return None };
    let pair = |entry: &[Content; 2]| match entry {
        [Content::Value(key), Content::Value(value)] => Some((*key, *value)),
        _ => None,
    };
    entries.iter().map(pair).collect()
}

fn data_value(graph: &Arc<Graph>, value: Value) -> DataValue {
    match graph.text(value) {
        Some(JavaText::Text(text)) => return DataValue::String(text.clone()),
        Some(text) => return DataValue::Foreign(ForeignValue::text(text.clone())),
        None if value == Value::Null => return DataValue::Null,
        None => {}
    }
    boxed(graph, value).unwrap_or_else(|| DataValue::Foreign(ForeignValue::object(ForeignObject::new(graph, value))))
}

/// The content of one of Java's boxes, if it is of a type known here.
fn boxed(graph: &Graph, value: Value) -> Option<DataValue> {
    Some(match Boxed::read(graph, value)? {
        Boxed::Bool(v) => DataValue::Bool(v),
        Boxed::Char(v) => DataValue::Char(v),
        Boxed::Int(v) => DataValue::Int(v),
        Boxed::Long(v) => DataValue::Long(v),
        Boxed::Float(v) => DataValue::Float(v),
        Boxed::Double(v) => DataValue::Double(v),
    })
}

/// The stream of an `org.quartz.JobDataMap` with these entries, in the order in which Java would
/// write them.
pub(super) fn encode(map: &JobDataMap) -> Result<Vec<u8>, String> {
    let known = &*KNOWN;
    let count = i32::try_from(map.len()).map_err(|_| "too many entries".to_owned())?;
    let capacity = capacity(count);
    // A table that has never been used remembers its first capacity in place of the threshold.
    let threshold = if count == 0 { capacity } else { capacity / 4 * 3 };

    let mut writer = Writer::new();
    writer.begin_object(&known.graph, known.job_data_map)?;
    writer.put([0]); // dirty: as after loading
    writer.begin_object(&known.graph, known.hash_map)?;
    writer.put(0.75_f32.to_be_bytes());
    writer.put(threshold.to_be_bytes());
    writer.put([tag::BLOCK, 8]);
    writer.put(capacity.to_be_bytes());
    writer.put(count.to_be_bytes());
    for (key, value) in in_java_order(map, capacity) {
        let named = |why| format!("value of `{key}`: {why}");
        write(&mut writer, &key).map_err(named)?;
        write(&mut writer, value).map_err(named)?;
    }
    writer.put([tag::END_BLOCK]);
    writer.put([0]); // allowsTransientData
    Ok(writer.into_bytes())
}

/// The size of the table of a `HashMap` after `count` entries were put into it one after the other.
fn capacity(count: i32) -> i32 {
    let mut capacity: i32 = 16;
    while count > capacity / 4 * 3 {
        capacity = capacity.saturating_mul(2);
    }
    capacity
}

/// The entries as a `HashMap` iterates over them. Entries that share a place in its table come by
/// name; in Java they come in the order of their arrival.
fn in_java_order(map: &JobDataMap, capacity: i32) -> Vec<(DataValue, &DataValue)> {
    let named = map.entries.iter().map(|(key, value)| (DataValue::String(key.clone()), value));
    let mut entries: Vec<_> = named.chain(map.unnamed.iter().map(|(key, value)| (key.clone(), value))).collect();
    entries.sort_by_cached_key(|(key, _)| {
        let hash = match key {
            DataValue::String(text) => JavaText::Text(text.clone()).java_hash(),
            DataValue::Foreign(key) => key.as_text().map_or(0, JavaText::java_hash),
            _ => 0,
        };
        let hash = hash.cast_unsigned();
        (hash ^ hash >> 16) & capacity.wrapping_sub(1).cast_unsigned()
    });
    entries
}

fn write(writer: &mut Writer, value: &DataValue) -> Result<(), String> {
    match value {
        DataValue::Bool(v) => writer.boxed(Boxed::Bool(*v)),
        DataValue::Char(v) => writer.boxed(Boxed::Char(*v)),
        DataValue::Int(v) => writer.boxed(Boxed::Int(*v)),
        DataValue::Long(v) => writer.boxed(Boxed::Long(*v)),
        DataValue::Float(v) => writer.boxed(Boxed::Float(*v)),
        DataValue::Double(v) => writer.boxed(Boxed::Double(*v)),
        DataValue::String(text) => writer.text(&JavaText::Text(text.clone())),
        DataValue::Null => writer.value(&KNOWN.graph, Value::Null),
        DataValue::Foreign(value) => match value.repr() {
            Repr::Text(text) => writer.text(text),
            Repr::Object(object) => object.write(writer),
        },
    }
}
