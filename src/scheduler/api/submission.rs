//! `Submission`: work to be done now, once, whoever asks for it how often.

use super::handle::Scheduler;
use crate::data_map::{DataValue, JobDataMap, PAYLOAD};
use crate::epoch::{millis, moment};
use crate::error::{Error, Result};
use crate::job::{JobDetail, JobMarks, JobPolicy, On, RetryPolicy, TRACEPARENT, check_traceparent};
use crate::key::{JobKey, SUBMITTED_GROUP, TriggerKey};
use crate::setters::setters;
use crate::store::{Request, Taken};
use crate::trigger::{DEFAULT_PRIORITY, Trigger};
use chrono::{DateTime, Utc};
use serde::Serialize;
use std::time::Duration;

/// The most works that follow each other in a submission, the first included.
const MOST_IN_A_ROW: usize = 100;

/// Work for one run of a job type, as soon as a worker is free, or later.
///
/// The work becomes a job and a one-shot trigger of a random name in the group `SUBMITTED`; both go
/// when the run is over. The work asks for recovery unless told otherwise.
///
/// ```
/// use carnelian::{RetryPolicy, Scheduler, Submission};
/// use std::time::Duration;
///
/// let scheduler = Scheduler::builder().build()?;
/// let retry = RetryPolicy::exponential(Duration::from_secs(10), 2.0).max_attempts(5);
/// let mail = || Submission::new("mail").data("to", "ada@example.org").request_id("order-17").retry(retry.clone());
/// let first = scheduler.submit(mail())?;
/// let second = scheduler.submit(mail())?; // the client has asked again
/// assert!(first.is_new && !second.is_new);
/// assert_eq!(first.job, second.job);
/// # Ok::<(), carnelian::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "it does nothing until it is submitted"]
pub struct Submission {
    job_type: String,
    data: JobDataMap,
    request_id: Option<String>,
    priority: i32,
    requests_recovery: bool,
    description: Option<String>,
    marks: JobMarks,
    policy: JobPolicy,
    start: Start,
    traceparent: Option<String>,
    then: Vec<(On, Submission)>,
}

/// The moment from which the work may run.
#[derive(Clone, Copy, Debug)]
enum Start {
    WhenStored,
    At(DateTime<Utc>),
    After(Duration),
}

impl Submission {
    /// Work for a job of this type.
    pub fn new(job_type: impl Into<String>) -> Self {
        Self {
            job_type: job_type.into(),
            data: JobDataMap::new(),
            request_id: None,
            priority: DEFAULT_PRIORITY,
            requests_recovery: true,
            description: None,
            marks: JobMarks::new(),
            policy: JobPolicy::new(),
            start: Start::WhenStored,
            traceparent: None,
            then: Vec::new(),
        }
    }

    /// Work that is done once when this work has succeeded. If this work ends otherwise, or is
    /// deleted, the next is dropped, with all that follows it. There may be several next ones, and
    /// each may have next ones of its own, up to 100 works in a row. Default: none.
    ///
    /// All are stored in one transaction, each with a request id of its own, if it has one. A next
    /// one is a [continuation](crate::Continuation): it sees the run before it by
    /// [`JobContext::parent`](crate::JobContext::parent), begins at once when that has ended, and
    /// has the default priority.
    ///
    /// ```
    /// use carnelian::{On, Scheduler, Submission};
    ///
    /// let scheduler = Scheduler::builder().build()?;
    /// let mail = Submission::new("mail").request_id("order-17/mail");
    /// let alarm = Submission::new("alarm");
    /// let work = Submission::new("pay").request_id("order-17").then(mail).then_on(On::Failure, alarm);
    /// scheduler.submit(work)?;
    /// let mail = scheduler.submission("order-17/mail")?.expect("it was stored");
    /// assert_eq!(mail.state.name(), "following");
    /// # Ok::<(), carnelian::Error>(())
    /// ```
    pub fn then(self, next: Submission) -> Self {
        self.then_on(On::Success, next)
    }

    /// As [`Submission::then`], after the ends that are named.
    pub fn then_on(mut self, on: On, next: Submission) -> Self {
        self.then.push((on, next));
        self
    }

    setters! {
        /// The moment before which the work does not run. Default: when it is stored.
        pub fn at(start: DateTime<Utc>) { self.start = Start::At(start) }

        /// The time, by the clock of this machine, before which the work does not run. Default:
        /// none.
        pub fn after(delay: Duration) { self.start = Start::After(delay) }
    }

    /// The rule by which the work is tried again after a failure. Default: no further try.
    pub fn retry(mut self, retry: RetryPolicy) -> Self {
        self.policy = self.policy.retry(retry);
        self
    }

    /// The longest time that a run may take, see [`JobPolicy::timeout`]. Default: none.
    pub fn timeout(mut self, time: Duration) -> Self {
        self.policy = self.policy.timeout(time);
        self
    }

