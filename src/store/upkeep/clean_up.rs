//! Clean-up: what has been kept long enough is forgotten.

use super::CleanUpPass;
use crate::epoch::millis;
use crate::error::Result;
use crate::key::{SUBMITTED_GROUP, distinct};
use crate::store::action_log::id_of_time;
use crate::store::row::{
    ActionRow, CommitRow, IncarnationRow, InstanceSelection, LastRunRow, LockRow, RequestRow, TickPartRow,
    TriggerSelection,
};
use crate::store::{HistoryPruning, PruningPlan, Session, TxMode, Upkeep, locks};
use std::collections::BTreeSet;

/// The time for which tokens of commits are known: a caller that asks after one does so at once.
const COMMITS_KEPT_MS: i64 = 3_600_000;

/// The time for which a request is known after it was taken, and at least until its work is over: a
/// caller that repeats one does so within days.
const REQUESTS_KEPT_MS: i64 = 7 * 24 * 3_600_000;

/// The time for which a tick waits for its last part, whose trigger a person may have deleted.
const TICKS_KEPT_MS: i64 = 30 * 24 * 3_600_000;

/// The most old requests that are looked at in one transaction.
const REQUESTS_PAGE: usize = 1_000;

/// The most old tokens, and actions, that one transaction forgets.
const PAGE: usize = 2_000;

/// The most old incarnations that are looked at in one transaction.
const INCARNATIONS_PAGE: usize = 10_000;

/// The remaining work of a pass of the clean-up.
#[derive(Default)]
pub(crate) struct CleanUpWork {
    /// True if there may be old tokens, locks, actions and requests.
    has_requests: bool,
    has_last_runs: bool,
    /// The last one that was looked at.
    last_run: Option<LastRunRow>,
    history: PruningPlan,
}

impl CleanUpWork {
    /// True if all is done.
    pub(crate) fn is_done(&self) -> bool {
        !self.has_requests && !self.has_last_runs && self.history.is_done()
    }
}

impl Upkeep<'_> {
    /// Forgets the history that is too old or too much (see
    /// [`History::prune`](crate::store::History::prune)), and tokens of commits, locks and requests
    /// that nobody will ask after (LT-86). Takes no lock; a batch in each transaction, and a pause
    /// as long after it.
    ///
    /// # Errors
    /// The error of the database that is left after the bounded retries; what was forgotten before
    /// stays so.
    pub fn clean_up(&self) -> Result<CleanUpPass> {
        let (mut pass, mut work) = (CleanUpPass::default(), self.plan_clean_up()?);
        while !work.is_done() {
            let begun = self.store.clock.ticks();
            let done = self.clean_up_batch(&mut work)?;
            pass.history += done.history;
            pass.requests += done.requests;
            if !work.is_done() {
                self.store.history().pause(begun);
            }
        }
        Ok(pass)
    }

    /// Looks for what a pass of the clean-up is to forget.
    pub(crate) fn plan_clean_up(&self) -> Result<CleanUpWork> {
        let history = self.store.history().plan_pruning(&HistoryPruning::new())?;
        Ok(CleanUpWork { has_requests: true, has_last_runs: true, last_run: None, history })
    }

    /// Forgets the next batch.
    pub(crate) fn clean_up_batch(&self, work: &mut CleanUpWork) -> Result<CleanUpPass> {
        let mut pass = CleanUpPass::default();
        if work.has_requests {
            (pass.requests, work.has_requests) = self.forget_page()?;
        } else if work.has_last_runs {
            work.last_run = self.forget_page_of_last_runs(work.last_run.take())?;
            work.has_last_runs = work.last_run.is_some();
        } else if !work.history.is_done() {
            pass.history = self.store.history().prune_batch(&mut work.history)?;
        }
        Ok(pass)
    }

    /// Forgets a page of last runs as old as the history may be, of nodes that are not there;
    /// returns the last one that it has looked at, if there may be more.
    fn forget_page_of_last_runs(&self, last: Option<LastRunRow>) -> Result<Option<LastRunRow>> {
        // Rows that were forgotten are not found again.
        let page = self.store.at_least_once("forget last runs of nodes that are gone", TxMode::OwnRows, |s| {
            let before_ms = s.now_ms()?.saturating_sub(millis(self.store.settings.history.retention));
            let old = s.rows::<LastRunRow>().below("ended_ms", before_ms).by(&PLACE).limit(PAGE);
            let page = match &last {
                Some(last) => old.behind(&PLACE, &[&last.job, &last.instance]).list()?,
                None => old.list()?,
            };
            if !page.is_empty() {
                let instances = s.instances(InstanceSelection::All)?.into_iter().map(|row| row.name);
                let there: BTreeSet<String> = instances.collect();
                let gone = page.iter().filter(|run| !there.contains(&run.instance));
                let gone: Vec<_> = gone.map(|run| (run.job.clone(), run.instance.clone())).collect();
                s.rows::<LastRunRow>().below("ended_ms", before_ms).any_of(&PLACE, &gone).delete()?;
            }
            Ok(page)
        })?;
        Ok(if page.len() < PAGE { None } else { page.into_iter().next_back() })
    }

    /// Forgets a page of old tokens of commits, locks of the application that nobody holds, actions
    /// that are older than the history may be, and old requests whose work is over. Returns how
    /// many of the latter, and whether there may be more of anything.
    fn forget_page(&self) -> Result<(usize, bool)> {
        // Rows that were forgotten are not found again.
        self.store.at_least_once("forget old commit tokens, locks, actions and requests", TxMode::OwnRows, |s| {
            let now = s.now_ms()?;
            let retention_ms = millis(self.store.settings.history.retention);
            let forgotten = id_of_time(now.saturating_sub(retention_ms));
            let tokens = s.rows::<CommitRow>().below("made_ms", now - COMMITS_KEPT_MS).delete_first("made_ms", PAGE)?;
            let actions = s.rows::<ActionRow>().before("action_id", &forgotten).delete_first("action_id", PAGE)?;
            s.rows::<TickPartRow>().below("made_ms", now - TICKS_KEPT_MS).delete()?;
            s.rows::<LockRow>().below("expires_ms", now - locks::REMEMBERED_MS).delete()?;
            forget_incarnations(s, now.saturating_sub(retention_ms))?;
            let (seen, gone) = forget_page_of_requests(s, now)?;
            Ok((gone, tokens >= PAGE || actions >= PAGE || seen >= REQUESTS_PAGE))
        })
    }
}

