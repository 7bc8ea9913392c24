//! Adoption: what is looked at before anything is made beside tables that are there.

use super::backend::Backend;
use super::by_place::by_place;
use super::failure_class;
use super::migrations::{QUARTZ_TABLES, Work, error, side_tables_made, views_made};
use super::statement::{Count, Name, Statement, Value};
use crate::error::{Error, Result};
use diesel::sql_types::{Bool, Nullable, Text};

by_place! {
    /// A table of PostgreSQL by which a set of tables is known: one of Quartz's, or one of ours;
    /// with the schema in which tables without one are made, and whether the statements of this
    /// scheduler find the table.
    struct PlaceRow {
        schema: String as Text,
        made_in: Option<String> as Nullable<Text>,
        is_ours: bool as Bool,
        is_used: bool as Bool,
    }
}

by_place! {
    struct OwnedRow {
        name: String as Text,
        owner: String as Text,
        role: String as Text,
    }
}

/// The places where tables of this prefix are, on PostgreSQL.
struct Places {
    /// The schema of Quartz's tables.
    quartz: String,
    /// The schema of our side tables; none if none are found by their name.
    ours: Option<String>,
    /// The schemas of further side tables beside the same tables of Quartz.
    others: Vec<String>,
    made_in: Option<String>,
}

impl Work<'_, '_> {
    /// Refuses, before anything is made, what would have to stop half-way or would be found by some
    /// only. Asks nothing where Quartz's tables are not there yet.
    pub(super) fn refuse_what_cannot_work(&mut self, has_side_tables: bool) -> Result<()> {
        if !has_side_tables && !self.missing_tables()?.is_empty() {
            return Ok(());
        }
        self.refuse_old_quartz()?;
        self.refuse_bits_of_fires()?;
        if let Some(problem) = self.astray()? {
            return Err(Error::Schema(format!("{problem}; nothing was changed")));
        }
        self.refuse_tables_of_others()
    }

    /// The problem, in words, if tables would be made in another schema than those that are there.
    pub(super) fn astray(&mut self) -> Result<Option<String>> {
        let Some(places) = self.places()? else { return Ok(None) };
        let prefix = &self.options.table_prefix;
        let Places { quartz, ours, others, made_in } = places;
        if ours.is_none() && !others.is_empty() {
            let others = others.join("`, `");
            return Ok(Some(format!(
                "Quartz's tables {prefix}… are in the schema `{quartz}`, and side tables {prefix}CN_… that belong to them in the \
                 schema `{others}`, where this role does not look: have all roles look there (ALTER ROLE … SET search_path), or \
                 drop them once no node runs, and run `carnelian migrate`"
            )));
        }
        let home = ours.unwrap_or(quartz);
        let astray = made_in.filter(|made_in| *made_in != home);
        Ok(astray.map(|made_in| {
            let bare = prefix.rsplit('.').next().unwrap_or(prefix);
            format!(
                "the tables {prefix}… are in the schema `{home}`, and new ones would be made in `{made_in}`, where other roles do \
                 not find them: set jobStore.tablePrefix = {home}.{bare}, or the search_path of this role"
            )
        }))
    }

    /// Several sets of side tables beside one of Quartz's, or one that is elsewhere: their schemas,
    /// and the problem in words.
    pub(super) fn split_tables(&mut self) -> Result<Option<(String, String)>> {
        let Some(Places { quartz, ours: Some(ours), others, .. }) = self.places()? else { return Ok(None) };
        if others.is_empty() && ours == quartz {
            return Ok(None);
        }
        let sets = std::iter::once(&ours).chain(&others).map(String::as_str).collect::<Vec<_>>().join(", ");
        let problem = format!(
            "Quartz's tables are in the schema {quartz}, side tables that belong to them in {sets}: nodes whose roles look in \
             different schemas take each other for nodes of Quartz. Stop all nodes, drop all sets but one, and set \
             jobStore.tablePrefix with its schema, or the search_path of all roles"
        );
        Ok(Some((sets, problem)))
    }

