//! The text format of Prometheus, version 0.0.4.

use super::sample::{Family, Labels, Value};
use crate::meter::{BOUNDS, HistogramValues};
use std::fmt::Write as _;

/// The families as text.
pub(crate) fn render(families: &[Family]) -> String {
    let mut text = String::with_capacity(16 * 1024);
    for family in families {
        let Some((_, first)) = family.samples.first() else { continue };
        let kind = match first {
            Value::Counter(_) => "counter",
            Value::Gauge(_) => "gauge",
            Value::Histogram(_) => "histogram",
        };
        // Writing to a text cannot fail.
        let _ = writeln!(text, "# HELP {} {}\n# TYPE {} {kind}", family.name, family.help, family.name);
        for (labels, value) in &family.samples {
            match value {
                Value::Counter(n) => line(&mut text, family.name, "", labels, None, n),
                Value::Gauge(n) => line(&mut text, family.name, "", labels, None, n),
                Value::Histogram(values) => histogram(&mut text, family.name, labels, values),
            }
        }
    }
    text
}

fn histogram(text: &mut String, name: &str, labels: &Labels, values: &HistogramValues) {
    let mut count = 0;
    let bounds = BOUNDS.iter().map(|(_, seconds)| *seconds).chain(["+Inf"]);
    for (bound, bucket) in bounds.zip(&values.buckets) {
        count += bucket.count;
        line(text, name, "_bucket", labels, Some(("le", bound)), count);
    }
    line(text, name, "_sum", labels, None, values.seconds());
    line(text, name, "_count", labels, None, count);
}

fn line(
    text: &mut String,
    name: &str,
    suffix: &str,
    labels: &Labels,
    more: Option<(&str, &str)>,
    value: impl std::fmt::Display,
) {
    text.push_str(name);
    text.push_str(suffix);
    let labels = labels.iter().map(|(name, value)| (*name, value.as_str())).chain(more);
    let mut open = '{';
    for (label, value) in labels {
        text.push(open);
        let _ = write!(text, "{label}=\"{}\"", escaped(value));
        open = ',';
    }
    if open == ',' {
        text.push('}');
    }
    let _ = writeln!(text, " {value}");
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::Histogram;
    use std::time::Duration;

    #[test]
    fn families_are_written_as_prometheus_reads_them() {
        let histogram = Histogram::default();
        histogram.observe(Duration::from_millis(3));
        histogram.observe(Duration::from_secs(7200));
        let label = vec![("group", "a \"b\"\\\nc".to_owned())];
        let families = [
            Family { name: "n_total", help: "Help.", samples: vec![(label.clone(), Value::Counter(7))] },
            Family { name: "none", help: "Nothing yet.", samples: Vec::new() },
            Family { name: "level", help: "Level.", samples: vec![(Labels::new(), Value::Gauge(0.5))] },
            Family {
                name: "s",
                help: "Spread.",
                samples: vec![(label, Value::Histogram(Box::new(histogram.values())))],
            },
        ];
        let text = render(&families);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[..8],
            [
                "# HELP n_total Help.",
                "# TYPE n_total counter",
                r#"n_total{group="a \"b\"\\\nc"} 7"#,
                "# HELP level Level.",
                "# TYPE level gauge",
                "level 0.5",
                "# HELP s Spread.",
                "# TYPE s histogram",
            ]
        );
        assert_eq!(lines[8], r#"s_bucket{group="a \"b\"\\\nc",le="0.001"} 0"#);
        assert_eq!(lines[10], r#"s_bucket{group="a \"b\"\\\nc",le="0.005"} 1"#);
        assert_eq!(lines[26], r#"s_bucket{group="a \"b\"\\\nc",le="+Inf"} 2"#);
        assert_eq!(lines[27], r#"s_sum{group="a \"b\"\\\nc"} 7200.003"#);
        assert_eq!(lines[28], r#"s_count{group="a \"b\"\\\nc"} 2"#);
    }
}
