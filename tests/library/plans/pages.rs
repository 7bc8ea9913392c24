//! The statements of the dashboard's pages beside very much that is stored: none reads a table, or
//! more rows than its page looks through.
#![cfg(feature = "dashboard")]

use super::*;
use carnelian::dashboard::{Dashboard, Request};
use std::net::{IpAddr, Ipv4Addr};

/// The pages, and the reads of the API that are no page.
const PAGES: [&str; 28] = [
    "/",
    "/running",
    "/triggers",
    "/triggers?after=%5B%22far5%22%2C%22group5%22%5D",
    "/triggers?q=nothing-has-this-name",
    "/trigger?group=group7&name=far77",
    "/jobs",
    "/jobs?after=%5B%22job5%22%2C%22far%22%5D",
    "/jobs?q=nothing-has-this-name",
    "/jobs?tag=none",
    "/job?group=far&name=job7",
    "/history",
    "/history?group=far&name=job7",
    "/history?trigger_group=group7&trigger_name=far77",
    "/history?since=7d",
    "/run?fire=fire77",
    "/nodes",
    "/node?name=looker",
    "/parked",
    "/outages",
    "/calendars",
    "/continuations",
    "/locks",
    "/actions",
    "/actions?actor=nobody",
    "/history?outcome=failed",
    "/api/explain?group=group7&name=far77",
    "/api/job?group=far&name=job7",
];

/// The rows that a search, or the charts at their first reading, may look through.
const MOST_SEARCHED: u64 = 5_001;

fn pages_read_no_table(kind: Kind, server: String) {
    let place = Place::on(kind, server);
    let node = Node::open(&place.url, "plans");
    let far_ms = SystemClock::default().wall_time().timestamp_millis() + 86_400_000;
    fill(kind, &place.url, "plans", far_ms, 0..stored());
    gather_statistics(kind, &place.url);
    let dashboard = Dashboard::of_store(node.store.clone()).unwrap();
    let mut wrong = Vec::new();
    for page in PAGES {
        node.database.plans().begin();
        let local = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let response = dashboard.handle(&Request::new("GET", page).header("Host", "localhost").peer(local));
        let explained = node.database.plans().take();
        assert_eq!(response.status(), 200, "{page}: {}", String::from_utf8_lossy(response.body()));
        for statement in &explained {
            assert!(!statement.text.contains("FOR UPDATE"), "{page} waits for a lock: {}", statement.text);
            for read in reads(statement) {
                let is_large = LARGE.contains(&table_of(&statement.text, &read.table).as_str());
                let by_name_only = read.looked_up_by.as_deref().is_some_and(|columns| columns == ["sched_name"]);
                let too_many = read.rows.is_some_and(|rows| rows > MOST_SEARCHED);
                // A page in the order of the key reads the index from its place on, and no further
                // than it needs. SQLite counts no rows: there it must not sort what it reads, apart
                // from rows of the same time.
                let sorts = statement.plans.iter().any(|line| line.contains("USE TEMP B-TREE FOR ORDER BY"));
                let is_bounded =
                    statement.text.contains("LIMIT") && read.rows.map_or(!sorts, |rows| rows <= MOST_SEARCHED);
                if too_many || is_large && (read.is_scan || by_name_only) && !is_bounded {
                    wrong.push(format!(
                        "{page}: {}: {read:?}\n{}\n{}",
                        statement.purpose,
                        statement.text,
                        statement.plans.join("\n")
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} reads of too much:\n{}", wrong.len(), wrong.join("\n\n"));
    drop((dashboard, node));
    place.end(kind);
}

#[test]
fn pages_read_no_table_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("plans.db").display());
    pages_read_no_table(Kind::Sqlite, url);
}

#[test]
fn pages_read_no_table_on_postgres() {
    pages_read_no_table(Kind::Postgres, support::postgres_url());
}

#[test]
fn pages_read_no_table_on_mysql() {
    pages_read_no_table(Kind::Mysql, support::mysql_url());
}
