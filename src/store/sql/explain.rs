//! Explaining, for tests: the database is asked how it runs a statement, when and where the
//! statement is about to run.

use super::backend::Backend;
use super::plans::{Explained, TableRead};
use super::session::SqlSession;
use super::statement::Value;
use crate::error::{Error, Result};
use diesel::QueryableByName;
use diesel::sql_types::Text;
use serde_json::Value as Json;

#[derive(QueryableByName)]
struct PostgresPlan {
    #[diesel(sql_type = Text, column_name = "QUERY PLAN")]
    plan: String,
}

#[derive(QueryableByName)]
struct MysqlPlan {
    #[diesel(sql_type = Text, column_name = "ANALYZE")]
    plan: String,
}

#[derive(QueryableByName)]
struct SqlitePlan {
    #[diesel(sql_type = Text)]
    detail: String,
}

impl SqlSession<'_, '_> {
    /// Explains the statement that comes next, if that is asked for.
    pub(super) fn explain(&mut self, text: &str, values: &[Value]) -> Result<()> {
        if !self.plans().is_on() {
            return Ok(());
        }
        let (plan, reads) = match self.backend() {
            Backend::Postgres => {
                let all = format!("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {text}");
                let plan = self.undone(|s| s.load_uncounted::<PostgresPlan>(&all, values))?;
                let plan = plan.into_iter().map(|row| row.plan).collect::<String>();
                let generic = self.generic_plan(text, values)?;
                let mut reads = Vec::new();
                read_by_postgres(&parsed(&plan)?, &mut reads);
                read_by_postgres(&parsed(&generic)?, &mut reads);
                (format!("{plan}\nfor any values: {generic}"), reads)
            }
            Backend::Mysql => {
                let all = format!("ANALYZE FORMAT=JSON {text}");
                let plan = self.undone(|s| s.load_uncounted::<MysqlPlan>(&all, values))?;
                let plan = plan.into_iter().map(|row| row.plan).collect::<String>();
                let mut reads = Vec::new();
                read_by_mysql(&parsed(&plan)?, &mut reads);
                (plan, reads)
            }
            Backend::Sqlite => {
                let lines = self.load_uncounted::<SqlitePlan>(&format!("EXPLAIN QUERY PLAN {text}"), values)?;
                let lines: Vec<String> = lines.into_iter().map(|row| row.detail).collect();
                (lines.join("\n"), reads_by_sqlite(&lines))
            }
        };
        let purpose = self.purpose;
        self.plans().note(Explained { purpose, text: text.to_owned(), reads, plan });
        Ok(())
    }

    /// PostgreSQL: the plan that a prepared statement gets when it has run often enough, whatever
    /// its values.
    fn generic_plan(&mut self, text: &str, values: &[Value]) -> Result<String> {
        let mut numbered = String::new();
        for (i, part) in text.split('?').enumerate() {
            let mark = if i == 0 { String::new() } else { format!("${i}") };
            numbered.push_str(&mark);
            numbered.push_str(part);
        }
        let types: Vec<&str> = values.iter().map(type_on_postgres).collect();
        let (types, nulls) = match types.len() {
            0 => (String::new(), String::new()),
            n => (format!("({})", types.join(", ")), format!("({})", vec!["NULL"; n].join(", "))),
        };
        self.run_uncounted("SET plan_cache_mode = force_generic_plan")?;
        self.run_uncounted(&format!("PREPARE carnelian_plan {types} AS {numbered}"))?;
        let plan =
            self.load_uncounted::<PostgresPlan>(&format!("EXPLAIN (FORMAT JSON) EXECUTE carnelian_plan {nulls}"), &[])?;
        self.run_uncounted("DEALLOCATE carnelian_plan")?;
        self.run_uncounted("RESET plan_cache_mode")?;
        Ok(plan.into_iter().map(|row| row.plan).collect())
    }

    /// Runs something that leaves nothing behind in the transaction; outside of one, where only is
    /// looked, it just runs.
    fn undone<R>(&mut self, work: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        if !self.is_in_transaction() {
            return work(self);
        }
        self.run_uncounted("SAVEPOINT carnelian_plan")?;
        let done = work(self)?;
        self.run_uncounted("ROLLBACK TO SAVEPOINT carnelian_plan")?;
        Ok(done)
    }
}

fn parsed(plan: &str) -> Result<Json> {
    serde_json::from_str(plan).map_err(|error| Error::Schema(format!("a plan is no JSON: {error}: {plan}")))
}

