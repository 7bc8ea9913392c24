//! Charts: bars and lines over time, drawn as SVG without a style or a script of their own.

use super::components::card;
use chrono::DateTime;
use maud::{Markup, html};

const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 96.0;

/// One series of values, with the class of its colour.
pub(super) struct Series<'a> {
    pub(super) name: &'a str,
    pub(super) class: &'a str,
    pub(super) values: Vec<f64>,
}

/// The place of the charts in time.
#[derive(Clone, Copy)]
pub(super) struct Axis {
    /// The time at which the last value ends, epoch milliseconds.
    pub(super) end_ms: i64,
    /// The length of one value's time, in milliseconds.
    pub(super) step_ms: i64,
    /// The number of values at the beginning that are not known.
    pub(super) unknown: usize,
    /// True if the time of the last value is not over: the value before it is the one that is told.
    pub(super) is_open: bool,
}

/// Bars on top of each other.
pub(super) fn bars(id: &str, title: &str, axis: Axis, series: &[Series<'_>], unit: fn(f64) -> String) -> Markup {
    let steps = series.iter().map(|one| one.values.len()).max().unwrap_or(0);
    let sum = |at: usize| series.iter().filter_map(|one| one.values.get(at)).sum::<f64>();
    let most = ceiling((0..steps).map(sum).fold(0.0, f64::max));
    let width = WIDTH / steps.max(1) as f64;
    let mut drawn = Vec::new();
    for at in 0..steps {
        let mut base = HEIGHT;
        for one in series {
            let height = one.values.get(at).copied().unwrap_or(0.0) / most * HEIGHT;
            if height > 0.0 {
                base -= height;
                drawn.push((one.class, at as f64 * width, base, height));
            }
        }
    }
    let body = html! {
        @for (class, x, y, height) in &drawn {
            rect class=(class) x=(short(*x)) y=(short(*y)) width=(short((width * 0.8).max(0.5))) height=(short(*height)) {}
        }
    };
    framed(id, title, axis, series, most, steps, &body, unit)
}

/// A line for each series.
pub(super) fn lines(id: &str, title: &str, axis: Axis, series: &[Series<'_>], unit: fn(f64) -> String) -> Markup {
    let steps = series.iter().map(|one| one.values.len()).max().unwrap_or(0);
    let most = ceiling(series.iter().flat_map(|one| &one.values).copied().fold(0.0, f64::max));
    let x = |at: usize| at as f64 / steps.saturating_sub(1).max(1) as f64 * WIDTH;
    let points = |one: &Series<'_>| {
        let known = one.values.iter().enumerate().skip(axis.unknown);
        let point = |(at, value): (usize, &f64)| format!("{},{}", short(x(at)), short(HEIGHT - value / most * HEIGHT));
        known.map(point).collect::<Vec<_>>().join(" ")
    };
    let body = html! {
        @for one in series { polyline class=(format!("line {}", one.class)) points=(points(one)) {} }
    };
    framed(id, title, axis, series, most, steps, &body, unit)
}

#[expect(clippy::too_many_arguments, reason = "the frame of both kinds, used here only")]
fn framed(
    id: &str,
    title: &str,
    axis: Axis,
    series: &[Series<'_>],
    most: f64,
    steps: usize,
    body: &Markup,
    unit: fn(f64) -> String,
) -> Markup {
    let last = |one: &Series<'_>| one.values.iter().rev().nth(usize::from(axis.is_open)).copied().unwrap_or(0.0);
    let begin_ms = axis.end_ms - axis.step_ms * i64::try_from(steps).unwrap_or(0);
    let spoken: Vec<String> = series.iter().map(|one| format!("{} {}", one.name, unit(last(one)))).collect();
    let label = format!("{title}, at most {}; last {}", unit(most), spoken.join(", "));
    let unknown = axis.unknown as f64 / steps.max(1) as f64 * WIDTH;
    card(
        id,
        title,
        &html! {
            p.legend {
                @for one in series {
                    span class=(format!("key {}", one.class)) { (one.name) " " b { (unit(last(one))) } }
                }
            }
            div.chart {
                svg role="img" aria-label=(label) viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) preserveAspectRatio="none" {
                    @for y in [0.0, HEIGHT / 2.0, HEIGHT] {
                        line.grid x1="0" x2=(short(WIDTH)) y1=(short(y)) y2=(short(y)) {}
                    }
                    @if axis.unknown > 0 { rect.unknown x="0" y="0" width=(short(unknown)) height=(short(HEIGHT)) {} }
                    (body)
                }
                span.most { (unit(most)) }
            }
            p.axis {
                span { (clock(begin_ms)) }
                span { (clock(begin_ms.midpoint(axis.end_ms))) }
                span { (clock(axis.end_ms)) }
            }
            @if axis.unknown > 0 { p.dim { "More fires ended before than are read at once." } }
        },
    )
}

/// The time of day in UTC.
fn clock(ms: i64) -> String {
    DateTime::from_timestamp_millis(ms).map_or_else(String::new, |time| time.format("%H:%M").to_string())
}

/// A number with one decimal at most.
pub(super) fn short(value: f64) -> String {
    let rounded = (value * 10.0).round() / 10.0;
    format!("{rounded}")
}

/// A round number that no value exceeds.
fn ceiling(most: f64) -> f64 {
    let mut unit = 1.0;
    while unit * 10.0 <= most {
        unit *= 10.0;
    }
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|factor| factor * unit).find(|round| *round >= most).unwrap_or(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_top_of_a_chart_is_a_round_number() {
        let tops = [0.0, 0.3, 1.0, 1.1, 4.0, 7.0, 10.0, 11.0, 480.0].map(ceiling);
        assert_eq!(tops, [1.0, 1.0, 1.0, 2.0, 5.0, 10.0, 10.0, 20.0, 500.0]);
    }

    #[test]
    fn a_chart_without_values_is_drawn() {
        let axis = Axis { end_ms: 0, step_ms: 1, unknown: 0, is_open: false };
        let drawn = lines("x", "X", axis, &[Series { name: "a", class: "good", values: Vec::new() }], short);
        assert!(drawn.into_string().contains("<polyline"));
    }
}
