//! The log of actions: who did what, written with the action or not at all.

use super::*;
use carnelian::calendar::{Calendar, Weekdays};
use carnelian::history::{ActionQuery, ActionRow, HistoryPruning};
use carnelian::placement::BlacklistEntry;
use carnelian::store::JobStore;
use carnelian::{Continuation, GroupMatcher, JobDataMap};

/// The newest actions that a query asks for, as `actor action kind subject`.
fn found(cluster: &Cluster, query: &ActionQuery) -> Vec<String> {
    let show = |row: ActionRow| format!("{} {} {} {}", row.actor, row.action, row.kind, row.subject);
    cluster.store.history().actions(query).unwrap().into_iter().map(show).collect()
}

fn ada(cluster: &Cluster) -> JobStore {
    cluster.store.clone().acting_as("ada", "desk")
}

/// The actions of ada while she does this, the first one first.
fn actions_of(cluster: &Cluster, act: impl FnOnce(&JobStore)) -> Vec<String> {
    let last = cluster.store.history().actions(&ActionQuery::new().limit(1)).unwrap();
    cluster.advance(1);
    act(&ada(cluster));
    let since = at(cluster.now());
    let mut rows = found(cluster, &ActionQuery::new().actor("ada").since(since));
    rows.reverse();
    assert!(last.iter().all(|row| row.time() < since));
    rows
}

