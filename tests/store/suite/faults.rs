//! Every statement of every story may fail, and every commit's answer may be lost.

use super::*;
use crate::support::places;
use carnelian::backfill::Backfill;
#[cfg(feature = "job-files")]
use carnelian::job_file::JobFile;
use carnelian::store::faults::Fault;
use carnelian::store::{
    Acquisition, Checkin, Completion, CompletionInstruction, CompletionOutcome, FireBundle, TxMode,
};
use carnelian::{DatabaseError, FailureClass, GroupMatcher, JobDataMap, Overlap, Result};

/// One story: how it is prepared, and what it does. A story says its result, as far as that is
/// equal each time.
struct Story {
    name: &'static str,
    tell: fn(&Cluster, &mut [Node]) -> Box<Act>,
}

type Act = dyn FnMut(&Cluster, &mut [Node]) -> Result<String>;

macro_rules! story {
    ($name:literal, $tell:expr) => {
        Story { name: $name, tell: $tell }
    };
}

/// Deletes one job, replaces another with one of its triggers, and stores a new one.
#[cfg(feature = "job-files")]
const JOB_FILE: &str = "
    <job-scheduling-data xmlns='http://www.quartz-scheduler.org/xml/JobSchedulingData'>
        <pre-processing-commands>
            <delete-job><name>plain</name><group>jobs</group></delete-job>
        </pre-processing-commands>
        <schedule>
            <job><name>lone</name><group>jobs</group><job-class>work</job-class></job>
            <job><name>new</name><group>jobs</group><job-class>work</job-class></job>
            <trigger>
                <simple>
                    <name>l1</name><group>triggers</group><job-name>lone</job-name><job-group>jobs</job-group>
                </simple>
            </trigger>
            <trigger>
                <simple>
                    <name>n1</name><group>triggers</group><job-name>new</job-name><job-group>jobs</job-group>
                </simple>
            </trigger>
        </schedule>
    </job-scheduling-data>";

