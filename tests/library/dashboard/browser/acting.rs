//! Each action by the mouse: the confirmation says what will happen, the database has it then, the
//! log has who did it, and what can be undone is undone.

use super::{Look, everywhere, node, schedule, support};
use carnelian::history::ActionQuery;
use carnelian::store::JobStore;
use carnelian::{JobKey, TriggerKey, TriggerState};
use diesel::connection::SimpleConnection;
use diesel::{Connection, PgConnection};
use std::time::Duration;

/// Presses the button of an action on the page of one subject, or above a list with its first row
/// ticked; the page at which the browser is then asks.
fn press(look: &mut Look, page: &str, word: &str) {
    look.open(page);
    let alone = format!("form:has(input[name=do][value='{word}']) button");
    if look.browser.eval(&format!("document.querySelector(\"{alone}\") !== null")) == true {
        return look.browser.follow(&alone);
    }
    look.browser.click("td input[type=checkbox]");
    look.browser.follow(&format!("button[name=do][value='{word}']"));
}

/// Does an action, which the confirmation names, as this visitor.
#[track_caller]
fn act(look: &mut Look, page: &str, word: &str, warning: &str) {
    press(look, page, word);
    let asked = look.browser.text();
    assert!(asked.contains(warning), "{word}: {asked}");
    look.browser.follow(".confirm button");
    let said = look.browser.eval("document.querySelector('.flash')?.innerText ?? ''");
    let is_error = look.browser.eval("document.querySelector('.flash.bad') !== null");
    assert_eq!(is_error, false, "{word}: {said}");
    look.is_content();
}

#[track_caller]
fn undo(look: &mut Look) {
    look.browser.follow(".flash button");
    assert_eq!(look.browser.eval("document.querySelector('.flash.good') !== null"), true, "{}", look.browser.text());
}

/// The last actions in the log, the newest first.
fn logged(store: &JobStore) -> Vec<String> {
    let rows = store.history().actions(&ActionQuery::new()).unwrap();
    rows.iter().map(|row| format!("{} {} {} by {}", row.action, row.kind, row.subject, row.actor)).collect()
}

fn state(look: &Look, key: &TriggerKey) -> Option<TriggerState> {
    look.store.catalogue().trigger_state(key).unwrap()
}

fn sql(look: &Look, statements: &str) {
    let name = &look.store.settings().scheduler.instance_name;
    let mut database = PgConnection::establish(&support::postgres_url()).unwrap();
    database.batch_execute(&statements.replace(":name", &format!("'{name}'"))).unwrap();
}

#[test]
fn triggers_and_jobs() {
    let mut look = Look::on_postgres();
    let key = schedule(&look.store, "plain", "job");
    let page = "trigger?group=plain&name=job";
    act(&mut look, page, "trigger.pause", "It does not fire until it is resumed.");
    assert_eq!(state(&look, &key), Some(TriggerState::Paused));
    undo(&mut look);
    assert_eq!(state(&look, &key), Some(TriggerState::Waiting));
    act(&mut look, "triggers", "trigger.pause", "Pause: 1 trigger?");
    act(&mut look, page, "trigger.resume", "It fires again.");
    assert_eq!(state(&look, &key), Some(TriggerState::Waiting));
    assert_eq!(logged(&look.store)[0], "resume trigger plain.job by dashboard");

    sql(&look, "UPDATE QRTZ_TRIGGERS SET TRIGGER_STATE = 'ERROR' WHERE SCHED_NAME = :name");
    act(&mut look, page, "trigger.reset", "It leaves the error state");
    assert_eq!(state(&look, &key), Some(TriggerState::Waiting));

    let job = "job?group=plain&name=job";
    act(&mut look, job, "job.pause", "None of its triggers fires");
    assert_eq!(state(&look, &key), Some(TriggerState::Paused));
    undo(&mut look);
    act(&mut look, "jobs", "job.pause", "Pause: 1 job?");
    act(&mut look, job, "job.resume", "Its triggers fire again.");
    assert_eq!(state(&look, &key), Some(TriggerState::Waiting));
    act(&mut look, job, "job.run", "A trigger is made that fires once, now");
    let jobs = JobKey::new("plain", "job");
    assert_eq!(look.store.catalogue().triggers_of_job(&jobs).unwrap().len(), 2);

    act(&mut look, page, "trigger.delete", "This cannot be undone.");
    assert_eq!(state(&look, &key), None);
    act(&mut look, "jobs", "job.delete", "It is gone, with all its triggers.");
    assert!(!look.store.catalogue().job_exists(&jobs).unwrap());
    assert_eq!(
        logged(&look.store)[..2],
        ["delete job plain.job by dashboard", "delete trigger plain.job by dashboard"]
    );
    look.open("actions?subject=plain.job&action=pause");
    assert_eq!(look.browser.eval("document.querySelectorAll('tbody tr').length"), 4, "{}", look.browser.text());
}