on_each_database!(each_action_is_written_down_with_who_did_it);
/// DS-97: each action by its word, with its subjects.
fn each_action_is_written_down_with_who_did_it() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a").durable(true), [minutely("t", "a", NOW + SECOND), minutely("u", "a", NOW + SECOND)]);
    cluster.schedule(job("b").durable(true), []);
    let (t, j) = (trigger_key("t"), job_key("a"));
    let pause = |s: &JobStore| {
        s.catalogue().pause_triggers(std::slice::from_ref(&t)).unwrap();
    };
    assert_eq!(actions_of(&cluster, pause), ["ada pause trigger triggers.t"]);
    assert_eq!(actions_of(&cluster, pause), [""; 0], "nothing has changed");
    let resumed = actions_of(&cluster, |s| {
        s.catalogue().resume_jobs(std::slice::from_ref(&j), true).unwrap();
    });
    assert_eq!(resumed, ["ada resume job jobs.a"]);
    let group = |s: &JobStore| {
        s.catalogue().pause_trigger_groups(&GroupMatcher::equals("triggers")).unwrap();
    };
    assert_eq!(actions_of(&cluster, group), ["ada pause group triggers"]);
    assert_eq!(actions_of(&cluster, |s| s.catalogue().resume_all(true).unwrap()), ["ada resume all all"]);
    let run = |s: &JobStore| {
        s.catalogue().trigger_job(&j, JobDataMap::new()).unwrap();
    };
    assert_eq!(actions_of(&cluster, run), ["ada run job jobs.a"]);
    let again = minutely("t", "a", NOW + MINUTE).build().unwrap();
    let moved = actions_of(&cluster, |s| {
        s.catalogue().reschedule(&t, again.clone()).unwrap();
    });
    assert_eq!(moved, ["ada reschedule trigger triggers.t"]);
    let replaced = job("a").durable(true).description("new").build().unwrap();
    let work = vec![(replaced, vec![again])];
    let mut stored = actions_of(&cluster, |s| {
        s.catalogue().schedule(work, true).unwrap();
    });
    stored.sort(); // of one millisecond, so in no order
    assert_eq!(stored, ["ada replace job jobs.a", "ada replace trigger triggers.t"]);
    let follow = |s: &JobStore| s.catalogue().follow(&Continuation::new(job_key("a"), job_key("b"))).unwrap();
    assert_eq!(actions_of(&cluster, follow), ["ada follow job jobs.a"]);
    assert_eq!(actions_of(&cluster, follow), [""; 0], "the same again changes nothing");

    let holiday = Calendar::new(Weekdays::weekend());
    let put = actions_of(&cluster, |s| s.catalogue().add_calendar("bank", &holiday, true, false).unwrap());
    assert_eq!(put, ["ada put calendar bank"]);
    let deleted = actions_of(&cluster, |s| {
        s.catalogue().delete_calendar("bank").unwrap();
    });
    assert_eq!(deleted, ["ada delete calendar bank"]);

    let mut nodes = actions_of(&cluster, |s| {
        s.placement().drain("A", true, "ada").unwrap();
        s.placement().undrain("A").unwrap();
        assert!(!s.placement().undrain("A").unwrap());
        s.placement().blacklist(&BlacklistEntry::new("A").reason("its disk is full"), "ada").unwrap();
        s.placement().unblacklist("A").unwrap();
        s.placement().set_group_limit("jobs", Some(2), None, "ada").unwrap();
        s.placement().remove_group_limit("jobs").unwrap();
        s.outages().start_recovery("ada").unwrap();
        s.outages().stop_recovery(None).unwrap();
    });
    let mut expected = ["drain node A", "undrain node A", "blacklist node A", "unblacklist node A", "limit group jobs"]
        .into_iter()
        .chain(["unlimit group jobs", "start recovery recovery mode", "stop recovery recovery mode"])
        .map(|text| format!("ada {text}"))
        .collect::<Vec<_>>();
    nodes.sort();
    expected.sort();
    assert_eq!(nodes, expected);
    let reason = cluster.store.history().actions(&ActionQuery::new().action("blacklist")).unwrap();
    assert_eq!((reason[0].detail.as_deref(), &*reason[0].node), (Some("its disk is full"), "desk"));

    cluster.advance(2 * SECOND);
    let fire = a.acquire().fired.into_iter().find(|fire| fire.trigger.key().name() == "u").unwrap();
    let cancelled = actions_of(&cluster, |s| {
        s.upkeep().request_cancels(std::slice::from_ref(&fire.fire_id), "ada").unwrap();
    });
    assert_eq!(cancelled, [format!("ada cancel fire {}", fire.fire_id)]);
    let failed = actions_of(&cluster, |s| {
        s.firing().fail_fire(&fire.fire_id, "it hangs").unwrap().unwrap();
    });
    assert_eq!(failed, [format!("ada fail fire {}", fire.fire_id)]);
    let retried = actions_of(&cluster, |s| {
        s.firing().retry_fire(&fire.fire_id).unwrap();
    });
    assert_eq!(retried, [format!("ada retry fire {}", fire.fire_id)]);

    let renamed = actions_of(&cluster, |s| {
        s.catalogue().rename_job(&job_key("b"), &job_key("c"), false).unwrap();
    });
    assert_eq!(renamed, ["ada rename job jobs.b"]);
    let migrated = actions_of(&cluster, |s| {
        s.job_types().migrate("work", "work", None, false).unwrap();
    });
    assert_eq!(migrated, [""; 0], "nothing has changed");
    let gone = actions_of(&cluster, |s| {
        s.catalogue().unschedule(&[trigger_key("u"), trigger_key("nothing")]).unwrap();
    });
    assert_eq!(gone, ["ada delete trigger triggers.u"]);
    let gone = actions_of(&cluster, |s| {
        assert_eq!(s.catalogue().delete_jobs(&[job_key("c"), job_key("nothing")]).unwrap(), 1);
    });
    assert_eq!(gone, ["ada delete job jobs.c"]);
    assert_eq!(actions_of(&cluster, |s| s.catalogue().clear().unwrap()), ["ada clear all all"]);
    assert_eq!(found(&cluster, &ActionQuery::new().subject("jobs.c")).len(), 1, "the log outlives what was cleared");
}

on_each_database!(a_pruned_history_and_repairs_are_written_down);
/// DS-97: what deletes many rows in many transactions is written down once, and a node that cleans
/// up by its settings is nobody's action.
fn a_pruned_history_and_repairs_are_written_down() {
    let cluster = Cluster::with(open(), |settings| settings.history.retention = std::time::Duration::from_secs(3600));
    let a = cluster.node("A");
    for hours in [2, 1] {
        cluster.schedule(job("a"), [once("t", "a", cluster.now())]);
        a.complete(&a.fire_one());
        cluster.advance(hours * 60 * MINUTE);
    }
    cluster.store.upkeep().clean_up().unwrap();
    assert_eq!(found(&cluster, &ActionQuery::new()), [""; 0]);
    let pruning = HistoryPruning::new().job(job_key("a")).older_than(std::time::Duration::from_secs(60));
    let prune = |s: &JobStore| {
        s.history().prune(&pruning).unwrap();
    };
    assert_eq!(actions_of(&cluster, prune), ["ada prune history jobs.a"]);
    assert_eq!(
        cluster.store.history().actions(&ActionQuery::new()).unwrap()[0].detail.as_deref(),
        Some("older than 1 min 0 s")
    );
    assert_eq!(actions_of(&cluster, prune), [""; 0], "nothing was there");

    let recovered = actions_of(&cluster, |s| {
        cluster.schedule(job("b").requests_recovery(true), [once("u", "b", cluster.now())]);
        a.fire_one();
        cluster.advance(WINDOW + SECOND);
        assert_eq!(s.diagnosis().repair().unwrap().len(), 1);
    });
    assert_eq!(recovered, ["ada repair finding A"]);
}

