//! Definitions in code: what a program that defines a job does to what is stored of it.

use crate::job::OnChange;

/// The stored state of a declared job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stored<'a> {
    /// True if the job is there.
    pub exists: bool,
    /// True if the job and its triggers are stored just as the definition says.
    pub is_same: bool,
    /// The form in which it was defined last, and its revision.
    pub noted: Option<(&'a str, u32)>,
}

/// The decision about a declared job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// The job and all its triggers are stored.
    Insert,
    /// Store the parts that differ.
    Update,
    /// Leave the stored job as it is.
    Leave(WhyLeft),
}

/// Why a definition was left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhyLeft {
    /// The stored job equals the definition.
    Unchanged,
    /// The code has not changed since it was stored; somebody has changed what is stored.
    ChangedByHand,
    /// [`OnChange::Keep`](crate::OnChange::Keep): it differs, and is never touched.
    Kept,
    /// A later revision is stored.
    NewerStored,
}

/// Decides, for a definition of this form and revision.
pub(crate) fn decide(on_change: OnChange, hash: &str, revision: u32, stored: Stored<'_>) -> Decision {
    if stored.noted.is_some_and(|(_, noted)| noted > revision) {
        return Decision::Leave(WhyLeft::NewerStored);
    }
    if !stored.exists {
        return Decision::Insert;
    }
    if stored.is_same {
        return Decision::Leave(WhyLeft::Unchanged);
    }
    let code_is_the_same = stored.noted.is_some_and(|(noted, _)| noted == hash);
    match on_change {
        OnChange::Keep => Decision::Leave(WhyLeft::Kept),
        OnChange::Update if code_is_the_same => Decision::Leave(WhyLeft::ChangedByHand),
        OnChange::Update | OnChange::Enforce => Decision::Update,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Decision::{Insert, Leave, Update};
    use WhyLeft::{ChangedByHand, Kept, NewerStored, Unchanged};

    #[test]
    fn every_policy_in_every_situation() {
        let never = None;
        let (before, now, later) = (Some(("old", 1)), Some(("new", 1)), Some(("old", 2)));
        // Columns: the noted hash, whether the job is stored, whether it equals the definition;
        // then the decisions of Update, Keep and Enforce.
        let table = [
            (never, false, false, [Insert, Insert, Insert]),
            (never, true, true, [Leave(Unchanged); 3]),
            (never, true, false, [Update, Leave(Kept), Update]),
            (before, false, false, [Insert; 3]),
            (before, true, true, [Leave(Unchanged); 3]),
            (before, true, false, [Update, Leave(Kept), Update]),
            (now, false, false, [Insert; 3]),
            (now, true, true, [Leave(Unchanged); 3]),
            (now, true, false, [Leave(ChangedByHand), Leave(Kept), Update]),
            (later, false, false, [Leave(NewerStored); 3]),
            (later, true, true, [Leave(NewerStored); 3]),
            (later, true, false, [Leave(NewerStored); 3]),
        ];
        for (noted, exists, is_same, expected) in table {
            let decided = [OnChange::Update, OnChange::Keep, OnChange::Enforce]
                .map(|on_change| decide(on_change, "new", 1, Stored { exists, is_same, noted }));
            assert_eq!(decided, expected, "noted={noted:?} exists={exists} is_same={is_same}");
        }
    }
}
