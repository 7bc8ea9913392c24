//! Every operation in every state of a trigger, as a table of text: `tests/testdata/states.txt`.
//!
//! With `CARNELIAN_REWRITE=1` the file is written instead of compared; look at the difference then.

use super::*;
use carnelian::store::CompletionInstruction::*;
use carnelian::store::{CompletionInstruction, FireBundle, Reservation};
use carnelian::{GroupMatcher, TriggerState};
use std::fmt::Write as _;
use std::path::Path;

/// Trigger `t` in some state. Node A runs `u` of the same job, and holds what is reserved.
struct Scene {
    a: Node,
    b: Node,
    running: FireBundle,
    reserved: Vec<Reservation>,
    /// Goes after its nodes.
    cluster: Cluster,
}

fn scene(state: TriggerState) -> Scene {
    use TriggerState::*;
    let cluster = Cluster::one_of_many(open());
    let (a, b) = (cluster.node("A"), cluster.node("B"));
    let alone = matches!(state, Blocked | PausedBlocked);
    let t = match state {
        Complete => once("t", "a", NOW),
        Error => minutely("t", "a", NOW),
        _ => minutely("t", "a", NOW + 10 * SECOND),
    };
    let job = job("a").requests_recovery(true).disallow_concurrent_execution(alone);
    cluster.schedule(job, [minutely("u", "a", NOW), t.priority(1)]);
    let mut fired = if state == Acquired {
        let taken = a.acquire();
        return scene_with(Scene { running: only(taken.fired), reserved: taken.reserved, cluster, a, b }, state);
    } else {
        a.acquire_with(10, |r| r.look_ahead_ms = 0).unwrap().fired
    };
    if matches!(state, Complete | Error) {
        let of_t = fired.pop().unwrap();
        if state == Error {
            a.complete_with(&of_t, SetTriggerError);
        }
    }
    if matches!(state, Paused | PausedBlocked) {
        cluster.store.catalogue().pause_triggers(&[trigger_key("t")]).unwrap();
    }
    scene_with(Scene { running: only(fired), reserved: Vec::new(), cluster, a, b }, state)
}

fn scene_with(scene: Scene, state: TriggerState) -> Scene {
    assert_eq!(scene.cluster.state("t"), state.name());
    assert_eq!(scene.running.trigger.key(), &trigger_key("u"));
    scene
}

fn only(mut fired: Vec<FireBundle>) -> FireBundle {
    assert_eq!(fired.len(), 1);
    fired.pop().unwrap()
}

fn complete(scene: &mut Scene, instruction: CompletionInstruction) {
    scene.a.complete_with(&scene.running, instruction);
}

type Operation = (&'static str, fn(&mut Scene));

const OPERATIONS: &[Operation] = &[
    ("pause the trigger", |s| ignore(s.cluster.store.catalogue().pause_triggers(&[trigger_key("t")]).unwrap())),
    ("pause its group", |s| ignore(s.cluster.store.catalogue().pause_trigger_groups(&GroupMatcher::any()).unwrap())),
    ("pause its job", |s| ignore(s.cluster.store.catalogue().pause_jobs(&[job_key("a")]).unwrap())),
    ("pause its job's group", |s| ignore(s.cluster.store.catalogue().pause_job_groups(&GroupMatcher::any()).unwrap())),
    ("pause all", |s| s.cluster.store.catalogue().pause_all().unwrap()),
    ("resume the trigger", |s| ignore(s.cluster.store.catalogue().resume_triggers(&[trigger_key("t")], true).unwrap())),
    ("resume its group", |s| {
        ignore(s.cluster.store.catalogue().resume_trigger_groups(&GroupMatcher::any(), true).unwrap())
    }),
    ("resume its job", |s| ignore(s.cluster.store.catalogue().resume_jobs(&[job_key("a")], true).unwrap())),
    ("resume all", |s| s.cluster.store.catalogue().resume_all(true).unwrap()),
    ("reset from error", |s| ignore(s.cluster.store.catalogue().reset_from_error(&trigger_key("t")).unwrap())),
    ("replace it", |s| {
        let again = minutely("t", "a", NOW + MINUTE).build().unwrap();
        s.cluster.store.catalogue().add_trigger(again, true).unwrap();
    }),
    ("reschedule it", |s| {
        let again = minutely("t", "a", NOW + MINUTE).build().unwrap();
        s.cluster.store.catalogue().reschedule(&trigger_key("t"), again).unwrap();
    }),
    ("unschedule it", |s| ignore(s.cluster.store.catalogue().unschedule(&[trigger_key("t")]).unwrap())),
    ("delete its job", |s| ignore(s.cluster.store.catalogue().delete_jobs(&[job_key("a")]).unwrap())),
    ("clear", |s| s.cluster.store.catalogue().clear().unwrap()),
    ("another node acquires ahead", |s| ignore(s.b.acquire())),
    ("another node acquires when due", |s| {
        s.cluster.advance(10 * SECOND);
        s.b.acquire();
    }),
    ("its owner fires it", |s| ignore(s.a.fire(&s.reserved))),
    ("its owner releases it", |s| s.a.store.firing().release(&s.reserved).unwrap()),
    ("its owner leaves", |s| ignore(s.a.store.upkeep().leave(&s.a.owner()).unwrap())),
    ("its owner is failed", |s| {
        s.cluster.advance(10 * SECOND);
        s.b.check_in();
        s.cluster.advance(12_501);
        assert_eq!(s.b.recovers().len(), 1);
    }),
    ("a sibling ends", |s| complete(s, NoInstruction)),
    ("a sibling ends: complete", |s| complete(s, SetTriggerComplete)),
    ("a sibling ends: error", |s| complete(s, SetTriggerError)),
    ("a sibling ends: all complete", |s| complete(s, SetAllJobTriggersComplete)),
    ("a sibling ends: all in error", |s| complete(s, SetAllJobTriggersError)),
    ("misfires are handled", |s| {
        s.cluster.advance(10 * MINUTE);
        s.cluster.store.upkeep().handle_misfires().unwrap();
    }),
    ("audit", |s| ignore(s.cluster.store.upkeep().audit().unwrap())),
];

on_each_strategy!(every_operation_in_every_state_does_what_the_table_says);
fn every_operation_in_every_state_does_what_the_table_says() {
    let mut table = format!("{:<32}", "");
    for state in TriggerState::ALL {
        let _ = write!(table, "{:<16}", state.name());
    }
    table = format!("{}\n", table.trim_end());
    for (name, act) in OPERATIONS {
        let mut line = format!("{name:<32}");
        for state in TriggerState::ALL {
            let mut scene = scene(state);
            act(&mut scene);
            scene.cluster.check();
            let after = scene.cluster.state("t");
            let cell = if after == state.name() { "." } else { after.as_str() };
            let _ = write!(line, "{cell:<16}");
        }
        let _ = writeln!(table, "{}", line.trim_end());
    }

    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/testdata/states.txt");
    if std::env::var_os("CARNELIAN_REWRITE").is_some() {
        std::fs::write(&path, table).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap();
    assert!(table == expected, "now the table is\n{table}\nin place of {}", path.display());
}

fn ignore<T>(_: T) {}
