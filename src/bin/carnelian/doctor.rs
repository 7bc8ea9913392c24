//! `doctor`: shows what is not as it should be, and with `--repair` mends what can be mended.

use crate::confirm::Confirm;
use crate::failure::Outcome;
use crate::output::{Output, table, yes_or_no};
use crate::shown::count;
use carnelian::monitoring::{Finding, Repair};
use carnelian::store::JobStore;
use clap::Args;
use serde_json::{Value, json};

// The options of `doctor`; as a doc comment it would be the help of the command.
#[derive(Args)]
pub struct Doctor {
    /// Also checks every invariant of the store
    #[arg(long)]
    pub invariants: bool,
    /// Mends what can be mended without harm, and says what was mended
    #[arg(long)]
    pub repair: bool,
    #[command(flatten)]
    pub confirm: Confirm,
}

/// Examines the store; exit code 1 if there is a finding, or one is left after the repair.
pub fn run(store: &JobStore, output: Output, options: &Doctor) -> Outcome {
    let findings = store.diagnosis().doctor(options.invariants)?;
    if !options.repair {
        return answer(store, output, &findings, None);
    }
    let repairable: Vec<&Finding> = findings.iter().filter(|finding| finding.is_repairable).collect();
    if !repairable.is_empty() {
        let kinds = repairable.iter().map(|finding| format!("{} {}", finding.kind, finding.subject));
        options.confirm.ask(|| format!("mend {}: {}", count(repairable.len(), "finding"), few(kinds)))?;
    }
    let done = store.diagnosis().repair()?;
    answer(store, output, &store.diagnosis().doctor(options.invariants)?, Some(&done))
}

/// The first few of them, and how many more there are.
fn few(all: impl ExactSizeIterator<Item = String>) -> String {
    const FEW: usize = 5;
    let more = all.len().saturating_sub(FEW);
    let text = all.take(FEW).collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{text} and {more} more") } else { text }
}

fn answer(store: &JobStore, output: Output, findings: &[Finding], done: Option<&[Repair]>) -> Outcome {
    let found = findings
        .iter()
        .map(|f| json!({"kind": f.kind, "subject": f.subject, "detail": f.detail, "repairable": f.is_repairable}));
    let mut document = json!({"findings": found.collect::<Vec<Value>>()});
    if let (Some(done), Some(document)) = (done, document.as_object_mut()) {
        let done = done.iter().map(|one| json!({"kind": one.kind, "subject": one.subject, "detail": one.detail}));
        document.insert("repaired".to_owned(), done.collect());
    }
    output.answer(document, || {
        let mut text = String::new();
        for one in done.into_iter().flatten() {
            text.push_str(&format!("mended {} {}: {}\n", one.kind, one.subject, one.detail));
        }
        if findings.is_empty() {
            let what = if text.is_empty() { "nothing found" } else { "nothing else found" };
            text.push_str(&format!("{}: {what}\n", store.database().describe()));
            return text;
        }
        let cells = findings.iter().map(|f| [f.kind.to_owned(), f.subject.clone(), f.detail.clone()]);
        text.push_str(&table(["FINDING", "SUBJECT", "DETAIL"], cells));
        let repairable = findings.iter().filter(|finding| finding.is_repairable).count();
        if repairable > 0 {
            text.push_str(&format!("`carnelian doctor --repair` mends {repairable} of {}\n", findings.len()));
        }
        text
    })?;
    yes_or_no(findings.is_empty())
}
