//! Placement: where work may run: the filter of each acquisition, the orders of operators, and the
//! view of who may run what.

mod admission_filter;
mod orders;
mod placement_view;
mod said;

pub(in crate::store) use admission_filter::AdmissionFilter;
pub use orders::BlacklistEntry;
pub(in crate::store) use placement_view::identities;
pub use placement_view::{MayRun, UnplaceableJob};
pub(in crate::store) use said::{Said, takes_work};
