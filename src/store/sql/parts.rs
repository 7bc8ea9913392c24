//! Parts of the tables that can go missing one by one: the indexes that the scripts make, the rows
//! that every scheduler needs, and PostgreSQL's function.

use super::adoption::grant;
use super::backend::Backend;
use super::connection::Connection;
use super::dialect;
use super::dropped_tables::advice_on_dropped;
use super::migrations::{QUARTZ, SCHEDULING, SCRIPTS, Work, check_versions, views_made};
use super::sql_options::SqlOptions;
use super::statement::Name;
use crate::error::Result;
use crate::store::database::MissingPart;
use std::collections::{BTreeMap, BTreeSet};

/// The one index that Quartz's scripts make under the same name.
const QUARTZ_TOO: &str = "IDX_{i}T_J";

/// The index that statements name, where the planner is not to choose.
const NAMED: &str = "IDX_{i}CN_FT_E";

/// An index that only Quartz's scripts make.
const OF_QUARTZ_ALONE: &str = "IDX_{i}T_NFT_ST";

/// An index that is there when all scripts have run; the prefix is not filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Index {
    name: String,
    table: String,
    /// The columns, and what further follows them.
    columns: String,
    /// Quartz's own tables, of which Quartz's scripts make other indexes.
    is_of_quartz: bool,
}

/// Checks the tables as `check` does, makes nothing, and names the parts that are missing.
pub(super) fn examine(connection: &mut Connection<'_>, options: &SqlOptions) -> Result<Vec<MissingPart>> {
    let mut work = Work { connection, options };
    check_versions(&mut work)?;
    let gone = work.dropped_tables()?;
    let mut missing: Vec<MissingPart> = gone.iter().map(|table| missing_table(options, table)).collect();
    missing.extend(unfit(&mut work)?);
    missing.extend(missing_indexes(&mut work, &gone)?.iter().map(|index| part(&work, index)));
    missing.extend(missing_views(&mut work, &gone)?.into_keys().map(|view| MissingPart {
        kind: "missing_view",
        name: format!("{}{view}", options.table_prefix),
        detail: "a view for reports is gone; nodes do not need it".to_owned(),
    }));
    missing.extend(work.missing_rows(&gone)?.into_iter().map(|(table, name)| MissingPart {
        kind: if table == "LOCKS" { "missing_lock" } else { "missing_row" },
        detail: format!("{}{table} has no such row of this scheduler: no node can work", options.table_prefix),
        name: name.to_owned(),
    }));
    if work.lacks_function()? {
        missing.push(MissingPart {
            kind: "missing_function",
            name: work.fill("{p}CN_SCHEDULE"),
            detail: "the function is not there or belongs to another version: new work is stored more slowly"
                .to_owned(),
        });
    }
    Ok(missing)
}

/// Makes the parts that are missing; returns them.
pub(super) fn mend(connection: &mut Connection<'_>, options: &SqlOptions) -> Result<Vec<MissingPart>> {
    let mut work = Work { connection, options };
    let (made, gone) = work.locked(|work| {
        let missing = examine(work.connection, options)?;
        let gone = work.dropped_tables()?;
        work.make_missing_parts(&gone, true)?;
        Ok((missing, gone))
    })?;
    work.ensure_scheduler_rows(&mut Vec::new(), &gone)?;
    Ok(made.into_iter().filter(MissingPart::is_made_again).collect())
}

/// Tables that are there, and that nodes cannot work with as they should.
fn unfit(work: &mut Work<'_, '_>) -> Result<Vec<MissingPart>> {
    let split = work.split_tables()?.map(|(name, detail)| MissingPart { kind: "split_tables", name, detail });
    let rights = work.missing_rights()?.into_iter().map(|(name, role)| MissingPart {
        kind: "missing_right",
        detail: format!("`{role}` may not do all that a node does with it, and needs: {}", grant(&name, &role)),
        name,
    });
    let mut unfit: Vec<MissingPart> = split.into_iter().chain(rights).collect();
    unfit.extend(work.without_transactions()?.into_iter().map(|name| MissingPart {
        kind: "no_transactions",
        detail: format!(
            "its engine knows no transactions: half of what a node did stays when the node is killed. Stop all nodes, then: \
             ALTER TABLE {name} ENGINE = InnoDB"
        ),
        name,
    }));
    Ok(unfit)
}

fn missing_table(options: &SqlOptions, table: &str) -> MissingPart {
    let prefix = &options.table_prefix;
    MissingPart {
        kind: "missing_table",
        name: format!("{prefix}{table}"),
        detail: advice_on_dropped(&BTreeSet::from([table]), prefix),
    }
}

