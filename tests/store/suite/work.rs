//! Checkpoints that outlive their fires' nodes, and requests that are taken once.

use super::*;
use carnelian::store::Request;
use carnelian::store::row::CheckpointRow;

fn row(root: &str, version: i64, fence: i64) -> CheckpointRow {
    CheckpointRow { root_fire_id: root.to_owned(), version, fence, data: format!("step {version}").into_bytes() }
}

on_each_database!(a_checkpoint_outlives_its_node_and_goes_with_the_work);
/// PA-40: the successor finds what the node that died had written, and the end of the work takes it
/// away.
fn a_checkpoint_outlives_its_node_and_goes_with_the_work() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a").requests_recovery(true), [once("t", "a", NOW)]);
    let first = a.fire_one();
    let root = first.fire_id.clone();
    for version in 1..=3 {
        cluster.store.firing().write_checkpoint(&first.fire_id, &row(&root, version, first.fence)).unwrap();
    }
    cluster.advance(WINDOW + SECOND);
    let b = cluster.node("B");
    let second = b.fire_one();
    assert_eq!(second.recovering.as_ref().and_then(|r| r.root_fire_id.clone()), Some(root.clone()));
    let kept = cluster.store.firing().read_checkpoint(&root).unwrap().unwrap();
    assert_eq!((kept.version, kept.data.as_slice()), (3, b"step 3".as_slice()));
    cluster.store.firing().write_checkpoint(&second.fire_id, &row(&root, 4, second.fence)).unwrap();

    // PA-34: the first node was only slow.
    let late = cluster.store.firing().write_checkpoint(&first.fire_id, &row(&root, 5, first.fence)).unwrap_err();
    assert!(late.is_fenced(), "{late}");
    assert_eq!(cluster.store.firing().read_checkpoint(&root).unwrap().unwrap().version, 4);

    let mut end = second.completion(carnelian::store::CompletionInstruction::NoInstruction, None);
    end.checkpoint = Some(root.clone());
    b.complete_all(&[end]);
    assert_eq!(cluster.store.firing().read_checkpoint(&root).unwrap(), None);
    cluster.check();
}

on_each_database!(a_checkpoint_of_work_that_nobody_goes_on_with_is_swept);
/// The work of a node that died, and whose job asks for no recovery, is over: the audit takes its
/// checkpoint.
fn a_checkpoint_of_work_that_nobody_goes_on_with_is_swept() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [once("t", "a", NOW)]);
    cluster.schedule(job("b").requests_recovery(true), [once("u", "b", NOW)]);
    let fires = a.acquire().fired;
    for fire in &fires {
        cluster.store.firing().write_checkpoint(&fire.fire_id, &row(&fire.fire_id, 1, fire.fence)).unwrap();
    }
    cluster.store.upkeep().audit().unwrap();
    let kept = |name: &str| {
        let fire = fires.iter().find(|fire| fire.job.key().name() == name).unwrap();
        cluster.store.firing().read_checkpoint(&fire.fire_id).unwrap().is_some()
    };
    assert!(kept("a") && kept("b"), "both run");
    cluster.advance(WINDOW + SECOND);
    let _b = cluster.node("B");
    assert_eq!(cluster.recovery_triggers().len(), 1);
    assert_eq!(cluster.store.upkeep().audit().unwrap().swept, 1);
    assert!(!kept("a"), "nobody will ask for it");
    assert!(kept("b"), "its recovery waits");
}

on_each_database!(a_checkpoint_has_a_limit);
fn a_checkpoint_has_a_limit() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [once("t", "a", NOW)]);
    let fire = a.fire_one();
    let most = carnelian::store::MAX_CHECKPOINT_BYTES;
    let with = |length| CheckpointRow { data: vec![b'x'; length], ..row(&fire.fire_id, 1, fire.fence) };
    cluster.store.firing().write_checkpoint(&fire.fire_id, &with(most)).unwrap();
    let error = cluster.store.firing().write_checkpoint(&fire.fire_id, &with(most + 1)).unwrap_err();
    assert!(error.to_string().contains("expected at most 1048576 bytes"), "{error}");
    assert_eq!(cluster.store.firing().read_checkpoint(&fire.fire_id).unwrap().unwrap().data.len(), most);
}

fn request(id: Option<&str>, name: &str) -> Request {
    Request {
        request_id: id.map(str::to_owned),
        job: job(name).build().unwrap(),
        trigger: once(name, name, NOW).build().unwrap(),
        then: Vec::new(),
    }
}

