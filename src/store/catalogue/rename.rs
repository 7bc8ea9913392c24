//! Rename: a job gets another key, and keeps its triggers.

use super::Catalogue;
use super::continuations::{continuations_of, rename_continuations};
use crate::error::{Error, Result};
use crate::key::JobKey;
use crate::store::Session;
use crate::store::action_log::Action;
use crate::store::firing::take_back_reservations;
use crate::store::row::{JobVersionRow, LastRunRow, RequestRow, TriggerSelection};

/// The result of renaming a job.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Renamed {
    /// The number of triggers of the job.
    pub triggers: usize,
}

impl Catalogue<'_> {
    /// Gives a job another key. The job's triggers keep their keys, states and times and are now
    /// the new job's; so are the requests that it stands for. Reservations of these triggers are
    /// given back, and the triggers taken again.
    ///
    /// With `dry_run` nothing is changed, and the answer or the error is what it would be.
    ///
    /// # Errors
    /// [`Error::NotFound`] without the old job, [`Error::AlreadyExists`] with the new one,
    /// [`Error::Refused`] while the job executes, [`Error::Invalid`] for a key that no table can
    /// hold.
    pub fn rename_job(&self, old: &JobKey, new: &JobKey, dry_run: bool) -> Result<Renamed> {
        new.check()?;
        if dry_run {
            return self.store.read("look at a job to be renamed", |s| check(s, old, new));
        }
        self.store.write("rename a job", |s| {
            let renamed = check(s, old, new)?;
            let Some(row) = s.job(old)? else { return Err(missing(old)) };
            take_back_reservations(s, std::slice::from_ref(old))?;
            let versions = s.job_versions(std::slice::from_ref(old))?;
            s.insert_jobs(&[crate::store::row::JobRow { key: new.clone(), ..row }])?;
            s.give_triggers(old, new)?;
            s.rows::<RequestRow>().with("job", old).set("job", new)?;
            let last_runs: Vec<LastRunRow> = s.rows().with("job", old).list()?;
            let continuations = continuations_of(s, old)?;
            s.delete_jobs(std::slice::from_ref(old))?;
            rename_continuations(s, continuations, old, new)?;
            let last_runs = last_runs.into_iter().map(|run| LastRunRow { job: new.clone(), ..run });
            s.put_all(&last_runs.collect::<Vec<_>>())?;
            let versions: Vec<_> = versions.into_iter().map(|row| JobVersionRow { job: new.clone(), ..row }).collect();
            s.put_job_versions(&versions)?;
            self.store.note_action(s, Action::new("rename", "job").detail(&format!("to {new}")), [old])?;
            Ok(renamed)
        })
    }
}

fn check(s: &mut dyn Session, old: &JobKey, new: &JobKey) -> Result<Renamed> {
    if s.existing_jobs(std::slice::from_ref(old))?.is_empty() {
        return Err(missing(old));
    }
    if !s.existing_jobs(std::slice::from_ref(new))?.is_empty() {
        return Err(Error::AlreadyExists { what: "job", key: new.to_string() });
    }
    if !s.executing_jobs(std::slice::from_ref(old))?.is_empty() {
        return Err(Error::Refused(format!(
            "job `{old}` is running, and its end would not find it: pause it (`carnelian job pause {old}`), wait until \
             `carnelian running` shows it no more, and try again"
        )));
    }
    if let Some(row) = s.definition(old)? {
        return Err(Error::Refused(format!(
            "job `{old}` is defined in the code of `{}`, which would store it again: rename it there, or forget the definition \
             (`carnelian definitions --forget {old}`) and try again",
            row.source
        )));
    }
    Ok(Renamed { triggers: s.triggers(TriggerSelection::OfJob(old))?.len() })
}

fn missing(job: &JobKey) -> Error {
    Error::NotFound { what: "job", key: job.to_string(), hint: ": `carnelian job list` shows those that are stored" }
}
