//! `MessageFormat`: texts with places for values, in the syntax of `java.text.MessageFormat`.
//!
//! Understood are `{n}`, `{n,number[,integer or a pattern of # 0 and ,]}`,
//! `{n,date[,style or pattern]}` and `{n,time[,style or pattern]}`, with patterns of
//! `java.text.SimpleDateFormat` and English names. The rest is refused when the pattern is read:
//! choice formats, and weeks, which depend on a locale.

use chrono::{DateTime, Datelike, Offset, Timelike};
use chrono_tz::{OffsetName, Tz};

/// A pattern, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MessageFormat {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Argument(usize, Style),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Style {
    /// As suits the value.
    Plain,
    /// At least so many digits, in groups of three or not.
    Number {
        digits: usize,
        grouped: bool,
    },
    Date(Vec<Field>),
}

/// A part of a date pattern: a letter so many times, or a text.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Field {
    Letter(char, usize),
    Text(String),
}

/// A value to be filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Argument<'a> {
    Text(&'a str),
    Number(i64),
    /// Epoch milliseconds.
    Moment(i64),
    Null,
}

impl<'a> From<Option<&'a str>> for Argument<'a> {
    fn from(text: Option<&'a str>) -> Self {
        text.map_or(Self::Null, Self::Text)
    }
}

impl From<Option<i64>> for Argument<'_> {
    fn from(moment: Option<i64>) -> Self {
        moment.map_or(Self::Null, Self::Moment)
    }
}

impl MessageFormat {
    /// Reads a pattern; the error says what is wrong with it.
    pub(crate) fn parse(pattern: &str) -> Result<Self, String> {
        let (mut parts, mut text) = (Vec::new(), String::new());
        let mut rest = pattern.chars().peekable();
        let mut quoted = false;
        while let Some(c) = rest.next() {
            match c {
                '\'' if rest.next_if_eq(&'\'').is_some() => text.push('\''),
                '\'' => quoted = !quoted,
                '{' if !quoted => {
                    parts.push(Part::Text(std::mem::take(&mut text)));
                    parts.push(argument(&mut rest)?);
                }
                c => text.push(c),
            }
        }
        parts.push(Part::Text(text));
        parts.retain(|part| !matches!(part, Part::Text(text) if text.is_empty()));
        Ok(Self { parts })
    }

    /// The text with its values; moments are shown as clocks in `zone` show them.
    pub(crate) fn format(&self, arguments: &[Argument<'_>], zone: Tz) -> String {
        let mut out = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => out.push_str(text),
                // As in Java, a place without a value stays.
                Part::Argument(index, style) => match arguments.get(*index) {
                    None => out.push_str(&format!("{{{index}}}")),
                    Some(argument) => put(&mut out, argument, style, zone),
                },
            }
        }
        out
    }
}

/// Argument behind `{`, to the `}` that belongs to it.
fn argument(rest: &mut impl Iterator<Item = char>) -> Result<Part, String> {
    let mut segments = [String::new(), String::new(), String::new()];
    let (mut at, mut depth, mut quoted) = (0, 0, false);
    loop {
        let c = rest.next().ok_or("a `{` without its `}`")?;
        let [_, kind, _] = &segments;
        match c {
            '\'' => quoted = !quoted,
            ',' if !quoted && at < 2 => {
                at += 1;
                continue;
            }
            // Blanks before the kind mean nothing; those before the pattern belong to it.
            ' ' if !quoted && at == 1 && kind.is_empty() => continue,
            '{' if !quoted => depth += 1,
            '}' if !quoted && depth == 0 => break,
            '}' if !quoted => depth -= 1,
            _ => {}
        }
        if let Some(segment) = segments.get_mut(at) {
            segment.push(c);
        }
    }
    let [index, kind, modifier] = segments;
    let index = index.parse().ok().filter(|index| *index < 1000).ok_or(format!("{{{index}}}: expected a number"))?;
    let style = match kind.trim().to_lowercase().as_str() {
        "" => Style::Plain,
        "number" => number(&modifier)?,
        "date" => Style::Date(date(match modifier.trim().to_lowercase().as_str() {
            "" | "medium" => "MMM d, yyyy",
            "short" => "M/d/yy",
            "long" => "MMMM d, yyyy",
            "full" => "EEEE, MMMM d, yyyy",
            _ => &modifier,
        })?),
        "time" => Style::Date(date(match modifier.trim().to_lowercase().as_str() {
            "" | "medium" => "h:mm:ss a",
            "short" => "h:mm a",
            "long" | "full" => "h:mm:ss a z",
            _ => &modifier,
        })?),
        other => return Err(format!("{{{index},{other}}}: expected number, date or time")),
    };
    Ok(Part::Argument(index, style))
}

