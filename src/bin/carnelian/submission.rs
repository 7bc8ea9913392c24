//! `submission`: the state of work by the id of its request.

use crate::failure::{Failure, Outcome};
use crate::output::{Output, fields, or_dash, time};
use carnelian::report;
use carnelian::store::JobStore;
use clap::Subcommand;
use serde_json::json;

#[derive(Subcommand)]
pub enum SubmissionCommand {
    /// The state of work that was submitted or scheduled with a request id; exit code 1 if the id
    /// is not known
    Show {
        /// The id that the caller gave
        #[arg(value_name = "REQUEST_ID")]
        request_id: String,
    },
}

/// Shows the state, and the last run.
pub fn run(store: &JobStore, output: Output, command: &SubmissionCommand) -> Outcome {
    let SubmissionCommand::Show { request_id } = command;
    let Some(work) = store.diagnosis().submission(request_id)? else {
        return Err(Failure::Refused(format!(
            "no request `{request_id}` is known: ids are kept for seven days, and until their work is over"
        )));
    };
    let last = work.last_run.as_ref();
    let document = json!({
        "request_id": request_id,
        "job": work.job.to_string(),
        "trigger": work.trigger.to_string(),
        "state": work.state.name(),
        "is_over": work.state.is_over(),
        "last_run": last.map(report::run),
    });
    output.answer(document, || {
        fields(&[
            ("request", Some(request_id.clone())),
            ("job", Some(work.job.to_string())),
            ("trigger", Some(work.trigger.to_string())),
            ("state", Some(work.state.name().to_owned())),
            ("last run", last.map(|run| format!("{} on {}", run.fire_id, or_dash(run.instance.as_ref())))),
            ("fired", last.map(|run| time(run.fired_ms))),
            ("outcome", last.map(|run| run.outcome.name().to_owned())),
            ("error", last.and_then(|run| run.error.clone())),
        ])
    })
}