fn stories() -> Vec<Story> {
    vec![
        story!("schedule", |_, _| Box::new(|c, _| {
            let work = lone_job("new").build()?;
            let triggers = vec![minutely("n1", "new", NOW).build()?, once("n2", "new", NOW).build()?];
            c.store.catalogue().schedule(vec![(work, triggers)], false).map(|t| t.len().to_string())
        })),
        story!("replace", |_, _| Box::new(|c, _| {
            let work = lone_job("lone").build()?;
            c.store
                .catalogue()
                .schedule(vec![(work, vec![minutely("l1", "lone", NOW).build()?])], true)
                .map(|t| t.len().to_string())
        })),
        story!("schedule with options", |_, _| Box::new(|c, _| {
            let schedule = carnelian::CronSchedule::new("0 30 2 * * ?")?.both_passes(true);
            let triggers = ["p2", "p3", "p4"].map(|name| once(name, "plain", NOW).schedule(schedule.clone()).build());
            let triggers = triggers.into_iter().collect::<Result<Vec<_>>>()?;
            c.store
                .catalogue()
                .schedule(vec![(job("plain").durable(true).build()?, triggers)], true)
                .map(|t| t.len().to_string())
        })),
        #[cfg(feature = "recurrence")]
        story!("reschedule as a recurrence", |_, _| Box::new(|c, _| {
            let schedule = carnelian::RecurrenceSchedule::new("FREQ=DAILY")?;
            let new = once("p3", "plain", NOW).schedule(schedule).build()?;
            c.store.catalogue().reschedule(&trigger_key("p3"), new).map(|t| t.is_some().to_string())
        })),
        story!("unschedule", |_, _| Box::new(|c, _| {
            c.store.catalogue().unschedule(&["p1", "p2"].map(trigger_key)).map(|n| n.to_string())
        })),
        story!("trigger_job", |_, _| Box::new(|c, _| {
            c.store.catalogue().trigger_job(&job_key("plain"), JobDataMap::new()).map(|_| String::new())
        })),
        story!("pause_all and resume_all", |_, _| Box::new(|c, _| {
            c.store.catalogue().pause_all()?;
            c.store.catalogue().resume_all(true).map(|()| String::new())
        })),
        story!("pause_trigger_groups", |_, _| Box::new(|c, _| {
            c.store.catalogue().pause_trigger_groups(&GroupMatcher::any()).map(|g| g.join(","))
        })),
        #[cfg(feature = "job-files")]
        story!("import", |_, _| Box::new(|c, _| {
            let file = JobFile::parse("jobs.xml", JOB_FILE.as_bytes(), chrono_tz::UTC)?;
            let imported = c.store.catalogue().import(&file)?;
            Ok(format!("{} {} {}", imported.deleted_jobs.len(), imported.jobs.len(), imported.triggers.len()))
        })),
        story!("rename_job", |_, _| Box::new(|c, _| {
            c.store
                .catalogue()
                .rename_job(&job_key("plain"), &job_key("renamed"), false)
                .map(|r| r.triggers.to_string())
        })),
        story!("migrate_jobs", |_, _| Box::new(|c, _| {
            let upgrade = |_: u32, data: &mut JobDataMap| {
                data.put("n", 7);
                Ok(2)
            };
            c.store.job_types().migrate("work", "other", Some(&upgrade), false).map(|m| m.changed.len().to_string())
        })),
        story!("delete_orphans", |_, nodes| {
            for node in nodes {
                node.store.job_types().set(vec![super::job_types::info("other", 1)]);
                node.check_in();
            }
            Box::new(|c, _| {
                let noted = c.store.job_types().note_orphans()?.jobs.len();
                c.store
                    .job_types()
                    .delete_orphans(std::time::Duration::ZERO)
                    .map(|deleted| format!("{noted} {}", deleted.len()))
            })
        }),
        story!("clear", |_, _| Box::new(|c, _| c.store.catalogue().clear().map(|()| String::new()))),
        story!("acquire", |_, _| Box::new(|_, nodes| {
            let a = nodes[0].try_acquire(100)?;
            Ok(format!("{} {}", a.fired.len(), a.reserved.len()))
        })),
        story!("fire", |_, nodes| {
            let reserved = nodes[0].acquire().reserved;
            assert!(!reserved.is_empty());
            Box::new(move |_, nodes| nodes[0].try_to_fire(&reserved).map(|fired| fired.len().to_string()))
        }),
        story!("release", |_, nodes| {
            let reserved = nodes[0].acquire().reserved;
            Box::new(move |_, nodes| nodes[0].store.firing().release(&reserved).map(|()| String::new()))
        }),
        story!("complete", |_, nodes| {
            let fired = nodes[0].acquire().fired;
            assert!(fired.len() > 2);
            let ends: Vec<_> = fired
                .iter()
                .map(|f| f.completion(CompletionInstruction::NoInstruction, Some(JobDataMap::new())))
                .collect();
            Box::new(move |_, nodes| {
                let outcomes = nodes[0].store.firing().complete(&nodes[0].owner(), &ends)?.outcomes;
                assert!(outcomes.iter().all(|o| *o == CompletionOutcome::Recorded), "{outcomes:?}");
                Ok(outcomes.len().to_string())
            })
        }),
        story!("handle_misfires", |c, _| {
            c.advance(10 * MINUTE);
            Box::new(|c, _| c.store.upkeep().handle_misfires().map(|pass| pass.handled.len().to_string()))
        }),
        story!("leave", |_, nodes| {
            nodes[0].acquire();
            Box::new(|_, nodes| nodes[0].store.upkeep().leave(&nodes[0].owner()).map(|n| n.to_string()))
        }),
        story!("check_in that registers", |c, nodes| {
            nodes[0].acquire();
            nodes[0] = c.stranger("A");
            Box::new(|_, nodes| {
                let node = &mut nodes[0];
                node.store.upkeep().check_in(&mut node.me).map(|c| c.registered.to_string())
            })
        }),
        story!("check_in that recovers", |c, nodes| {
            nodes[0].acquire();
            c.advance(10 * SECOND);
            nodes[1].check_in();
            c.advance(12_501);
            Box::new(|_, nodes| {
                let node = &mut nodes[1];
                node.store.upkeep().check_in(&mut node.me).and_then(whole).map(|_| String::new())
            })
        }),
        story!("acquire what is passed over", |c, nodes| {
            run_with_policies(c, nodes);
            c.advance(MINUTE);
            Box::new(|_, nodes| nodes[1].try_acquire(100).map(|brought| passed_over(&brought)))
        }),
        story!("fire what is passed over", |c, nodes| {
            run_with_policies(c, nodes);
            c.advance(MINUTE - SECOND);
            let reserved = nodes[1].acquire().reserved;
            assert_eq!(reserved.len(), 3);
            c.advance(SECOND);
            Box::new(move |_, nodes| {
                let brought = nodes[1].store.firing().fire(&nodes[1].owner(), &reserved)?;
                Ok(passed_over(&brought))
            })
        }),
        story!("record the ends of runs with policies", |c, nodes| {
            let fired = run_with_policies(c, nodes);
            c.advance(MINUTE);
            nodes[1].acquire();
            c.advance(MINUTE);
            let end = |bundle: &FireBundle| Completion {
                failed: bundle.trigger.pauses_on_failure(),
                ..bundle.completion(CompletionInstruction::NoInstruction, None)
            };
            let ends: Vec<Completion> = fired.iter().map(end).collect();
            Box::new(move |_, nodes| {
                let recorded = nodes[0].store.firing().complete(&nodes[0].owner(), &ends)?;
                Ok(format!("{:?} {:?} {:?}", recorded.paused, recorded.let_go, recorded.skipped))
            })
        }),
        story!("declare a fire failed", |c, nodes| {
            let retry =
                carnelian::JobPolicy::new().retry(carnelian::RetryPolicy::fixed(std::time::Duration::from_secs(9)));
            c.store.catalogue().delete_jobs(&["plain", "lone", "saved"].map(job_key)).unwrap();
            c.schedule(lone_job("failing").policy(retry), [minutely("f1", "failing", NOW)]);
            let id = nodes[0].fire_one().fire_id;
            Box::new(move |c, _| {
                c.store.firing().fail_fire(&id, "why").map(|failed| format!("{:?}", failed.unwrap().retried_after))
            })
        }),
        story!("backfill", |c, _| {
            let schedule = carnelian::CronSchedule::new("0 0 * * * ?").unwrap();
            c.schedule(job("filled"), [once("h1", "filled", NOW + SECOND).schedule(schedule)]);
            Box::new(|c, _| {
                let hours = |hours: i64| at(NOW - hours * 60 * MINUTE);
                let done = c.store.catalogue().backfill(&Backfill::new(trigger_key("h1"), hours(5), hours(1)))?;
                Ok(done.fires.len().to_string())
            })
        }),
        story!("clean_up", |_, _| Box::new(|c, _| c.store.upkeep().clean_up().map(|pass| format!("{pass:?}")))),
        story!("audit", |_, _| Box::new(|c, _| c.store.upkeep().audit().map(|pass| format!("{pass:?}")))),
    ]
}