on_each_database!(a_request_is_taken_once);
/// PA-05, S15.
fn a_request_is_taken_once() {
    let cluster = Cluster::new(open());
    let first = cluster.store.catalogue().take_requests(&[request(Some("order 17"), "a")]).unwrap();
    let second = cluster.store.catalogue().take_requests(&[request(Some("order 17"), "b")]).unwrap();
    assert!(first[0].is_new && !second[0].is_new);
    assert_eq!((&first[0].job, &first[0].trigger), (&second[0].job, &second[0].trigger));
    assert!(cluster.has_job("a") && !cluster.has_job("b"));
    // A request is known when its work is long done.
    let a = cluster.node("A");
    let fire = a.fire_one();
    a.complete(&fire);
    assert!(!cluster.has_job("a"));
    assert!(!cluster.store.catalogue().take_requests(&[request(Some("order 17"), "c")]).unwrap()[0].is_new);
    assert_eq!(cluster.store.catalogue().taken("order 17").unwrap().map(|taken| taken.job), Some(job_key("a")));
    assert_eq!(cluster.store.catalogue().taken("order 18").unwrap(), None);
    // For a week.
    cluster.advance(8 * 24 * 60 * MINUTE);
    assert_eq!(cluster.store.upkeep().clean_up().unwrap().requests, 1);
    assert!(cluster.store.catalogue().take_requests(&[request(Some("order 17"), "d")]).unwrap()[0].is_new);
}

on_each_database!(a_request_is_known_until_its_work_is_over);
/// PA-05: a request whose work waits for longer than a week was forgotten, and taken again.
fn a_request_is_known_until_its_work_is_over() {
    const WEEK: i64 = 7 * 24 * 60 * MINUTE;
    let cluster = Cluster::new(open());
    let submitted = carnelian::JobKey::new("SUBMITTED", "s");
    let key = |name: &str| carnelian::TriggerKey::new("SUBMITTED", name);
    let once_of =
        |name: &str, ms: i64| carnelian::Trigger::builder(key(name), submitted.clone()).start_at(at(ms)).build();
    let retried = Request {
        request_id: Some("retried".to_owned()),
        job: carnelian::JobDetail::builder(submitted.clone(), "work").build().unwrap(),
        trigger: once_of("first", NOW).unwrap(),
        then: Vec::new(),
    };
    let late = once("late", "j", NOW + 3 * WEEK).build().unwrap();
    let requests = [Request { trigger: late, ..request(Some("late"), "j") }, retried];
    cluster.store.catalogue().take_requests(&requests).unwrap();
    // The trigger of the submission has gone, and its job goes on with another.
    cluster.store.catalogue().add_trigger(once_of("again", NOW + 3 * WEEK).unwrap(), false).unwrap();
    cluster.store.catalogue().unschedule(&[key("first")]).unwrap();

    for week in 1..=3 {
        cluster.advance(WEEK + SECOND);
        assert_eq!(cluster.store.upkeep().clean_up().unwrap().requests, 0, "week {week}");
        assert!(cluster.store.catalogue().taken("late").unwrap().is_some());
    }
    let a = cluster.node("A");
    let fired = a.acquire().fired;
    assert_eq!(fired.len(), 2);
    for fire in &fired {
        a.complete(fire);
    }
    cluster.advance(WEEK + SECOND);
    assert_eq!(cluster.store.upkeep().clean_up().unwrap().requests, 2);
}

on_each_database!(requests_are_taken_together_or_not_at_all);
fn requests_are_taken_together_or_not_at_all() {
    let cluster = Cluster::new(open());
    let all = [request(Some("1"), "a"), request(None, "b"), request(Some("1"), "c"), request(Some("2"), "d")];
    let answers = cluster.store.catalogue().take_requests(&all).unwrap();
    assert_eq!(answers.iter().map(|answer| answer.is_new).collect::<Vec<_>>(), [true, true, false, true]);
    assert_eq!(answers[2].job, job_key("a"));
    let before = cluster.rows();
    let error =
        cluster.store.catalogue().take_requests(&[request(Some("3"), "e"), request(Some("4"), "a")]).unwrap_err();
    assert!(error.is_already_exists(), "{error}");
    assert_eq!(cluster.rows(), before);
    assert_eq!(cluster.store.catalogue().taken("3").unwrap(), None);
    let error = cluster.store.catalogue().take_requests(&[request(Some(""), "f")]).unwrap_err();
    assert!(error.to_string().contains("request id"), "{error}");
    cluster.check();
}