fn number(modifier: &str) -> Result<Style, String> {
    match modifier.trim().to_lowercase().as_str() {
        "" | "integer" => Ok(Style::Number { digits: 1, grouped: true }),
        pattern if pattern.chars().all(|c| matches!(c, '#' | '0' | ',')) => {
            Ok(Style::Number { digits: pattern.matches('0').count(), grouped: pattern.contains(',') })
        }
        other => Err(format!("number format `{other}`: expected integer, or a pattern of `#`, `0` and `,`")),
    }
}

/// Reads a pattern of `java.text.SimpleDateFormat`.
fn date(pattern: &str) -> Result<Vec<Field>, String> {
    let mut fields: Vec<Field> = Vec::new();
    let mut rest = pattern.chars().peekable();
    let mut quoted = false;
    while let Some(c) = rest.next() {
        let text = match c {
            '\'' if rest.next_if_eq(&'\'').is_some() => '\'',
            '\'' => {
                quoted = !quoted;
                continue;
            }
            letter if !quoted && letter.is_ascii_alphabetic() => {
                if !"GyMLdDEuaHkKhmsSzZX".contains(letter) {
                    return Err(format!("date format `{pattern}`: the letter `{letter}` is not understood"));
                }
                match fields.last_mut() {
                    Some(Field::Letter(last, count)) if *last == letter => *count += 1,
                    _ => fields.push(Field::Letter(letter, 1)),
                }
                continue;
            }
            c => c,
        };
        match fields.last_mut() {
            Some(Field::Text(last)) => last.push(text),
            _ => fields.push(Field::Text(text.to_string())),
        }
    }
    Ok(fields)
}

/// Format of a date for which the pattern gives none.
const SHORT: &str = "M/d/yy, h:mm a";

fn put(out: &mut String, argument: &Argument<'_>, style: &Style, zone: Tz) {
    match (argument, style) {
        (Argument::Null, _) => out.push_str("null"),
        (Argument::Text(text), _) => out.push_str(text),
        (Argument::Number(number), Style::Number { digits, grouped }) => put_number(out, *number, *digits, *grouped),
        (Argument::Number(number), _) => put_number(out, *number, 1, true),
        (Argument::Moment(ms), style) => {
            let Some(time) = DateTime::from_timestamp_millis(*ms) else { return out.push_str(&ms.to_string()) };
            let time = time.with_timezone(&zone);
            let short;
            let fields = match style {
                Style::Date(fields) => fields,
                _ => {
                    short = date(SHORT).unwrap_or_default();
                    &short
                }
            };
            fields.iter().for_each(|field| put_field(out, field, &time));
        }
    }
}

