//! Reads: how a statement reads tables, as the plan says in which the database explains it.

use carnelian::store::Explained;
use serde_json::Value as Json;

/// The way in which a statement reads one table.
#[derive(Clone, Debug)]
pub struct TableRead {
    /// The table, or its alias in the statement.
    pub table: String,
    /// True if it goes through all of the table, or all of an index.
    pub is_scan: bool,
    /// The columns of the index by which rows are looked up, in small letters, where the database
    /// tells them.
    pub looked_up_by: Option<Vec<String>>,
    /// The number of rows that were read to find those that were wanted, where the database counts
    /// them.
    pub rows: Option<u64>,
}

/// The reads of the statement's tables. Plans of servers are JSON: PostgreSQL's are lists, and
/// those of MariaDB objects.
pub fn reads(statement: &Explained) -> Vec<TableRead> {
    let mut reads = Vec::new();
    for plan in &statement.plans {
        let parsed = || serde_json::from_str(plan).unwrap_or_else(|error| panic!("a plan is no JSON: {error}: {plan}"));
        match plan.as_bytes().first() {
            Some(b'[') => read_by_postgres(&parsed(), &mut reads),
            Some(b'{') => read_by_mysql(&parsed(), &mut reads),
            _ => return reads_by_sqlite(&statement.plans),
        }
    }
    reads
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

/// The reads of tables in these lines of SQLite. The rows of a subquery are gone through once, by
/// the alias of the subquery: such a line is about no table.
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
