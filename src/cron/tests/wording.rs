//! The wording of errors and explanations.

use super::super::CronExpression;

#[test]
fn errors_name_the_column_and_what_was_expected() {
    let cases = [
        ("", 1, "expected a field for second, found the end of the expression"),
        ("0 0 12", 7, "expected a field for day of month, found the end of the expression"),
        (
            "*/5 * * * *",
            12,
            "expected a field for day of week, found the end of the expression; Quartz's expressions begin with the seconds, \
             as in `0 */5 * * * ?`",
        ),
        ("0 60 * * * ?", 3, "expected a minute from 0 to 59, found `60`"),
        ("0 0 24 * * ?", 5, "expected an hour from 0 to 23, found `24`"),
        ("0 0  5-30 * * ?", 6, "expected an hour from 0 to 23, found `30`"),
        ("0 0 0 1,0 * ?", 9, "expected a day of month from 1 to 31, found `0`"),
        ("0 0 0 1 1,13 ?", 11, "expected a month from 1 to 12, found `13`"),
        ("0 0 0 ? * 8", 11, "expected a day of week from 1 to 7, found `8`"),
        ("0 0 0 ? * 8L", 11, "expected a day of week from 1 to 7, found `8`"),
        ("0 0 0 32W * ?", 7, "expected a day of month from 1 to 31, found `32`"),
        ("0 0/60 * * * ?", 5, "expected a step of at most 59 for minute, found `60`"),
        ("0 */ * * * ?", 5, "expected a number, found the end of the field"),
        ("0 */x * * * ?", 5, "expected a number, found `X`"),
        ("0 5- * * * ?", 5, "expected a number, found the end of the field"),
        ("0 5/1x * * * ?", 6, "expected nothing after the step, found `X`"),
        ("0 99999999999 * * * ?", 3, "expected a number, found `99999999999`"),
        ("-1 * * * * ?", 1, "expected a number, `*` or `/`, found `-`"),
        ("0 MON * * * ?", 3, "expected a number, `*` or `/`, found `MON`"),
        ("0 0 0 W * ?", 7, "expected a number, `*`, `?`, `/` or `L`, found `W`"),
        ("0 0 0 1 JANUAR,FOO ?", 16, "expected a month name from `JAN` to `DEC`, found `FOO`"),
        ("0 0 0 ? * MON-FOO", 15, "expected a weekday name from `SUN` to `SAT`, found `FOO`"),
        ("0 0 0 ? * MO", 11, "expected a weekday name from `SUN` to `SAT`, found `MO`"),
        (
            "0 ? * * * ?",
            3,
            "expected a number, `*` or `/`, found `?`, which only day of month and day of week may hold",
        ),
        ("0 0 0 ?12 * MON", 8, "expected nothing after `?`, found `12`"),
        ("0 0 0 L-31 * ?", 9, "expected an offset from the last day of at most 30, found `31`"),
        ("0 0 0 1,L * ?", 9, "expected `L` alone in day of month, found it in the list `1,L`"),
        ("0 0 0 ? * 2,6L", 14, "expected `L` alone in day of week, found it in the list `2,6L`"),
        ("0 0 0 ? * 2#1,3#2", 16, "expected at most one `#`, found `2#1,3#2`"),
        ("0 0 0 ? * 2#6", 13, "expected a number from 1 to 5 after `#`, found `6`"),
        ("0 0 0 ? * 2W", 12, "expected no `W` after a number in day of week, it belongs to day of month"),
        ("0 0 0 2L * ?", 8, "expected no `L` after a number in day of month, it belongs to day of week"),
        ("0 0 0 2#1 * ?", 8, "expected no `#` after a number in day of month, it belongs to day of week"),
        ("0 0 0 , * ?", 7, "expected a day of month, found `,`"),
        ("0 0 0 ? * ?", 11, "expected `?` in only one of day of month and day of week, found it in both"),
        ("0 0 0 1 * 2", 11, "expected `?` in day of month or in day of week, found `1` and `2`"),
        ("0 0 0 1 * ? 2030-2020", 13, "expected a first year no later than the last, found `2030` to `2020`"),
        ("0 0 0 1 * ? é", 13, "expected a number, `*` or `/`, found `É`"),
    ];
    for (text, column, reason) in cases {
        let error = CronExpression::parse(text).expect_err(text);
        assert_eq!((error.column, error.reason.as_str()), (column, reason), "{text}");
        assert_eq!(error.expression, text);
        assert_eq!(error.to_string(), format!("cron expression `{text}`, column {column}: {reason}"));
    }
}

#[test]
fn explanations_say_when() {
    let cases = [
        ("* * * * * ?", "every second, every day"),
        ("0 * * * * ?", "every minute, every day"),
        ("30 * * * * ?", "at second 30 of every minute, every day"),
        ("0 0 * * * ?", "at 00:00 past every hour, every day"),
        ("0/10 * * * * ?", "every 10th second from 0 of every minute, every day"),
        ("0 0/15 9-17 ? * MON-FRI", "every 15th minute from 0 of hours 9 to 17, on Monday to Friday"),
        ("0 5 6,18 1,15 * ?", "at 05:00 past hours 6 and 18, on the 1st and 15th of the month"),
        ("0 1,2,9 * L * ?", "at minutes 1, 2 and 9 of every hour, on the last day of the month"),
        ("0 0 12 L-1 * ?", "at 12:00:00, on the day before the last day of the month"),
        ("0 0 12 L-3 * ?", "at 12:00:00, on the day 3 days before the last day of the month"),
        ("0 0 12 LW * ?", "at 12:00:00, on the last weekday (Monday to Friday) of the month"),
        (
            "0 0 12 L-2W * ?",
            "at 12:00:00, on the weekday (Monday to Friday) nearest to the day 2 days before the last day of the month",
        ),
        ("0 0 12 15W * ?", "at 12:00:00, on the weekday (Monday to Friday) nearest to the 15th of the month"),
        ("0 0 12 ? * 6L", "at 12:00:00, on the last Friday of the month"),
        ("0 0 12 ? * 6#3", "at 12:00:00, on the 3rd Friday of the month"),
        ("0 0 12 ? * 8#1", "never: no day is named"),
        ("0 0 12 ? * L", "at 12:00:00, on Saturday"),
        ("0 0 12 ? * *", "at 12:00:00, every day"),
        ("0 0 12 1 6-8 ?", "at 12:00:00, on the 1st of the month, in June to August"),
        ("0 0 12 1-5 3,9 ?", "at 12:00:00, on the 1st to the 5th of the month, in March and September"),
        ("0 0 12 * * ? 2030", "at 12:00:00, every day, in 2030"),
        ("0 0 12 * * ? 2028-2032,2040/4", "at 12:00:00, every day, in 2028 to 2032 and every 4th year from 2040"),
        (", 0 12 * * ?", "never: no second is named"),
        ("0 0 12 ? * ,", "never: no day is named"),
    ];
    for (text, words) in cases {
        assert_eq!(CronExpression::parse(text).expect(text).explain(), words, "{text}");
    }
}
