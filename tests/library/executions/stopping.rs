//! The stop of a running job by any cause (LT-83, LT-90; scenario 15): timeout, the API, a pause of
//! the definition, the end of the engine. All causes take one path, and the history names the
//! cause.

use super::*;
use carnelian::Outcome;
use carnelian::history::HistoryRow;

/// The time for which a shutdown waits for a run that is asked to stop, three times; other stops
/// wait 50 ms.
const WAIT: &str = "carnelian.shutdown.stopWait = 60ms\n\
                    scheduler.interruptJobsOnShutdownWithWait = true\n";

/// Waits that no job needs which looks, on a busy machine either.
const PATIENCE: &str = "carnelian.job.stopWait = 5s\n\
                        carnelian.shutdown.stopWait = 5s\n\
                        scheduler.interruptJobsOnShutdownWithWait = true\n";

/// The jobs that are stopped, each in its way.
const CAUSES: [(&str, StopReason, FireOutcome); 4] = [
    ("timeout", StopReason::TimedOut, FireOutcome::TimedOut),
    ("api", StopReason::Cancelled, FireOutcome::Cancelled),
    ("pause", StopReason::Paused, FireOutcome::Cancelled),
    ("shutdown", StopReason::Shutdown, FireOutcome::Interrupted),
];

fn policy(name: &str) -> JobPolicy {
    let policy = JobPolicy::new();
    if name == "timeout" { policy.timeout(Duration::from_millis(100)) } else { policy }
}

/// Stops a run of each job (the one with a timeout may have ended before), from the node `peer`
/// where the cause may come from anywhere.
fn stop_all(node: &Scheduler, peer: &Scheduler) {
    let fires = node.running_here();
    let fire = |name: &str| fires.iter().find(|fire| fire.job.name() == name).unwrap();
    assert!(peer.cancel_fire(&fire("api").fire_id).unwrap());
    assert_eq!(peer.pause_job_and_stop(&JobKey::named("pause")).unwrap(), 1);
    wait_until("three of four have ended", LONG, || node.running_here().len() == 1);
    let left = node.running_here();
    assert_eq!(left[0].job.name(), "shutdown");
    assert!(!left[0].is_interrupted);
}

/// The row of the job's only fire in the history.
fn ended(judge: &Scheduler, job: &str) -> HistoryRow {
    let mut rows = judge.history(&HistoryQuery::new().job(JobKey::named(job))).unwrap();
    assert_eq!(rows.len(), 1, "{job}");
    rows.pop().unwrap()
}

fn schedule_all(node: &Scheduler, told: &Receiver<(String, bool)>) {
    node.start().unwrap();
    for (name, ..) in CAUSES {
        run(node, job(name, policy(name)));
    }
    CAUSES.iter().for_each(|_| drop(next(told)));
}

/// Jobs that look end by themselves, and are told why.
#[test]
fn four_causes_stop_a_job_that_looks_and_the_history_tells_them_apart() {
    everywhere(|cluster| {
        let cluster = cluster.with(4, PATIENCE);
        let (told, heard) = unbounded();
        let reasons: Arc<Mutex<Vec<(String, StopReason)>>> = Arc::default();
        let node = cluster.node("a", |builder| {
            CAUSES.iter().fold(builder, |builder, (name, ..)| {
                let (told, reasons) = (told.clone(), Arc::clone(&reasons));
                builder.job_fn(*name, move |ctx: &mut JobContext| {
                    told.send((ctx.fire_id().to_owned(), false)).unwrap();
                    while ctx.wait(LONG) {}
                    let name = ctx.job().key().name().to_owned();
                    reasons.lock().push((name, ctx.stop_reason().unwrap()));
                    Ok::<_, JobError>(Outcome::Stopped)
                })
            })
        });
        let peer = cluster.node("b", |builder| builder);
        schedule_all(&node, &heard);
        stop_all(&node, &peer);
        let report = node.shutdown_and_wait();
        assert!(report.is_clean(), "{report:?}");
        for (name, reason, outcome) in CAUSES {
            assert!(reasons.lock().contains(&(name.to_owned(), reason)), "{name}");
            let row = ended(&peer, name);
            assert_eq!((row.outcome, row.error), (outcome, Some(format!("{reason}: it was asked to stop"))), "{name}");
        }
        // Work that the end of its node has interrupted goes on elsewhere. Work that somebody
        // stopped does not.
        let waiting = peer.triggers(&carnelian::GroupMatcher::Any).unwrap();
        assert_eq!(waiting.iter().map(|trigger| trigger.job.name()).collect::<Vec<_>>(), ["shutdown"]);
        peer.delete_job(&JobKey::named("shutdown")).unwrap();
    });
}

