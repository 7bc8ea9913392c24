//! Every page on every store: each renders, leads only to pages that are there, and shows names as
//! texts.

use super::{HOSTILE, Site, body, node, schedule};
use crate::monitoring::park;
use carnelian::history::FireOutcome;
use carnelian::monitoring::AlarmKind;
use carnelian::node::{NodeActivity, NodeReport};
use carnelian::store::{AcquireRequest, Completion, CompletionInstruction, FireBundle, JobStore, Membership};
use carnelian::{Continuation, JobDataMap, JobKey};
use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

/// The addresses to which a page leads.
fn links(page: &str) -> Vec<String> {
    let links = page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    links.filter(|link| !link.starts_with('#')).map(|link| link.replace("&amp;", "&").replace("./", "")).collect()
}

/// Something on every page.
pub fn fill(store: &JobStore) {
    let mut me = node(store, "node-<b>a</b>");
    schedule(store, "plain", "job");
    let hostile = schedule(store, HOSTILE, HOSTILE);
    let parent = JobKey::new("plain", "job");
    store.catalogue().follow(&Continuation::new(parent.clone(), JobKey::new(HOSTILE, HOSTILE))).unwrap();
    store.catalogue().pause_triggers(&[hostile]).unwrap();
    store.locks().try_lock(HOSTILE, "node-<b>a</b>", Duration::from_secs(60)).unwrap();
    store.placement().drain("another <i>node</i>", false, "ada").unwrap();
    store.placement().set_group_limit("plain", Some(3), None, "ada").unwrap();
    let weekends = carnelian::Calendar::new(carnelian::calendar::Weekdays::weekend());
    store.catalogue().add_calendar(HOSTILE, &weekends, false, false).unwrap();
    run(store, &mut me, &parent, true);
    run(store, &mut me, &parent, false);
}

/// A fire of the job that runs, and that ends with an error if it is to end.
pub fn run(store: &JobStore, me: &mut Membership, job: &JobKey, ends: bool) -> String {
    let fired = fired(store, me, job);
    if ends {
        end(store, me, &fired, |end| end.ending.error = Some(format!("it failed: {HOSTILE}\nsecond line")));
    }
    fired.fire_id
}

/// A fire of the job that has failed, as `how` says it.
pub fn ended(store: &JobStore, me: &mut Membership, job: &JobKey, how: impl FnOnce(&mut Completion)) -> String {
    let fired = fired(store, me, job);
    end(store, me, &fired, how);
    fired.fire_id
}

fn end(store: &JobStore, me: &Membership, fired: &FireBundle, how: impl FnOnce(&mut Completion)) {
    let mut end = fired.completion(CompletionInstruction::NoInstruction, None);
    end.ending.outcome = FireOutcome::Failed;
    how(&mut end);
    store.firing().complete(&me.owner().unwrap(), &[end]).unwrap();
}

fn fired(store: &JobStore, me: &Membership, job: &JobKey) -> FireBundle {
    store.catalogue().trigger_job(job, JobDataMap::new()).unwrap();
    let (types, nobody) = (vec!["t".to_owned()], BTreeSet::new());
    let request = AcquireRequest {
        max: 1,
        prefetch: None,
        look_ahead_ms: 0,
        fire_ahead_ms: 0,
        job_types: &types,
        quarantined: &nobody,
    };
    let owner = me.owner().unwrap();
    let mut fired = store.firing().acquire(&owner, &request).unwrap().fired;
    assert_eq!(fired.len(), 1);
    fired.remove(0)
}

