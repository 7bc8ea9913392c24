//! The history as it was: what a job was known by when it ran, its trace, and where its node was.

use super::*;
use carnelian::history::{FireOutcome, HistoryQuery, HistoryRow, RunMarks};
use carnelian::node::{NodeInfo, NodeReport};
use carnelian::store::Request;
use carnelian::store::row::IncarnationRow;
use carnelian::{Continuation, JobDetailBuilder, JobMarks, On};

const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const TRACE_ID: &str = "0af7651916cd43dd8448eb211c80319c";

fn found(cluster: &Cluster, query: HistoryQuery) -> Vec<HistoryRow> {
    cluster.store.history().find(&query).unwrap()
}

fn invoice(name: &str, owner: &str) -> JobDetailBuilder {
    let marks = JobMarks::new().biz_key(format!("order-{name}")).owner(owner).name("Invoice").tag("billing");
    job(name).durable(true).description("prints it").marks(marks)
}

/// A node at this address.
fn node_at(cluster: &Cluster, name: &str, address: &str) -> Node {
    let mut info = NodeInfo::default();
    (info.node_name, info.ip) = (name.to_owned(), Some(address.to_owned()));
    let mut node = cluster.stranger(name);
    node.me.node = Some(NodeReport { info, ..NodeReport::default() });
    assert!(node.check_in().registered);
    node
}

on_each_database!(a_run_keeps_what_its_job_was_known_by_and_where_it_was);
/// LT-50, LT-52, PA-01: the row keeps what was, when the job and the node are long gone.
fn a_run_keeps_what_its_job_was_known_by_and_where_it_was() {
    let cluster = Cluster::new(open());
    let a = node_at(&cluster, "A", "192.0.2.7");
    cluster.schedule(invoice("a", "ada"), [once("t", "a", NOW)]);
    cluster.schedule(job("b").durable(true), [once("u", "b", NOW)]);
    let fired = a.acquire().fired;
    let running = found(&cluster, HistoryQuery::new().running(true).biz_key("order-a"));
    assert_eq!((running.len(), running[0].address.as_deref()), (1, Some("192.0.2.7")));
    for fire in &fired {
        a.complete(fire);
    }

    // The job gets another owner, and goes; another node has the name elsewhere.
    let other = invoice("a", "bob").build().unwrap();
    cluster.store.catalogue().schedule(vec![(other, vec![once("v", "a", NOW).build().unwrap()])], true).unwrap();
    a.complete(&a.fire_one());
    cluster.store.catalogue().delete_jobs(&[job_key("a"), job_key("b")]).unwrap();
    a.store.upkeep().leave(&a.owner()).unwrap();
    let _elsewhere = node_at(&cluster, "A", "192.0.2.8");

    let rows = found(&cluster, HistoryQuery::new().biz_key("order-a"));
    let mut owners: Vec<_> = rows.iter().map(|row| row.marks.owner.clone().unwrap()).collect();
    owners.sort();
    assert_eq!(owners, ["ada", "bob"]);
    let marks = &rows.iter().find(|row| row.trigger == trigger_key("t")).unwrap().marks;
    let text = |text: &str| Some(text.to_owned());
    let (biz_key, owner, name, description) = (text("order-a"), text("ada"), text("Invoice"), text("prints it"));
    assert_eq!(*marks, RunMarks { biz_key, owner, name, description, trace_id: None });
    assert!(rows.iter().all(|row| row.address.as_deref() == Some("192.0.2.7")));
    let plain = found(&cluster, HistoryQuery::new().job(job_key("b")));
    assert!(plain[0].marks.is_empty());
    let record = cluster.store.history().run_record(&rows[0].fire_id).unwrap().unwrap();
    assert_eq!((record.description.as_deref(), record.run.address.as_deref()), (Some("prints it"), Some("192.0.2.7")));

    // The place of a node is forgotten with the history, unless the node still lives.
    cluster.advance(8 * 24 * 60 * MINUTE);
    cluster.store.upkeep().clean_up().unwrap();
    cluster.tamper(|s| {
        let left: Vec<IncarnationRow> = s.rows().list()?;
        let addresses: Vec<_> = left.iter().map(|row| row.address.as_deref()).collect();
        assert_eq!(addresses, [Some("192.0.2.8")]);
        Ok(())
    });
}

on_each_database!(a_lost_run_keeps_what_its_job_was_known_by);
/// LT-50: also of a run that was lost, and of one that never began in time.
fn a_lost_run_keeps_what_its_job_was_known_by() {
    let cluster = Cluster::new(open());
    let a = node_at(&cluster, "A", "192.0.2.7");
    cluster.schedule(invoice("a", "ada"), [once("t", "a", NOW)]);
    a.fire_one();
    cluster.advance(WINDOW + SECOND);
    cluster.node("B");
    let lost = found(&cluster, HistoryQuery::new().biz_key("order-a"));
    assert_eq!((lost.len(), lost[0].outcome, lost[0].address.as_deref()), (1, FireOutcome::Lost, Some("192.0.2.7")));
    assert_eq!(lost[0].marks.owner.as_deref(), Some("ada"));
}

