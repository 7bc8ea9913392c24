//! `MisfireInstruction`: what a trigger wants when it could not fire in time.

use super::Schedule;
use crate::error::{Error, Result};
use crate::words::words;

/// The treatment of a trigger that is later than the misfire threshold allows.
///
/// The instructions, their numbers in `MISFIRE_INSTR` and their effects are those of Quartz.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MisfireInstruction {
    /// −1: not a misfire at all; every missed time is fired, one after the other.
    #[doc(alias = "MISFIRE_INSTRUCTION_IGNORE_MISFIRE_POLICY")]
    Ignore,
    /// 0: what suits the schedule best. Simple: fire now if it fires once, next time with remaining
    /// count if for ever, else now with existing count. All others: fire once now.
    #[default]
    Smart,
    /// Simple 1: fire now; for a trigger that repeats as
    /// [`MisfireInstruction::RescheduleNowWithRemainingCount`].
    FireNow,
    /// Simple 2: start again now, with the count as it is.
    RescheduleNowWithExistingCount,
    /// Simple 3: start again now, without the missed times.
    RescheduleNowWithRemainingCount,
    /// Simple 4: wait for the next time, without the missed times.
    RescheduleNextWithRemainingCount,
    /// Simple 5: wait for the next time, with the count as it is.
    RescheduleNextWithExistingCount,
    /// Others 1: fire once now, then as scheduled.
    FireOnceNow,
    /// Others 2: wait for the next time.
    DoNothing,
}

use MisfireInstruction::*;

words! {
    /// The word of the command line and the page.
    MisfireInstruction {
        Ignore = "ignore",
        Smart = "smart",
        FireNow = "fire-now",
        RescheduleNowWithExistingCount = "reschedule-now-existing",
        RescheduleNowWithRemainingCount = "reschedule-now-remaining",
        RescheduleNextWithRemainingCount = "reschedule-next-remaining",
        RescheduleNextWithExistingCount = "reschedule-next-existing",
        FireOnceNow = "fire-once",
        DoNothing = "do-nothing",
    }
}

impl MisfireInstruction {
    /// The number in `MISFIRE_INSTR`.
    pub fn code(self) -> i32 {
        match self {
            Ignore => -1,
            Smart => 0,
            FireNow | FireOnceNow => 1,
            RescheduleNowWithExistingCount | DoNothing => 2,
            RescheduleNowWithRemainingCount => 3,
            RescheduleNextWithRemainingCount => 4,
            RescheduleNextWithExistingCount => 5,
        }
    }

    /// The instruction that `code` means for a schedule of this kind (`TRIGGER_TYPE`).
    pub fn from_code(kind: &str, code: i32) -> Option<Self> {
        Some(match (kind, code) {
            (_, -1) => Ignore,
            (_, 0) => Smart,
            ("SIMPLE", 1) => FireNow,
            ("SIMPLE", 2) => RescheduleNowWithExistingCount,
            ("SIMPLE", 3) => RescheduleNowWithRemainingCount,
            ("SIMPLE", 4) => RescheduleNextWithRemainingCount,
            ("SIMPLE", 5) => RescheduleNextWithExistingCount,
            ("SIMPLE", _) => return None,
            (_, 1) => FireOnceNow,
            (_, 2) => DoNothing,
            _ => return None,
        })
    }

    pub(crate) fn check_for(self, schedule: &Schedule) -> Result<()> {
        if Self::from_code(schedule.kind(), self.code()) == Some(self) {
            return Ok(());
        }
        let fitting: Vec<_> = Self::ALL
            .into_iter()
            .filter(|i| Self::from_code(schedule.kind(), i.code()) == Some(*i))
            .map(Self::name)
            .collect();
        let expected = format!("a {} trigger takes one of {}", schedule.kind(), fitting.join(", "));
        Err(Error::invalid("misfire instruction", self.name(), expected))
    }
}
