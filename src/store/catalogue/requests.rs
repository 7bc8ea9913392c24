//! Requests: work is stored once for each request, however often it is asked for.

use super::Catalogue;
use crate::error::Result;
use crate::job::JobDetail;
use crate::key::{JobKey, TriggerKey, check_name};
use crate::store::Session;
use crate::store::row::RequestRow;
use crate::trigger::Trigger;
use std::collections::BTreeMap;

/// A job with its trigger, to be stored once for a request.
#[derive(Clone, Debug)]
pub struct Request {
    /// The caller's name for it, at most 190 characters; none if it is not to be told from others.
    pub request_id: Option<String>,
    /// The job.
    pub job: JobDetail,
    /// The job's trigger.
    pub trigger: Trigger,
}

/// The job and the trigger that stand for a request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Taken {
    /// The job that stands for it.
    pub job: JobKey,
    /// The trigger that stands for it.
    pub trigger: TriggerKey,
    /// True if the request was taken now; otherwise the keys are those of the first time.
    pub is_new: bool,
    /// The reason why nobody can run it at present, for people: no live node has its job type. None
    /// if a node can, or nobody can tell.
    pub warning: Option<String>,
}

impl Taken {
    fn of(row: &RequestRow) -> Self {
        Self { job: row.job.clone(), trigger: row.trigger.clone(), is_new: false, warning: None }
    }
}

fn checked_ids(requests: &[Request]) -> Result<Vec<String>> {
    let ids: Vec<String> = requests.iter().filter_map(|request| request.request_id.clone()).collect();
    ids.iter().try_for_each(|id| check_name("request id", id))?;
    Ok(ids)
}

impl Catalogue<'_> {
    /// Stores each request's job and trigger, all in one transaction, unless a request of its id
    /// was taken before: then nothing is stored for it, and the answer is that of the first time
    /// (PA-05). The answers are in order.
    ///
    /// # Errors
    /// As [`Catalogue::schedule`]; nothing is stored then.
    pub fn take_requests(&self, requests: &[Request]) -> Result<Vec<Taken>> {
        let ids = checked_ids(requests)?;
        self.store.write("take requests", |s| self.take_requests_in(s, &ids, requests))
    }

    /// As [`Catalogue::take_requests`], inside the caller's transaction.
    ///
    /// # Errors
    /// As [`Catalogue::take_requests`] and
    /// [`Firing::complete_within`](crate::store::Firing::complete_within); the caller rolls its
    /// transaction back then.
    #[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
    pub fn take_requests_within<'c>(
        &self,
        connection: impl Into<crate::store::CallersConnection<'c>>,
        requests: &[Request],
    ) -> Result<Vec<Taken>> {
        let ids = checked_ids(requests)?;
        let mut taken = Vec::new();
        self.store.database.join("take requests", connection.into(), self.node.change_joined(), &mut |s| {
            taken = self.take_requests_in(s, &ids, requests)?;
            s.notify(crate::store::row::Notification::Change)
        })?;
        Ok(taken)
    }

    fn take_requests_in(&self, s: &mut dyn Session, ids: &[String], requests: &[Request]) -> Result<Vec<Taken>> {
        let known: Vec<RequestRow> = s.rows().any_of(&["request_id"], ids).list()?;
        let mut known: BTreeMap<_, _> = known.into_iter().map(|row| (row.request_id.clone(), row)).collect();
        let (mut answers, mut work, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        for Request { request_id, job, trigger } in requests {
            let first = request_id.as_ref().and_then(|id| known.get(id));
            if let Some(row) = first {
                answers.push(Taken::of(row));
                continue;
            }
            let (job_key, trigger_key) = (job.key.clone(), trigger.key.clone());
            answers.push(Taken { job: job_key, trigger: trigger_key, is_new: true, warning: None });
            work.push((job.clone(), vec![trigger.clone()]));
            if let Some(id) = request_id {
                let row = RequestRow { request_id: id.clone(), trigger: trigger.key.clone(), job: job.key.clone() };
                known.insert(id.clone(), row.clone());
                rows.push(row);
            }
        }
        self.check_work(&work)?;
        self.schedule_in(s, &work, false)?;
        if !rows.is_empty() {
            s.insert_all(&rows)?;
        }
        Ok(answers)
    }

    /// The job and the trigger that were stored for a request of this id, if it was taken.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for an id that cannot be stored.
    pub fn taken(&self, request_id: &str) -> Result<Option<Taken>> {
        check_name("request id", request_id)?;
        let row = self.store.read("look for a request", |s| s.row(request_id))?;
        Ok(row.as_ref().map(Taken::of))
    }
}