on_each_database!(a_lost_run_keeps_its_trace_and_passes_it_on);
/// LT-106: a run that dies with its node keeps its trace, and so do its recovery and its children;
/// of a run that goes on too it is found.
fn a_lost_run_keeps_its_trace_and_passes_it_on() {
    for (of_job, recovers) in [(true, true), (false, true), (false, false)] {
        let cluster = Cluster::new(open());
        let a = cluster.node("A");
        cluster.schedule(job("child").durable(true), []);
        let traced = |builder: JobDetailBuilder| if of_job { builder.data("traceparent", TRACE) } else { builder };
        cluster.schedule(traced(job("parent").durable(true).requests_recovery(recovers)), []);
        cluster.store.catalogue().follow(&Continuation::new(job_key("parent"), job_key("child")).on(On::Any)).unwrap();
        let trigger = once("t", "parent", NOW);
        let trigger = if of_job { trigger } else { trigger.data("traceparent", TRACE) };
        cluster.store.catalogue().add_trigger(trigger.build().unwrap(), false).unwrap();
        let fire = a.fire_one();
        assert_eq!(found(&cluster, HistoryQuery::new().running(true).trace(TRACE_ID)).len(), 1);
        cluster.advance(WINDOW + SECOND);
        let b = cluster.node("B");
        let lost = found(&cluster, HistoryQuery::new().trace(TRACE_ID));
        assert_eq!((lost.len(), lost[0].outcome, &lost[0].fire_id), (1, FireOutcome::Lost, &fire.fire_id));
        if recovers {
            b.complete(&b.fire_one());
        }
        let child = b.fire_one();
        assert_eq!(child.trigger.data().text("traceparent"), Some(TRACE));
        b.complete(&child);
        let with_trace = found(&cluster, HistoryQuery::new().trace(TRACE_ID));
        assert_eq!(with_trace.len(), if recovers { 3 } else { 2 });
    }
}

on_each_database!(a_run_that_is_declared_failed_keeps_its_trace);
/// DS-120, LT-106: so does a run that somebody declares failed.
fn a_run_that_is_declared_failed_keeps_its_trace() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a").durable(true).data("traceparent", TRACE), [once("t", "a", NOW)]);
    cluster.store.firing().fail_fire(&a.fire_one().fire_id, "it hangs").unwrap().unwrap();
    assert_eq!(found(&cluster, HistoryQuery::new().trace(TRACE_ID)).len(), 1);
}

on_each_database!(runs_are_found_by_their_trace_and_those_that_follow_too);
/// LT-106: a trace goes from the submission to its runs, their reruns, and the runs that follow.
fn runs_are_found_by_their_trace_and_those_that_follow_too() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("parent").durable(true), []);
    cluster.schedule(job("child").durable(true), []);
    cluster.store.catalogue().follow(&Continuation::new(job_key("parent"), job_key("child"))).unwrap();
    let traced = once("t", "parent", NOW).data("traceparent", TRACE).build().unwrap();
    cluster.store.catalogue().add_trigger(traced, false).unwrap();
    let other = once("u", "parent", NOW).data("traceparent", "no trace").build().unwrap();
    cluster.store.catalogue().add_trigger(other, false).unwrap();
    let parents = a.acquire().fired;
    for fire in &parents {
        a.complete(fire);
    }
    let children = a.acquire().fired;
    let mut traces: Vec<_> = children.iter().map(|fire| fire.trigger.data().text("traceparent")).collect();
    traces.sort();
    assert_eq!((parents.len(), traces), (2, vec![None, Some(TRACE)]));
    for fire in &children {
        a.complete(fire);
    }

    let request = Request {
        request_id: None,
        job: job("submitted").data("traceparent", TRACE).build().unwrap(),
        trigger: once("s", "submitted", cluster.now()).build().unwrap(),
        then: Vec::new(),
    };
    cluster.store.catalogue().take_requests(&[request]).unwrap();
    a.complete(&a.fire_one());
    let rows = found(&cluster, HistoryQuery::new().trace(TRACE_ID));
    let mut jobs: Vec<_> = rows.iter().map(|row| row.job.as_ref().unwrap().name()).collect();
    jobs.sort_unstable();
    assert_eq!(jobs, ["child", "parent", "submitted"]);
    assert_eq!(found(&cluster, HistoryQuery::new()).len(), 5, "those without a trace ran as well");
}
