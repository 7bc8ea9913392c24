//! Lists of triggers and jobs, in pages.

use super::job_types::{info, node_with};
use super::*;
use carnelian::listing::{JobQuery, ListOrder, Page, TriggerQuery};
use carnelian::recovery::Parked;
use carnelian::store::row::{DefinitionRow, Selection};
use carnelian::store::{FireQuery, OrphanQuery, OrphanedDefinitions};
use carnelian::{
    CronSchedule, GroupMatcher, JobDefinition, JobDetail, JobFilter, JobKey, JobMarks, SimpleSchedule, Trigger,
    TriggerKey, TriggerState,
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

on_each_database!(pages_of_triggers_show_each_once_in_either_order);
fn pages_of_triggers_show_each_once_in_either_order() {
    let cluster = Cluster::new(open());
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

on_each_database!(triggers_without_a_time_come_last);
fn triggers_without_a_time_come_last() {
    let cluster = Cluster::new(open());
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

on_each_database!(lists_are_narrowed_by_what_they_show);
fn lists_are_narrowed_by_what_they_show() {
    let cluster = Cluster::new(open());
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

on_each_database!(a_page_is_one_statement);
/// The database cuts the page: however many triggers there are, a page is one statement.
fn a_page_is_one_statement() {
    let cluster = Cluster::new(open());
    filled(&cluster);
    let before = cluster.opened.database.counts().statements;
    let page = cluster.store.catalogue().list_triggers(&TriggerQuery::new().limit(3)).unwrap();
    let jobs = cluster.store.catalogue().list_jobs(&JobQuery::new().limit(3)).unwrap();
    assert_eq!((page.items.len(), jobs.items.len()), (3, 3));
    assert!(cluster.opened.database.counts().statements - before <= 2);
}

on_each_database!(jobs_of_a_type_are_deleted_together_but_for_those_that_run);
fn jobs_of_a_type_are_deleted_together_but_for_those_that_run() {
    let cluster = Cluster::new(open());
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

/// All pages of a list, each read behind the last entry of the one before.
fn all<T: Clone>(limit: usize, mut page: impl FnMut(Option<&T>, Option<usize>) -> Page<T>) -> Vec<T> {
    let mut all: Vec<T> = Vec::new();
    loop {
        let page = page(all.last().cloned().as_ref(), Some(limit));
        assert!(page.items.len() <= limit && (page.items.len() == limit || !page.has_more));
        all.extend(page.items);
        if !page.has_more {
            return all;
        }
    }
}

/// A page of parked work behind some.
fn parked(cluster: &Cluster, job: Option<&JobKey>, last: Option<&Parked>, limit: Option<usize>) -> Page<Parked> {
    let place =
        last.map_or((i64::MIN, "", ""), |work| (work.since.timestamp_millis(), work.key.group(), work.key.name()));
    cluster.store.catalogue().parked_page(job, place, limit).unwrap()
}

on_each_database!(pages_of_declared_jobs_show_each_once);
fn pages_of_declared_jobs_show_each_once() {
    let cluster = Cluster::new(open());
    let key = |group: &str, n: u32| JobKey::new(group, format!("job{n}"));
    let keys: Vec<JobKey> = ["B c", "a", "a.x"].iter().flat_map(|group| (0..3).map(|n| key(group, n))).collect();
    let define = |key: &JobKey| {
        let trigger = Trigger::builder(TriggerKey::new(key.group(), key.name()), key.clone());
        let trigger = trigger.schedule(SimpleSchedule::every(Duration::from_secs(60))).build().unwrap();
        JobDefinition::new(JobDetail::builder(key.clone(), "work").durable(true).build().unwrap()).trigger(trigger)
    };
    let defined: Vec<JobDefinition> = keys.iter().map(define).collect();
    let of_all = OrphanedDefinitions::Report;
    cluster.store.catalogue().sync_definitions("billing", &defined, |_| true, of_all, false).unwrap();
    for limit in [1, 2, 9, 10] {
        let rows = all(limit, |last: Option<&DefinitionRow>, limit| {
            cluster.store.catalogue().definition_page(last.map(|row| &row.job), limit).unwrap()
        });
        assert!(rows.iter().all(|row| row.triggers.len() == 1 && row.triggers[0].name() == row.job.name()));
        assert_eq!(rows.len(), keys.len());
        let found: BTreeSet<JobKey> = rows.into_iter().map(|row| row.job).collect();
        assert_eq!(found, keys.iter().cloned().collect());
    }
}

on_each_database!(pages_of_parked_work_show_each_once_however_many_are_left_out);
/// The few that a page is for may be behind many that it leaves out.
fn pages_of_parked_work_show_each_once_however_many_are_left_out() {
    let cluster = Cluster::new(open());
    let triggers = |job: &JobKey, from: u32, to: u32| -> Vec<Trigger> {
        let trigger = |n| once(&format!("t{n:04}"), job.name(), NOW).build().unwrap();
        (from..to).map(trigger).collect()
    };
    let work = [("many", 0, 1_100), ("few", 1_100, 1_103)];
    let work = work.map(|(name, from, to)| (job(name).build().unwrap(), triggers(&job_key(name), from, to)));
    cluster.store.catalogue().schedule(work.to_vec(), false).unwrap();
    let keys: Vec<(JobKey, TriggerKey)> =
        work.iter().flat_map(|(job, triggers)| triggers.iter().map(|t| (job.key().clone(), t.key().clone()))).collect();
    cluster.tamper(|s| {
        let triggers: Vec<TriggerKey> = keys.iter().map(|(_, key)| key.clone()).collect();
        s.change_states(Selection::Triggers(&triggers), &[(TriggerState::Waiting, TriggerState::Error)], false)?;
        let row = |(trigger, since_ms): (&TriggerKey, i64)| carnelian::store::row::ParkedRow {
            trigger: trigger.clone(),
            fire_id: None,
            reason: "for a test".to_owned(),
            takeovers: 0,
            since_ms: NOW + since_ms % 7,
        };
        s.insert_all(&triggers.iter().zip(0..).map(row).collect::<Vec<_>>())
    });
    let whole = cluster.store.catalogue().parked().unwrap();
    assert_eq!((whole.len(), parked(&cluster, None, None, None).items == whole), (1_103, true));
    assert_eq!(all(100, |last, limit| parked(&cluster, None, last, limit)), whole);
    let few = job_key("few");
    let of_few: Vec<Parked> = whole.iter().filter(|work| work.job == few).cloned().collect();
    assert_eq!((3, all(2, |last, limit| parked(&cluster, Some(&few), last, limit))), (of_few.len(), of_few.clone()));

    // The few are found by their triggers, however many others are parked.
    let before = cluster.opened.database.counts().statements;
    assert_eq!(parked(&cluster, Some(&few), None, None).items, of_few);
    let statements = cluster.opened.database.counts().statements - before;
    assert!(statements <= 8, "{statements} statements for one page");
    let of_many = all(1_000, |last, limit| parked(&cluster, Some(&job_key("many")), last, limit));
    assert_eq!((of_many.len(), parked(&cluster, Some(&job_key("none")), None, None).items.len()), (1_100, 0));

    // Work whose trigger is not in ERROR any longer is not parked.
    assert!(cluster.store.catalogue().retry_parked(&whole[0].key).unwrap());
    assert_eq!(cluster.store.catalogue().parked_work(&whole[0].key).unwrap(), None);
    assert_eq!(cluster.store.catalogue().parked_work(&whole[1].key).unwrap().as_ref(), Some(&whole[1]));
    assert_eq!(parked(&cluster, None, None, Some(1)).items, whole[1..2]);
}

on_each_database!(pages_of_running_fires_show_each_once);
fn pages_of_running_fires_show_each_once() {
    let cluster = Cluster::new(open());
    let (a, b) = (cluster.node("A"), cluster.node("B"));
    for n in 0..7 {
        let detail = job(&format!("j{n}")).marks(JobMarks::new().owner(if n % 2 == 0 { "ada" } else { "bob" }));
        cluster.schedule(detail, [once(&format!("t{n}"), &format!("j{n}"), NOW)]);
        (if n < 4 { &a } else { &b }).fire_one();
        cluster.advance(SECOND);
    }
    cluster.schedule(job("later"), [once("later", "later", cluster.now() + 20 * SECOND)]);
    assert_eq!(a.acquire().reserved.len(), 1);
    let list = |query: &FireQuery| -> Vec<String> {
        let fires = all(2, |last: Option<&carnelian::FiredTrigger>, limit| {
            let place = last.map_or((i64::MIN, ""), |fire| (fire.fire_time.timestamp_millis(), &*fire.fire_id));
            cluster.store.catalogue().fire_page(query, place, limit).unwrap()
        });
        fires.iter().map(|fire| fire.trigger.name().to_owned()).collect()
    };
    let query = FireQuery::default();
    assert_eq!(list(&query), ["t0", "t1", "t2", "t3", "t4", "t5", "t6"]);
    assert_eq!(list(&FireQuery { reserved: true, ..query.clone() }).len(), 8);
    assert_eq!(list(&FireQuery { instance: Some("B".to_owned()), ..query.clone() }), ["t4", "t5", "t6"]);
    assert_eq!(list(&FireQuery { job: Some(job_key("j3")), ..query.clone() }), ["t3"]);
    assert_eq!(list(&FireQuery { filter: JobFilter::new().owner("bob"), ..query }), ["t1", "t3", "t5"]);
}

on_each_database!(pages_of_orphans_show_each_once_and_note_them);
fn pages_of_orphans_show_each_once_and_note_them() {
    let cluster = Cluster::new(open());
    let mut a = node_with(&cluster, "A", &[info("work", 1)]);
    let orphan = |n: u32| {
        let job_type = if n < 510 { "gone" } else { "lost" };
        (job(&format!("j{n:03}")).job_type(job_type).durable(true).build().unwrap(), Vec::new())
    };
    cluster.store.catalogue().schedule((0..513).map(orphan).collect(), false).unwrap();
    cluster.schedule(job("known").durable(true), []);
    let list = |query: &OrphanQuery, limit: usize| {
        let mut query = OrphanQuery { limit: Some(limit), ..query.clone() };
        let mut names = Vec::new();
        loop {
            let (found, has_more) = cluster.store.job_types().orphan_page(&query).unwrap();
            assert!(found.jobs.len() <= limit && found.jobs.iter().all(|orphan| orphan.since.is_some()));
            names.extend(found.jobs.iter().map(|orphan| orphan.job.name().to_owned()));
            query.after = found.jobs.last().map(|orphan| orphan.job.clone());
            if !has_more {
                return names;
            }
        }
    };
    let query = OrphanQuery::default();
    assert_eq!(list(&query, 200), (0..513).map(|n| format!("j{n:03}")).collect::<Vec<_>>());
    let lost = OrphanQuery { job_type: Some("lost".to_owned()), ..query.clone() };
    assert_eq!(list(&lost, 2), ["j510", "j511", "j512"]);
    assert_eq!(list(&OrphanQuery { older_than: Duration::from_secs(60), ..lost.clone() }, 2), [""; 0]);
    cluster.advance(20 * SECOND);
    a.check_in();
    assert_eq!(list(&OrphanQuery { older_than: Duration::from_secs(20), ..lost }, 2).len(), 3);
}
