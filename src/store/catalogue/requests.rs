//! Requests: work is stored once for each request, however often it is asked for.

use super::Catalogue;
use super::continuations::child_hash;
use super::if_stored::IfStored;
use crate::error::{Error, Result};
use crate::hash::HashMap;
use crate::job::{JobDetail, On};
use crate::key::{JobKey, TriggerKey, check_name};
use crate::store::Session;
use crate::store::row::{ContinuationRow, RequestRow};
use crate::trigger::Trigger;

/// A job with its trigger, to be stored once for a request.
#[derive(Clone, Debug)]
pub struct Request {
    /// The caller's name for it, at most 190 characters; none if it is not to be told from others.
    pub request_id: Option<String>,
    /// The job.
    pub job: JobDetail,
    /// The job's trigger.
    pub trigger: Trigger,
    /// The work that follows it, and after which ends. Of its triggers only the keys
    /// count: those that fire are the triggers of a continuation.
    pub then: Vec<(On, Request)>,
}

/// The work that is stored for requests.
#[derive(Default)]
struct Work {
    first: Vec<(JobDetail, Vec<Trigger>)>,
    following: Vec<JobDetail>,
    continuations: Vec<ContinuationRow>,
    requests: Vec<RequestRow>,
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
    /// The reason why not all of it will run at present, for people: no live node has its job type,
    /// or work that was to follow was taken before under its request id. None if nothing is known
    /// against it.
    pub warning: Option<String>,
}

impl Taken {
    fn anew(request: &Request) -> Self {
        let (job, trigger) = (request.job.key.clone(), request.trigger.key.clone());
        Self { job, trigger, is_new: true, warning: None }
    }

    fn of(row: &RequestRow) -> Self {
        Self { job: row.job.clone(), trigger: row.trigger.clone(), is_new: false, warning: None }
    }
}

fn checked_ids(requests: &[Request]) -> Result<Vec<String>> {
    let mut ids = Vec::new();
    for request in requests {
        let (mut left, first) = (vec![request], ids.len());
        while let Some(Request { request_id, then, .. }) = left.pop() {
            if let Some(id) = request_id {
                check_name("request id", id)?;
                if ids.iter().skip(first).any(|known| known == id) {
                    let expected = "expected an id of its own for each work of a submission, what follows it included";
                    return Err(Error::invalid("request id", id, expected));
                }
                ids.push(id.clone());
            }
            left.extend(then.iter().map(|(_, request)| request));
        }
    }
    Ok(ids)
}

impl Work {
    fn add_request(&mut self, request: &Request, known: &mut HashMap<String, RequestRow>) {
        let Request { request_id: Some(id), job, trigger, .. } = request else { return };
        let row = RequestRow { request_id: id.clone(), trigger: trigger.key.clone(), job: job.key.clone() };
        known.insert(id.clone(), row.clone());
        self.requests.push(row);
    }

    /// Adds what follows a request, apart from requests that were taken before, whose ids are told.
    fn add_following(&mut self, parent: &Request, known: &mut HashMap<String, RequestRow>, taken: &mut Vec<String>) {
        for (on, child) in &parent.then {
            if let Some(id) = child.request_id.as_ref().filter(|id| known.contains_key(*id)) {
                taken.push(id.clone());
                continue;
            }
            // A job without a trigger would go: this one is durable as long as it waits.
            self.following.push(JobDetail { durable: true, ..child.job.clone() });
            self.continuations.push(ContinuationRow {
                parent: parent.job.key.clone(),
                parent_type: parent.job.job_type.to_string(),
                child: child.job.key.clone(),
                child_hash: child_hash(&child.job.key),
                on: on.name().to_owned(),
                since_fence: 0, // the parent has not run
                data: None,
                child_is_blocked: false,
            });
            self.add_request(child, known);
            self.add_following(child, known, taken);
        }
    }
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
        if ids.is_empty() && requests.iter().all(|request| request.then.is_empty()) {
            let work = requests.iter().map(|request| (request.job.clone(), vec![request.trigger.clone()]));
            self.schedule(work.collect(), false)?;
            return Ok(requests.iter().map(Taken::anew).collect());
        }
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
        let change = self.node.change_joined(self.store.clock.ticks());
        self.store.database.join("take requests", connection.into(), change, &mut |s| {
            taken = self.take_requests_in(s, &ids, requests)?;
            s.notify(crate::store::row::Notification::Change)
        })?;
        Ok(taken)
    }

    fn take_requests_in(&self, s: &mut dyn Session, ids: &[String], requests: &[Request]) -> Result<Vec<Taken>> {
        let known: Vec<RequestRow> = s.rows().any_of(&["request_id"], ids).list()?;
        let mut known: HashMap<_, _> = known.into_iter().map(|row| (row.request_id.clone(), row)).collect();
        let (mut answers, mut work) = (Vec::new(), Work::default());
        for request in requests {
            let Request { request_id, job, trigger, .. } = request;
            let first = request_id.as_ref().and_then(|id| known.get(id));
            if let Some(row) = first {
                answers.push(Taken::of(row));
                continue;
            }
            let mut answer = Taken::anew(request);
            work.first.push((job.clone(), vec![trigger.clone()]));
            work.add_request(request, &mut known);
            let mut taken = Vec::new();
            work.add_following(request, &mut known, &mut taken);
            answer.warning = (!taken.is_empty()).then(|| {
                format!("request `{}` was taken before: its work does not follow this one", taken.join("`, `"))
            });
            answers.push(answer);
        }
        self.check_work(&work.first)?;
        self.schedule_in_session(s, &work.first, IfStored::Refuse)?;
        if !work.following.is_empty() {
            work.following.iter().try_for_each(JobDetail::check)?;
            self.put_jobs(s, work.following.iter(), IfStored::Refuse)?;
            s.insert_all(&work.continuations)?;
        }
        s.insert_all(&work.requests)?;
        Ok(answers)
    }

    /// Stores a trigger of a stored job for a request, unless a request of this id was taken
    /// before.
    ///
    /// # Errors
    /// As [`Catalogue::add_trigger`].
    pub fn take_trigger(&self, request_id: &str, trigger: &Trigger) -> Result<Taken> {
        check_name("request id", request_id)?;
        trigger.check()?;
        self.store.write("take a request", |s| {
            if let Some(row) = s.row(request_id)? {
                return Ok(Taken::of(&row));
            }
            self.put_one_trigger(s, trigger, IfStored::Refuse, false)?;
            let (trigger, job) = (trigger.key.clone(), trigger.job_key.clone());
            s.insert(&RequestRow { request_id: request_id.to_owned(), trigger: trigger.clone(), job: job.clone() })?;
            Ok(Taken { job, trigger, is_new: true, warning: None })
        })
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
