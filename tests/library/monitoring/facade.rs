//! The facade of the crate `metrics`, with a recorder that keeps every call.

use crate::monitoring::samples;
use crate::scheduler::fixture::{Cluster, LONG, job, now};
use crate::support::wait_until;
use carnelian::JobContext;
use metrics::{Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata, SharedString, Unit};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Keeps everything, by name and labels as Prometheus writes them.
#[derive(Default)]
struct Recorder(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    described: Vec<String>,
    values: BTreeMap<String, Arc<Cell>>,
}

#[derive(Default)]
struct Cell {
    value: Mutex<f64>,
    observed: Mutex<Vec<f64>>,
}

impl CounterFn for Cell {
    fn increment(&self, value: u64) {
        *self.value.lock() += value as f64;
    }

    fn absolute(&self, value: u64) {
        *self.value.lock() = value as f64;
    }
}

impl GaugeFn for Cell {
    fn increment(&self, value: f64) {
        *self.value.lock() += value;
    }

    fn decrement(&self, value: f64) {
        *self.value.lock() -= value;
    }

    fn set(&self, value: f64) {
        *self.value.lock() = value;
    }
}

impl HistogramFn for Cell {
    fn record(&self, value: f64) {
        self.observed.lock().push(value);
    }
}

impl Recorder {
    fn cell(&self, key: &Key) -> Arc<Cell> {
        let labels: Vec<String> = key.labels().map(|label| format!("{}=\"{}\"", label.key(), label.value())).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        Arc::clone(self.0.lock().values.entry(format!("{}{labels}", key.name())).or_default())
    }

    fn observed(&self, name: &str) -> Vec<f64> {
        self.0.lock().values.get(name).map(|cell| cell.observed.lock().clone()).unwrap_or_default()
    }
}

impl metrics::Recorder for Recorder {
    fn describe_counter(&self, key: KeyName, _: Option<Unit>, _: SharedString) {
        self.0.lock().described.push(key.as_str().to_owned());
    }

    fn describe_gauge(&self, key: KeyName, _: Option<Unit>, _: SharedString) {
        self.0.lock().described.push(key.as_str().to_owned());
    }

    fn describe_histogram(&self, key: KeyName, _: Option<Unit>, _: SharedString) {
        self.0.lock().described.push(key.as_str().to_owned());
    }

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.cell(key))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.cell(key))
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(self.cell(key))
    }
}

/// The facade gets the values of the text, and each value once.
#[test]
fn the_facade_is_told_what_the_text_says() {
    let cluster = Cluster::new();
    let work = |ctx: &mut JobContext| {
        let _ = ctx.wait(Duration::from_millis(30));
        Ok(())
    };
    // One look at the start, and none in the course of the test.
    let node = cluster.node_with("n1", "carnelian.monitor.interval = 1h").job_fn("work", work).build().unwrap();
    let recorder = Recorder::default();
    node.start().unwrap();
    wait_until("it has looked", LONG, || node.metrics_text().contains("carnelian_triggers{"));
    for (round, name) in ["a", "b"].into_iter().enumerate() {
        let detail = job(name, "work");
        node.schedule_job(detail.clone(), now(name, &detail)).unwrap();
        let ended = round as u64 + 1;
        wait_until("it has run", LONG, || node.health().completed == ended && node.health().unrecorded == 0);
        metrics::with_local_recorder(&recorder, || node.publish_metrics());
        metrics::with_local_recorder(&recorder, || node.publish_metrics());
        let ran = recorder.observed("carnelian_fire_duration_seconds");
        assert_eq!(ran.len() as u64, ended, "each run is told once: {ran:?}");
        assert!(ran.iter().all(|seconds| *seconds >= 0.029), "{ran:?}");
    }
    let text = samples(&node.metrics_text());
    let told = recorder.0.lock();
    for name in
        ["carnelian_fires_total{outcome=\"succeeded\"}", "carnelian_workers{state=\"free\"}", "carnelian_running"]
    {
        assert_eq!(*told.values[name].value.lock(), text[name], "{name}");
    }
    let sum: f64 = told.values["carnelian_fire_duration_seconds"].observed.lock().iter().sum();
    assert!((sum - text["carnelian_fire_duration_seconds_sum"]).abs() < 1e-6, "the sum is kept");
    for name in text.keys() {
        let end = name.find('{').unwrap_or(name.len());
        let (base, labels) = name.split_at(end);
        let base = ["_bucket", "_sum", "_count"].iter().find_map(|suffix| base.strip_suffix(suffix)).unwrap_or(base);
        assert!(told.described.iter().any(|described| described == base), "{base} is not described");
        if !labels.contains("le=\"") && base.len() == end {
            assert!(told.values.contains_key(name), "{name} is not told");
        }
    }
}
