//! Fire times as programs see them: previews of a trigger, which need no store.

use super::Trigger;
use crate::calendar::Calendar;
use crate::epoch::moment;
use chrono::{DateTime, Utc};

/// Previews. All are pure: the present moment is an argument, and so is the calendar, of which a
/// trigger knows only the name.
impl Trigger {
    /// The times at which it is going to fire, as seen from `now`: from its next time on, or from
    /// its first if it was never stored.
    ///
    /// ```
    /// use carnelian::calendar::{Calendar, Weekdays};
    /// use carnelian::{CronSchedule, JobKey, Trigger, TriggerKey};
    /// use chrono::{DateTime, Utc};
    ///
    /// let trigger = Trigger::builder(TriggerKey::named("noon"), JobKey::named("report"))
    ///     .schedule(CronSchedule::new("0 0 12 * * ?")?)
    ///     .build()?;
    /// let now: DateTime<Utc> = "2026-03-05T18:00:00Z".parse()?;
    /// let weekdays = Calendar::new(Weekdays::weekend());
    /// let times: Vec<_> = trigger.upcoming(Some(&weekdays), now).take(2).collect();
    /// assert_eq!(times, ["2026-03-06T12:00:00Z".parse::<DateTime<Utc>>()?, "2026-03-09T12:00:00Z".parse()?]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "TriggerUtils.computeFireTimes")]
    pub fn upcoming<'a>(
        &self,
        calendar: Option<&'a Calendar>,
        now: DateTime<Utc>,
    ) -> impl Iterator<Item = DateTime<Utc>> + use<'a> {
        let now_ms = now.timestamp_millis();
        let mut trigger = self.clone();
        if trigger.next_ms.is_none() {
            trigger.compute_first_ms(calendar, now_ms);
        }
        std::iter::from_fn(move || {
            let next = trigger.next_ms?;
            trigger.move_on(calendar, now_ms);
            Some(moment(next))
        })
    }

    /// The first time strictly after an instant that the schedule, start and end allow; no calendar
    /// is asked.
    ///
    /// `now` decides only how far ahead is looked (a hundred years), and where a trigger begins
    /// that has no start.
    ///
    /// ```
    /// use carnelian::{CronSchedule, JobKey, Trigger, TriggerKey};
    /// use chrono::{DateTime, TimeDelta, Utc};
    ///
    /// let trigger = Trigger::builder(TriggerKey::named("noon"), JobKey::named("report"))
    ///     .schedule(CronSchedule::new("0 0 12 * * ?")?)
    ///     .build()?;
    /// let noon: DateTime<Utc> = "2026-03-01T12:00:00Z".parse()?;
    /// assert_eq!(trigger.fire_time_after(noon, noon), Some(noon + TimeDelta::days(1)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "getFireTimeAfter")]
    pub fn fire_time_after(&self, after: DateTime<Utc>, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        self.fire_ms_after(after.timestamp_millis(), now.timestamp_millis()).map(moment)
    }

    /// Sets and returns the next time of a trigger that is about to be stored: its first that the
    /// calendar includes.
    ///
    /// A trigger without a start is given the present moment. None means that it will never fire.
    ///
    /// ```
    /// use carnelian::{JobKey, SimpleSchedule, Trigger, TriggerKey};
    /// use chrono::{DateTime, Utc};
    /// use std::time::Duration;
    ///
    /// let minute = Duration::from_secs(60);
    /// let mut trigger = Trigger::builder(TriggerKey::named("soon"), JobKey::named("report"))
    ///     .schedule(SimpleSchedule::every(minute))
    ///     .build()?;
    /// let now: DateTime<Utc> = "2026-03-01T12:00:00Z".parse()?;
    /// assert_eq!(trigger.compute_first_fire_time(None, now), Some(now));
    /// trigger.triggered(None, now);
    /// assert_eq!(trigger.next_fire_time(), Some(now + minute));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "computeFirstFireTime")]
    pub fn compute_first_fire_time(
        &mut self,
        calendar: Option<&Calendar>,
        now: DateTime<Utc>,
    ) -> Option<DateTime<Utc>> {
        self.compute_first_ms(calendar, now.timestamp_millis()).map(moment)
    }

    /// Moves on by one fire: it has fired at its next time, and the one after becomes the next.
    pub fn triggered(&mut self, calendar: Option<&Calendar>, now: DateTime<Utc>) {
        self.move_on(calendar, now.timestamp_millis());
    }

    /// The last time it can fire, as far as that is known without trying: never for cron schedules,
    /// as in Quartz, and for recurrences.
    ///
    /// No calendar is asked, and a time equal to the end is reported although it is not fired. For
    /// a daily interval it is the end itself, or the end of its day.
    #[doc(alias = "getFinalFireTime")]
    pub fn final_fire_time(&self) -> Option<DateTime<Utc>> {
        self.final_ms().map(moment)
    }

    /// Gives it a past: as if it had fired so often, last at `previous`, and were next due at
    /// `next`.
    ///
    /// For previews of [`Trigger::upcoming`] and [`Trigger::apply_misfire`]; storing a trigger
    /// computes its next time.
    pub fn set_history(&mut self, next: Option<DateTime<Utc>>, previous: Option<DateTime<Utc>>, times_triggered: u64) {
        self.next_ms = next.map(|time| time.timestamp_millis());
        self.previous_ms = previous.map(|time| time.timestamp_millis());
        if let Some(times) = self.schedule.times_triggered_mut() {
            *times = i64::try_from(times_triggered).unwrap_or(i64::MAX);
        }
    }
}
