//! Reports: what is stored and what runs, in the JSON forms and words in which the command line and
//! the dashboard show it.

mod calendar;
mod explanation;
mod job;
mod missing;
mod node;
mod rows;
mod run;
mod span;
mod trigger;

pub use calendar::{calendar, calendar_in_words, calendars};
pub use explanation::explanation;
pub use job::{continuations, job, job_data, job_flags};
pub use missing::{missing, stored_split};
pub use node::{alarms_in_words, memory_in_use, memory_in_words, node, node_state, percent};
pub use rows::{action, lock, outage, parked};
pub use run::{ended_ms, fire, log_line, progress_in_words, run, run_record};
pub use span::read_span;
pub use trigger::{misfire_in_words, trigger, trigger_summary};
