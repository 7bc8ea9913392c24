//! Profiles: whose defaults hold for keys that are not given.

use super::reader::Reader;
use crate::words::words;

/// The scheduler whose defaults hold for keys that are not given. A key that is given goes before.
///
/// `docs/cluster.md` has the whole table.
///
/// ```
/// use carnelian::settings::{Profile, Settings};
/// use std::time::Duration;
///
/// let text = "carnelian.profile = logi\njobStore.clusterCheckinMisfireThreshold = 5000";
/// let settings = Settings::from_text("x.properties", text, |_| None)?;
/// assert_eq!(settings.profile, Profile::Logi);
/// assert_eq!(settings.job_store.checkin_interval, Duration::from_secs(10));
/// assert_eq!(settings.job_store.checkin_misfire_threshold, Duration::from_secs(5));
/// # Ok::<(), carnelian::settings::SettingsErrors>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Profile {
    /// Defaults of this crate, which are Quartz's where nothing speaks against them (`quartz`).
    #[default]
    Quartz,
    /// Defaults of db-scheduler (`db-scheduler`): a heartbeat every five minutes of which six may
    /// be missed, a poll every ten seconds, the most important triggers first, and one-shots that
    /// run again when their node dies.
    DbScheduler,
    /// Defaults of LogiCommon's scheduler (`logi`): a check-in every ten seconds, and a node dead
    /// after thirty.
    Logi,
}

words! {
    /// The word of the property `carnelian.profile`.
    Profile {
        Quartz = "quartz",
        DbScheduler = "db-scheduler",
        Logi = "logi",
    }
}

impl Profile {
    /// The keys whose defaults differ from the table of keys, with their defaults here. The keys
    /// are spelt as in [`KEYS`](super::keys::KEYS).
    pub fn defaults(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Profile::Quartz => &[],
            Profile::DbScheduler => &[
                ("scheduler.idleWaitTime", "10000"),
                ("carnelian.scheduler.pollInterval", "10s"),
                ("carnelian.scheduler.heartbeatInterval", "5m"),
                ("carnelian.scheduler.missedHeartbeatLimit", "6"),
                ("carnelian.jobStore.triggerOrder", "priority-then-time"),
                ("carnelian.recovery.reviveOneShots", "true"),
            ],
            Profile::Logi => &[
                ("jobStore.clusterCheckinInterval", "10000"),
                ("jobStore.clusterCheckinMisfireThreshold", "20000"),
                ("scheduler.idleWaitTime", "10000"),
                ("carnelian.scheduler.heartbeatInterval", "10s"),
                ("scheduler.interruptJobsOnShutdown", "true"),
                ("scheduler.interruptJobsOnShutdownWithWait", "true"),
                ("carnelian.cluster.skipBusyNodes", "true"),
            ],
        }
    }

    pub(crate) fn read(reader: &mut Reader) -> Self {
        let profile = reader.choice("carnelian.profile", Self::ALL, Self::name);
        reader.set_defaults(profile.defaults());
        profile
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::keys::KEYS;

    #[test]
    fn every_default_of_a_profile_is_a_legal_value_of_a_known_key_and_another_than_the_usual() {
        for profile in Profile::ALL {
            for (name, value) in profile.defaults() {
                let key = KEYS.iter().find(|key| key.name == *name).unwrap_or_else(|| panic!("{name} is no key"));
                assert_eq!(key.kind.check(value), Ok(()), "{name}");
                assert_ne!(key.default, crate::settings::keys::DefaultValue::Value(value), "{name}");
            }
        }
    }
}