fn put_number(out: &mut String, number: i64, digits: usize, grouped: bool) {
    let shown = format!("{:0digits$}", number.unsigned_abs());
    if number < 0 {
        out.push('-');
    }
    for (at, digit) in shown.chars().enumerate() {
        if grouped && at > 0 && (shown.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
}

fn put_field(out: &mut String, field: &Field, time: &DateTime<Tz>) {
    let (letter, count) = match field {
        Field::Text(text) => return out.push_str(text),
        Field::Letter(letter, count) => (*letter, *count),
    };
    let number = match letter {
        'y' if count == 2 => i64::from(time.year().rem_euclid(100)),
        'y' => i64::from(time.year()),
        'M' | 'L' if count > 2 => return out.push_str(&time.format(if count > 3 { "%B" } else { "%b" }).to_string()),
        'M' | 'L' => i64::from(time.month()),
        'd' => i64::from(time.day()),
        'D' => i64::from(time.ordinal()),
        'E' => return out.push_str(&time.format(if count > 3 { "%A" } else { "%a" }).to_string()),
        'u' => i64::from(time.weekday().number_from_monday()),
        'H' => i64::from(time.hour()),
        'k' => i64::from(if time.hour() == 0 { 24 } else { time.hour() }),
        'K' => i64::from(time.hour() % 12),
        'h' => i64::from(time.hour12().1),
        'm' => i64::from(time.minute()),
        's' => i64::from(time.second()),
        'S' => i64::from(time.timestamp_subsec_millis()),
        'a' => return out.push_str(if time.hour12().0 { "PM" } else { "AM" }),
        'G' => return out.push_str(if time.year() > 0 { "AD" } else { "BC" }),
        'z' => return out.push_str(time.offset().abbreviation().unwrap_or("GMT")),
        'Z' => return put_offset(out, time, false, true),
        'X' if time.offset().fix().local_minus_utc() == 0 => return out.push('Z'),
        'X' => return put_offset(out, time, count > 2, count > 1),
        _ => return,
    };
    out.push_str(&format!("{number:0count$}"));
}

fn put_offset(out: &mut String, time: &DateTime<Tz>, colon: bool, minutes: bool) {
    let offset = time.offset().fix().local_minus_utc();
    let (sign, minutes_off) = (if offset < 0 { '-' } else { '+' }, offset.unsigned_abs() / 60);
    out.push_str(&format!("{sign}{:02}", minutes_off / 60));
    if minutes {
        out.push_str(&format!("{}{:02}", if colon { ":" } else { "" }, minutes_off % 60));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono_tz::Europe::Berlin;

    /// 2026-03-05T17:08:09.042Z, a Thursday.
    const MOMENT: i64 = 1_772_730_489_042;

    fn shown(pattern: &str) -> String {
        let arguments = [Argument::Text("a"), Argument::Number(1_234), Argument::Moment(MOMENT), Argument::Null];
        MessageFormat::parse(pattern).unwrap_or_else(|why| panic!("{pattern}: {why}")).format(&arguments, Berlin)
    }

    #[test]
    fn values_are_filled_in_as_java_fills_them_in() {
        for (pattern, expected) in [
            ("", ""),
            ("x {0}.{1} {3} {7}", "x a.1,234 null {7}"),
            ("it''s '{0}' {0}", "it's {0} a"),
            ("{1,number} {1,number,integer} {1,number,#} {1,number,000000}", "1,234 1,234 1234 001234"),
            // The blank before the pattern belongs to it, and so Quartz's own messages have two.
            ("at: {2, date, HH:mm:ss MM/dd/yyyy}", "at:  18:08:09 03/05/2026"),
            ("{2,date,yyyy-MM-dd'T'HH:mm:ss.SSSXXX}", "2026-03-05T18:08:09.042+01:00"),
            ("{2,date,EEE d MMM yy h:mm a z Z X}", "Thu 5 Mar 26 6:08 PM CET +0100 +01"),
            ("{2,date,EEEE MMMM D u k K ''G''}", "Thursday March 64 4 18 6 'AD'"),
            ("{2} {2,date} {2,time}", "3/5/26, 6:08 PM Mar 5, 2026 6:08:09 PM"),
            ("{2,date,short} {2,date,long} {2,date,full}", "3/5/26 March 5, 2026 Thursday, March 5, 2026"),
            ("{2,time,short} {2,time,full}", "6:08 PM 6:08:09 PM CET"),
            ("{0,date} {2,number}", "a 3/5/26, 6:08 PM"),
        ] {
            assert_eq!(shown(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for pattern in
            ["{", "{0", "{x}", "{ 0}", "{-1}", "{0,choice,0#a|1#b}", "{0,date,ww}", "{0,number,#.##E0}", "{}"]
        {
            assert!(MessageFormat::parse(pattern).is_err(), "{pattern}");
        }
    }
}
