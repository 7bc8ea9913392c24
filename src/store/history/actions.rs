//! `ActionQuery`: the log of actions, a page at a time.

use super::{History, MAX_LIMIT};
use crate::error::Result;
use crate::setters::setters;
use crate::store::action_log::id_of_time;
use crate::store::row::ActionRow;
use chrono::{DateTime, Utc};

/// A query for actions of people, and of programs by the administrative API. By default the newest
/// 100 of all.
///
/// ```
/// use carnelian::Scheduler;
/// use carnelian::history::ActionQuery;
///
/// let scheduler = Scheduler::builder().build()?;
/// for action in scheduler.actions(&ActionQuery::new().subject("billing.nightly").limit(10))? {
///     println!("{} {} {} {}", action.time(), action.actor, action.action, action.subject);
/// }
/// # Ok::<(), carnelian::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "it does nothing until it is asked"]
pub struct ActionQuery {
    subject: Option<String>,
    kind: Option<String>,
    actor: Option<String>,
    action: Option<String>,
    since: Option<DateTime<Utc>>,
    until: Option<DateTime<Utc>>,
    after: Option<String>,
    limit: Option<usize>,
}

impl ActionQuery {
    /// The newest 100 actions of all.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Only actions on this subject: a key as `group.name`, or a name.
        pub fn subject(subject: impl Into<String>) { self.subject = Some(subject.into()) }

        /// Only actions on subjects of this kind, such as `trigger`.
        pub fn kind(kind: impl Into<String>) { self.kind = Some(kind.into()) }

        /// Only actions of this person or program.
        pub fn actor(name: impl Into<String>) { self.actor = Some(name.into()) }

        /// Only actions of this word, such as `pause`.
        pub fn action(word: impl Into<String>) { self.action = Some(word.into()) }

        /// Only actions at this time or later.
        pub fn since(time: DateTime<Utc>) { self.since = Some(time) }

        /// Only actions before this time.
        pub fn until(time: DateTime<Utc>) { self.until = Some(time) }

        /// Only actions older than this one: the id of the last row of a page asks for the next
        /// page.
        pub fn after(action_id: impl Into<String>) { self.after = Some(action_id.into()) }

        /// At most so many, and never more than 10000. Default: 100.
        pub fn limit(limit: usize) { self.limit = Some(limit) }
    }
}

impl History<'_> {
    /// The actions that the query asks for, the newest first.
    ///
    /// # Errors
    /// Failures of the database after the bounded retries.
    pub fn actions(&self, query: &ActionQuery) -> Result<Vec<ActionRow>> {
        let until = query.until.map(|time| id_of_time(time.timestamp_millis()));
        let end = until.iter().chain(&query.after).min();
        let mut found = self.store.read("read the log of actions", |s| {
            let mut rows = s.rows::<ActionRow>();
            for (field, value) in
                [("subject", &query.subject), ("kind", &query.kind), ("actor", &query.actor), ("action", &query.action)]
            {
                if let Some(value) = value {
                    rows = rows.with(field, value);
                }
            }
            if let Some(end) = end {
                rows = rows.before("action_id", end);
            }
            rows.latest_by(&["action_id"]).limit(query.limit.unwrap_or(100).min(MAX_LIMIT)).list()
        })?;
        if let Some(since) = query.since {
            // The newest come first, so that nothing that is asked for follows an older one.
            found.retain(|row| row.made_ms >= since.timestamp_millis());
        }
        Ok(found)
    }
}
