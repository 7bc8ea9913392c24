//! Lists of triggers and jobs, in pages.

use super::*;
use carnelian::listing::{JobQuery, ListOrder, TriggerQuery};
use carnelian::{
    CronSchedule, GroupMatcher, JobDetail, JobFilter, JobKey, JobMarks, SimpleSchedule, Trigger, TriggerKey,
    TriggerState,
};
use std::collections::BTreeSet;
use std::time::Duration;

const DAY: i64 = 24 * 60 * MINUTE;

/// Three groups with dots, capitals and spaces in their names; one trigger has no time left.
fn filled(cluster: &Cluster) -> Vec<TriggerKey> {
    let mut keys = Vec::new();
    for (place, group) in ["b", "a.x", "a", "B c"].into_iter().enumerate() {
        for n in 0..5 {
            let detail =
                JobDetail::builder(JobKey::new(group, format!("job{n}")), if n == 0 { "other" } else { "work" });
            let detail = if n == 1 { detail.marks(JobMarks::new().tag("x")) } else { detail };
            let key = TriggerKey::new(group, format!("t{n}"));
            let start = NOW + DAY - MINUTE * i64::from(n) - i64::try_from(place).unwrap();
            let trigger = Trigger::builder(key.clone(), JobKey::new(group, format!("job{n}"))).start_at(at(start));
            let trigger = match n {
                2 => trigger.schedule(CronSchedule::new("0 0 12 * * ?").unwrap()),
                _ => trigger.schedule(SimpleSchedule::every(Duration::from_secs(60))),
            };
            cluster.schedule(detail, [trigger]);
            keys.push(key);
        }
    }
    keys
}

/// All pages of a query, each read behind the last trigger of the one before.
fn pages(cluster: &Cluster, query: &TriggerQuery, limit: usize) -> Vec<TriggerKey> {
    let (mut query, mut all) = (query.clone().limit(limit), Vec::new());
    loop {
        let page = cluster.store.catalogue().list_triggers(&query).unwrap();
        assert!(page.items.len() <= limit && (page.items.len() == limit || !page.has_more));
        all.extend(page.items.iter().map(|trigger| trigger.key.clone()));
        match page.items.last() {
            Some(last) if page.has_more => query = query.after(last.key.clone(), last.next_fire_time),
            _ => return all,
        }
    }
}

#[test]
fn pages_of_triggers_show_each_once_in_either_order() {
    let cluster = Cluster::new(open);
    let stored: BTreeSet<TriggerKey> = filled(&cluster).into_iter().collect();
    let list = |query: &TriggerQuery| cluster.store.catalogue().list_triggers(query).unwrap();
    for order in [ListOrder::Key, ListOrder::NextFireTime] {
        let query = TriggerQuery::new().order(order);
        let whole = list(&query);
        assert!(!whole.has_more);
        let whole: Vec<TriggerKey> = whole.items.into_iter().map(|trigger| trigger.key).collect();
        assert_eq!(whole.iter().cloned().collect::<BTreeSet<_>>(), stored);
        for limit in [1, 3, 7, 19, 20, 21] {
            assert_eq!(pages(&cluster, &query, limit), whole, "{order:?} {limit}");
        }
    }
    let by_time = list(&TriggerQuery::new().order(ListOrder::NextFireTime)).items;
    assert!(by_time.is_sorted_by_key(|trigger| trigger.next_fire_time));
    assert_eq!(cluster.store.catalogue().count_triggers(&TriggerQuery::new()).unwrap(), 20);
    // A trigger that is gone is a place all the same, and what came before it is not shown again.
    let first = list(&TriggerQuery::new().limit(2)).items;
    let last = first.last().unwrap();
    cluster.store.catalogue().unschedule(std::slice::from_ref(&last.key)).unwrap();
    assert_eq!(pages(&cluster, &TriggerQuery::new().after(last.key.clone(), None), 5).len(), 18);
}

#[test]
fn triggers_without_a_time_come_last() {
    let cluster = Cluster::new(open);
    cluster.schedule(job("a"), [once("gone", "a", NOW), once("soon", "a", NOW + MINUTE)]);
    let node = cluster.node("A");
    let fire = node.fire_one();
    cluster.schedule(job("b"), [once("now", "b", NOW + SECOND)]);
    let query = TriggerQuery::new().order(ListOrder::NextFireTime);
    let names = |limit| pages(&cluster, &query, limit).iter().map(|key| key.name().to_owned()).collect::<Vec<_>>();
    let expected = names(10);
    assert_eq!(expected[..2], ["now", "soon"]);
    assert_eq!(names(1), expected);
    node.complete(&fire);
}

