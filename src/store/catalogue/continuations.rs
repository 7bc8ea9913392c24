//! Continuations: which jobs follow the runs of others, as it is stored, changed and listed.

use super::Catalogue;
use crate::error::{Error, Result};
use crate::job::Continuation;
use crate::key::{JobKey, distinct};
use crate::rules::continuation::{read, word};
use crate::store::Session;
use crate::store::action_log::Action;
use crate::store::row::{ContinuationRow, ContinuationSelection};
use std::collections::BTreeSet;

/// The most children of one job: as many triggers may be stored in the transaction that ends a run
/// of it.
pub const MAX_CHILDREN: usize = 1000;

/// The most bytes of data that a continuation passes on, as they are stored.
pub const MAX_PASSED_BYTES: usize = 40 * 1024;

/// The continuations that a job is parent or child of.
pub(super) fn continuations_of(s: &mut dyn Session, job: &JobKey) -> Result<Vec<ContinuationRow>> {
    let mut rows = s.continuations(ContinuationSelection::ChildrenOf(std::slice::from_ref(job)))?;
    rows.extend(s.continuations(ContinuationSelection::ParentsOf(std::slice::from_ref(job)))?);
    Ok(rows)
}

impl Catalogue<'_> {
    /// Lets a job follow another, from the parent's next fire on. Between the same two it takes the
    /// place of what was stored before, for the runs that that was for as well; to say the same
    /// again changes nothing.
    ///
    /// # Errors
    /// [`Error::NotFound`] without the parent or the child. [`Error::Refused`] if the child is not
    /// durable, if the parent has [`MAX_CHILDREN`] others, and if a job would follow itself, at
    /// once or through others, without [`Continuation::allow_cycle`]. [`Error::Invalid`] for data
    /// that cannot be stored, or are more than [`MAX_PASSED_BYTES`].
    pub fn follow(&self, continuation: &Continuation) -> Result<()> {
        let Continuation { parent, child, on, per_tick, data, allows_cycle } = continuation;
        let on = word(*on, *per_tick);
        let data = if data.is_empty() { None } else { Some(self.store.encode_trigger_data(data)?) };
        if let Some(bytes) = data.as_ref().filter(|bytes| bytes.len() > MAX_PASSED_BYTES) {
            let expected =
                format!("at most {MAX_PASSED_BYTES}: what there is to say of the parent must fit in beside them");
            return Err(Error::invalid("bytes of a continuation's data", bytes.len().to_string(), expected));
        }
        self.store.write("let a job follow another", |s| {
            let parent_type = s.job(parent)?.ok_or_else(|| missing(parent))?.job_type;
            let child_row = s.job(child)?.ok_or_else(|| missing(child))?;
            if !child_row.durable {
                return Err(Error::Refused(format!(
                    "job `{child}` cannot follow `{parent}`: it is not durable, and would be gone after its first run: \
                     store it durable (`carnelian job add`, `JobDetailBuilder::durable`)"
                )));
            }
            let children = s.continuations(ContinuationSelection::ChildrenOf(std::slice::from_ref(parent)))?;
            let before = children.iter().find(|row| row.child == *child);
            if before.is_some_and(|row| row.on == on && row.data == data) {
                return Ok(());
            }
            // A continuation that is there already closes no new circle.
            if before.is_none() && !allows_cycle {
                check_no_cycle(s, parent, child)?;
            }
            if before.is_none() && children.len() >= MAX_CHILDREN {
                return Err(Error::Refused(format!("job `{parent}` has {MAX_CHILDREN} children already, and no more")));
            }
            let since_fence = match before {
                Some(before) => before.since_fence,
                None => s.draw_fences(None, 1)?.unwrap_or(0),
            };
            self.note_following(s, "follow", parent, child)?;
            s.put(&ContinuationRow {
                parent: parent.clone(),
                parent_type: parent_type.to_string(),
                child: child.clone(),
                child_hash: child_hash(child),
                on: on.clone(),
                since_fence,
                data: data.clone(),
                child_is_blocked: false,
            })
        })
    }

    /// Lets a job follow another no longer; false if it did not. Runs that have ended by now are
    /// followed as it was.
    ///
    /// # Errors
    /// Failures of the database after the bounded retries.
    pub fn unfollow(&self, parent: &JobKey, child: &JobKey) -> Result<bool> {
        self.store.write("let a job follow another no longer", |s| {
            let followed = s.rows::<ContinuationRow>().with("parent", parent).with("child", child).delete()? > 0;
            if followed {
                self.note_following(s, "unfollow", parent, child)?;
            }
            Ok(followed)
        })
    }

    fn note_following(&self, s: &mut dyn Session, action: &str, parent: &JobKey, child: &JobKey) -> Result<()> {
        self.store.note_action(s, Action::new(action, "job").detail(&format!("child {child}")), [parent])
    }

    /// The jobs that follow a job, in order of their keys.
    ///
    /// # Errors
    /// [`Error::Unreadable`] for a row that cannot be read; what the database reports after the
    /// bounded retries.
    pub fn children_of(&self, parent: &JobKey) -> Result<Vec<Continuation>> {
        let rows = self.store.read("read continuations", |s| {
            s.continuations(ContinuationSelection::ChildrenOf(std::slice::from_ref(parent)))
        })?;
        self.continuation_values(rows)
    }

    /// The jobs that a job follows, in order of their keys.
    ///
    /// # Errors
    /// As [`Catalogue::children_of`].
    pub fn parents_of(&self, child: &JobKey) -> Result<Vec<Continuation>> {
        let rows = self.store.read("read continuations", |s| {
            s.continuations(ContinuationSelection::ParentsOf(std::slice::from_ref(child)))
        })?;
        self.continuation_values(rows)
    }

    /// All continuations, in order of the keys of the parents and of the children.
    ///
    /// # Errors
    /// As [`Catalogue::children_of`].
    pub fn continuations(&self) -> Result<Vec<Continuation>> {
        let rows = self.store.read("read continuations", |s| s.continuations(ContinuationSelection::All))?;
        self.continuation_values(rows)
    }

    fn continuation_values(&self, mut rows: Vec<ContinuationRow>) -> Result<Vec<Continuation>> {
        rows.sort_by(|a, b| (&a.parent, &a.child).cmp(&(&b.parent, &b.child)));
        let unreadable = |row: &ContinuationRow, reason: String| {
            Error::unreadable("CN_CONTINUATIONS", format_args!("{} -> {}", row.parent, row.child), reason)
        };
        let value = |row: ContinuationRow| {
            let (on, per_tick) = read(&row.on).map_err(|why| unreadable(&row, format!("ON_OUTCOME: {why}")))?;
            let data =
                self.store.decode_data(row.data.as_deref()).map_err(|why| unreadable(&row, format!("DATA: {why}")))?;
            Ok(Continuation::new(row.parent, row.child).on(on).once_per_tick(per_tick).data_map(data))
        };
        rows.into_iter().map(value).collect()
    }
}