/// Jobs that do not look are asked again and again, and given up; their fires are recorded by the
/// cause, and nothing is left behind for others to recover.
#[test]
fn four_causes_give_up_a_job_that_does_not_look() {
    everywhere(|cluster| {
        let cluster = cluster.with(4, WAIT);
        let (told, heard) = unbounded();
        let (go, gate) = unbounded::<()>();
        let node = cluster.node("a", |builder| {
            CAUSES.iter().fold(builder, |builder, (name, ..)| {
                let gate = gate.clone();
                builder.job_fn(
                    *name,
                    says(&told, move |_| {
                        let _ = gate.recv();
                        Ok(())
                    }),
                )
            })
        });
        let peer = cluster.node("b", |builder| builder);
        schedule_all(&node, &heard);
        stop_all(&node, &peer);
        assert_eq!(node.health().stray_threads, 3);
        let report = node.shutdown_and_wait();
        assert!(report.is_clean(), "{report:?}");
        for (name, reason, outcome) in CAUSES {
            let row = ended(&peer, name);
            let error = row.error.unwrap();
            assert_eq!(row.outcome, outcome, "{name}: {error}");
            let wait = if reason == StopReason::Shutdown { "180ms" } else { "150ms" };
            assert_eq!(error, format!("{reason}: it did not end within {wait} after it was asked to"));
        }
        assert!(peer.running_fires().unwrap().is_empty());
        let waiting = peer.triggers(&carnelian::GroupMatcher::Any).unwrap();
        assert_eq!(waiting.iter().map(|trigger| trigger.job.name()).collect::<Vec<_>>(), ["shutdown"]);
        peer.delete_job(&JobKey::named("shutdown")).unwrap();
        drop(go);
    });
}

/// DS-120: somebody outside declares a fire failed; the node that runs it learns it, and the work
/// is tried again there.
#[test]
fn a_run_learns_that_it_was_declared_failed() {
    everywhere(|cluster| {
        let (told, heard) = unbounded();
        let node = cluster.node("a", |builder| {
            builder.job_fn("hung", move |ctx: &mut JobContext| {
                told.send((ctx.fire_id().to_owned(), ctx.attempt() > 0)).unwrap();
                if ctx.attempt() == 0 {
                    while ctx.wait(LONG) {}
                    assert_eq!((ctx.stop_reason(), ctx.holds_fire()), (Some(StopReason::OwnershipLost), false));
                }
                Ok(())
            })
        });
        let peer = cluster.node("b", |builder| builder);
        node.start().unwrap();
        let retry = carnelian::RetryPolicy::fixed(Duration::from_millis(1));
        run(&node, job("hung", JobPolicy::new().retry(retry)));
        let (fire, _) = next(&heard);
        // The first heartbeat of the run has been stored, so that the next one can miss it.
        wait_until("it beats", LONG, || peer.running_fires().unwrap().iter().any(|fire| fire.heartbeat.is_some()));
        let failed = peer.fail_fire(&fire, "the watchdog says so").unwrap().unwrap();
        assert_eq!((failed.instance.as_str(), failed.retried_after), ("a", Some(Duration::from_millis(1))));
        assert_eq!(peer.fail_fire(&fire, "once more").unwrap(), None);
        assert!(next(&heard).1, "it is tried again");
        cluster.assert_recorded(&peer, "hung", &[FireOutcome::Failed, FireOutcome::Succeeded]);
        let rows = peer.history(&HistoryQuery::new().outcome(FireOutcome::Failed)).unwrap();
        assert_eq!(rows[0].error.as_deref(), Some("the watchdog says so"));
        wait_until("both runs are over", LONG, || node.running_here().is_empty());
        assert!(node.shutdown_and_wait().is_clean());
    });
}