/// The place of a last run in the order of its key.
const PLACE: [&str; 2] = ["job", "instance"];

/// Forgets the incarnations that began before a time and have ended.
fn forget_incarnations(s: &mut dyn Session, before_ms: i64) -> Result<()> {
    let old: Vec<IncarnationRow> = s.rows().below("registered_ms", before_ms).limit(INCARNATIONS_PAGE).list()?;
    if old.is_empty() {
        return Ok(());
    }
    let living: BTreeSet<String> =
        s.instances(InstanceSelection::All)?.into_iter().filter_map(|row| row.incarnation).collect();
    let gone: Vec<String> =
        old.into_iter().map(|row| row.incarnation).filter(|incarnation| !living.contains(incarnation)).collect();
    s.rows::<IncarnationRow>().any_of(&["incarnation"], &gone).delete().map(drop)
}

/// Looks at a page of old requests; returns how many there were, and how many are forgotten. A
/// request whose work is not over counts as taken now.
fn forget_page_of_requests(s: &mut dyn Session, now_ms: i64) -> Result<(usize, usize)> {
    let before_ms = now_ms - REQUESTS_KEPT_MS;
    let old = s.rows::<RequestRow>().below("made_ms", before_ms).limit(REQUESTS_PAGE).list()?;
    // The job of a submission goes with its work. Other jobs stay, and their triggers go.
    let submitted = |row: &&RequestRow| row.trigger.group() == SUBMITTED_GROUP;
    let jobs = s.existing_jobs(&distinct(old.iter().filter(submitted).map(|row| &row.job)))?;
    let triggers = s.trigger_keys(TriggerSelection::Keys(&distinct(old.iter().map(|row| &row.trigger))))?;
    let (jobs, triggers) = (BTreeSet::from_iter(jobs), BTreeSet::from_iter(triggers));
    let is_over = |row: &&RequestRow| !jobs.contains(&row.job) && !triggers.contains(&row.trigger);
    let (gone, kept): (Vec<_>, Vec<_>) = old.iter().partition(is_over);
    let ids = |rows: Vec<&RequestRow>| rows.into_iter().map(|row| row.request_id.clone()).collect::<Vec<_>>();
    let (kept, gone) = (ids(kept), ids(gone));
    // An id that another node has forgotten meanwhile may be taken again.
    s.rows::<RequestRow>().below("made_ms", before_ms).any_of(&["request_id"], &kept).set("made_ms", &now_ms)?;
    s.rows::<RequestRow>().below("made_ms", before_ms).any_of(&["request_id"], &gone).delete()?;
    Ok((old.len(), gone.len()))
}
