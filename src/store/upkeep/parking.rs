//! Parking: work that would go round for ever, or that cannot be stored, is set aside until
//! somebody has looked at it.

use crate::error::Result;
use crate::job::JobPolicy;
use crate::key::TriggerKey;
use crate::store::JobStore;
use crate::store::row::{Parked, ParkedRow};

impl JobStore {
    /// Why work that was taken over so often in a row is not taken over once more; none if it is.
    pub(super) fn too_many(&self, policy: Option<&JobPolicy>, takeovers: i64) -> Option<String> {
        let limit = policy.and_then(JobPolicy::takeover_limit).unwrap_or(self.settings.max_takeovers);
        (limit > 0 && takeovers >= i64::from(limit)).then(|| {
            format!(
                "it was taken over {takeovers} times in a row, and each run died with its node or fell silent: \
                 carnelian.recovery.maxTakeovers, or its job's policy, allows {limit}"
            )
        })
    }

    /// The work that is parked, in the order in which it was.
    ///
    /// # Errors
    /// What the database reports after the bounded retries.
    pub fn parked(&self) -> Result<Vec<Parked>> {
        self.read("list parked work", |s| s.parked())
    }

    /// Lets parked work run again, at once and with all its take-overs before it; returns whether
    /// it was parked. Work whose recovery could not be built runs with the data that its trigger
    /// has.
    ///
    /// # Errors
    /// What the database reports after the bounded retries.
    pub fn retry_parked(&self, key: &TriggerKey) -> Result<bool> {
        self.write("run parked work again", |s| {
            let is_parked = s.parked()?.iter().any(|parked| parked.key == *key);
            if is_parked { self.reset_in(s, key) } else { Ok(false) }
        })
    }

    /// Deletes parked work with its trigger, and its job if that was there for it only; returns
    /// whether it was parked.
    ///
    /// # Errors
    /// What the database reports after the bounded retries.
    pub fn delete_parked(&self, key: &TriggerKey) -> Result<bool> {
        self.write("delete parked work", |s| {
            let Some(parked) = s.parked()?.into_iter().find(|parked| parked.key == *key) else { return Ok(false) };
            s.delete_triggers(std::slice::from_ref(key), None)?;
            s.rows::<ParkedRow>().with("trigger", key).delete()?;
            s.delete_idle_jobs(&[parked.job])?;
            Ok(true)
        })
    }
}