/// Node A runs one fire of each of three triggers, and nothing else is due.
fn run_with_policies(cluster: &Cluster, nodes: &[Node]) -> Vec<FireBundle> {
    cluster.store.catalogue().delete_jobs(&["plain", "lone", "saved"].map(job_key)).unwrap();
    let with = |name, overlap| minutely(name, "policies", NOW).overlap(overlap);
    let triggers = [
        with("o1", Overlap::Skip),
        with("o2", Overlap::BufferOne).pause_on_failure(true),
        with("o3", Overlap::CancelPrevious),
    ];
    cluster.schedule(job("policies"), triggers);
    let fired = nodes[0].acquire().fired;
    assert_eq!(fired.len(), 3);
    fired
}

fn passed_over(brought: &Acquisition) -> String {
    format!("{:?} {:?} {}", brought.skipped, brought.waiting, brought.cancelled.len())
}

fn prepared() -> (Cluster, Vec<Node>) {
    let cluster = Cluster::one_of_many(open());
    let nodes = vec![cluster.node("A"), cluster.node("B")];
    cluster.schedule(
        job("plain").durable(true),
        [once("p1", "plain", NOW), once("p2", "plain", NOW + SECOND), minutely("p3", "plain", NOW)],
    );
    cluster.schedule(
        lone_job("lone").requests_recovery(true).persist_job_data_after_execution(true),
        [minutely("l1", "lone", NOW), minutely("l2", "lone", NOW + SECOND)],
    );
    cluster
        .schedule(job("saved").requests_recovery(true), [once("s1", "saved", NOW), once("s2", "saved", NOW + SECOND)]);
    (cluster, nodes)
}

