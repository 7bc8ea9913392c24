//! Actions: each is confirmed, does what it says on every store, and is undone where it can be.

use super::{Site, body, header};
use carnelian::dashboard::Response;
use carnelian::{JobKey, TriggerState};

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
    let _ = send(&mut site, "trigger.pause", &many, Some("yes"));
    assert!(site.page("triggers").contains("expected 1 to 500 triggers, not 501"));
    let back = site.send("act", &[("do", "trigger.pause"), ("key", B), ("sure", "yes"), ("back", "//evil.example")]);
    assert_eq!(header(&back, "Location"), Some("./"));
}
