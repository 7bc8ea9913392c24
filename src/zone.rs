//! Time zones by the names that Java takes, and the zone of this machine.

use chrono_tz::Tz;
use std::sync::OnceLock;

/// Java's own three-letter names that the zone table lacks or means otherwise, as
/// `java.time.ZoneId.SHORT_IDS` has them.
const SHORT_IDS: &[(&str, Tz)] = &[
    ("ACT", Tz::Australia__Darwin),
    ("AET", Tz::Australia__Sydney),
    ("AGT", Tz::America__Argentina__Buenos_Aires),
    ("ART", Tz::Africa__Cairo),
    ("AST", Tz::America__Anchorage),
    ("BET", Tz::America__Sao_Paulo),
    ("BST", Tz::Asia__Dhaka),
    ("CAT", Tz::Africa__Harare),
    ("CNT", Tz::America__St_Johns),
    ("CST", Tz::America__Chicago),
    ("CTT", Tz::Asia__Shanghai),
    ("EAT", Tz::Africa__Addis_Ababa),
    ("ECT", Tz::Europe__Paris),
    ("IET", Tz::America__Indiana__Indianapolis),
    ("IST", Tz::Asia__Kolkata),
    ("JST", Tz::Asia__Tokyo),
    ("MIT", Tz::Pacific__Apia),
    ("NET", Tz::Asia__Yerevan),
    ("NST", Tz::Pacific__Auckland),
    ("PLT", Tz::Asia__Karachi),
    ("PNT", Tz::America__Phoenix),
    ("PRT", Tz::America__Puerto_Rico),
    ("PST", Tz::America__Los_Angeles),
    ("SST", Tz::Pacific__Guadalcanal),
    ("VST", Tz::Asia__Ho_Chi_Minh),
];

/// The zone that `java.util.TimeZone.getTimeZone` gives for a name; none where Java would silently
/// take GMT, and for offsets that are no whole hours, which no zone of the table has.
pub(crate) fn named(name: &str) -> Option<Tz> {
    if let Some((_, zone)) = SHORT_IDS.iter().find(|(short, _)| *short == name) {
        return Some(*zone);
    }
    match name {
        "Z" | "GMT0" => Some(Tz::UTC),
        _ => name.parse().ok().or_else(|| whole_hours(name)),
    }
}

/// `GMT+2`, `GMT+02:00`: the table calls it `Etc/GMT-2`.
fn whole_hours(name: &str) -> Option<Tz> {
    let rest = name.strip_prefix("GMT")?;
    let (sign, digits) = match (rest.strip_prefix('+'), rest.strip_prefix('-')) {
        (Some(digits), _) => ('-', digits),
        (_, Some(digits)) => ('+', digits),
        _ => return None,
    };
    let hours = digits.strip_suffix(":00").unwrap_or(digits);
    let hours: u8 = Some(hours).filter(|h| (1..=2).contains(&h.len()))?.parse().ok()?;
    if hours == 0 {
        return Some(Tz::UTC);
    }
    format!("Etc/GMT{sign}{hours}").parse().ok()
}

/// The origin of the zone of schedules that name none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ZoneSource {
    /// The property `carnelian.scheduler.timeZone`.
    Property,
    /// The environment variable `TZ`.
    Environment,
    /// The setting of the operating system.
    System,
    /// Nothing: UTC stands in.
    Nothing,
}

impl ZoneSource {
    /// The word for it in logs.
    pub fn name(self) -> &'static str {
        match self {
            ZoneSource::Property => "carnelian.scheduler.timeZone",
            ZoneSource::Environment => "TZ",
            ZoneSource::System => "the system",
            ZoneSource::Nothing => "nothing is set",
        }
    }
}

/// The zone of this machine, as a Java process on it has it: what `TZ` names, else what the system
/// is set to, else UTC. The first answer holds for the process, as in Java.
pub(crate) fn of_machine() -> Tz {
    machine().0
}

/// The zone of this machine, and where it comes from.
pub(crate) fn machine() -> (Tz, ZoneSource) {
    static MACHINE: OnceLock<(Tz, ZoneSource)> = OnceLock::new();
    *MACHINE.get_or_init(|| {
        let set = std::env::var("TZ").ok();
        let from_environment = set.as_deref().map(|name| name.strip_prefix(':').unwrap_or(name)).and_then(named);
        let from_system = || named(&iana_time_zone::get_timezone().ok()?);
        let (zone, source) = match from_environment {
            Some(zone) => (zone, ZoneSource::Environment),
            None => from_system().map_or((Tz::UTC, ZoneSource::Nothing), |zone| (zone, ZoneSource::System)),
        };
        // UTC has one name in the tables, whatever a machine calls it.
        (if zone == Tz::Etc__UTC { Tz::UTC } else { zone }, source)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_mean_what_they_mean_in_java() {
        for (name, zone) in [
            ("Europe/Berlin", Some(Tz::Europe__Berlin)),
            ("PST", Some(Tz::America__Los_Angeles)),
            ("EST", Some(Tz::EST)),
            ("UTC", Some(Tz::UTC)),
            ("Z", Some(Tz::UTC)),
            ("GMT", Some(Tz::GMT)),
            ("GMT+2", Some(Tz::Etc__GMTMinus2)),
            ("GMT-05:00", Some(Tz::Etc__GMTPlus5)),
            ("GMT+00:00", Some(Tz::UTC)),
            ("GMT+05:30", None),
            ("GMT+123", None),
            ("GMT+", None),
            ("Mars/Base", None),
            ("", None),
        ] {
            assert_eq!(named(name), zone, "{name}");
        }
    }
}
