//! `definitions`: the jobs that programs have defined in code.

use crate::failure::Outcome;
use crate::output::{Output, time};
use crate::page::{Paging, Part};
use carnelian::JobKey;
use carnelian::store::JobStore;
use carnelian::store::row::DefinitionRow;
use serde_json::json;

/// Lists them, with who has defined them and when they were last stored; or forgets some.
pub fn run(store: &JobStore, output: Output, forget: &[JobKey], paging: &Paging) -> Outcome {
    if !forget.is_empty() {
        let forgotten = store.catalogue().forget_definitions(forget)?;
        let text = format!("forgot the definitions of {forgotten} jobs");
        return output.verdict(json!({"forgotten": forgotten}), &text, forgotten == forget.len());
    }
    let place = |row: &DefinitionRow| [row.job.group().to_owned(), row.job.name().to_owned()];
    let after = paging.place()?.map(|[group, name]| JobKey::new(group, name));
    let part = Part::of(store.catalogue().definition_page(after.as_ref(), paging.most())?, place);
    let triggers = |row: &DefinitionRow| row.triggers.iter().map(ToString::to_string).collect::<Vec<_>>();
    let document = |row: &DefinitionRow| {
        json!({
            "job": row.job.to_string(),
            "source": row.source,
            "revision": row.revision,
            "stored_ms": row.made_ms,
            "triggers": triggers(row),
        })
    };
    let heading = ["JOB", "SOURCE", "REVISION", "STORED", "TRIGGERS"];
    output.part("no program has defined jobs in code", heading, &part, document, |row| {
        let (revision, stored) = (row.revision.to_string(), time(Some(row.made_ms)));
        [row.job.to_string(), row.source.clone(), revision, stored, triggers(row).join(" ")]
    })
}
