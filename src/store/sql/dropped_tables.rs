//! Dropped tables: side tables that the migrations have made and that somebody has dropped since.

use std::collections::BTreeSet;

/// The words for tables that are gone, with what can be done.
pub(super) fn advice_on_dropped(gone: &BTreeSet<&str>, prefix: &str) -> String {
    let names: Vec<String> = gone.iter().map(|table| format!("{prefix}{table}")).collect();
    format!(
        "{}: somebody has dropped what the migrations made. Restore it from a backup; or stop all nodes, drop the views and \
         all tables {prefix}CN_…, and run `carnelian migrate`, which makes them anew and empty",
        names.join(", ")
    )
}

/// The tables that these scripts make, without their prefix.
pub(super) fn made_tables<'s>(scripts: impl Iterator<Item = &'s str>) -> BTreeSet<&'s str> {
    let statements = scripts.flat_map(|script| script.split("CREATE ").skip(1));
    let tables = statements.filter_map(|rest| {
        let (what, rest) = rest.split_once("{p}")?;
        let is_table = ["TABLE IF NOT EXISTS ", "UNLOGGED TABLE IF NOT EXISTS "].contains(&what);
        is_table.then(|| rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next()).flatten()
    });
    tables.collect()
}