    /// All that can be said of runs: retries, timeout, placement, heartbeats, history; takes the
    /// place of what was said before.
    pub fn policy(mut self, policy: JobPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// A value for the job. All of them take at most 65,535 bytes as they are stored.
    pub fn data(mut self, key: impl Into<String>, value: impl Into<DataValue>) -> Self {
        self.data.put(key, value);
        self
    }

    /// A value of the program's own type for the job, which reads it by
    /// [`JobContext::payload`](crate::JobContext::payload). The value is stored as JSON text in the
    /// job's data, under the key `payload`. Default: none.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a value that is no JSON.
    pub fn payload<T: Serialize + ?Sized>(mut self, value: &T) -> Result<Self> {
        self.data.put_typed(PAYLOAD, value)?;
        Ok(self)
    }

    setters! {
        /// The caller's own name for the request, at most 190 characters: a second submission with
        /// it is answered like the first, and nothing is stored for it. The name is remembered for
        /// seven days, and at least until the work is over. [`Scheduler::submission`] asks by it
        /// how far the work has come. Default: none.
        pub fn request_id(id: impl Into<String>) { self.request_id = Some(id.into()) }

        /// Higher is done first among work of one moment. Default: 5.
        pub fn priority(priority: i32) { self.priority = priority }

        /// True if it is done again if its node dies in the middle. Default: yes.
        pub fn requests_recovery(yes: bool) { self.requests_recovery = yes }

        /// A note for people.
        pub fn description(text: impl Into<String>) { self.description = Some(text.into()) }

        /// The trace context in which the work is done: a `traceparent` as the W3C defines it, such
        /// as a web request brings with it. Default: none.
        ///
        /// Every run of the work has the context
        /// ([`JobContext::traceparent`](crate::JobContext::traceparent)), and so have the runs that
        /// follow. The lines that a run logs end with the trace's id, if the program's logger is a
        /// [`CaptureLog`](crate::history::CaptureLog). The history finds runs by the id:
        /// [`HistoryQuery::trace`](crate::history::HistoryQuery::trace). The context is stored in
        /// the job's data, under the key `traceparent`: other work has a trace context if its data
        /// have that entry. A context that is not valid is an
        /// [`Error::Invalid`](crate::Error::Invalid) when the work is submitted.
        ///
        /// ```
        /// use carnelian::{Scheduler, Submission};
        ///
        /// let scheduler = Scheduler::builder().build()?;
        /// let header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        /// scheduler.submit(Submission::new("mail").traceparent(header))?;
        /// assert!(scheduler.submit(Submission::new("mail").traceparent("yesterday")).is_err());
        /// # Ok::<(), carnelian::Error>(())
        /// ```
        pub fn traceparent(context: impl Into<String>) { self.traceparent = Some(context.into()) }
    }

    /// The name of the work in the business, see [`JobMarks::biz_key`].
    pub fn biz_key(mut self, key: impl Into<String>) -> Self {
        self.marks = self.marks.biz_key(key);
        self
    }

    /// One more tag, see [`JobMarks::tag`].
    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        self.marks = self.marks.tag(tag);
        self
    }

    /// All that people and other systems know the work by; takes the place of what was said of it
    /// before.
    pub fn marks(mut self, marks: JobMarks) -> Self {
        self.marks = marks;
        self
    }

    /// The request, which is preceded by so many others of its chain.
    fn into_request(mut self, now_ms: i64, before: usize) -> Result<Request> {
        if before >= MOST_IN_A_ROW {
            let expected = format!("expected at most {MOST_IN_A_ROW} in a row: submit the rest from the last of them");
            return Err(Error::invalid("work that follows work", before + 1, expected));
        }
        if let Some(context) = self.traceparent {
            check_traceparent(&context)?;
            self.data.put(TRACEPARENT, context);
        }
        let name = JobKey::unique(SUBMITTED_GROUP)?;
        let mut job = JobDetail::builder(name.clone(), self.job_type)
            .requests_recovery(self.requests_recovery)
            .marks(self.marks)
            .policy(self.policy);
        if let Some(text) = self.description {
            job = job.description(text);
        }
        let key = TriggerKey::new(SUBMITTED_GROUP, name.name());
        let trigger = Trigger::builder(key, name).priority(self.priority);
        let trigger = match self.start {
            Start::WhenStored => trigger,
            // Work that was due before 1970 is due now.
            Start::At(start) => trigger.start_at(start.max(moment(1))),
            Start::After(delay) => trigger.start_at(moment(now_ms.saturating_add(millis(delay)).max(1))),
        };
        let next = |(on, next): (On, Self)| {
            next.check_follows()?;
            Ok((on, next.into_request(now_ms, before + 1)?))
        };
        let then = self.then.into_iter().map(next).collect::<Result<_>>()?;
        let (job, trigger) = (job.data_map(self.data).build()?, trigger.build()?);
        Ok(Request { request_id: self.request_id, job, trigger, then })
    }

