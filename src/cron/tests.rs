//! Tests of cron expressions as a whole: wording of errors, explanations, and the search against brute force.