impl Work<'_, '_> {
    /// Makes the indexes, the views and the function that are missing, and names them. Indexes that
    /// the script of Quartz's tables makes are made `with_those_of_quartz` only.
    pub(super) fn make_missing_parts(
        &mut self,
        gone: &BTreeSet<&str>,
        with_those_of_quartz: bool,
    ) -> Result<Vec<String>> {
        let mut made = Vec::new();
        let mut indexes = missing_indexes(self, gone)?;
        indexes.retain(|index| with_those_of_quartz || !index.is_of_quartz);
        for Index { name, table, columns, .. } in indexes {
            let text = self.fill(&format!("CREATE INDEX {name} ON {table} {columns}"));
            self.run(&text)?;
            made.push(format!("the index {}", self.fill(&name)));
        }
        for (view, text) in missing_views(self, gone)? {
            let text = self.fill(text);
            self.run(&text)?;
            made.push(format!("the view {}{view}", self.options.table_prefix));
        }
        if self.lacks_function()? {
            for script in SCRIPTS.iter().filter(|script| script.version == SCHEDULING) {
                let text = self.fill(script.text(Backend::Postgres));
                self.run(&text)?;
                made.push(script.makes.to_owned());
            }
        }
        Ok(made)
    }
}

/// The views that are not there, each with the statement that makes it; none as long as a table is
/// `gone`, which they may show.
fn missing_views(work: &mut Work<'_, '_>, gone: &BTreeSet<&str>) -> Result<BTreeMap<&'static str, &'static str>> {
    let mut views = views_made(work.connection.backend());
    if !gone.is_empty() {
        views.clear();
    }
    let options = work.options;
    let prefix = &options.table_prefix;
    let bare = prefix.rsplit('.').next().unwrap_or(prefix);
    let names = views.keys().map(|view| format!("'{bare}{view}'")).collect::<Vec<_>>().join(", ");
    if !names.is_empty() {
        let of_schema = dialect::views_of(work.connection.backend());
        let text = work.fill(&of_schema.replace("{names}", &names));
        let there = work.load::<Name>(&text, &[])?;
        views.retain(|view, _| !there.iter().any(|row| row.name.eq_ignore_ascii_case(&format!("{bare}{view}"))));
    }
    Ok(views)
}

fn part(work: &Work<'_, '_>, index: &Index) -> MissingPart {
    let is_named = index.name == NAMED && work.connection.backend() != Backend::Postgres;
    let effect =
        if is_named { "statements that name it fail, and nothing fires" } else { "statements read the whole table" };
    MissingPart {
        kind: "missing_index",
        name: work.fill(&index.name),
        detail: work.fill(&format!("{} has no index {}: {effect}", index.table, index.columns)),
    }
}

/// The indexes that the scripts make and that are not there, of the tables that are not `gone`.
/// Tables that Quartz made have Quartz's indexes, or those that their owner wants.
fn missing_indexes(work: &mut Work<'_, '_>, gone: &BTreeSet<&str>) -> Result<Vec<Index>> {
    let backend = work.connection.backend();
    let indexes = indexes(SCRIPTS.iter().map(|script| (script.version == QUARTZ, script.text(backend))));
    let tables: BTreeSet<&String> = indexes.values().map(|index| &index.table).collect();
    let of_each = |form: &dyn Fn(&str) -> String| tables.iter().map(|table| form(table)).collect::<Vec<_>>().join(", ");
    let (tables, bare) = (
        of_each(&|table| format!("to_regclass('{table}')")),
        of_each(&|table| format!("'{}'", table.replace("{p}", "{i}"))),
    );
    let text = work.fill(&dialect::indexes_of(backend).replace("{tables}", &tables).replace("{bare}", &bare));
    let rows = work.load::<Name>(&text, &[])?;
    let there: BTreeSet<String> = rows.into_iter().map(|row| row.name.to_ascii_lowercase()).collect();
    let is_there = |index: &Index| there.contains(&work.fill(&index.name).to_ascii_lowercase());
    let is_ours = !there.contains(&work.fill(OF_QUARTZ_ALONE).to_ascii_lowercase())
        || indexes.values().any(|index| index.is_of_quartz && index.name != QUARTZ_TOO && is_there(index));
    let has_table = |index: &&Index| !gone.contains(index.table.trim_start_matches("{p}"));
    let missing = indexes.values().filter(|index| !is_there(index) && (is_ours || !index.is_of_quartz));
    let missing = missing.filter(has_table);
    Ok(missing.cloned().collect())
}

