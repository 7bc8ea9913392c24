//! Every search ends, soon and without a panic, whatever the text.

use std::iter::repeat_with;

use chrono_tz::{America::Havana, Europe::Berlin, Pacific::Apia, UTC};

use super::super::CronExpression;
use super::brute_force::Random;

/// 1 March 2026, 12:00 UTC.
const NOON: i64 = 1_772_366_400_000;

#[test]
fn dates_that_never_come_end_the_search() {
    let never = [
        "0 0 0 30 2 ?",
        "0 0 0 31 2,4,6,9,11 ?",
        "0 0 0 0W * ?",
        "0 0 0 ? * 8#1",
        "0 0 0 ? * 2147483647#5",
        "0 0 0 29 2 ? 2027",
        "0 0 0 * * ? 2127",
        "0 0 0 * * ? 1999",
        "0 0 0 L-30 2 ?",
        "0 0 0 L-30W 2 ?",
        "0 30 2 ? 3 1L",
        "L * * * * ?",
    ];
    for text in never {
        let expression = CronExpression::parse(text).expect(text);
        assert_eq!(expression.next_ms_after(NOON, Berlin, 2026), None, "{text}");
    }
}

#[test]
fn where_quartz_loops_for_ever_the_next_month_follows() {
    let next = |text, after, zone| CronExpression::parse(text).expect(text).next_ms_after(after, zone, 2026);
    // From the end of January 2026: no 30 days before the end of February, so 2 March.
    assert_eq!(next("0 0 0 L-30W * ?", 1_769_860_800_000, UTC), Some(1_772_409_600_000));
    // 30 December 2011, the last weekday of its month, did not happen in Apia: 31 January 2012.
    assert_eq!(next("0 0 0 LW * ?", 1_325_233_800_000, Apia), Some(1_327_917_600_000));
}

#[test]
fn instants_at_the_ends_of_the_scale_are_no_danger() {
    for text in ["* * * * * ?", "0 0 0 29 2 ?", "0 0 0 LW * ? 1900-1910"] {
        let expression = CronExpression::parse(text).expect(text);
        for ms in [i64::MIN, i64::MIN / 2, -8_210_298_412_800_000, -1, 0, i64::MAX / 2, i64::MAX] {
            for year in [i32::MIN, 2026, i32::MAX] {
                let next = expression.next_ms_after(ms, Havana, year);
                assert!(next.is_none_or(|next| next > ms), "{text} {ms} {year}: {next:?}");
                expression.fires_at(ms, Havana, year);
            }
        }
    }
}

#[test]
fn random_texts_parse_or_not_and_end_soon() {
    const LETTERS: &[u8] = b"0123456789*/,-?LW# 012 * ? SUNMOFRIJAEC\t9xe";
    let mut random = Random::new(7);
    let mut accepted = 0;
    for _ in 0..20_000 {
        let fields: Vec<String> = repeat_with(|| {
            let length = 1 + random.below(4);
            let text = repeat_with(|| char::from(LETTERS[random.below(LETTERS.len())])).take(length).collect();
            // Mostly a field that is fine, so that the others come into play.
            if random.below(3) == 0 { text } else { String::from("1") }
        })
        .take(5)
        .collect();
        let text = format!("{} ?", fields.join(" "));
        let Ok(expression) = CronExpression::parse(&text) else { continue };
        accepted += 1;
        let next = expression.next_ms_after(NOON, Berlin, 2026);
        assert!(next.is_none_or(|next| next > NOON), "{text}");
        assert!(!expression.explain().is_empty());
        assert_eq!(CronExpression::parse(expression.text()).as_ref(), Ok(&expression), "{text}");
    }
    assert!(accepted > 2_000, "only {accepted} texts were expressions");
}
