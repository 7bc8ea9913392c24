//! Explaining, for tests: the database is asked how it runs a statement, when and where the
//! statement is about to run.

use super::backend::Backend;
use super::plans::Explained;
use super::session::SqlSession;
use super::statement::Value;
use crate::error::Result;
use diesel::QueryableByName;
use diesel::sql_types::Text;

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
        let plans = match self.backend() {
            Backend::Postgres => {
                let all = format!("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {text}");
                let plan = self.undone(|s| s.load_uncounted::<PostgresPlan>(&all, values))?;
                vec![plan.into_iter().map(|row| row.plan).collect(), self.generic_plan(text, values)?]
            }
            Backend::Mysql => {
                let all = format!("ANALYZE FORMAT=JSON {text}");
                let plan = self.undone(|s| s.load_uncounted::<MysqlPlan>(&all, values))?;
                vec![plan.into_iter().map(|row| row.plan).collect()]
            }
            Backend::Sqlite => {
                let lines = self.load_uncounted::<SqlitePlan>(&format!("EXPLAIN QUERY PLAN {text}"), values)?;
                lines.into_iter().map(|row| row.detail).collect()
            }
        };
        let purpose = self.purpose;
        self.plans().note(Explained { purpose, text: text.to_owned(), plans });
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