/// The indexes that these scripts leave, by their names; each script with whether it makes Quartz's
/// tables.
fn indexes<'a>(scripts: impl Iterator<Item = (bool, &'a str)>) -> BTreeMap<String, Index> {
    let mut indexes = BTreeMap::new();
    for (is_of_quartz, script) in scripts {
        let text: Vec<&str> = script.lines().filter(|line| !line.trim_start().starts_with("--")).collect();
        for statement in text.join("\n").split(';') {
            let mut add = |name: &str, table: &str, columns: &str| {
                let columns = columns.split_whitespace().collect::<Vec<_>>().join(" ");
                let (name, table) = (name.to_owned(), table.to_owned());
                indexes.insert(name.clone(), Index { name, table, columns, is_of_quartz });
            };
            if let Some((_, create)) = statement.split_once("CREATE INDEX") {
                // A statement may be a text within one that looks first whether the index is there.
                let is_text = statement.trim_start().starts_with("SET ");
                let create = if is_text { create.split('\'').next().unwrap_or_default() } else { create };
                if let Some((name, (table, columns))) = named(create).zip(on(create)) {
                    add(name, table, columns);
                }
            } else if let Some((_, drop)) = statement.split_once("DROP INDEX") {
                named(drop).map(|name| indexes.remove(name));
            } else if let Some((_, alter)) = statement.split_once("ALTER TABLE") {
                for key in alter.split("ADD KEY ").skip(1) {
                    let columns = key.split_once(' ').zip(key.find(')'));
                    let columns = columns.and_then(|((name, _), end)| key.get(name.len() + 1..=end).zip(Some(name)));
                    if let Some((columns, name)) = columns {
                        add(name, table_of(alter), columns);
                    }
                }
            } else if let Some((_, create)) = statement.split_once("CREATE TABLE") {
                let table = table_of(create);
                let keys = create.lines().filter_map(|line| line.trim().strip_prefix("KEY "));
                for (name, columns) in keys.filter_map(|key| key.trim_end_matches(',').split_once(' ')) {
                    add(name, table, columns);
                }
            }
        }
    }
    indexes
}

/// The table that a statement makes or changes.
fn table_of(statement: &str) -> &str {
    statement.split_whitespace().find(|word| word.starts_with("{p}")).unwrap_or_default()
}

/// The name of an index in a statement.
fn named(statement: &str) -> Option<&str> {
    let at = statement.find("IDX_{i}")?;
    statement.get(at..)?.split_whitespace().next()
}

/// The table of an index, and what comes behind it.
fn on(create: &str) -> Option<(&str, &str)> {
    let (_, on) = create.split_once("ON {p}")?;
    let at = create.len() - on.len() - "{p}".len();
    create.get(at..)?.split_once(' ')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sql::migrations::{side_tables, side_tables_made};

    #[test]
    fn all_backends_have_the_same_side_tables() {
        let tables = side_tables_made(Backend::Sqlite);
        let missing: Vec<_> = side_tables().filter(|table| !tables.contains(table)).collect();
        assert_eq!(missing, Vec::<&str>::new());
        assert_eq!(side_tables_made(Backend::Postgres), tables);
        assert_eq!(side_tables_made(Backend::Mysql), tables);
    }

    #[test]
    fn each_script_has_the_indexes_that_it_leaves() {
        for backend in [Backend::Sqlite, Backend::Postgres, Backend::Mysql] {
            let found = indexes(SCRIPTS.iter().map(|script| (script.version == QUARTZ, script.text(backend))));
            let names: Vec<&str> = found.keys().map(|name| name.trim_start_matches("IDX_{i}")).collect();
            let mut expected = vec![
                "CN_A_S", "CN_C_C", "CN_C_M", "CN_FT_E", "CN_FT_R", "CN_G_J", "CN_H_B", "CN_H_E", "CN_H_J", "CN_H_T",
                "CN_M_B", "CN_M_O", "CN_Q_M", "CN_R_T", "CN_T_I", "CN_T_U", "FT_INST", "T_DUE", "T_J",
            ];
            if backend == Backend::Postgres {
                expected.retain(|name| *name != "FT_INST");
            }
            if backend == Backend::Mysql {
                // There are no indexes of some rows only.
                expected.retain(|name| !["CN_T_I", "CN_T_U"].contains(name));
            }
            assert_eq!(names, expected, "{backend:?}");
            for index in found.values() {
                let (open, close) = (index.columns.matches('(').count(), index.columns.matches(')').count());
                assert!(index.columns.starts_with('(') && open == close, "{index:?}");
                assert!(index.table.starts_with("{p}"), "{index:?}");
            }
        }
    }
}