    fn places(&mut self) -> Result<Option<Places>> {
        if self.connection.backend() != Backend::Postgres {
            return Ok(None);
        }
        let text = "SELECT CAST(n.nspname AS text) AS schema, CAST(COALESCE(?, current_schema()) AS text) AS made_in, \
             c.relname = CAST(? AS name) AS is_ours, \
             COALESCE(c.oid IN (to_regclass(?), to_regclass(?)), FALSE) AS is_used \
             FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
             WHERE c.relname IN (CAST(? AS name), CAST(? AS name)) AND c.relkind IN ('r', 'p') ORDER BY n.nspname";
        let (schema, bare) = match self.options.table_prefix.rsplit_once('.') {
            Some((schema, bare)) => (Some(schema.to_ascii_lowercase()), bare),
            None => (None, self.options.table_prefix.as_str()),
        };
        let [ours, quartz] = ["CN_MIGRATIONS", "LOCKS"].map(|table| format!("{bare}{table}").to_ascii_lowercase());
        let [used_ours, used_quartz] = ["{p}CN_MIGRATIONS", "{p}LOCKS"].map(|table| self.fill(table));
        let values = [
            Value::from(schema.as_deref()),
            Value::from(&ours),
            Value::from(&used_ours),
            Value::from(&used_quartz),
            Value::from(&ours),
            Value::from(&quartz),
        ];
        let rows = self.load::<PlaceRow>(text, &values)?;
        let used = |is_ours| rows.iter().find(|row| row.is_used && row.is_ours == is_ours);
        let Some(quartz) = used(false) else { return Ok(None) };
        let has_own = |row: &PlaceRow| rows.iter().any(|other| !other.is_ours && other.schema == row.schema);
        let others = rows.iter().filter(|row| row.is_ours && !row.is_used);
        let others = others.filter(|row| row.schema == quartz.schema || !has_own(row));
        Ok(Some(Places {
            quartz: quartz.schema.clone(),
            ours: used(true).map(|row| row.schema.clone()),
            others: others.map(|row| row.schema.clone()).collect(),
            made_in: quartz.made_in.clone(),
        }))
    }

    /// PostgreSQL lets only the owner of a table make indexes on it and change it.
    fn refuse_tables_of_others(&mut self) -> Result<()> {
        if self.connection.backend() != Backend::Postgres {
            return Ok(());
        }
        let changed = ["TRIGGERS", "FIRED_TRIGGERS"].into_iter().chain(side_tables_made(Backend::Postgres));
        let names = self.names(changed.chain(views_made(Backend::Postgres).into_keys()));
        let text = "SELECT CAST(t AS text) AS name, CAST(pg_get_userbyid(c.relowner) AS text) AS owner, \
             CAST(current_user AS text) AS role \
             FROM unnest(string_to_array(?, ',')) AS t JOIN pg_class c ON c.oid = to_regclass(t) \
             WHERE NOT pg_has_role(c.relowner, 'USAGE') ORDER BY t";
        let rows = self.load::<OwnedRow>(text, &[Value::from(&names)])?;
        let Some(OwnedRow { owner, role, .. }) = rows.first() else { return Ok(()) };
        let tables: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        Err(Error::Schema(format!(
            "the role `{role}` does not own {}, on which the migrations make indexes, or which they change: run `carnelian \
             migrate` as `{owner}`, or as a member of that role; nothing was changed",
            tables.join(", ")
        )))
    }

    /// The tables on which this role lacks a right that a node needs, with the role; PostgreSQL
    /// tells it of all tables at once.
    pub(super) fn missing_rights(&mut self) -> Result<Vec<(String, String)>> {
        if self.connection.backend() != Backend::Postgres {
            return Ok(Vec::new());
        }
        let tables = side_tables_made(Backend::Postgres).into_iter().filter(|table| *table != "CN_MIGRATIONS");
        let names = self.names(QUARTZ_TABLES.into_iter().chain(tables));
        let text = "SELECT CAST(t AS text) AS name, CAST('' AS text) AS owner, CAST(current_user AS text) AS role \
             FROM unnest(string_to_array(?, ',')) AS t, LATERAL CAST(to_regclass(t) AS oid) AS o \
             WHERE o IS NOT NULL AND NOT (has_table_privilege(o, 'SELECT') AND has_table_privilege(o, 'INSERT') \
             AND has_table_privilege(o, 'UPDATE') AND has_table_privilege(o, 'DELETE'))";
        let rows = self.load::<OwnedRow>(text, &[Value::from(&names)])?;
        Ok(rows.into_iter().map(|row| (row.name, row.role)).collect())
    }

