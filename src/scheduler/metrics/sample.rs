//! `Family`: a metric with its samples, as both formats show it.

use crate::meter::HistogramValues;

/// The labels of a sample.
pub(crate) type Labels = Vec<(&'static str, String)>;

/// The present value of a metric.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Counter(u64),
    Gauge(f64),
    Histogram(Box<HistogramValues>),
}

/// A metric and all its samples, which are of one kind.
#[derive(Clone, Debug)]
pub(crate) struct Family {
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    pub(crate) samples: Vec<(Labels, Value)>,
}

/// One label.
pub(super) fn label(name: &'static str, value: &str) -> Labels {
    vec![(name, value.to_owned())]
}