fn type_on_postgres(value: &Value) -> &'static str {
    match value {
        Value::Int(_) => "bigint",
        Value::Text(_) => "text",
        Value::Flag(_) => "boolean",
        Value::Bytes(_) => "bytea",
        Value::Ints(_) => "bigint[]",
        Value::Texts(_) => "text[]",
        Value::Flags(_) => "boolean[]",
        Value::ManyBytes(_) => "bytea[]",
    }
}

fn read_by_postgres(plan: &Json, reads: &mut Vec<TableRead>) {
    match plan {
        Json::Array(parts) => parts.iter().for_each(|part| read_by_postgres(part, reads)),
        Json::Object(node) => {
            let number = |name| node.get(name).and_then(Json::as_f64).unwrap_or(0.0);
            let text = |name| node.get(name).and_then(Json::as_str).unwrap_or("");
            let seen =
                number("Actual Rows") + number("Rows Removed by Filter") + number("Rows Removed by Index Recheck");
            if text("Node Type").contains("Scan") && !text("Relation Name").is_empty() {
                // A plan that was not run has no such numbers; a part of one that was may never
                // have been reached.
                let loops = node.get("Actual Loops").and_then(Json::as_f64);
                reads.push(TableRead {
                    table: text("Relation Name").to_owned(),
                    is_scan: text("Node Type") == "Seq Scan" && loops != Some(0.0),
                    looked_up_by: None,
                    rows: loops.map(|loops| (seen * loops).round() as u64),
                });
            }
            ["Plan", "Plans"].iter().filter_map(|name| node.get(*name)).for_each(|part| read_by_postgres(part, reads));
        }
        _ => {}
    }
}

fn read_by_mysql(plan: &Json, reads: &mut Vec<TableRead>) {
    match plan {
        Json::Array(parts) => parts.iter().for_each(|part| read_by_mysql(part, reads)),
        Json::Object(node) => {
            let number = |name| node.get(name).and_then(Json::as_f64);
            let text = |name| node.get(name).and_then(Json::as_str);
            // A table that was gathered on the way has a name in angle brackets, and is as large
            // as the batch.
            if let (Some(table), Some(access)) = (text("table_name"), text("access_type"))
                && !table.starts_with('<')
            {
                let columns = node.get("used_key_parts").and_then(Json::as_array);
                reads.push(TableRead {
                    table: table.to_owned(),
                    is_scan: matches!(access, "ALL" | "index"),
                    looked_up_by: columns
                        .map(|all| all.iter().filter_map(Json::as_str).map(str::to_lowercase).collect()),
                    rows: number("r_rows").map(|rows| (rows * number("r_loops").unwrap_or(1.0)).round() as u64),
                });
            }
            node.values().for_each(|part| read_by_mysql(part, reads));
        }
        _ => {}
    }
}

/// The reads of tables in these lines. The rows of a subquery are gone through once, by the alias
/// of the subquery: such a line is about no table.
fn reads_by_sqlite(lines: &[String]) -> Vec<TableRead> {
    let mut gathered: Vec<&str> = lines
        .iter()
        .filter_map(|line| line.strip_prefix("CO-ROUTINE ").or(line.strip_prefix("MATERIALIZE ")))
        .collect();
    let mut is_of_table = |line: &&String| {
        let whole = line.strip_prefix("SCAN ");
        let of_subquery = whole.and_then(|name| gathered.iter().position(|one| *one == name));
        of_subquery.map(|i| gathered.swap_remove(i)).is_none()
    };
    lines.iter().filter(|line| is_of_table(line)).filter_map(|line| read_by_sqlite(line)).collect()
}

/// `SCAN t USING …` or `SEARCH t USING INDEX i (a=? AND b<?)`; other lines read no table.
fn read_by_sqlite(line: &str) -> Option<TableRead> {
    let mut words = line.split_whitespace();
    let is_scan = match words.next()? {
        "SCAN" => true,
        "SEARCH" => false,
        _ => return None,
    };
    let table = words.next().filter(|table| *table != "CONSTANT")?;
    let by = line.rsplit_once('(').map(|(_, by)| {
        let columns = by.split(" AND ").filter_map(|test| test.split(['=', '<', '>', ' ', ')']).next());
        columns.map(str::to_lowercase).collect()
    });
    Some(TableRead { table: table.to_owned(), is_scan, looked_up_by: by, rows: None })
}
