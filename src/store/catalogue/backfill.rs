//! `Backfill`: the fires of a trigger in a range of the past, to be made up for.

use super::Catalogue;
use crate::epoch::moment;
use crate::error::{Error, Result};
use crate::key::{BACKFILL_GROUP, TriggerKey};
use crate::rules::backfill::times;
use crate::store::Session;
use crate::store::action_log::Action;
use crate::store::calendars::Calendars;
use crate::store::row::{RequestRow, TriggerSelection};
use crate::store::schedule_row::stored_policies;
use crate::trigger::{MisfireInstruction, Overlap, Trigger, show};
use chrono::{DateTime, Utc};
use std::collections::BTreeSet;

/// The default of [`Backfill::most`].
const USUAL_MOST: usize = 1_000;

/// More would hold the store's lock for long.
const HIGHEST_MOST: usize = 10_000;

/// A request to make up for the fires of a trigger in a range of the past, as after an outage or
/// for a trigger that should have been there earlier.
///
/// The times are those of the trigger's schedule and calendar, from the one moment to the other,
/// both included. Each becomes a one-shot trigger in the group [`BACKFILL_GROUP`], due at once,
/// with that time as its scheduled time and the trigger's job, data and priority. Times that the
/// trigger still has to fire itself are left out. Schedules that go by the clock (cron, daily
/// intervals) have times before the trigger's start too; those that count from it have none.
///
/// A time is stored once: a backfill that is repeated, or that overlaps with another, stores what
/// is missing. The store remembers the times for seven days, as it does
/// [request ids](crate::Submission::request_id).
#[derive(Clone, Debug)]
#[must_use = "it does nothing until it is given to a scheduler"]
pub struct Backfill {
    trigger: TriggerKey,
    from_ms: i64,
    to_ms: i64,
    most: usize,
    is_dry_run: bool,
    may_overlap: bool,
}

impl Backfill {
    /// The fires of a trigger from one moment to another.
    pub fn new(trigger: TriggerKey, from: DateTime<Utc>, to: DateTime<Utc>) -> Self {
        let (from_ms, to_ms) = (from.timestamp_millis(), to.timestamp_millis());
        Self { trigger, from_ms, to_ms, most: USUAL_MOST, is_dry_run: false, may_overlap: false }
    }

    /// Refused if there are more fires than this. Default: 1000; at most 10,000.
    pub fn most(mut self, fires: usize) -> Self {
        self.most = fires;
        self
    }

    /// Says what would be stored, and stores nothing. Default: no.
    pub fn dry_run(mut self, yes: bool) -> Self {
        self.is_dry_run = yes;
        self
    }

    /// True if the fires may run side by side although those of the trigger may not, by its
    /// [`Overlap`]: a backfill of such a trigger is refused otherwise, unless its job disallows
    /// concurrent execution and so runs them one by one. Default: no.
    pub fn may_overlap(mut self, yes: bool) -> Self {
        self.may_overlap = yes;
        self
    }
}

/// The result of a backfill, or of its dry run.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Backfilled {
    /// Every fire of the range, earliest first.
    pub fires: Vec<BackfilledFire>,
    /// The triggers of those that are stored now; none of a dry run.
    pub stored: Vec<Trigger>,
}

/// One fire of a backfill.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackfilledFire {
    /// The time it stands for.
    pub scheduled_fire_time: DateTime<Utc>,
    /// The one-shot trigger.
    pub trigger: TriggerKey,
    /// True if the trigger is stored now; otherwise it was before.
    pub is_new: bool,
}