/// Drops what is drawn at random or counts up, so that two runs can be compared.
fn shape(cluster: &Cluster) -> Vec<String> {
    let s = cluster.snapshot();
    let name = |key: &carnelian::TriggerKey| key.name().chars().take(3).collect::<String>();
    let mut rows: Vec<String> = Vec::new();
    rows.extend(s.jobs.iter().map(|j| format!("job {}", j.key)));
    rows.extend(s.triggers.iter().map(|t| format!("trigger {} {} {:?}", name(&t.key), t.state, t.next_ms)));
    rows.extend(s.triggers.iter().map(|t| format!("schedule {} {:?} {}", name(&t.key), t.schedule, t.misfire)));
    rows.extend(s.triggers.iter().filter_map(|t| Some(format!("options {} {:?}", name(&t.key), t.options.as_ref()?))));
    rows.extend(s.fired.iter().map(|f| format!("fire {} {:?} {}", name(&f.trigger), f.state, f.instance)));
    rows.extend(s.recoveries.iter().map(|r| format!("recovery {} {}", name(&r.trigger), r.attempt)));
    rows.extend(s.paused_groups.iter().map(|g| format!("paused {g}")));
    rows.sort();
    rows
}

/// Tells whether the story is first tried by one statement that commits by itself.
fn is_stored_at_once(story: &Story, cluster: &Cluster) -> bool {
    ["schedule", "trigger_job"].contains(&story.name) && cluster.opened.database.has_fast_path()
}

/// A story in which nothing fails.
struct Undisturbed {
    answer: String,
    /// The rows that it leaves.
    shape: Vec<String>,
    statements: u64,
    commits: u64,
    is_in_memory: bool,
}

impl Undisturbed {
    fn told(story: &Story) -> Self {
        let (cluster, mut nodes) = prepared();
        let mut act = (story.tell)(&cluster, &mut nodes);
        let before = cluster.opened.database.counts();
        let answer = act(&cluster, &mut nodes).unwrap();
        let after = cluster.opened.database.counts();
        let (statements, commits) = (after.statements - before.statements, after.commits - before.commits);
        let is_in_memory = cluster.opened.database.describe() == "memory";
        Self { answer, shape: shape(&cluster), statements, commits, is_in_memory }
    }

    /// The places of a fault, of which `CARNELIAN_FAULTS_EVERY` takes a part only. In memory all
    /// are cheap.
    fn places(&self, fault: Fault) -> impl Iterator<Item = u64> {
        let asked = places::asked_step().filter(|_| !self.is_in_memory).unwrap_or(1);
        match fault {
            Fault::Statement(_) => places::places(self.statements, asked),
            _ => places::places(self.commits, places::tenth(asked)),
        }
    }

    /// Tells whether a fault at this place comes too late for the story.
    fn is_over(&self, fault: Fault, n: u64) -> bool {
        n > if matches!(fault, Fault::Statement(_)) { self.statements } else { self.commits }
    }
}

/// A check-in that could not recover somebody, as one that failed: it is told again.
fn whole(checkin: Checkin) -> Result<Checkin> {
    match checkin.unrecovered.first() {
        None => Ok(checkin),
        Some((_, why)) => {
            let (operation, class) = ("recover a failed instance".to_owned(), FailureClass::Permanent);
            Err(DatabaseError { operation, message: why.clone(), class }.into())
        }
    }
}

on_each_database!(whichever_statement_fails_nothing_is_half_done);
/// Law: an error leaves nothing half done, whichever statement fails, and trying again succeeds.
fn whichever_statement_fails_nothing_is_half_done() {
    let fault = Fault::Statement(FailureClass::Permanent);
    for story in stories() {
        let clean = Undisturbed::told(&story);
        assert!(clean.statements > 0, "{}", story.name);
        for n in clean.places(fault) {
            let (cluster, mut nodes) = prepared();
            let mut act = (story.tell)(&cluster, &mut nodes);
            cluster.opened.database.plan().plan(n, fault);
            let outcome = act(&cluster, &mut nodes);
            let was_late = cluster.opened.database.plan().cancel();
            cluster.check();
            assert_eq!(was_late, clean.is_over(fault, n), "{} at {n}", story.name);
            if was_late {
                outcome.unwrap_or_else(|e| panic!("{}: {e}", story.name));
                continue;
            }
            let error = match outcome {
                Err(error) => error,
                // A transaction has stored the work that one statement could not store.
                Ok(answer) if n == 1 && is_stored_at_once(&story, &cluster) => {
                    assert_eq!((answer, shape(&cluster)), (clean.answer.clone(), clean.shape.clone()));
                    continue;
                }
                Ok(answer) => panic!("{}: statement {n} failed, and the answer was {answer}", story.name),
            };
            assert_eq!(error.failure_class(), Some(FailureClass::Permanent), "{} at {n}: {error}", story.name);
            // Stories of several transactions may have done the first; telling them again must do
            // the rest.
            if story.name != "pause_all and resume_all" {
                act(&cluster, &mut nodes).unwrap_or_else(|e| panic!("{} again after {n}: {e}", story.name));
            }
        }
    }
}