on_each_database!(ordinary_scheduling_is_no_action);
/// DS-97: to store new work costs no row, nor does a program that triggers its own jobs.
fn ordinary_scheduling_is_no_action() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a").durable(true), [once("t", "a", NOW)]);
    cluster.store.catalogue().add_trigger(once("u", "a", NOW).build().unwrap(), false).unwrap();
    cluster.store.catalogue().trigger_job(&job_key("a"), JobDataMap::new()).unwrap();
    for fire in a.acquire().fired {
        a.complete(&fire);
    }
    assert_eq!(found(&cluster, &ActionQuery::new()), [""; 0]);
    // Deleting is one, of the program by the name of its scheduler, if it has no other.
    cluster.store.catalogue().delete_jobs(&[job_key("a")]).unwrap();
    let name = &cluster.store.settings().scheduler.instance_name;
    assert_eq!(found(&cluster, &ActionQuery::new()), [format!("{name} delete job jobs.a")]);
}

on_each_database!(actions_are_found_by_their_parts_and_in_pages);
/// DS-97: found by each part, and in pages that later actions do not move.
fn actions_are_found_by_their_parts_and_in_pages() {
    let cluster = Cluster::new(open());
    for name in ["a", "b", "c"] {
        cluster.schedule(job(name).durable(true), []);
        cluster.advance(SECOND);
        ada(&cluster).catalogue().delete_jobs(&[job_key(name)]).unwrap();
    }
    cluster.store.clone().acting_as("bob", "desk").placement().drain("a", false, "bob").unwrap();
    let query = ActionQuery::new;
    assert_eq!(found(&cluster, &query().subject("jobs.b")), ["ada delete job jobs.b"]);
    assert_eq!(found(&cluster, &query().actor("bob")), ["bob drain node a"]);
    assert_eq!(found(&cluster, &query().action("delete").kind("job")).len(), 3);
    assert_eq!(found(&cluster, &query().action("delete").kind("node")).len(), 0);
    assert_eq!(found(&cluster, &query().since(at(NOW + 2 * SECOND)).until(at(NOW + 3 * SECOND))).len(), 1);

    let mut page = query().actor("ada").limit(2);
    let mut subjects = Vec::new();
    loop {
        let rows = cluster.store.history().actions(&page).unwrap();
        let Some(last) = rows.last() else { break };
        page = query().actor("ada").limit(2).after(&last.action_id);
        subjects.extend(rows.iter().map(|row| row.subject.clone()));
        ada(&cluster).placement().drain(&format!("n{}", subjects.len()), false, "ada").unwrap();
    }
    assert_eq!(subjects, ["jobs.c", "jobs.b", "jobs.a"]);
}

on_each_database!(actions_go_with_what_they_did_and_are_forgotten_in_time);
/// DS-97, LT-86: an action that did not happen is not told, and old ones are forgotten with the
/// history.
fn actions_go_with_what_they_did_and_are_forgotten_in_time() {
    let cluster = Cluster::with(open(), |settings| settings.history.retention = std::time::Duration::from_secs(3600));
    cluster.schedule(job("a").durable(true), []);
    let calendar = Calendar::new(Weekdays::weekend());
    ada(&cluster).catalogue().add_calendar("bank", &calendar, false, false).unwrap();
    ada(&cluster).catalogue().add_calendar("bank", &calendar, false, false).unwrap_err();
    assert_eq!(found(&cluster, &ActionQuery::new()).len(), 1, "what was refused is not there");
    cluster.advance(59 * MINUTE);
    ada(&cluster).catalogue().delete_jobs(&[job_key("a")]).unwrap();
    cluster.store.upkeep().clean_up().unwrap();
    assert_eq!(found(&cluster, &ActionQuery::new()).len(), 2);
    cluster.advance(2 * MINUTE);
    cluster.store.upkeep().clean_up().unwrap();
    assert_eq!(found(&cluster, &ActionQuery::new()), ["ada delete job jobs.a"]);
}