impl Catalogue<'_> {
    /// Stores one-shot triggers for the fires of a trigger in a range of the past, all in one
    /// transaction.
    ///
    /// # Errors
    /// [`Error::NotFound`] for the trigger; [`Error::Invalid`] for a range that is none, or not of
    /// the past, or has more fires than allowed; [`Error::Refused`] if they could overlap and those
    /// of the trigger may not. Nothing is stored then.
    pub fn backfill(&self, backfill: &Backfill) -> Result<Backfilled> {
        let Backfill { from_ms, to_ms, most, .. } = *backfill;
        if from_ms > to_ms {
            let expected = format!("expected not after {}, where the range ends", show(Some(to_ms)));
            return Err(Error::invalid("beginning of the backfill", show(Some(from_ms)), expected));
        }
        if !(1..=HIGHEST_MOST).contains(&most) {
            return Err(Error::invalid("most fires of the backfill", most, format!("expected 1 to {HIGHEST_MOST}")));
        }
        match backfill.is_dry_run {
            true => self.store.read("plan a backfill", |s| self.plan_backfill(s, backfill)),
            false => self.store.write("backfill a trigger", |s| {
                let mut planned = self.plan_backfill(s, backfill)?;
                self.store_planned(s, &mut planned)?;
                let detail = format!("{} to {}", show(Some(from_ms)), show(Some(to_ms)));
                self.store.note_action(s, Action::new("backfill", "trigger").detail(&detail), [&backfill.trigger])?;
                Ok(planned)
            }),
        }
        .map(|planned| Backfilled { fires: planned.fires, stored: planned.triggers })
    }

    fn plan_backfill(&self, s: &mut dyn Session, backfill: &Backfill) -> Result<Planned> {
        let Backfill { trigger: key, from_ms, to_ms, most, .. } = backfill;
        let now_ms = s.now_ms()?;
        if *to_ms > now_ms {
            let expected = format!("expected at or before the present moment, {}", show(Some(now_ms)));
            return Err(Error::invalid("end of the backfill", show(Some(*to_ms)), expected));
        }
        let row = s.trigger(key)?;
        let row = row.ok_or_else(|| Error::not_found("trigger", key))?;
        let job = s.job(&row.job)?.ok_or_else(|| Error::not_found("job", &row.job))?;
        let mut calendars = Calendars::default();
        self.store.read_calendars(s, &mut calendars, row.calendar.as_deref().into_iter())?;
        let (trigger, calendar) = (self.store.trigger_value(&row)?, calendars.needed_by(&row)?);
        let at_most = |most: usize| times(&trigger, calendar.as_deref(), *from_ms, *to_ms, most, now_ms);
        let times = at_most(*most);
        if times.len() > *most {
            let (from, to) = (show(Some(*from_ms)), show(Some(*to_ms)));
            let there = at_most(HIGHEST_MOST).len();
            let there = if there > HIGHEST_MOST { format!("more than {HIGHEST_MOST}") } else { there.to_string() };
            let expected = format!(
                "expected at most {most} fires, and there are {there}: give a shorter range, or allow more (`Backfill::most`, \
                 `--most`)"
            );
            return Err(Error::invalid("range of the backfill", format!("{from} to {to}"), expected));
        }
        let overlap = stored_policies(&row)?.overlap;
        if overlap != Overlap::AllowAll && !job.nonconcurrent && times.len() > 1 && !backfill.may_overlap {
            return Err(Error::Refused(format!(
                "trigger `{key}` has overlap `{}`, and the {} fires of the backfill would run side by side: let its job \
                 disallow concurrent execution, backfill one at a time, or allow them to overlap",
                overlap.name(),
                times.len()
            )));
        }
        let names: Vec<String> = times.iter().map(|time| name_of(key, *time)).collect();
        let ids: Vec<String> = names.iter().map(|name| request_id(name)).collect();
        let mut known: BTreeSet<String> =
            s.rows().any_of(&["request_id"], &ids).list()?.into_iter().map(|row: RequestRow| row.request_id).collect();
        // A trigger may wait for longer than its request is remembered, as in a paused group.
        let keys: Vec<TriggerKey> = names.iter().map(|name| TriggerKey::new(BACKFILL_GROUP, name)).collect();
        known.extend(s.trigger_keys(TriggerSelection::Keys(&keys))?.iter().map(|key| request_id(key.name())));
        let mut planned = Planned::default();
        for ((time, id), one) in times.into_iter().zip(ids).zip(keys) {
            let is_new = !known.contains(&id);
            let scheduled_fire_time = moment(time);
            planned.fires.push(BackfilledFire { scheduled_fire_time, trigger: one.clone(), is_new });
            if is_new && !backfill.is_dry_run {
                let trigger = Trigger::builder(one, row.job.clone())
                    .start_at(scheduled_fire_time)
                    .misfire(MisfireInstruction::Ignore)
                    .priority(trigger.priority)
                    .data_map(trigger.data.clone())
                    .description(crate::error::storable(&format!("backfill of {key}"), 250))
                    .build()?;
                planned.requests.push(RequestRow {
                    request_id: id,
                    trigger: trigger.key.clone(),
                    job: row.job.clone(),
                });
                planned.triggers.push(trigger);
            }
        }
        Ok(planned)
    }

    fn store_planned(&self, s: &mut dyn Session, planned: &mut Planned) -> Result<()> {
        if planned.triggers.is_empty() {
            return Ok(());
        }
        let now_ms = s.now_ms()?;
        for trigger in &mut planned.triggers {
            self.set_first_fire_time(trigger, None, now_ms)?;
        }
        self.write_triggers(s, &planned.triggers.iter().collect::<Vec<_>>(), &[])?;
        s.insert_all(&planned.requests)
    }
}

/// The fires of a backfill, with the rows to be stored.
#[derive(Default)]
struct Planned {
    fires: Vec<BackfilledFire>,
    triggers: Vec<Trigger>,
    requests: Vec<RequestRow>,
}

/// The name of the one-shot for a time of a trigger: the same for the same, and never that of
/// another.
fn name_of(trigger: &TriggerKey, time_ms: i64) -> String {
    // A group may have dots of its own.
    let group = trigger.group().replace('%', "%25").replace('.', "%2E");
    let stem = format!("{group}.{}", trigger.name());
    let time = show(Some(time_ms));
    if stem.chars().count() <= LONGEST_STEM {
        return format!("{stem}-{time}");
    }
    // The hash is of the whole stem, and stands for the part that is cut off.
    let hash = crate::hash::fnv1a(stem.bytes());
    let begin: String = stem.chars().take(LONGEST_STEM - 17).collect();
    format!("{begin}~{hash:016x}-{time}")
}

/// Room for the time, and for what makes the name a request id.
const LONGEST_STEM: usize = crate::key::MAX_NAME_CHARS - "-2027-01-15T08:00:00.000Z".len() - "backfill:".len();

fn request_id(name: &str) -> String {
    format!("backfill:{name}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::check_name;

    #[test]
    fn names_are_those_of_one_trigger_and_time_and_can_be_stored() {
        let long = "n".repeat(190);
        let other = format!("{}m", "n".repeat(189));
        let keys = [("a", "b.c"), ("a.b", "c"), ("a%2Eb", "c"), (&long, &long), (&long, &other), ("ü", "ü")];
        let times = [1_800_000_000_000, 1_800_000_000_001];
        let names: BTreeSet<String> = keys
            .iter()
            .flat_map(|(group, name)| times.map(|time| name_of(&TriggerKey::new(*group, *name), time)))
            .collect();
        assert_eq!(names.len(), 12);
        for name in &names {
            assert!(check_name("trigger name", name).is_ok() && check_name("request id", &request_id(name)).is_ok());
        }
        assert!(names.contains("a.b.c-2027-01-15T08:00:00.000Z"));
    }
}