on_each_database!(a_transient_failure_of_any_statement_changes_nothing_in_the_end);
/// Transient failures are retried out of sight, with the same result.
fn a_transient_failure_of_any_statement_changes_nothing_in_the_end() {
    for story in stories().into_iter().filter(|s| !s.name.starts_with("check_in")) {
        let clean = Undisturbed::told(&story);
        for fault in [FailureClass::Deadlock, FailureClass::ConnectionLost].map(Fault::Statement) {
            for n in clean.places(fault) {
                let (cluster, mut nodes) = prepared();
                let mut act = (story.tell)(&cluster, &mut nodes);
                cluster.opened.database.plan().plan(n, fault);
                let outcome = act(&cluster, &mut nodes);
                let was_late = cluster.opened.database.plan().cancel();
                let what = format!("{} {fault:?} at {n}", story.name);
                assert_eq!(outcome.unwrap_or_else(|e| panic!("{what}: {e}")), clean.answer, "{what}");
                assert_eq!(shape(&cluster), clean.shape, "{what}");
                assert_eq!(was_late, clean.is_over(fault, n), "{what}");
            }
        }
    }
}

on_each_database!(a_commit_whose_answer_is_lost_is_looked_up);
/// Law 7: an unknown outcome is looked up, not guessed.
fn a_commit_whose_answer_is_lost_is_looked_up() {
    for story in stories().into_iter().filter(|s| !s.name.starts_with("check_in")) {
        let clean = Undisturbed::told(&story);
        for fault in [Fault::CommitLostApplied, Fault::CommitLostNotApplied] {
            for n in clean.places(fault) {
                let (cluster, mut nodes) = prepared();
                let mut act = (story.tell)(&cluster, &mut nodes);
                cluster.opened.database.plan().plan(n, fault);
                let outcome = act(&cluster, &mut nodes);
                let was_late = cluster.opened.database.plan().cancel();
                let what = format!("{} {fault:?} {n}", story.name);
                let told = outcome.unwrap_or_else(|e| panic!("{what}: {e}"));
                // Of a misfire pass that is told twice the second finds nothing to do.
                if story.name != "handle_misfires" {
                    assert_eq!(told, clean.answer, "{what}");
                }
                assert_eq!(shape(&cluster), clean.shape, "{what}");
                assert_eq!(was_late, clean.is_over(fault, n), "{what}");
                cluster.check();
            }
        }
    }
}

on_each_database!(a_check_in_that_fails_anywhere_is_made_good_by_the_next);
/// A check-in is not retried by the store, but what it left must be sound, and the next one must do
/// the rest.
fn a_check_in_that_fails_anywhere_is_made_good_by_the_next() {
    for story in stories().into_iter().filter(|s| s.name.starts_with("check_in")) {
        let clean = Undisturbed::told(&story);
        for fault in [
            Fault::Statement(FailureClass::ConnectionLost),
            Fault::Statement(FailureClass::Deadlock),
            Fault::CommitLostApplied,
            Fault::CommitLostNotApplied,
        ] {
            for n in clean.places(fault) {
                let (cluster, mut nodes) = prepared();
                let mut act = (story.tell)(&cluster, &mut nodes);
                cluster.opened.database.plan().plan(n, fault);
                let outcome = act(&cluster, &mut nodes);
                let was_late = cluster.opened.database.plan().cancel();
                let what = format!("{} {fault:?} {n}", story.name);
                assert_eq!(was_late, clean.is_over(fault, n), "{what}");
                cluster.check();
                if outcome.is_err() {
                    // A node gives the others the tolerance to come back after a failure of its
                    // own.
                    for _ in 0..3 {
                        act(&cluster, &mut nodes).unwrap_or_else(|e| panic!("{what}: {e}"));
                        cluster.advance(7_500);
                    }
                }
                let who: Vec<_> = cluster.snapshot().instances.into_iter().map(|i| i.name).collect();
                let expected: &[&str] = if story.name.ends_with("registers") { &["A", "B"] } else { &["B"] };
                assert_eq!(who, expected, "{what}");
                assert!(cluster.fires().is_empty(), "{what}");
                assert_eq!(cluster.recovery_triggers().len(), 2, "{what}");
            }
        }
    }
}