/// Follows the children of `child`, and theirs, to see whether `parent` is among them.
fn check_no_cycle(s: &mut dyn Session, parent: &JobKey, child: &JobKey) -> Result<()> {
    let mut seen: BTreeSet<JobKey> = BTreeSet::new();
    let mut next = vec![child.clone()];
    while !next.is_empty() {
        if next.contains(parent) {
            return Err(Error::Refused(format!(
                "job `{child}` cannot follow `{parent}`: it would follow itself then, at once or through others, and could \
                 run for ever: ask for it with `--allow-cycle`, or `Continuation::allow_cycle`, if that is \
                 what you want"
            )));
        }
        seen.extend(next.iter().cloned());
        let rows = s.continuations(ContinuationSelection::ChildrenOf(&next))?;
        next = distinct(rows.iter().map(|row| &row.child).filter(|key| !seen.contains(*key)));
    }
    Ok(())
}

/// The continuations of a job that has another key now.
pub(super) fn rename_continuations(
    s: &mut dyn Session,
    rows: Vec<ContinuationRow>,
    old: &JobKey,
    new: &JobKey,
) -> Result<()> {
    let renamed = |key: JobKey| if key == *old { new.clone() } else { key };
    rows.into_iter().try_for_each(|row| {
        let child = renamed(row.child);
        let child_hash = child_hash(&child);
        s.put(&ContinuationRow { parent: renamed(row.parent), child, child_hash, ..row })
    })
}

/// Stands for a job in keys and names that have no room for its own.
///
/// No two children of one parent have the same: it is part of the table's key.
pub(super) fn child_hash(job: &JobKey) -> String {
    let bytes = job.group().bytes().chain([0xff]).chain(job.name().bytes());
    format!("{:016x}", crate::hash::fnv1a(bytes))
}

fn missing(job: &JobKey) -> Error {
    Error::NotFound { what: "job", key: job.to_string(), hint: ": store it first, durable (`carnelian job add`)" }
}
