//! Kind: what values a key takes, in words and as a check.

use crate::epoch::whole_millis;
use crate::key::{MAX_INSTANCE_CHARS, WHY_SO_SHORT};
use crate::node::Labels;
use crate::span;
use chrono_tz::Tz;
use std::net::SocketAddr;

/// Kind of values that a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A whole number of milliseconds, as Quartz has it.
    Millis {
        /// Least accepted.
        least: u64,
        /// Most accepted.
        most: u64,
    },
    /// A whole number of seconds.
    Seconds {
        /// Least accepted.
        least: u64,
        /// Most accepted.
        most: u64,
    },
    /// A whole number of milliseconds, or a text such as `30s`.
    Duration {
        /// Least accepted, in milliseconds.
        least: u64,
        /// Most accepted, in milliseconds.
        most: u64,
    },
    /// A whole number.
    Count {
        /// Least accepted.
        least: u64,
        /// Most accepted.
        most: u64,
    },
    /// `true` or `false`.
    Bool,
    /// A text without control characters that becomes a name.
    Name {
        /// Most characters.
        most: usize,
    },
    /// The id of an instance.
    InstanceId,
    /// Any text.
    Text,
    /// One word of this list.
    Choice(&'static [&'static str]),
    /// The name of a Java class.
    Class,
    /// The name of a time zone.
    Zone,
    /// Labels such as `zone=eu, gpu=yes`.
    Labels,
    /// The URL of a database.
    Url,
    /// An address to listen on, with its port.
    Listen,
    /// A password: never shown.
    Secret,
}

impl Kind {
    /// Accepted values, as an error message says it.
    pub fn accepted(&self) -> String {
        match *self {
            Kind::Millis { least, most } => {
                format!("expected a whole number of milliseconds from {least} to {most}")
            }
            Kind::Seconds { least, most } => {
                format!("expected a whole number of seconds from {least} to {most}")
            }
            Kind::Duration { least, most } => format!(
                "expected a duration such as 500ms, 30s, 5m, 2h or 1d, or a whole number of milliseconds, from {least} to {most} ms"
            ),
            Kind::Count { least, most } => {
                format!("expected a whole number from {least} to {most}")
            }
            Kind::Bool => "expected true or false".to_owned(),
            Kind::Name { most } => {
                format!("expected 1 to {most} characters without control characters")
            }
            Kind::InstanceId => {
                format!("{}: {WHY_SO_SHORT}", Kind::Name { most: MAX_INSTANCE_CHARS }.accepted())
            }
            Kind::Text => "expected a text".to_owned(),
            Kind::Choice(words) => format!("expected {}", words.join(" or ")),
            Kind::Class => "expected the name of a Java class".to_owned(),
            Kind::Labels => "expected labels such as zone=eu, gpu=yes".to_owned(),
            Kind::Zone => "expected the name of a time zone, such as UTC or Europe/Berlin".to_owned(),
            Kind::Url => "expected the URL of a database".to_owned(),
            Kind::Listen => "expected an IP address and a port, such as 127.0.0.1:8080 or [::]:9090".to_owned(),
            Kind::Secret => "expected a password".to_owned(),
        }
    }

    /// Unit or form, as the table of keys shows it.
    pub fn unit(&self) -> String {
        match *self {
            Kind::Millis { .. } => "ms".to_owned(),
            Kind::Seconds { .. } => "s".to_owned(),
            Kind::Duration { .. } => "ms, or `30s` `5m` …".to_owned(),
            Kind::Count { least, most } => format!("{least} to {most}"),
            Kind::Bool => "true, false".to_owned(),
            Kind::Name { .. } | Kind::InstanceId => "name".to_owned(),
            Kind::Text => "text".to_owned(),
            Kind::Choice(words) => words.join(", "),
            Kind::Class => "class".to_owned(),
            Kind::Labels => "`zone=eu, gpu=yes`".to_owned(),
            Kind::Zone => "time zone".to_owned(),
            Kind::Url => "URL".to_owned(),
            Kind::Listen => "`127.0.0.1:8080`".to_owned(),
            Kind::Secret => "secret".to_owned(),
        }
    }

