//! Actions: what an operator may do, each with what a confirmation says of it.

use super::keys::Subject;
use super::new_schedule::{NewSchedule, reschedule};
use crate::data_map::JobDataMap;
use crate::error::{Error, Result as Stored};
use crate::matcher::GroupMatcher;
use crate::store::JobStore;

/// The most subjects of one action.
pub(super) const MOST_SUBJECTS: usize = 500;

/// An action as it is asked for: on what, by whom, and how.
pub(super) struct Order<'a> {
    pub(super) subjects: &'a [Subject],
    pub(super) actor: &'a str,
    /// The schedule of a rescheduling.
    pub(super) new_schedule: Option<&'a NewSchedule>,
}

/// The error that stopped an action, and how many of its subjects had been changed by then.
#[derive(Debug)]
pub(super) struct Stopped {
    pub(super) done: usize,
    pub(super) error: Error,
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Self {
        Self { done: 0, error }
    }
}

/// The number of subjects that an action has changed.
type Result<T> = std::result::Result<T, Stopped>;

/// Something that an operator may do.
pub(super) struct Action {
    /// The word of forms and of the API: the kind of the subjects, and what is done to them.
    pub(super) word: &'static str,
    /// The word of the button.
    pub(super) label: &'static str,
    /// The name of one subject, and of many.
    pub(super) what: [&'static str; 2],
    /// The consequence, for the confirmation.
    pub(super) warning: &'static str,
    /// The word for the button once more, of an action that cannot be undone.
    pub(super) is_grave: bool,
    /// The action that takes this one back.
    pub(super) undo: Option<&'static str>,
    run: fn(&JobStore, &[Subject], &Order<'_>) -> Result<usize>,
}

const TRIGGER: [&str; 2] = ["trigger", "triggers"];
const JOB: [&str; 2] = ["job", "jobs"];
const RUN: [&str; 2] = ["run", "runs"];
const NODE: [&str; 2] = ["node", "nodes"];
const GROUP: [&str; 2] = ["group of triggers", "groups of triggers"];
const WORK: [&str; 2] = ["parked work", "parked works"];
const LOCK: [&str; 2] = ["lock", "locks"];
const ALL: [&str; 2] = ["scheduler", "schedulers"];

const fn action(
    word: &'static str,
    label: &'static str,
    what: [&'static str; 2],
    warning: &'static str,
    run: fn(&JobStore, &[Subject], &Order<'_>) -> Result<usize>,
) -> Action {
    Action { word, label, what, warning, is_grave: false, undo: None, run }
}

impl Action {
    const fn undone_by(mut self, word: &'static str) -> Self {
        self.undo = Some(word);
        self
    }

    const fn grave(mut self) -> Self {
        self.is_grave = true;
        self
    }

    /// Does it on behalf of a person; returns how many of the subjects it changed.
    ///
    /// # Errors
    /// [`Error::Refused`] without subjects or with too many; what the operation of the store
    /// reports, with how far it came.
    pub(super) fn perform(&self, store: &JobStore, order: &Order<'_>) -> Result<usize> {
        self.begin(order)?;
        (self.run)(store, order.subjects, order)
    }

    /// Checks the number of subjects.
    ///
    /// # Errors
    /// [`Error::Refused`] without subjects or with too many.
    pub(super) fn check(&self, subjects: &[Subject]) -> Stored<()> {
        if subjects.is_empty() || subjects.len() > MOST_SUBJECTS {
            let (word, what, count) = (self.word, self.what[1], subjects.len());
            return Err(Error::Refused(format!("{word}: expected 1 to {MOST_SUBJECTS} {what}, not {count}")));
        }
        Ok(())
    }

    /// Checks the number of subjects, and writes down who acts.
    ///
    /// # Errors
    /// [`Error::Refused`] without subjects or with too many.
    pub(super) fn begin(&self, order: &Order<'_>) -> Stored<()> {
        let (subjects, actor) = (order.subjects, order.actor);
        self.check(subjects)?;
        log::info!("an operator acts action={} subjects={} actor={actor:?}", self.word, subjects.len());
        Ok(())
    }

    /// Does it to one of the subjects; true if that changed something.
    ///
    /// # Errors
    /// The error of the operation of the store.
    pub(super) fn perform_on(&self, store: &JobStore, subject: &Subject, order: &Order<'_>) -> Stored<bool> {
        let done = (self.run)(store, std::slice::from_ref(subject), order);
        done.map(|changed| changed > 0).map_err(|stopped| stopped.error)
    }

    /// True if it needs a schedule, too.
    pub(super) fn takes_new_schedule(&self) -> bool {
        self.word == "trigger.reschedule"
    }

    /// The subjects in words: `3 triggers`.
    pub(super) fn counted(&self, n: usize) -> String {
        let [one, many] = self.what;
        format!("{n} {}", if n == 1 { one } else { many })
    }
}

/// Every action, by the word of which forms and the API speak.
pub(super) const ACTIONS: &[Action] = &[
    action(
        "trigger.pause",
        "Pause",
        TRIGGER,
        "It does not fire until it is resumed. A run in progress goes on.",
        |store, keys, _| Ok(store.catalogue().pause_triggers(&triggers(keys)?)?),
    )
    .undone_by("trigger.resume"),
    action(
        "trigger.resume",
        "Resume",
        TRIGGER,
        "It fires again. What it missed is handled by its misfire instruction.",
        |store, keys, _| Ok(store.catalogue().resume_triggers(&triggers(keys)?, true)?),
    )
    .undone_by("trigger.pause"),
    action(
        "trigger.reset",
        "Reset error",
        TRIGGER,
        "It leaves the error state and fires again at its next time.",
        |store, keys, _| each(&triggers(keys)?, |key| store.catalogue().reset_from_error(key)),
    ),
    action(
        "trigger.reschedule",
        "Reschedule",
        TRIGGER,
        "It fires by its new schedule from now on. A run in progress goes on.",
        |store, keys, order| each(&triggers(keys)?, |key| reschedule(store, key, order.new_schedule)),
    ),
    action(
        "trigger.delete",
        "Delete",
        TRIGGER,
        "It is gone, and so is its job if that is left without a trigger and not durable. A run in progress goes on.",
        |store, keys, _| Ok(store.catalogue().unschedule(&triggers(keys)?)?),
    )
    .grave(),
    action(
        "job.run",
        "Run now",
        JOB,
        "A trigger is made that fires once, now, on any node that may run the job.",
        |store, keys, _| each(&jobs(keys)?, |key| store.catalogue().trigger_job(key, JobDataMap::new()).map(|_| true)),
    ),
    action(
        "job.pause",
        "Pause",
        JOB,
        "None of its triggers fires until it is resumed. A run in progress goes on.",
        |store, keys, _| changed(keys, store.catalogue().pause_jobs(&jobs(keys)?)),
    )
    .undone_by("job.resume"),
    action(
        "job.resume",
        "Resume",
        JOB,
        "Its triggers fire again. What they missed is handled by their misfire instructions.",
        |store, keys, _| changed(keys, store.catalogue().resume_jobs(&jobs(keys)?, true)),
    )
    .undone_by("job.pause"),
    action(
        "job.delete",
        "Delete",
        JOB,
        "It is gone, with all its triggers. A run in progress goes on.",
        |store, keys, _| Ok(store.catalogue().delete_jobs(&jobs(keys)?)?),
    )
    .grave(),
    action(
        "run.stop",
        "Stop",
        RUN,
        "Its node asks it to stop; if it does not, it ends as cancelled and its worker is given up.",
        |store, keys, order| Ok(store.upkeep().request_cancels(&names(keys), order.actor)?),
    )
    .grave(),
    action("run.retry", "Retry", RUN, "Its work is run again at once, in a fire of its own.", |store, keys, _| {
        each(&names(keys), |fire| store.firing().retry_fire(fire).map(|_| true))
    }),
    action(
        "node.drain",
        "Drain",
        NODE,
        "It takes no work from its next check-in on. What it runs goes on.",
        |store, keys, order| {
            each(&names(keys), |node| store.placement().drain(node, false, order.actor).map(|()| true))
        },
    )
    .undone_by("node.undrain"),
    action("node.undrain", "Undrain", NODE, "It takes work again from its next check-in on.", |store, keys, _| {
        each(&names(keys), |node| store.placement().undrain(node))
    })
    .undone_by("node.drain"),
    action(
        "group.pause",
        "Pause group",
        GROUP,
        "None of its triggers fires until it is resumed, also none that is stored later.",
        |store, keys, _| {
            each(&names(keys), |group| {
                Ok(!store.catalogue().pause_trigger_groups(&GroupMatcher::equals(group))?.is_empty())
            })
        },
    )
    .undone_by("group.resume"),
    action(
        "group.resume",
        "Resume group",
        GROUP,
        "Its triggers fire again. What they missed is handled by their misfire instructions.",
        |store, keys, _| {
            each(&names(keys), |group| {
                Ok(!store.catalogue().resume_trigger_groups(&GroupMatcher::equals(group), true)?.is_empty())
            })
        },
    )
    .undone_by("group.pause"),
    action(
        "parked.retry",
        "Run again",
        WORK,
        "It runs again at once, with all its take-overs before it.",
        |store, keys, _| each(&triggers(keys)?, |key| store.catalogue().retry_parked(key)),
    ),
    action(
        "parked.delete",
        "Delete",
        WORK,
        "It is gone with its trigger, and is never run again.",
        |store, keys, _| each(&triggers(keys)?, |key| store.catalogue().delete_parked(key)),
    )
    .grave(),
    action(
        "lock.release",
        "Release",
        LOCK,
        "It is taken from its holder, who may still work on what it guards.",
        |store, keys, _| each(&names(keys), |name| Ok(store.locks().break_lock(name)?.is_some())),
    )
    .grave(),
    action(
        "all.pause",
        "Pause everything",
        ALL,
        "No trigger fires until everything is resumed. Runs in progress go on.",
        |store, _, _| Ok(store.catalogue().pause_all().map(|()| 1)?),
    )
    .undone_by("all.resume"),
    action(
        "all.resume",
        "Resume everything",
        ALL,
        "Every trigger fires again. What they missed is handled by their misfire instructions.",
        |store, _, _| Ok(store.catalogue().resume_all(true).map(|()| 1)?),
    )
    .undone_by("all.pause"),
];

/// The action of this word.
pub(super) fn find(word: &str) -> Option<&'static Action> {
    ACTIONS.iter().find(|action| action.word == word)
}

fn triggers(subjects: &[Subject]) -> Stored<Vec<crate::TriggerKey>> {
    subjects.iter().map(Subject::key).collect()
}

fn jobs(subjects: &[Subject]) -> Stored<Vec<crate::JobKey>> {
    subjects.iter().map(Subject::key).collect()
}

fn names(subjects: &[Subject]) -> Vec<String> {
    subjects.iter().map(Subject::name).collect()
}

/// The number of subjects, of an operation that counts their triggers.
fn changed(subjects: &[Subject], triggers: Stored<usize>) -> Result<usize> {
    Ok(triggers.map(|triggers| if triggers > 0 { subjects.len() } else { 0 })?)
}

/// Does it to one after the other, as far as it goes; returns how many it changed.
fn each<K>(keys: &[K], mut one: impl FnMut(&K) -> Stored<bool>) -> Result<usize> {
    let mut done = 0;
    for key in keys {
        done += usize::from(one(key).map_err(|error| Stopped { done, error })?);
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_undoes_an_action_is_an_action_on_the_same() {
        for action in ACTIONS {
            let undo = action.undo.map(|word| find(word).unwrap());
            assert!(undo.is_none_or(|undo| undo.what == action.what), "{}", action.word);
            assert!(!action.is_grave || action.undo.is_none(), "{}", action.word);
            assert!(action.warning.ends_with('.'), "{}", action.word);
        }
    }
}
