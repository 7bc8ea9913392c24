//! `history logs`: the lines that a run has logged.

use crate::failure::{Failure, Outcome};
use crate::output::{Output, complain, table, time};
use crate::value::epoch_ms;
use crate::watch::{FOLLOWED, pause};
use carnelian::JobFilter;
use carnelian::history::{LogLine, RunRecord};
use carnelian::report::log_line;
use carnelian::store::JobStore;

/// Shows the lines; with `follow` when the run has ended.
pub fn run(store: &JobStore, output: Output, fire_id: &str, follow: bool) -> Outcome {
    let unknown = || Failure::Refused(format!("nothing is known of fire {fire_id}"));
    let mut record = store.history().run_record(fire_id)?.ok_or_else(unknown)?;
    if follow {
        record = ended(store, record)?;
    }
    output.answer(record.log.iter().map(log_line).collect(), || match record.log.as_slice() {
        [] if record.run.is_running() => "it runs: its lines are kept when it has ended; --follow waits\n".to_owned(),
        [] => "it has logged nothing that is kept\n".to_owned(),
        log => lines(log),
    })
}

/// The record of the run when that has ended; what the run reports meanwhile goes to standard
/// error.
fn ended(store: &JobStore, mut record: RunRecord) -> Outcome<RunRecord> {
    let mut told = None;
    while record.run.is_running() {
        let fires = store.catalogue().find_fired(&JobFilter::new())?;
        let beat = fires.into_iter().find(|fire| fire.fire_id == record.run.fire_id).and_then(|fire| fire.heartbeat);
        if let Some(progress) = beat.and_then(|beat| beat.progress).filter(|progress| told.as_ref() != Some(progress)) {
            let total = progress.total.map_or(String::new(), |total| format!(" of {total}"));
            complain(&format!("{}{total} {}", progress.done, progress.note.as_deref().unwrap_or_default()));
            told = Some(progress);
        }
        pause(FOLLOWED);
        let gone =
            || Failure::Refused(format!("fire {} has ended, and the history keeps none of it", record.run.fire_id));
        record = store.history().run_record(&record.run.fire_id)?.ok_or_else(gone)?;
    }
    Ok(record)
}

/// Lines for people.
pub fn lines(log: &[LogLine]) -> String {
    let cells = |line: &LogLine| {
        [time(Some(epoch_ms(line.at))), line.level.to_string(), line.target.clone(), line.message.clone()]
    };
    table(["TIME", "LEVEL", "TARGET", "MESSAGE"], log.iter().map(cells))
}