    /// Work that follows other work has no place of its own in the order of what is due.
    fn check_follows(&self) -> Result<()> {
        if !matches!(self.start, Start::WhenStored) {
            return Err(Error::invalid(
                "time of work that follows",
                "",
                "expected none: it begins when the other ends",
            ));
        }
        match self.priority {
            DEFAULT_PRIORITY => Ok(()),
            other => Err(Error::invalid("priority of work that follows", other, "expected none: it has the default")),
        }
    }
}

impl Scheduler {
    /// Stores work to be done now; the answer says whether it is new, by its request id, and
    /// [warns](Taken::warning) if no living node has its job type.
    ///
    /// # Errors
    /// [`Error::Invalid`] for anything no table can hold, and what can go
    /// wrong with the store.
    pub fn submit(&self, submission: Submission) -> Result<Taken> {
        let mut taken = self.submit_all([submission])?;
        taken.pop().ok_or_else(|| Error::Refused("the submission was not answered".to_owned()))
    }

    /// Stores much work at once, all or none, in one transaction; the answers are in order.
    ///
    /// # Errors
    /// As [`Scheduler::submit`].
    pub fn submit_all(&self, submissions: impl IntoIterator<Item = Submission>) -> Result<Vec<Taken>> {
        let requests = self.requests(submissions)?;
        let mut taken = self.open_store()?.catalogue().take_requests(&requests)?;
        let new = requests.iter().zip(&taken).filter(|(_, taken)| taken.is_new).map(|(request, _)| request);
        let runs_here = |request: &&Request| self.is_of_this_node(&request.job);
        self.signal_stored(new.filter(runs_here).any(|request| request.trigger.fires_when_stored()));
        for (request, _) in requests.iter().zip(&taken).filter(|(_, taken)| taken.is_new) {
            self.tell("job_added", |listener| listener.job_added(&request.job));
            self.tell("job_scheduled", |listener| listener.job_scheduled(&request.trigger));
        }
        let new = requests.iter().zip(&taken).filter(|(_, taken)| taken.is_new).map(|(request, _)| &request.job);
        let unknown = self.name_unknown_types(new);
        for (request, taken) in requests.iter().zip(&mut taken) {
            let job_type = request.job.job_type();
            let unknown = unknown.contains(job_type).then(|| format!("no live node has job type `{job_type}`"));
            let warnings: Vec<String> = unknown.into_iter().chain(taken.warning.take()).collect();
            taken.warning = (!warnings.is_empty()).then(|| warnings.join("; "));
        }
        Ok(taken)
    }

    fn requests(&self, submissions: impl IntoIterator<Item = Submission>) -> Result<Vec<Request>> {
        let now_ms = self.inner.node.clock.wall_time().timestamp_millis();
        submissions.into_iter().map(|submission| submission.into_request(now_ms, 0)).collect()
    }

    /// Stores work inside a transaction of the caller's: with what the caller writes, or not at
    /// all. A handler that inserts its row and submits the work for it needs no outbox.
    ///
    /// Call it as the last step of the transaction, and [`Scheduler::wake`] after the commit, as
    /// for [`Scheduler::schedule_in`]; listeners are not told.
    ///
    /// ```
    /// use carnelian::{Scheduler, Submission};
    /// use diesel::connection::SimpleConnection;
    /// use diesel::r2d2::{ConnectionManager, Pool};
    /// use diesel::{Connection, SqliteConnection};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let file = folder.path().join("jobs.db").display().to_string();
    /// let pool = Pool::new(ConnectionManager::<SqliteConnection>::new(file))?;
    /// let scheduler = Scheduler::builder().pool(pool.clone()).build()?;
    /// scheduler.migrate()?;
    ///
    /// let mut db = pool.get()?;
    /// db.batch_execute("CREATE TABLE orders (id INTEGER)")?;
    /// let taken = db.immediate_transaction(|db| {
    ///     db.batch_execute("INSERT INTO orders VALUES (17)")?;
    ///     let mail = Submission::new("mail").data("order", 17).request_id("order-17");
    ///     Ok::<_, Box<dyn std::error::Error>>(scheduler.submit_in(db, [mail])?)
    /// })?;
    /// scheduler.wake();
    /// assert!(taken[0].is_new && scheduler.job_exists(&taken[0].job)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Scheduler::submit`]; [`Error::Refused`] without an open
    /// transaction, or for a connection to another kind of database than the jobs are in. The
    /// caller rolls its transaction back then.
    #[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
    pub fn submit_in<'c>(
        &self,
        connection: impl Into<crate::store::CallersConnection<'c>>,
        submissions: impl IntoIterator<Item = Submission>,
    ) -> Result<Vec<Taken>> {
        let requests = self.requests(submissions)?;
        self.open_store()?.catalogue().take_requests_within(connection, &requests)
    }
}
