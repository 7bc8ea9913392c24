//! Diagnosis: everything that is not as it should be, and its repair; why a trigger does not run;
//! whether the cluster is within bounds; and how far submitted work has come.

mod check;
mod check_bounds;
mod checklist;
mod doctor;
mod explain;
mod explanation;
mod facts;
mod finding;
mod nodes;
mod repair;
mod rows;
mod sieve;
mod states;
mod submitted;
mod work;

pub use check_bounds::{CheckBounds, CheckReport};
pub use explanation::{Explanation, TriggerCheck};
pub use finding::{Finding, Repair};
pub use submitted::SubmittedWork;
