//! `EndedPart`: a part of a tick whose work is over.

use crate::job::Parent;
use crate::rules::strategy::PartId;

/// A part of a tick whose work is over.
#[derive(Clone, Debug)]
pub(super) struct EndedPart {
    pub(super) part: PartId,
    /// The end of its last run; none if nobody does the part.
    pub(super) end: Option<Parent>,
}
