//! Dropped tables: tables and views that the migrations have made, and that somebody has dropped
//! since.

use std::collections::{BTreeMap, BTreeSet};

/// The words for tables that are gone, with what can be done.
pub(super) fn advice_on_dropped(gone: &BTreeSet<&str>, prefix: &str) -> String {
    let is_ours = gone.iter().all(|table| table.starts_with("CN_"));
    let names: Vec<String> = gone.iter().map(|table| format!("{prefix}{table}")).collect();
    format!(
        "{}: somebody has dropped what {} made. Restore it from a backup; or {}",
        names.join(", "),
        if is_ours { "the migrations" } else { "the migrations or Quartz's script" },
        if is_ours {
            format!(
                "stop all nodes, drop the views and all tables {prefix}CN_…, and run `carnelian migrate`, which makes them anew \
                 and empty"
            )
        } else {
            "make it as Quartz's script does: it is empty then".to_owned()
        },
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

/// The views that these scripts leave, without their prefix, each with the statement that makes it.
pub(super) fn made_views<'s>(scripts: impl Iterator<Item = &'s str>) -> BTreeMap<&'s str, &'s str> {
    let views = scripts.flat_map(|script| script.split(';')).filter_map(|statement| {
        let text = statement.get(statement.find("CREATE ")?..)?;
        let (what, rest) = text.split_once("{p}")?;
        let is_view = ["CREATE OR REPLACE VIEW ", "CREATE VIEW IF NOT EXISTS "].contains(&what);
        is_view.then(|| Some((rest.split_whitespace().next()?, text))).flatten()
    });
    views.collect()
}