#[test]
fn lists_are_narrowed_by_what_they_show() {
    let cluster = Cluster::new(open);
    filled(&cluster);
    cluster.store.catalogue().pause_triggers(&[TriggerKey::new("a", "t3")]).unwrap();
    let catalogue = cluster.store.catalogue();
    let found = |query: TriggerQuery| {
        let keys = pages(&cluster, &query, 2);
        assert_eq!(catalogue.count_triggers(&query).unwrap(), keys.len());
        keys.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let groups = |matcher| JobFilter::new().groups(matcher);
    assert_eq!(found(TriggerQuery::new().filter(groups(GroupMatcher::equals("a")))).len(), 5);
    assert_eq!(found(TriggerQuery::new().filter(groups(GroupMatcher::starts_with("a")))).len(), 10);
    assert_eq!(found(TriggerQuery::new().filter(groups(GroupMatcher::equals("A")))), [""; 0], "as it is written");
    assert_eq!(found(TriggerQuery::new().filter(groups(GroupMatcher::contains("nothing")))), [""; 0]);
    assert_eq!(found(TriggerQuery::new().state(TriggerState::Paused)), ["a.t3"]);
    assert_eq!(found(TriggerQuery::new().kind("CRON")).len(), 4);
    assert_eq!(found(TriggerQuery::new().job(JobKey::new("b", "job4"))), ["b.t4"]);
    assert_eq!(found(TriggerQuery::new().filter(JobFilter::new().tag("x"))).len(), 4);
    let shown = catalogue.list_triggers(&TriggerQuery::new().state(TriggerState::Paused)).unwrap().items;
    assert_eq!(shown, [catalogue.trigger_summary(&TriggerKey::new("a", "t3")).unwrap().unwrap()]);

    let jobs = |query: JobQuery| {
        let (mut after, mut all) = (None, Vec::new());
        loop {
            let query = query.clone().limit(3);
            let page = catalogue.list_jobs(&after.map_or(query.clone(), |key| query.after(key))).unwrap();
            all.extend(page.items.iter().map(|job| job.key().clone()));
            match page.items.last() {
                Some(last) if page.has_more => after = Some(last.key().clone()),
                _ => break,
            }
        }
        assert_eq!(catalogue.count_jobs(&query).unwrap(), all.len());
        all
    };
    let all: BTreeSet<JobKey> =
        catalogue.find_jobs(&JobFilter::new()).unwrap().iter().map(|j| j.key().clone()).collect();
    assert_eq!(jobs(JobQuery::new()).into_iter().collect::<BTreeSet<_>>(), all);
    assert_eq!(jobs(JobQuery::new().job_type("other")).len(), 4);
    assert_eq!(jobs(JobQuery::new().filter(groups(GroupMatcher::equals("B c")))).len(), 5);
    assert_eq!(jobs(JobQuery::new().filter(JobFilter::new().tag("x"))).len(), 4);
    assert_eq!(catalogue.job_groups().unwrap().len(), 4);
}

/// The database cuts the page: however many triggers there are, a page is one statement.
#[test]
fn a_page_is_one_statement() {
    let cluster = Cluster::new(open);
    filled(&cluster);
    let before = cluster.opened.database.counts().statements;
    let page = cluster.store.catalogue().list_triggers(&TriggerQuery::new().limit(3)).unwrap();
    let jobs = cluster.store.catalogue().list_jobs(&JobQuery::new().limit(3)).unwrap();
    assert_eq!((page.items.len(), jobs.items.len()), (3, 3));
    assert!(cluster.opened.database.counts().statements - before <= 2);
}

#[test]
fn jobs_of_a_type_are_deleted_together_but_for_those_that_run() {
    let cluster = Cluster::new(open);
    let node = cluster.node("A");
    cluster.schedule(job("a"), [once("running", "a", NOW)]);
    let fire = node.fire_one();
    cluster.schedule(job("b"), [once("t", "b", NOW + MINUTE), once("u", "b", NOW + MINUTE)]);
    cluster.schedule(job("c").job_type("other"), [once("v", "c", NOW + MINUTE)]);
    let planned = cluster.store.job_types().delete_jobs_of_type("work", true).unwrap();
    assert!(cluster.has_job("b"), "a dry run deletes nothing");
    let done = cluster.store.job_types().delete_jobs_of_type("work", false).unwrap();
    assert_eq!(planned, done);
    assert_eq!((done.deleted, done.running, done.triggers), (vec![job_key("b")], vec![job_key("a")], 2));
    assert_eq!([cluster.has_job("a"), cluster.has_job("b"), cluster.has_job("c")], [true, false, true]);
    assert_eq!([cluster.state("t"), cluster.state("v")], ["-", "WAITING"]);
    node.complete(&fire);
    let none = cluster.store.job_types().delete_jobs_of_type("none", false).unwrap();
    assert_eq!((none.deleted.len(), none.running.len()), (0, 0));
}
