//! Jobs: searched, in pages by their keys or by their marks.

use crate::dashboard::components::{card, job_link, table};
use crate::dashboard::form::{Fields, link};
use crate::dashboard::layout::{checkbox, more, selection, with_tick};
use crate::dashboard::search::{Cursor, Found, has_words, rows_to_read, sift};
use crate::dashboard::view::{Page, View};
use crate::error::Result;
use crate::job::{JobDetail, JobFilter};
use crate::key::JobKey;
use crate::listing::JobQuery;
use crate::report::job_flags;
use crate::store::JobStore;
use maud::{Markup, html};

/// The jobs that a query asks for: by their marks, or by the words of their keys and types.
pub(in crate::dashboard) fn find(store: &JobStore, query: &Fields) -> Result<Found<JobDetail>> {
    let words = query.get("q");
    let cursor = |job: &JobDetail| Cursor { name: job.key().name().to_owned(), group: job.key().group().to_owned() };
    let marked = query.get("tag").or(query.get("owner")).or(query.get("biz_key")).is_some();
    let mut asked = JobQuery::new().limit(rows_to_read(words.is_some()));
    if marked {
        let mut filter = JobFilter::new();
        filter = query.get("tag").into_iter().fold(filter, JobFilter::tag);
        filter = query.get("owner").into_iter().fold(filter, JobFilter::owner);
        asked = asked.filter(query.get("biz_key").into_iter().fold(filter, JobFilter::biz_key));
    }
    if let Some(after) = Cursor::read(query)? {
        asked = asked.after(JobKey::new(after.group, after.name));
    }
    let shown = |job: &JobDetail| format!("{} {} {}", job.key(), job.job_type(), job.description().unwrap_or_default());
    Ok(sift(store.catalogue().list_jobs(&asked)?, cursor, |job| has_words(&shown(job), words)))
}

pub(super) fn page(view: &View<'_>) -> Result<Option<Page>> {
    let found = find(view.store, &view.query)?;
    let rows: Vec<Markup> = found
        .rows
        .iter()
        .map(|job| {
            html! {
                tr {
                    (checkbox(view, job.key()))
                    td { (job_link(job.key())) }
                    td { (job.job_type()) }
                    td { (job.marks().get_owner().unwrap_or_default()) }
                    td { (tags(job)) }
                    td { (job_flags(job)) }
                    td.wide { (job.description().unwrap_or_default()) }
                }
            }
        })
        .collect();
    let heads = with_tick(view, &["Job", "Type", "Owner", "Tags", "Flags", "Description"]);
    let list = table(&heads, &rows, "No job here is as you asked for.");
    let next = found.next.as_ref().map(Cursor::to_field);
    Ok(Some(Page::new(
        "Jobs",
        html! {
            (filter(view))
            (card("jobs", "In order of name", &html! {
                (selection(view, &["job.run", "job.pause", "job.resume", "job.delete"], &list))
                (more("jobs", view, "after", next.as_deref()))
            }))
        },
    )))
}

/// The tags of a job, each a search.
pub(super) fn tags(job: &JobDetail) -> Markup {
    html! { @for tag in job.marks().tags() { a.tag href=(link("jobs", [("tag", tag)])) { (tag) } " " } }
}

fn filter(view: &View<'_>) -> Markup {
    html! {
        form.filter method="get" action="jobs" role="search" {
            label { "Words of key, type or description" input type="search" name="q" value=[view.query.get("q")]; }
            label { "Tag" input name="tag" value=[view.query.get("tag")]; }
            label { "Owner" input name="owner" value=[view.query.get("owner")]; }
            button.plain { "Search" }
        }
    }
}
