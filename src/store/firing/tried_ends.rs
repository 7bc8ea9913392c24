//! `TriedEnds`: the ends of fires, as each try of a transaction records them.

use super::Completion;

/// The ends of fires, for one try after the other.
pub(super) struct TriedEnds<'c> {
    ended: &'c [Completion],
    later: Option<Vec<Completion>>,
    is_first: bool,
}

impl<'c> TriedEnds<'c> {
    pub(super) fn of(ended: &'c [Completion]) -> Self {
        Self { ended, later: None, is_first: true }
    }

    /// The ends as the next try records them.
    ///
    /// Since the first try others may have declared the node dead, and have put triggers back for
    /// fires whose rows were held: as if each job held its own.
    pub(super) fn of_next_try(&mut self) -> &[Completion] {
        if std::mem::replace(&mut self.is_first, false) {
            return self.ended;
        }
        let guarded = |ended: &Completion| Completion { guarded: true, ..ended.clone() };
        self.later.get_or_insert_with(|| self.ended.iter().map(guarded).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CompletionInstruction, Ending};
    use super::*;
    use crate::job::RunMarks;
    use crate::key::{JobKey, TriggerKey};

    fn ended() -> Completion {
        Completion {
            fire_id: "f".to_owned(),
            trigger: TriggerKey::named("t"),
            job: JobKey::named("j"),
            nonconcurrent: false,
            durable: true,
            last: true,
            removed: true,
            may_be_waited_for: false,
            followed: false,
            part: None,
            instruction: CompletionInstruction::NoInstruction,
            job_data: None,
            data_version: None,
            by_job: false,
            guarded: false,
            failed: false,
            revived: false,
            has_heartbeat: false,
            has_stop_order: false,
            checkpoint: None,
            job_type: "work".into(),
            attempt: 0,
            root_fire_id: None,
            marks: RunMarks::default(),
            traceparent: None,
            spread_on: None,
            ending: Ending::default(),
            log: Vec::new(),
            rerun: None,
        }
    }

    #[test]
    fn a_later_try_looks_for_triggers_that_others_have_put_back() {
        let ended = [ended()];
        let mut ends = TriedEnds::of(&ended);
        let looks = std::array::from_fn(|_| ends.of_next_try().iter().all(|end| end.guarded));
        assert_eq!(looks, [false, true, true]);
    }
}