    /// Refuses to start without a right that is needed later only, such as when a node has died.
    pub(super) fn refuse_missing_rights(&mut self) -> Result<()> {
        let missing = self.missing_rights()?;
        let Some((_, role)) = missing.first() else { return Ok(()) };
        let tables = missing.iter().map(|(table, _)| table.as_str()).collect::<Vec<_>>().join(", ");
        Err(Error::Schema(format!("the role `{role}` lacks rights on {tables}: {}", grant(&tables, role))))
    }

    /// MySQL finds no row by a flag that is a bit and is compared with a text, as an index of texts
    /// needs it: no running fire would be found.
    fn refuse_bits_of_fires(&mut self) -> Result<()> {
        if self.connection.backend() != Backend::Mysql {
            return Ok(());
        }
        let table = format!("{}FIRED_TRIGGERS", self.options.table_prefix);
        let bare = table.rsplit('.').next().unwrap_or_default();
        let text = self.fill(&format!(
            "SELECT column_name AS name FROM information_schema.columns WHERE table_schema = {{s}} AND table_name = '{bare}' \
             AND column_name = 'IS_NONCONCURRENT' AND data_type = 'bit'"
        ));
        if self.load::<Name>(&text, &[])?.is_empty() {
            return Ok(());
        }
        Err(Error::Schema(format!(
            "IS_NONCONCURRENT of {table} is a BIT, by which MySQL finds no running fires: ALTER TABLE {table} MODIFY \
             IS_NONCONCURRENT TINYINT(1) NULL, which Quartz reads and writes as well; nothing was changed"
        )))
    }

    /// Tables of MySQL whose engine knows no transactions, as the server spells them.
    pub(super) fn without_transactions(&mut self) -> Result<Vec<String>> {
        if self.connection.backend() != Backend::Mysql {
            return Ok(Vec::new());
        }
        let tables = QUARTZ_TABLES.into_iter().chain(side_tables_made(Backend::Mysql));
        let bare = self.options.table_prefix.rsplit('.').next().unwrap_or_default();
        let names = tables.map(|table| format!("'{bare}{table}'")).collect::<Vec<_>>().join(", ");
        let text = self.fill(&format!(
            "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = {{s}} AND table_name IN ({names}) \
             AND engine NOT IN (SELECT engine FROM information_schema.engines WHERE transactions = 'YES') ORDER BY table_name"
        ));
        Ok(self.load::<Name>(&text, &[])?.into_iter().map(|row| row.name).collect())
    }

    /// Quartz before 2.2 had no column for the time for which a fire was scheduled, and before 2.0
    /// none for the name of the scheduler.
    fn refuse_old_quartz(&mut self) -> Result<()> {
        // In a transaction of PostgreSQL a statement that fails is the last one.
        if self.lacks_table("FIRED_TRIGGERS")? || self.lacks_table("JOB_DETAILS")? {
            return Ok(());
        }
        let text = "SELECT COUNT(f.sched_time) + COUNT(j.sched_name) AS n FROM {p}FIRED_TRIGGERS f, {p}JOB_DETAILS j \
             WHERE 1 = 0";
        let statement = Statement { text, prefix: &self.options.table_prefix, values: &[] };
        match self.connection.load::<Count>(statement) {
            Err(failure) if failure_class::is_missing_column(&failure) => Err(Error::Schema(format!(
                "the tables {}… are of Quartz before 2.2 ({failure}): bring them to version 2.2 first, as Quartz's page on its \
                 migration says; nothing was changed",
                self.options.table_prefix
            ))),
            // A table that is gone is named with all others that are.
            Err(failure) if failure_class::is_missing_table(&failure) => Ok(()),
            answer => answer.map(drop).map_err(error),
        }
    }

    /// The names of these tables, with the prefix, in one text.
    fn names<'t>(&self, tables: impl Iterator<Item = &'t str>) -> String {
        tables.map(|table| format!("{}{table}", self.options.table_prefix)).collect::<Vec<_>>().join(",")
    }
}

/// The statement that gives a role what a node needs.
pub(super) fn grant(tables: &str, role: &str) -> String {
    format!("GRANT SELECT, INSERT, UPDATE, DELETE ON {tables} TO {role}")
}
