//! Arguments of `carnelian schedule` and `carnelian job add`: the job, its policies, the trigger.

use crate::history::KeepFlags;
use crate::marks::MarkFlags;
use crate::placement::PlacementFlags;
use crate::retry::RetryFlags;
use crate::schedule::TriggerPolicies;
use crate::value::{self, Moment};
use crate::when::{self, CalendarInterval};
use carnelian::{JobKey, MisfireInstruction, OnDead, StuckAction, TriggerKey};
use chrono::{NaiveTime, WeekdaySet};
use chrono_tz::Tz;
use clap::Args;
use std::time::Duration;

#[derive(Args)]
pub struct Schedule {
    /// The job, `group.name`
    #[arg(long, value_name = "G.N")]
    pub job: JobKey,
    /// The job's type: the name its code is registered under
    #[arg(long = "type", value_name = "TYPE")]
    pub job_type: String,
    /// The trigger, `group.name`
    #[arg(long, value_name = "G.N")]
    pub trigger: TriggerKey,
    /// Higher fires first among triggers of one moment
    #[arg(long, value_name = "N", default_value_t = carnelian::trigger::DEFAULT_PRIORITY, allow_negative_numbers = true)]
    pub priority: i32,
    /// Replaces the job and the trigger if they exist; fires in progress go on
    #[arg(long)]
    pub replace: bool,
    /// Your name for the request: a second one with it stores nothing, and is answered like the
    /// first
    #[arg(long, value_name = "ID", conflicts_with = "replace")]
    pub request_id: Option<String>,
    #[command(flatten)]
    pub when: When,
    /// The time zone of a cron expression, a recurrence rule or a calendar interval [default: the
    /// scheduler's, carnelian.scheduler.timeZone, else this machine's]
    #[arg(long, help_heading = "When", value_name = "ZONE", conflicts_with_all = ["every", "fixed_delay", "daily_every", "at"], value_parser = value::zone)]
    pub tz: Option<Tz>,
    /// Fires so many times more after the first [default: for ever]
    #[arg(long, help_heading = "When", value_name = "N", conflicts_with_all = ["cron", "calendar_interval", "rrule", "at"])]
    pub repeat: Option<u32>,
    /// With --calendar-interval: a time that a clock change has moved returns to the hour of the
    /// start
    #[arg(long, help_heading = "When", conflicts_with_all = ["cron", "every", "fixed_delay", "daily_every", "rrule", "at"])]
    pub preserve_hour: bool,
    /// With --preserve-hour: a day on which the clock jumps over that hour is left out
    #[arg(long, help_heading = "When", requires = "preserve_hour")]
    pub skip_day: bool,
    /// With --cron: times that the clock jumps over fire at the end of the gap; not beside nodes of
    /// Quartz
    #[arg(long, help_heading = "When", conflicts_with_all = ["every", "fixed_delay", "calendar_interval", "daily_every", "rrule", "at"])]
    pub fire_at_gap_end: bool,
    /// With --cron: times of an hour that comes twice fire in both passes; not beside nodes of
    /// Quartz
    #[arg(long, help_heading = "When", conflicts_with_all = ["every", "fixed_delay", "calendar_interval", "daily_every", "rrule", "at"])]
    pub both_passes: bool,
    /// With --calendar-interval: each time is counted from the start, so that monthly from the 31st
    /// returns to the 31st; not beside nodes of Quartz
    #[arg(long, help_heading = "When", conflicts_with_all = ["cron", "every", "fixed_delay", "daily_every", "rrule", "at"])]
    pub without_drift: bool,
    /// With --daily-every: nothing fires after --end, not even on the last day; not beside nodes of
    /// Quartz
    #[arg(long, help_heading = "When", conflicts_with_all = ["cron", "every", "fixed_delay", "calendar_interval", "rrule", "at"])]
    pub respect_end_time: bool,
    /// With --daily-every: the first time of the day [default: 00:00]
    #[arg(long, help_heading = "When", value_name = "HH:MM", conflicts_with_all = ["cron", "every", "fixed_delay", "calendar_interval", "rrule", "at"], value_parser = when::time_of_day)]
    pub from: Option<NaiveTime>,
    /// With --daily-every: the last time of the day [default: 23:59:59]
    #[arg(long, help_heading = "When", value_name = "HH:MM", conflicts_with_all = ["cron", "every", "fixed_delay", "calendar_interval", "rrule", "at"], value_parser = when::time_of_day)]
    pub to: Option<NaiveTime>,
    /// With --daily-every: the days of the week, such as mon,tue or mon-fri [default: all]
    #[arg(long, help_heading = "When", value_name = "DAYS", conflicts_with_all = ["cron", "every", "fixed_delay", "calendar_interval", "rrule", "at"], value_parser = when::days)]
    pub days: Option<WeekdaySet>,
    /// The first moment it may fire: ISO 8601 with offset, `now`, or `+30s` [default: now]
    #[arg(long, help_heading = "When", value_name = "TIME", conflicts_with = "at", value_parser = value::moment)]
    pub start: Option<Moment>,
    /// The moment after which it does not fire; at the moment itself --cron and --rrule do, --every
    /// and --calendar-interval do not, and --daily-every goes on until the end of that day
    #[arg(long, help_heading = "When", value_name = "TIME", value_parser = value::moment)]
    pub end: Option<Moment>,
    /// The treatment of a fire that could not happen in time
    #[arg(long, help_heading = "Late and overlapping fires", value_name = "NAME", default_value = "smart", value_parser = value::named(MisfireInstruction::ALL, MisfireInstruction::name))]
    pub misfire: MisfireInstruction,
    #[command(flatten)]
    pub policies: TriggerPolicies,
    /// The calendar whose excluded times the trigger leaves out
    #[arg(long, help_heading = "When", value_name = "NAME")]
    pub calendar: Option<String>,
    #[command(flatten)]
    pub flags: JobFlags,
    #[command(flatten)]
    pub policy: Policy,
}

