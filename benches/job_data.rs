//! The two stored forms of job data: Java's serialised map, and the text of properties.

use carnelian::JobDataMap;
use criterion::{Criterion, Throughput};
use std::hint::black_box;

/// Data of so many entries of texts, as most job data is.
fn texts(entries: usize) -> JobDataMap {
    let mut data = JobDataMap::new();
    for number in 0..entries {
        data.put(format!("key.{number}"), format!("value {number}: für Größe = {number}"));
    }
    data
}

fn main() -> Result<(), carnelian::Error> {
    let mut criterion = Criterion::default().configure_from_args();
    for entries in [4, 64] {
        let data = texts(entries);
        let (java, text) = (data.to_java_bytes()?, data.to_properties_text()?);
        assert_eq!(JobDataMap::from_java_bytes(&java)?, data);
        assert_eq!(JobDataMap::from_properties_text(&text)?, data);
        let mut group = criterion.benchmark_group(format!("job data of {entries} entries"));
        group.throughput(Throughput::Bytes(java.len() as u64));
        group.bench_function("write Java", |b| b.iter(|| black_box(&data).to_java_bytes()));
        group.bench_function("read Java", |b| b.iter(|| JobDataMap::from_java_bytes(black_box(&java))));
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function("write properties", |b| b.iter(|| black_box(&data).to_properties_text()));
        group.bench_function("read properties", |b| b.iter(|| JobDataMap::from_properties_text(black_box(&text))));
        group.finish();
    }
    criterion.final_summary();
    Ok(())
}