on_each_database!(an_error_of_the_work_rolls_everything_back);
fn an_error_of_the_work_rolls_everything_back() {
    let cluster = Cluster::new(open());
    cluster.schedule(job("a"), [once("t", "a", NOW)]);
    let before = cluster.rows();
    let mut work = |s: &mut dyn carnelian::store::Session| {
        s.delete_triggers(&[trigger_key("t")], None)?;
        s.delete_jobs(&[job_key("a")])?;
        s.insert_paused_groups(&["g".to_owned()])?;
        Err(carnelian::Error::Refused("changed my mind".to_owned()))
    };
    let begin = TxMode::Exclusive(carnelian::store::Lock::TriggerAccess);
    assert!(cluster.opened.database.transact("test", begin, &mut work).is_err());
    assert_eq!(cluster.rows(), before);
}

on_each_database!(a_panic_of_the_work_rolls_everything_back);
fn a_panic_of_the_work_rolls_everything_back() {
    let cluster = Cluster::new(open());
    cluster.schedule(job("a"), [once("t", "a", NOW)]);
    let before = cluster.rows();
    let panics = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let begin = TxMode::Exclusive(carnelian::store::Lock::TriggerAccess);
        cluster.opened.database.transact("test", begin, &mut |s| {
            s.delete_triggers(&[trigger_key("t")], None)?;
            panic!("on purpose");
        })
    }));
    assert!(panics.is_err());
    assert_eq!(cluster.rows(), before);
    cluster.store.catalogue().pause_all().unwrap();
    assert_eq!(cluster.state("t"), "PAUSED");
}

/// The number of statements that fail, large enough that no look-up gets through.
const LONG_AWAY: u64 = 12;

on_each_database!(what_was_taken_is_kept_until_the_store_can_be_asked);
/// A node keeps what it may have taken with the answer while the store cannot be asked, and has it
/// when the store can be asked.
fn what_was_taken_is_kept_until_the_store_can_be_asked() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("plain").durable(true), [once("now", "plain", NOW), once("soon", "plain", NOW + SECOND)]);
    let plan = cluster.opened.database.plan();
    // The first commit is the one that draws fences, if they are drawn before the triggers are
    // claimed.
    let (mut taken, mut reserved, mut doubts) = (Vec::new(), Vec::new(), 0);
    for n in [1, 2] {
        plan.plan(n, Fault::CommitLostThenAway(LONG_AWAY));
        let brought = a.try_acquire(100);
        plan.cancel();
        let Ok(mut brought) = brought else { continue };
        if let Some(mut doubt) = brought.doubt.take() {
            assert_eq!(doubt.error.failure_class(), Some(FailureClass::CommitUnknown));
            assert!(a.store.firing().settle_doubt(&a.owner(), &mut doubt).unwrap());
            taken.extend(doubt.acquisition.fired);
            reserved.extend(doubt.acquisition.reserved);
            doubts += 1;
        }
        taken.extend(brought.fired);
        reserved.extend(brought.reserved);
    }
    let rest = a.acquire();
    taken.extend(rest.fired);
    reserved.extend(rest.reserved);
    assert_eq!((names(&taken), reserved.len(), doubts > 0), (vec!["now"], 1, true));
    assert_eq!(cluster.fires(), ["now/EXECUTING@A", "soon/ACQUIRED@A"]);
    assert_eq!(a.complete(&taken[0]), CompletionOutcome::Recorded);

    cluster.advance(SECOND);
    plan.plan(1, Fault::CommitLostThenAway(LONG_AWAY));
    let mut doubt = a.store.firing().fire(&a.owner(), &reserved).unwrap().doubt.unwrap();
    plan.cancel();
    assert!(a.store.firing().settle_doubt(&a.owner(), &mut doubt).unwrap());
    assert_eq!((names(&doubt.acquisition.fired), doubt.precommits), (vec!["soon"], true));
    assert_eq!(a.complete(&doubt.acquisition.fired[0]), CompletionOutcome::Recorded);
    assert!(cluster.fires().is_empty());
}

