//! The search against a second-by-second look at sets that were drawn first and written as text
//! then.

use std::collections::BTreeSet;

use chrono::{DateTime, Datelike, Timelike};
use chrono_tz::Tz;

use super::super::CronExpression;

/// The span that each case searches: within the span no clock changes.
const SECONDS_AHEAD: i64 = 6 * 3600;

/// Random numbers that are the same in every run (xorshift).
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or(0) % bound
    }

    fn between(&mut self, first: u32, last: u32) -> u32 {
        first + u32::try_from(self.below((last - first + 1) as usize)).unwrap_or(0)
    }
}

/// A field: its values, and the text that stands for them.
struct Drawn {
    values: BTreeSet<u32>,
    text: String,
}

fn draw(random: &mut Random, min: u32, max: u32) -> Drawn {
    let (a, b, step) = (random.between(min, max), random.between(min, max), random.between(1, 7));
    match random.below(6) {
        0 | 1 => Drawn { values: (min..=max).collect(), text: "*".to_owned() },
        2 => Drawn { values: (min..=max).step_by(step as usize).collect(), text: format!("*/{step}") },
        3 => Drawn { values: (a..=max).step_by(step as usize).collect(), text: format!("{a}/{step}") },
        4 if a <= b => Drawn { values: (a..=b).collect(), text: format!("{a}-{b}") },
        4 => Drawn { values: (a..=max).chain(min..=b).collect(), text: format!("{a}-{b}") },
        _ => Drawn { values: [a, b].into(), text: format!("{a},{b}") },
    }
}

struct Case {
    second: Drawn,
    minute: Drawn,
    hour: Drawn,
    day: Drawn,
    by_weekday: bool,
    month: Drawn,
}

impl Case {
    fn draw(random: &mut Random) -> Self {
        let by_weekday = random.below(2) == 0;
        Case {
            second: draw(random, 0, 59),
            minute: draw(random, 0, 59),
            hour: draw(random, 0, 23),
            day: if by_weekday { draw(random, 1, 7) } else { draw(random, 1, 31) },
            by_weekday,
            month: draw(random, 1, 12),
        }
    }

    fn text(&self) -> String {
        let Case { second, minute, hour, day, month, .. } = self;
        let (of_month, of_week) = if self.by_weekday { ("?", day.text.as_str()) } else { (day.text.as_str(), "?") };
        format!("{} {} {} {of_month} {} {of_week}", second.text, minute.text, hour.text, month.text)
    }

    fn fires_at(&self, ms: i64, zone: Tz) -> bool {
        let time = DateTime::from_timestamp_millis(ms).unwrap().with_timezone(&zone);
        let day = if self.by_weekday { time.weekday().number_from_sunday() } else { time.day() };
        self.second.values.contains(&time.second())
            && self.minute.values.contains(&time.minute())
            && self.hour.values.contains(&time.hour())
            && self.day.values.contains(&day)
            && self.month.values.contains(&time.month())
    }
}

#[test]
fn the_search_finds_what_a_look_at_every_second_finds() {
    let zones = [Tz::UTC, Tz::Europe__Berlin, Tz::Asia__Kathmandu, Tz::America__St_Johns];
    let mut random = Random::new(2026);
    let mut found = 0;
    for round in 0..400 {
        let case = Case::draw(&mut random);
        let zone = zones[random.below(zones.len())];
        // A moment in January or in July 2026.
        let month = if random.below(2) == 0 { 1_767_484_800 } else { 1_783_123_200 };
        let start = (month + i64::from(random.between(0, 25 * 86_400))) * 1000 + i64::from(random.between(0, 999));
        let expression = CronExpression::parse(&case.text()).unwrap();

        let whole = start.div_euclid(1000) * 1000;
        let seconds = (1..=SECONDS_AHEAD).map(|ahead| whole + ahead * 1000);
        let expected = seconds.clone().find(|ms| case.fires_at(*ms, zone));
        let next = expression.next_ms_after(start, zone, 2026);
        let within = next.filter(|next| *next <= whole + SECONDS_AHEAD * 1000);
        assert_eq!(within, expected, "round {round}: `{expression}` in {zone} after {start}");
        found += usize::from(expected.is_some());

        for ms in seconds.take(100).chain(next) {
            let satisfied = expression.fires_at(ms + 500, zone, 2026);
            assert_eq!(satisfied, case.fires_at(ms, zone), "round {round}: `{expression}` in {zone} at {ms}");
        }
    }
    assert!(found > 100, "only {found} of the cases fire at all");
}