#[test]
fn a_trigger_gets_another_schedule_and_its_own_again() {
    let mut look = Look::on_postgres();
    let key = schedule(&look.store, "plain", "job");
    let schedule_of = |look: &Look| look.store.catalogue().trigger(&key).unwrap().unwrap().schedule().in_words();
    let before = schedule_of(&look);
    let ask = |look: &mut Look, kind: &str, when: &str| {
        look.open("trigger?group=plain&name=job");
        assert_eq!(look.browser.eval("document.querySelector('[name=when]').value"), "1h", "it is as it is");
        look.browser.eval(&format!("document.querySelector('[name=kind]').value = '{kind}'"));
        look.browser.eval("document.querySelector('[name=when]').value = ''");
        look.browser.click("[name=when]");
        look.browser.write(when);
        look.browser.follow("form:has([name=when]) button");
    };
    ask(&mut look, "cron", "every day");
    assert_eq!(look.browser.eval("document.querySelector('[role=alert]') !== null"), true, "{}", look.browser.text());
    assert!(look.browser.text().contains("every day"), "it says what is wrong");
    assert_eq!(schedule_of(&look), before);
    ask(&mut look, "cron", "0 30 6 ? * MON-FRI");
    let asked = look.browser.text();
    assert!(asked.contains("every hour") && asked.contains("06:30:00 UTC"), "{asked}");
    look.browser.follow(".confirm button");
    assert_eq!(schedule_of(&look), "cron 0 30 6 ? * MON-FRI in UTC");
    assert_eq!(logged(&look.store)[0], "reschedule trigger plain.job by dashboard");
    undo(&mut look);
    assert_eq!(schedule_of(&look), before);
    look.is_content();
}

#[test]
fn runs_nodes_locks_and_everything() {
    let mut look = Look::on_postgres();
    let key = schedule(&look.store, "plain", "job");
    let mut me = node(&look.store, "n");
    let job = JobKey::new("plain", "job");
    let failed = everywhere::run(&look.store, &mut me, &job, true);
    let running = everywhere::run(&look.store, &mut me, &job, false);
    act(&mut look, &format!("run?fire={failed}"), "run.retry", "Its work is run again at once");
    let last = &logged(&look.store)[0];
    assert!(last.starts_with("retry fire ") && last.ends_with(" by dashboard"), "{last}");
    act(&mut look, "running", "run.stop", "Its node asks it to stop");
    assert_eq!(logged(&look.store)[0], format!("cancel fire {running} by dashboard"));

    let bars = |look: &Look| look.store.placement().blacklist_rows().unwrap();
    act(&mut look, "node?name=n", "node.drain", "It takes no work from its next check-in on.");
    assert_eq!(
        bars(&look).iter().map(|row| (row.node.clone(), row.who.clone())).collect::<Vec<_>>(),
        [("n".to_owned(), "dashboard".to_owned())]
    );
    undo(&mut look);
    assert!(bars(&look).is_empty());
    act(&mut look, "nodes", "node.drain", "Drain: 1 node?");
    act(&mut look, "nodes", "node.undrain", "It takes work again");
    assert!(bars(&look).is_empty());

    act(&mut look, "", "all.pause", "No trigger fires until everything is resumed.");
    assert_eq!(state(&look, &key), Some(TriggerState::Paused));
    undo(&mut look);
    assert_eq!(state(&look, &key), Some(TriggerState::Waiting));
    act(&mut look, "trigger?group=plain&name=job", "group.pause", "also none that is stored later");
    assert_eq!(state(&look, &key), Some(TriggerState::Paused));
    undo(&mut look);
    assert_eq!(state(&look, &key), Some(TriggerState::Waiting));

    look.store.locks().try_lock("lock", "n", Duration::from_secs(60)).unwrap();
    act(&mut look, "locks", "lock.release", "It is taken from its holder");
    assert!(look.store.locks().held().unwrap().1.is_empty());
}

#[test]
fn parked_work() {
    let mut look = Look::on_postgres();
    let keys = ["a", "b"].map(|name| schedule(&look.store, "plain", name));
    sql(
        &look,
        "UPDATE QRTZ_TRIGGERS SET TRIGGER_STATE = 'ERROR' WHERE SCHED_NAME = :name; \
         INSERT INTO QRTZ_CN_PARKED SELECT SCHED_NAME, TRIGGER_NAME, TRIGGER_GROUP, 'f-1', 'taken over 10 times', 10, \
         CASE TRIGGER_NAME WHEN 'a' THEN 1 ELSE 2 END FROM QRTZ_TRIGGERS WHERE SCHED_NAME = :name",
    );
    let parked = |look: &Look| look.store.catalogue().parked().unwrap().len();
    assert_eq!(parked(&look), 2);
    act(&mut look, "parked", "parked.retry", "It runs again at once");
    assert_eq!((parked(&look), state(&look, &keys[0])), (1, Some(TriggerState::Waiting)));
    act(&mut look, "parked", "parked.delete", "is never run again");
    assert_eq!((parked(&look), state(&look, &keys[1])), (0, None));
}
