//! Actions: each is confirmed, does what it says on every store, and is undone where it can be.

use super::{Site, body, header};
use carnelian::clock::{Clock, SystemClock};
use carnelian::dashboard::Response;
use carnelian::{CronSchedule, JobKey, MisfireInstruction, Schedule, SimpleSchedule, TriggerKey, TriggerState};
use std::time::Duration;

/// Ticks the keys, confirms, and gives the page to which it comes back.
fn act(site: &mut Site, word: &str, keys: &[&str]) -> String {
    let confirm = send(site, word, keys, None);
    assert_eq!(confirm.status(), 200, "{}", body(&confirm));
    assert!(body(&confirm).contains("name=\"sure\""), "{}", body(&confirm));
    let done = send(site, word, keys, Some("yes"));
    assert_eq!((done.status(), header(&done, "Location")), (303, Some("triggers")));
    site.page("triggers")
}

fn send(site: &mut Site, word: &str, keys: &[&str], sure: Option<&str>) -> Response {
    let mut fields = vec![("do", word), ("back", "triggers")];
    fields.extend(keys.iter().map(|key| ("key", *key)));
    fields.extend(sure.map(|sure| ("sure", sure)));
    site.send("act", &fields)
}

const A: &str = "[\"plain\",\"a.b\"]";
const B: &str = "[\"plain\",\"b\"]";

#[test]
fn triggers_are_paused_resumed_and_deleted_by_selection() {
    Site::everywhere(|site| {
        let keys = [site.schedule("plain", "a.b"), site.schedule("plain", "b")];
        let states =
            |site: &Site| keys.iter().map(|key| site.store.catalogue().trigger_state(key).unwrap()).collect::<Vec<_>>();
        let before = send(site, "trigger.pause", &[A, B], None);
        assert!(body(&before).contains("Pause: 2 triggers?") && body(&before).contains("plain.a.b"));
        assert_eq!(states(site), [Some(TriggerState::Waiting); 2], "nothing is done before it is confirmed");

        let page = act(site, "trigger.pause", &[A, B]);
        assert!(page.contains("Pause: 2 triggers.") && page.contains("Undo: resume"), "{page}");
        assert!(!site.page("triggers").contains("Undo"), "it is said once");
        assert_eq!(states(site), [Some(TriggerState::Paused); 2]);
        let page = act(site, "trigger.pause", &[A, B]);
        assert!(page.contains("Pause: 0 triggers; the others were so already"), "{page}");
        act(site, "trigger.resume", &[A]);
        assert_eq!(states(site), [Some(TriggerState::Waiting), Some(TriggerState::Paused)]);
        let confirm = body(&send(site, "trigger.delete", &[B], None));
        assert!(confirm.contains("This cannot be undone."), "{confirm}");
        act(site, "trigger.delete", &[B]);
        assert_eq!(states(site), [Some(TriggerState::Waiting), None]);
    });
}

/// Somebody had a reason to pause the one that was paused before.
#[test]
fn an_undo_takes_back_what_was_done_and_nothing_else() {
    Site::everywhere(|site| {
        let paused = site.schedule("plain", "a.b");
        site.schedule("plain", "b");
        site.store.catalogue().pause_triggers(std::slice::from_ref(&paused)).unwrap();
        let page = act(site, "trigger.pause", &[A, B]);
        assert!(page.contains("1 trigger; the others were so already") && !page.contains("Undo"), "{page}");
        act(site, "trigger.resume", &[B]);
        for (word, key) in [("group.pause", "plain"), ("all.pause", "all"), ("job.pause", A)] {
            let page = act(site, word, &[key]);
            assert!(!page.contains("Undo"), "{word}: {page}");
            let resume = word.replace("pause", "resume");
            act(site, &resume, &[key]);
            assert!(act(site, word, &[key]).contains("Undo"), "{word}: nothing was paused before");
            act(site, &resume, &[key]);
            site.store.catalogue().pause_triggers(std::slice::from_ref(&paused)).unwrap();
            let page = act(site, &resume, &[if key == A { A } else { key }]);
            let undoable = key == A;
            assert_eq!(page.contains("Undo"), undoable, "{resume}: another one was not paused: {page}");
            site.store.catalogue().pause_triggers(std::slice::from_ref(&paused)).unwrap();
        }
    });
}

/// The form that undoes, as the page has it.
fn press_undo(site: &mut Site, page: &str) -> Response {
    let (_, form) = page.split_once("class=\"flash").expect("a flash");
    let (form, _) = form.split_once("</form>").expect("an undo");
    let fields: Vec<(String, String)> = form
        .split("<input type=\"hidden\" name=\"")
        .skip(1)
        .map(|rest| {
            let (name, rest) = rest.split_once("\" value=\"").unwrap();
            (name.to_owned(), rest.split('"').next().unwrap().replace("&quot;", "\""))
        })
        .collect();
    let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (&**name, &**value)).collect();
    site.send("act", &fields)
}

