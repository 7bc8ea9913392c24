//! The facade of the crate `metrics`: what was counted since the last time is handed to the
//! program's recorder.

use super::sample::{Family, Labels, Value};
use crate::meter::HistogramValues;
use metrics::{Label, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
use std::collections::HashMap;

/// The histogram values that the recorder was told, which it can only be told one by one.
#[derive(Default)]
pub(crate) struct Publisher {
    told: HashMap<(&'static str, Labels), HistogramValues>,
}

impl Publisher {
    /// Hands the present values to the recorder of this thread or program.
    pub(crate) fn publish(&mut self, families: &[Family]) {
        for family in families {
            // Each time: a recorder may come late.
            describe(family);
            for (labels, value) in &family.samples {
                let as_labels =
                    || labels.iter().map(|(name, value)| Label::new(*name, value.clone())).collect::<Vec<_>>();
                match value {
                    Value::Counter(n) => counter!(family.name, as_labels()).absolute(*n),
                    Value::Gauge(n) => gauge!(family.name, as_labels()).set(*n),
                    Value::Histogram(values) => {
                        let told = self.told.entry((family.name, labels.clone())).or_default();
                        tell_new(&histogram!(family.name, as_labels()), values, told);
                        told.clone_from(&**values);
                    }
                }
            }
        }
    }
}

/// The values that came into a bucket since the last time are told as their mean, so that the sum
/// and the bucket are right.
fn tell_new(histogram: &metrics::Histogram, values: &HistogramValues, told: &HistogramValues) {
    for (now, before) in values.buckets.iter().zip(&told.buckets) {
        let count = now.count.saturating_sub(before.count);
        if count > 0 {
            let mean = now.nanos.saturating_sub(before.nanos) as f64 / 1e9 / count as f64;
            histogram.record_many(mean, usize::try_from(count).unwrap_or(usize::MAX));
        }
    }
}

fn describe(family: &Family) {
    match family.samples.first() {
        Some((_, Value::Counter(_))) => describe_counter!(family.name, family.help),
        Some((_, Value::Gauge(_))) => describe_gauge!(family.name, family.help),
        Some((_, Value::Histogram(_))) => describe_histogram!(family.name, family.help),
        None => {}
    }
}
