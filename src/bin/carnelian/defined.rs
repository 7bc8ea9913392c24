//! `definitions`: the jobs that programs have defined in code.

use crate::failure::{Failure, Outcome};
use crate::output::{Output, table, time};
use carnelian::JobKey;
use carnelian::store::JobStore;
use carnelian::store::row::DefinitionRow;
use serde_json::{Value, json};

/// Lists them, with who has defined them and when they were last stored; or forgets some.
pub fn run(store: &JobStore, output: Output, forget: &[JobKey]) -> Outcome {
    if !forget.is_empty() {
        let forgotten = store.catalogue().forget_definitions(forget)?;
        output.done(json!({"forgotten": forgotten}), &format!("forgot the definitions of {forgotten} jobs"))?;
        return if forgotten == forget.len() { Ok(()) } else { Err(Failure::No) };
    }
    let rows = store.catalogue().definitions()?;
    let triggers = |row: &DefinitionRow| row.triggers.iter().map(ToString::to_string).collect::<Vec<_>>();
    let document = rows.iter().map(|row| {
        json!({
            "job": row.job.to_string(),
            "source": row.source,
            "revision": row.revision,
            "stored_ms": row.made_ms,
            "triggers": triggers(row),
        })
    });
    output.answer(Value::Array(document.collect()), || {
        if rows.is_empty() {
            return "no program has defined jobs in code\n".to_owned();
        }
        let row = |row: &DefinitionRow| {
            vec![
                row.job.to_string(),
                row.source.clone(),
                row.revision.to_string(),
                time(Some(row.made_ms)),
                triggers(row).join(" "),
            ]
        };
        table(&["JOB", "SOURCE", "REVISION", "STORED", "TRIGGERS"], &rows.iter().map(row).collect::<Vec<_>>())
    })
}