#[test]
fn every_page_is_there_on_every_store() {
    Site::everywhere(|site| {
        fill(&site.store);
        let mut known: BTreeSet<String> = BTreeSet::new();
        let mut open: VecDeque<String> = [String::new()].into();
        while let Some(page) = open.pop_front() {
            if !known.insert(page.clone()) {
                continue;
            }
            let response = site.get(&page);
            let text = body(&response);
            // The trigger of a run by hand goes with its fire.
            let may_be_gone = page.starts_with("trigger?group=DEFAULT&name=MT_");
            let is_gone = may_be_gone && response.status() == 404;
            assert!(response.status() == 200 || is_gone, "{page}: {text}");
            if page.starts_with("assets/") || page.starts_with("api/") {
                continue;
            }
            for bad in ["<script>alert", "<b>a</b>", "<i>node", " style=", "<style", "javascript:", " onclick"] {
                assert!(!text.contains(bad), "{page} has {bad}: {text}");
            }
            assert_eq!(text.matches("<script").count(), 1, "{page} has a script of its own");
            assert!(text.contains("<h1>"), "{page}");
            open.extend(links(&text));
        }
        for page in
            ["running", "triggers", "jobs", "history", "nodes", "parked", "outages", "calendars", "locks", "actions"]
        {
            assert!(known.contains(page), "{page} is not among {known:?}");
        }
        for kind in ["trigger?", "job?", "run?", "node?", "jobs?"] {
            let is_known = known.iter().any(|page| page.starts_with(kind));
            assert!(is_known || kind == "jobs?", "no page {kind} among {known:?}");
        }
    });
}

#[test]
fn a_trigger_says_why_it_is_not_running() {
    Site::everywhere(|site| {
        let key = site.schedule("plain", "job");
        let page = |site: &mut Site| site.page("trigger?group=plain&name=job");
        assert!(page(site).contains("No living node takes work."));
        let _me = site.node("a");
        assert!(page(site).contains("The time has not come"));
        site.store.catalogue().pause_triggers(std::slice::from_ref(&key)).unwrap();
        let text = page(site);
        assert!(text.contains("The trigger, its job or its group is paused."), "{text}");
        assert!(text.contains("<code>carnelian trigger resume plain.job</code>"), "{text}");
        site.store.catalogue().unschedule(&[key]).unwrap();
        assert_eq!(site.get("trigger?group=plain&name=job").status(), 404);
    });
}

#[test]
fn the_alarms_of_a_node_are_on_the_overview_and_at_the_node() {
    Site::everywhere(|site| {
        let mut me = Membership::new("n");
        let mut report = NodeReport::default();
        report.info.activity = NodeActivity::Firing;
        report.info.alarms = vec![AlarmKind::ClockSkew, AlarmKind::StuckFires];
        me.node = Some(report.clone());
        site.store.upkeep().check_in(&mut me).unwrap();
        for page in ["", "nodes", "node?name=n"] {
            assert!(site.page(page).contains("clock skew, stuck fires"), "{page}: {}", site.page(page));
        }
        assert!(site.page("api/cluster").contains("\"stuck_fires\""));
        report.info.alarms.clear();
        me.node = Some(report);
        site.store.upkeep().check_in(&mut me).unwrap();
        let mut fresh = Site::of(site.store.clone(), None);
        assert!(fresh.page("").contains("Nothing needs attention."), "{}", fresh.page(""));
    });
}

/// Groups of Quartz are often Java packages.
#[test]
fn the_log_of_actions_leads_to_keys_whose_groups_have_dots() {
    Site::everywhere(|site| {
        let key = site.schedule("com.acme", "t.1");
        site.store.catalogue().pause_triggers(std::slice::from_ref(&key)).unwrap();
        site.store.catalogue().pause_jobs(&[JobKey::new("com.acme", "t.1")]).unwrap();
        let log = site.page("actions");
        let ways: Vec<String> = links(&log).into_iter().filter(|way| way.contains("acme")).collect();
        assert!(!ways.is_empty(), "{log}");
        for way in ways {
            assert!(site.page(&way).contains("com.acme.t.1</h1>"), "{way}");
        }
        assert_eq!(site.get("trigger?key=com.acme.none").status(), 404);
    });
}