#[test]
fn a_rescheduling_that_is_undone_fires_at_the_times_of_before() {
    Site::everywhere(|site| {
        let next =
            |site: &Site, key: &TriggerKey| site.store.catalogue().trigger(key).unwrap().unwrap().next_fire_time();
        let now = SystemClock::default().wall_time();
        let soon = now + Duration::from_secs(1_800);
        let far = now + Duration::from_secs(40 * 86_400);
        let every: Schedule = SimpleSchedule::every(Duration::from_secs(86_400)).into();
        let noon: Schedule = CronSchedule::new("0 0 12 * * ?").unwrap().into();
        for (name, schedule, start) in [("b", every, soon), ("a.b", noon, far)] {
            let key = site.schedule("plain", name);
            let old = site.store.catalogue().trigger(&key).unwrap().unwrap();
            let old = old.to_builder().schedule(schedule).start_at(start).misfire(MisfireInstruction::Smart);
            site.store.catalogue().reschedule(&key, old.build().unwrap()).unwrap();
            let before = next(site, &key).unwrap();
            assert!(before >= start - Duration::from_secs(1), "{before}");
            let field = format!("[\"plain\",\"{name}\"]");
            let fields = [("do", "trigger.reschedule"), ("key", &*field), ("sure", "yes"), ("back", "triggers")];
            let wish = [("kind", "every"), ("when", "90s")];
            assert_eq!(site.send("act", &[&fields[..], &wish[..]].concat()).status(), 303);
            assert_ne!(next(site, &key), Some(before));
            let page = site.page("triggers");
            assert_eq!(press_undo(site, &page).status(), 303);
            let again = site.store.catalogue().trigger(&key).unwrap().unwrap();
            assert_eq!(again.next_fire_time(), Some(before), "{}", site.page("triggers"));
        }
    });
}

/// The times of a confirmation are those that the store computes.
#[test]
fn the_times_of_a_confirmation_are_in_the_zone_of_the_scheduler() {
    let mut site = Site::in_memory("carnelian.scheduler.timeZone = Asia/Tokyo");
    site.schedule("plain", "b");
    let fields = [("do", "trigger.reschedule"), ("key", B), ("kind", "cron"), ("when", "0 0 12 * * ?")];
    let confirm = body(&site.send("act", &fields));
    assert!(confirm.contains("12:00:00 JST"), "{confirm}");
}

#[test]
fn an_action_that_stops_half_way_says_how_far_it_came() {
    let mut site = Site::in_memory("");
    site.schedule("plain", "b");
    let page = act(&mut site, "job.run", &[B, "[\"plain\",\"none\"]", A]);
    assert!(page.contains("role=\"alert\"") && page.contains("1 of 3"), "{page}");
}

/// A double click, or the way back in the browser.
#[test]
fn a_confirmation_counts_once() {
    let mut site = Site::in_memory("");
    site.schedule("plain", "b");
    let confirm = body(&send(&mut site, "job.run", &[B], None));
    let (_, rest) = confirm.split_once("name=\"once\" value=\"").expect("a number of its own");
    let once = rest.split('"').next().unwrap().to_owned();
    for _ in 0..2 {
        let fields = [("do", "job.run"), ("key", B), ("sure", "yes"), ("back", "triggers"), ("once", &*once)];
        assert_eq!(site.send("act", &fields).status(), 303);
    }
    let job = JobKey::new("plain", "b");
    assert_eq!(site.store.catalogue().triggers_of_job(&job).unwrap().len(), 2, "the schedule's and one by hand");
    assert!(site.page("triggers").contains("was done already"));
}

#[test]
fn jobs_run_now_and_are_deleted() {
    Site::everywhere(|site| {
        site.schedule("plain", "a.b");
        let job = JobKey::new("plain", "a.b");
        let triggers = |site: &Site| site.store.catalogue().triggers_of_job(&job).unwrap().len();
        act(site, "job.run", &[A]);
        assert_eq!(triggers(site), 2);
        act(site, "job.pause", &[A]);
        act(site, "job.resume", &[A]);
        act(site, "job.delete", &[A]);
        assert!(!site.store.catalogue().job_exists(&job).unwrap());
        let page = act(site, "job.run", &[A]);
        assert!(page.contains("role=\"alert\""), "{page}");
    });
}

#[test]
fn nodes_are_drained_groups_and_everything_paused() {
    Site::everywhere(|site| {
        let key = site.schedule("plain", "b");
        let _me = site.node("n");
        act(site, "node.drain", &["n"]);
        let rows = site.store.placement().blacklist_rows().unwrap();
        assert_eq!((rows[0].node.as_str(), rows[0].who.as_str()), ("n", "dashboard"));
        assert!(site.page("nodes").contains("drain"));
        act(site, "node.undrain", &["n"]);
        assert!(site.store.placement().blacklist_rows().unwrap().is_empty());
        let state = |site: &Site| site.store.catalogue().trigger_state(&key).unwrap().unwrap();
        for what in ["group", "all"] {
            act(site, &format!("{what}.pause"), &["plain"]);
            assert_eq!(state(site), TriggerState::Paused);
            act(site, &format!("{what}.resume"), &["plain"]);
            assert_eq!(state(site), TriggerState::Waiting);
        }
        site.store.locks().try_lock("l", "n", std::time::Duration::from_secs(60)).unwrap();
        act(site, "lock.release", &["l"]);
        assert!(site.store.locks().held().unwrap().1.is_empty());
    });
}

#[test]
fn what_is_no_action_is_refused() {
    let mut site = Site::in_memory("");
    site.schedule("plain", "b");
    assert_eq!(send(&mut site, "trigger.explode", &[B], Some("yes")).status(), 400);
    assert_eq!(send(&mut site, "trigger.pause", &[], None).status(), 303);
    assert!(site.page("triggers").contains("Nothing was ticked."));
    let many: Vec<String> = (0..501).map(|n| format!("[\"plain\",\"{n}\"]")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    for sure in [None, Some("yes")] {
        let response = send(&mut site, "trigger.pause", &many, sure);
        assert_eq!(response.status(), 303, "neither asked for in the store, nor shown: {}", body(&response));
        assert!(site.page("triggers").contains("expected 1 to 500 triggers, not 501"));
    }
    let back = site.send("act", &[("do", "trigger.pause"), ("key", B), ("sure", "yes"), ("back", "//evil.example")]);
    assert_eq!(header(&back, "Location"), Some("./"));
}
