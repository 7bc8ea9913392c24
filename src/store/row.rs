//! The rows of the tables as plain values: what a [`Session`](super::Session) reads and writes.

mod actions;
mod calendar;
mod changes;
mod commit;
mod continuation;
mod counts;
mod due;
mod executions;
mod fast_path;
mod fired;
mod history;
mod history_query;
mod job;
mod listing;
mod locks;
mod node;
mod outages;
mod parked;
mod placement;
mod prefetched;
mod recovery;
mod selection;
mod snapshot;
mod table;
mod trigger;
mod types;
mod work;

pub use actions::ActionRow;
pub use calendar::{CalendarName, CalendarRow};
pub(in crate::store) use changes::LAST_COUNT;
pub use changes::{ClusterMembers, Notification, Notifications, PollResult, WithFires};
pub use commit::CommitRow;
pub use continuation::{ContinuationRow, TickPartRow};
pub use counts::Counts;
pub use due::{Advance, Candidate, CandidateSelection, DueQuery};
pub use executions::{CancelRow, HeartbeatRow, Progress};
pub use fast_path::FastPathWork;
pub use fired::{FenceRow, FiredRow, FiredState};
pub use history::{EndRow, EndedFire, HistoryOf, HistoryRow, LastRunRow, LogRow, RunSample, TrendSample};
pub use history_query::HistoryQuery;
pub use job::{DefinedTriggerRow, DefinitionRow, JobMarksRow, JobPolicyRow, JobRow, TagRow};
pub use listing::{JobQuery, ListOrder, Listed, Page, TriggerQuery, TriggerSummary};
pub use locks::LockRow;
pub use node::{Departure, IncarnationRow, InstanceProcessRow, InstanceRow, InstanceSelection, Late, LoadRow, NodeRow};
pub use outages::{Outage, RecoveryModeRow};
pub use parked::{Parked, ParkedRow};
pub use placement::{BlacklistKind, BlacklistRow, Exclusions, GroupRuns, LimitRow, PlacementView};
pub use prefetched::{BegunRow, GoneTrigger, PrefetchedFire, PrefetchedRow};
pub use recovery::RecoveryRow;
pub use selection::{
    ContinuationSelection, FiredSelection, Grouped, JobSelection, ReservationSelection, Selection, TriggerSelection,
};
pub use snapshot::{Snapshot, SnapshotPlace};
pub(in crate::store) use table::cells_of;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
pub(in crate::store) use table::unreadable;
pub use table::{Cell, Codec, Column, Field, Kind, Table, TableDef, ToCells};
pub use trigger::{OptionsRow, PausedGroupRow, RecurrenceRow, ScheduleRow, StoredOptionsRow, TriggerRow};
pub use types::{JobTypeRow, JobVersionRow, OrphanRow, TypePolicyRow, TypeVersions, UnknownJobRow};
pub use work::{CheckpointRow, RequestRow};

/// Our side tables that are declared.
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
pub(in crate::store) const DECLARED: &[&TableDef] = &[
    ActionRow::DEF,
    PrefetchedRow::DEF,
    HeartbeatRow::DEF,
    BegunRow::DEF,
    BlacklistRow::DEF,
    CancelRow::DEF,
    CheckpointRow::DEF,
    CommitRow::DEF,
    ContinuationRow::DEF,
    DefinedTriggerRow::DEF,
    DefinitionRow::DEF,
    FenceRow::DEF,
    IncarnationRow::DEF,
    InstanceProcessRow::DEF,
    JobMarksRow::DEF,
    JobPolicyRow::DEF,
    JobTypeRow::DEF,
    JobVersionRow::DEF,
    LastRunRow::DEF,
    LimitRow::DEF,
    LockRow::DEF,
    LogRow::DEF,
    NodeRow::DEF,
    OrphanRow::DEF,
    Outage::DEF,
    ParkedRow::DEF,
    RecoveryModeRow::DEF,
    RecoveryRow::DEF,
    RecurrenceRow::DEF,
    RequestRow::DEF,
    StoredOptionsRow::DEF,
    TagRow::DEF,
    TickPartRow::DEF,
    TypePolicyRow::DEF,
];
