//! The next fire time of cron expressions, from frequent to rare.

use carnelian::CronExpression;
use criterion::Criterion;
use std::hint::black_box;

/// Not on a boundary of anything.
const AFTER: &str = "2026-03-01T12:34:56Z";
const YEAR: i32 = 2026;

/// Name, expression, zone.
const EXPRESSIONS: [(&str, &str, chrono_tz::Tz); 6] = [
    ("every second", "* * * * * ?", chrono_tz::UTC),
    ("every five minutes", "0 0/5 * * * ?", chrono_tz::UTC),
    ("weekdays in New York", "0 15 10 ? * MON-FRI", chrono_tz::America::New_York),
    ("last workday of the month", "0 0 18 LW * ?", chrono_tz::Europe::Berlin),
    ("third friday", "0 15 10 ? * 6#3", chrono_tz::UTC),
    ("29 February", "0 0 0 29 2 ?", chrono_tz::UTC),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let after = AFTER.parse()?;
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("cron: next fire time");
    for (name, text, zone) in EXPRESSIONS {
        let expression = CronExpression::parse(text)?;
        assert!(expression.next_after(after, zone, YEAR).is_some(), "`{text}` has a next time");
        group.bench_function(name, |b| b.iter(|| expression.next_after(black_box(after), zone, YEAR)));
    }
    group.finish();
    criterion.bench_function("cron: parse", |b| b.iter(|| CronExpression::parse(black_box("0 15 10 ? * MON-FRI"))));
    criterion.final_summary();
    Ok(())
}
