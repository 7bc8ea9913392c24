//! Tests of cron expressions as a whole.

mod brute_force;
mod endings;
mod time_change;
mod wording;