/// The policy about a run that takes too long, falls silent or dies.
#[derive(Args, Default)]
#[command(next_help_heading = "Runs that go wrong")]
pub struct Policy {
    /// The longest run time; then the run is asked to stop, and its worker is abandoned if it does
    /// not [default: as long as it likes]
    #[arg(long, value_name = "DUR", value_parser = value::duration)]
    pub timeout: Option<Duration>,
    /// After how long without progress a run is stuck [default: 5m for jobs that report progress]
    #[arg(long, value_name = "DUR", value_parser = value::duration)]
    pub stuck_after: Option<Duration>,
    /// The action on a stuck run [default: log]
    #[arg(long, value_name = "ACTION", requires = "stuck_after", value_parser = value::named(StuckAction::ALL, StuckAction::name))]
    pub on_stuck: Option<StuckAction>,
    /// The number of times in a row that its work is taken over from a run that died before it is
    /// parked; 0 for no limit [default: carnelian.recovery.maxTakeovers]
    #[arg(long, value_name = "N")]
    pub max_takeovers: Option<u32>,
    /// A run that makes no progress for this long counts as dead [default: none]
    #[arg(long, value_name = "DUR", value_parser = value::duration)]
    pub max_silence: Option<Duration>,
    /// The number of heartbeats that a run may miss [default: that of the node]
    #[arg(long, value_name = "N")]
    pub missed_heartbeats: Option<u32>,
    /// With --recover: what becomes of the work of a dead fire [default: recovery-trigger]
    #[arg(long, value_name = "POLICY", value_parser = value::named(OnDead::ALL, OnDead::name))]
    pub on_dead: Option<OnDead>,
    #[command(flatten)]
    pub retry: RetryFlags,
    #[command(flatten)]
    pub keep: KeepFlags,
}

#[derive(Args)]
#[command(next_help_heading = "When")]
#[group(required = true, multiple = false)]
pub struct When {
    /// Fires by this cron expression
    #[arg(long, value_name = "EXPR")]
    pub cron: Option<String>,
    /// Fires by this recurrence rule of iCalendar, such as `FREQ=MONTHLY;BYDAY=-1FR`, at the time
    /// of day of the start; lines `EXDATE:20270101T090000` and `RDATE:…` may follow. Not beside
    /// nodes of Quartz
    #[arg(long, value_name = "RULE")]
    pub rrule: Option<String>,
    /// Fires again and again after this time: `500ms 30s 5m 2h 1d`
    #[arg(long, value_name = "DUR", value_parser = value::duration, allow_hyphen_values = true)]
    pub every: Option<Duration>,
    /// Fires this long after the end of the run before it, however that ended; the first time at
    /// the start. Not beside nodes of Quartz
    #[arg(long, value_name = "DUR", value_parser = value::duration, allow_hyphen_values = true)]
    pub fixed_delay: Option<Duration>,
    /// Fires after so many units of the calendar, such as 1month or 2weeks; the first time at the
    /// start
    #[arg(long, value_name = "N+UNIT", value_parser = when::calendar_interval)]
    pub calendar_interval: Option<CalendarInterval>,
    /// Fires after this time again and again, but between --from and --to on --days only; they are
    /// read in the scheduler's zone (carnelian.scheduler.timeZone)
    #[arg(long, value_name = "DUR", value_parser = when::whole_seconds, allow_hyphen_values = true)]
    pub daily_every: Option<Duration>,
    /// Fires once: ISO 8601 with offset, `now`, or `+30s`
    #[arg(long, value_name = "TIME", value_parser = value::moment)]
    pub at: Option<Moment>,
}

#[derive(Args)]
#[command(next_help_heading = "The job")]
pub struct JobFlags {
    /// One entry of the job's data; may be repeated
    #[arg(long, value_name = "K=V", value_parser = value::entry)]
    pub data: Vec<(String, String)>,
    /// A note for people
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// Another node runs it again when its node dies while it runs
    #[arg(long)]
    pub recover: bool,
    /// At most one fire of it runs in the whole cluster
    #[arg(long)]
    pub non_concurrent: bool,
    /// Changes that a run makes to the job's data are kept
    #[arg(long)]
    pub persist_data: bool,
    /// The job stays when no trigger points to it
    #[arg(long)]
    pub durable: bool,
    /// The version of the type's data that the data are of [default: the latest that a live node
    /// reads]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub data_version: Option<u32>,
    /// Stores it even if every live node that has the type calls it deprecated, or if a node of
    /// Quartz does not heed where it may run
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub marks: MarkFlags,
    #[command(flatten)]
    pub placement: PlacementFlags,
}