/// A job with a trigger for each customer has many.
#[test]
fn the_page_of_a_job_shows_a_part_of_its_triggers() {
    let mut site = Site::in_memory("");
    site.schedule("plain", "job");
    let job = JobKey::new("plain", "job");
    for _ in 0..60 {
        site.store.catalogue().trigger_job(&job, JobDataMap::new()).unwrap();
    }
    site.schedule("plain", "other");
    let page = site.page("job?group=plain&name=job");
    assert_eq!(boxes(&page), 50);
    let all = links(&page).into_iter().find(|way| way.starts_with("triggers?")).expect("a way to the others");
    let first = site.page(&all);
    assert_eq!((boxes(&first), boxes(&site.page(&next_of(&first)))), (50, 11));
}

/// The ticks of a page.
fn boxes(page: &str) -> usize {
    page.matches("type=\"checkbox\" name=\"key\"").count()
}

/// The page that follows this one.
#[track_caller]
fn next_of(page: &str) -> String {
    links(page).into_iter().find(|way| way.contains("after=")).expect("a next page")
}

/// Nodes with many workers run much at a time.
#[test]
fn pages_of_what_runs_go_on_where_they_ended() {
    let mut site = Site::in_memory("");
    site.schedule("plain", "job");
    let (mut a, mut b, job) = (site.node("a"), site.node("b"), JobKey::new("plain", "job"));
    for _ in 0..501 {
        run(&site.store, &mut a, &job, false);
    }
    run(&site.store, &mut b, &job, false);
    let first = site.page("running");
    let rest = site.page(&next_of(&first));
    assert_eq!((boxes(&first), boxes(&rest)), (500, 2));
    assert_eq!(links(&rest).iter().filter(|way| way.starts_with("node?name=b")).count(), 1);
    let node = site.page("node?name=a");
    let runs = links(&node).into_iter().filter(|way| way.starts_with("run?")).count();
    let all = links(&node).into_iter().find(|way| way.starts_with("running?")).expect("a way to the others");
    let first = site.page(&all);
    assert_eq!((runs, boxes(&first), boxes(&site.page(&next_of(&first)))), (500, 500, 1));
    let node = site.page("node?name=b");
    assert!(!node.contains("running?") && boxes(&site.page("running?node=b")) == 1, "{node}");
}

#[test]
fn pages_of_parked_work_go_on_where_they_ended() {
    let mut site = Site::in_memory("");
    let keys: Vec<_> = (0..501).map(|n| site.schedule("plain", &format!("t{n:03}"))).collect();
    park(&site.store, &keys);
    let first = site.page("parked");
    let rest = site.page(&next_of(&first));
    assert_eq!((boxes(&first), boxes(&rest)), (500, 1));
    assert!(rest.contains("t500") && !rest.contains("rel=\"next\""), "{rest}");
}

#[test]
fn long_lists_go_on_by_their_keys() {
    Site::everywhere(|site| {
        for n in 0..120 {
            site.schedule(&format!("g{}", n % 3), &format!("job-{n:03}"));
        }
        for list in ["triggers", "jobs"] {
            let (mut page, mut seen) = (list.to_owned(), BTreeSet::new());
            for _ in 0..4 {
                let text = site.page(&page);
                let kind = format!("{}?", list.trim_end_matches('s'));
                seen.extend(links(&text).into_iter().filter(|link| link.starts_with(&kind)));
                match links(&text).into_iter().find(|link| link.contains("after=")) {
                    Some(next) => page = next,
                    None => break,
                }
            }
            let of_jobs = |seen: &BTreeSet<String>| seen.iter().filter(|link| link.contains("job-")).count();
            assert_eq!(of_jobs(&seen), 120, "{list}");
        }
        let found = site.page("triggers?q=G1+job-1&state=WAITING&type=SIMPLE");
        assert_eq!(found.matches("name=\"key\"").count(), 7, "{found}");
        assert!(site.page("triggers?state=PAUSED").contains("No trigger here is as you asked for."));
    });
}