on_each_database!(what_is_in_doubt_and_not_there_is_nobodys);
/// Of what is in doubt only that is taken which is there: not what was never committed, nor what
/// was taken back since, nor what another has taken over.
fn what_is_in_doubt_and_not_there_is_nobodys() {
    let cluster = Cluster::new(open());
    let mut a = cluster.node("A");
    cluster.schedule(
        job("plain").durable(true),
        [once("t1", "plain", NOW + SECOND), once("t2", "plain", NOW + SECOND), once("t3", "plain", NOW + SECOND)],
    );
    let plan = cluster.opened.database.plan();
    plan.plan(1, Fault::CommitLostThenAway(LONG_AWAY));
    let mut doubt = a.try_acquire(100).unwrap().doubt.unwrap();
    plan.cancel();
    assert_eq!(doubt.acquisition.reserved.len(), 3);
    let first = doubt.acquisition.reserved[0].trigger.clone();
    cluster.store.catalogue().pause_triggers(&[first]).unwrap();
    assert!(
        a.store.firing().settle_doubt(&a.owner(), &mut doubt).unwrap(),
        "the first is gone, and the others are there"
    );
    assert_eq!(doubt.acquisition.reserved.len(), 2);
    a.store.firing().release(&doubt.acquisition.reserved).unwrap();
    assert!(!a.store.firing().settle_doubt(&a.owner(), &mut doubt).unwrap());
    assert!(doubt.acquisition.reserved.is_empty());

    let before = a.owner();
    let mut other = a.acquire();
    assert_eq!(other.reserved.len(), 2);
    a = cluster.stranger("A");
    a.check_in();
    doubt.acquisition.reserved.append(&mut other.reserved);
    assert!(a.store.firing().settle_doubt(&before, &mut doubt).unwrap_err().is_fenced());
}

on_each_database!(a_read_that_took_as_long_as_a_statement_may_is_not_repeated);
/// The server ends a person's question about ten million rows after a minute. The store asked five
/// times more, and each try ended so. A short wait is tried again.
fn a_read_that_took_as_long_as_a_statement_may_is_not_repeated() {
    let cluster = Cluster::new(open());
    let plan = cluster.opened.database.plan();
    let slow = Fault::Statement(FailureClass::LockWait);
    plan.plan(1, slow);
    cluster.store.history().last_runs(&job_key("j")).unwrap();
    let clock = std::sync::Arc::clone(&cluster.clock);
    plan.meanwhile("read last runs", 1, move || clock.advance(MINUTE));
    plan.plan(1, slow);
    let error = cluster.store.history().last_runs(&job_key("j")).unwrap_err();
    assert_eq!(error.failure_class(), Some(FailureClass::LockWait), "{error}");
    assert!(!plan.cancel());
}

on_each_database!(a_change_that_cannot_be_looked_up_has_an_unknown_outcome);
/// A change that was made and whose outcome cannot be found out is not said to have failed for want
/// of a connection: whoever repeats it would make it twice.
fn a_change_that_cannot_be_looked_up_has_an_unknown_outcome() {
    for name in ["replace", "schedule", "trigger_job", "pause_trigger_groups", "unschedule", "clear", "rename_job"] {
        let story = stories().into_iter().find(|story| story.name == name).unwrap();
        let (cluster, mut nodes) = prepared();
        let before = shape(&cluster);
        let mut act = (story.tell)(&cluster, &mut nodes);
        cluster.opened.database.plan().plan(1, Fault::CommitLostThenAway(LONG_AWAY));
        let error = act(&cluster, &mut nodes).unwrap_err();
        cluster.opened.database.plan().cancel();
        assert_eq!(error.failure_class(), Some(FailureClass::CommitUnknown), "{name}: {error}");
        let text = error.to_string();
        assert!(text.contains("its answer was lost"), "{name}: {text}");
        // A replacement by its like leaves equal rows.
        assert!(name == "replace" || shape(&cluster) != before, "{name}: it was done");
    }
}
