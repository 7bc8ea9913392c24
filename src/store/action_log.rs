//! The log of actions: who did what, written by the transaction that does it.

use super::actor::Actor;
use super::row::ActionRow;
use super::transaction::random_hex;
use super::{JobStore, Session, TxMode};
use crate::error::{Result, storable};
use std::fmt::Display;

/// The most characters of what else there is to say of an action.
const MOST_DETAIL: usize = 500;
/// The most characters of a subject.
const MOST_SUBJECT: usize = 401;

/// An action on one subject or several.
#[derive(Clone, Copy, Debug)]
pub(super) struct Action<'a> {
    /// The word of the command line, at most 40 characters.
    pub(super) name: &'a str,
    /// The kind of the subjects, at most 20 characters.
    pub(super) kind: &'a str,
    /// A further word on it.
    pub(super) detail: Option<&'a str>,
}

impl<'a> Action<'a> {
    pub(super) const fn new(name: &'a str, kind: &'a str) -> Self {
        Self { name, kind, detail: None }
    }

    pub(super) fn detail(self, text: &'a str) -> Self {
        Self { detail: Some(text), ..self }
    }
}

/// The beginning of the ids of actions of this time.
pub(in crate::store) fn id_of_time(made_ms: i64) -> String {
    format!("{:012x}", made_ms.max(0))
}

impl JobStore {
    /// The store through which a person acts: actions are written down under this name, and a job
    /// that is triggered by hand counts as one. The node is that through which the person acts, or
    /// a host.
    pub fn acting_as(mut self, person: &str, node: &str) -> Self {
        self.actor = Actor::person(person, node);
        self
    }

    /// The name under which this store's actions are written down.
    pub fn actor(&self) -> &str {
        &self.actor.name
    }

    /// Writes down an action, in the transaction that does it, once for each subject.
    pub(super) fn note_action<T: Display>(
        &self,
        s: &mut dyn Session,
        action: Action<'_>,
        subjects: impl IntoIterator<Item = T>,
    ) -> Result<()> {
        let subjects: Vec<String> =
            subjects.into_iter().map(|subject| storable(&subject.to_string(), MOST_SUBJECT)).collect();
        if subjects.is_empty() {
            return Ok(());
        }
        let (made_ms, one) = (s.now_ms()?, random_hex()?);
        let row = |(i, subject): (usize, String)| ActionRow {
            action_id: format!("{}{:04x}{one}", id_of_time(made_ms), i & 0xffff),
            made_ms,
            actor: self.actor.name.clone(),
            node: self.actor.node.clone(),
            action: action.name.to_owned(),
            kind: action.kind.to_owned(),
            subject,
            detail: action.detail.map(|text| storable(text, MOST_DETAIL)),
        };
        let rows: Vec<ActionRow> = subjects.into_iter().enumerate().map(row).collect();
        s.insert_all(&rows)
    }

    /// Writes down an action that changed nothing in the store.
    pub(super) fn note_lone_action<T: Display>(&self, action: Action<'_>, subject: T) -> Result<()> {
        self.at_most_once("write down an action", TxMode::OwnRows, |s| self.note_action(s, action, [&subject]))
    }
}
