//! Jobs: what is to run. Here its stored form, [`JobDetail`]; the code itself is registered with the scheduler.

mod detail;

pub use detail::{JobDetail, JobDetailBuilder};