    /// Checks that the value is one of this kind. The error says which values are accepted.
    pub(crate) fn check(&self, value: &str) -> Result<(), String> {
        let within = |least: u64, most: u64, value: u64| (least..=most).contains(&value);
        let sound = match *self {
            Kind::Millis { least, most } => {
                if value.parse().is_ok_and(|value| within(least, most, value)) {
                    return Ok(());
                }
                return Err(match span::parse(value).filter(|_| value.parse::<u64>().is_err()) {
                    Some(meant) => format!("{}: write {}", self.accepted(), whole_millis(meant)),
                    None => self.accepted(),
                });
            }
            Kind::Duration { least, most } => {
                span::parse(value).is_some_and(|value| within(least, most, whole_millis(value)))
            }
            Kind::Seconds { least, most } | Kind::Count { least, most } => {
                value.parse().is_ok_and(|value| within(least, most, value))
            }
            Kind::Bool => {
                let meant = match value.to_ascii_lowercase().as_str() {
                    "true" | "false" => return Ok(()),
                    "yes" | "on" | "1" | "y" | "t" => "true",
                    "no" | "off" | "0" | "n" | "f" => "false",
                    _ => return Err(self.accepted()),
                };
                return Err(format!("{}: write {meant}", self.accepted()));
            }
            Kind::Name { most } => {
                !value.is_empty() && value.chars().count() <= most && !value.chars().any(char::is_control)
            }
            Kind::InstanceId => {
                return Kind::Name { most: MAX_INSTANCE_CHARS }.check(value).map_err(|_| self.accepted());
            }
            Kind::Choice(words) => words.iter().any(|word| word.eq_ignore_ascii_case(value)),
            Kind::Class => {
                let is_letter = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.');
                !value.is_empty() && value.chars().all(is_letter)
            }
            Kind::Labels => {
                return value.parse::<Labels>().map(drop).map_err(|why| format!("{}: {why}", self.accepted()));
            }
            Kind::Zone => value.parse::<Tz>().is_ok(),
            Kind::Listen => value.parse::<SocketAddr>().is_ok(),
            Kind::Text | Kind::Url | Kind::Secret => true,
        };
        if sound { Ok(()) } else { Err(self.accepted()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_text_for_a_key_of_quartz_is_told_its_milliseconds() {
        let kind = Kind::Millis { least: 0, most: 100_000 };
        assert_eq!(kind.check("15000"), Ok(()));
        let error = kind.check("15s").unwrap_err();
        assert!(error.ends_with("from 0 to 100000: write 15000"), "{error}");
        for value in ["", "-1", "1.5", "100001", "ten", "15 000"] {
            assert_eq!(kind.check(value), Err(kind.accepted()), "{value}");
        }
    }

    #[test]
    fn only_true_and_false_are_booleans() {
        assert_eq!(Kind::Bool.check("TRUE"), Ok(()));
        assert_eq!(Kind::Bool.check("yes").unwrap_err(), "expected true or false: write true");
        assert_eq!(Kind::Bool.check("off").unwrap_err(), "expected true or false: write false");
        assert_eq!(Kind::Bool.check("maybe").unwrap_err(), "expected true or false");
    }

    #[test]
    fn names_are_bounded_and_printable() {
        let kind = Kind::Name { most: 4 };
        assert_eq!(kind.check("äöü4"), Ok(()));
        for value in ["", "fives", "a\nb", "a\0"] {
            assert!(kind.check(value).is_err(), "{value:?}");
        }
    }

    #[test]
    fn zones_are_known_by_their_names() {
        assert_eq!(Kind::Zone.check("America/Argentina/Ushuaia"), Ok(()));
        assert!(Kind::Zone.check("Berlin").unwrap_err().ends_with("such as UTC or Europe/Berlin"));
    }

    #[test]
    fn choices_and_durations() {
        let kind = Kind::Choice(&["notify", "abort"]);
        assert_eq!(kind.check("Abort"), Ok(()));
        assert_eq!(kind.check("stop").unwrap_err(), "expected notify or abort");
        let kind = Kind::Duration { least: 1, most: 60_000 };
        for (value, sound) in [("30s", true), ("1m", true), ("2m", false), ("0", false), ("x", false)] {
            assert_eq!(kind.check(value).is_ok(), sound, "{value}");
        }
    }
}
