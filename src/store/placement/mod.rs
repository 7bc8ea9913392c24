//! Placement: where work may run: the filter of each acquisition, the orders of operators, and the
//! view of who may run what.

mod admission_filter;
mod node_reports;
mod orders;
mod placement_view;

pub(in crate::store) use admission_filter::AdmissionFilter;
pub(in crate::store) use node_reports::{NodeReports, takes_work};
pub use orders::BlacklistEntry;
pub(in crate::store) use placement_view::identities;
pub use placement_view::{MayRun, UnplaceableJob};
