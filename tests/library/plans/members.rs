//! Statements on the members of the cluster: no join of their tables. A server that plans a join
//! while there are few nodes may keep the plan until there are a thousand: one that compares each
//! with each.

use super::*;

fn no_look_joins_members(kind: Kind, server: String) {
    let place = Place::on(kind, server);
    let mut node = Node::open(&place.url, "members");
    node.database.plans().begin();
    node.store.upkeep().check_in(&mut node.me).unwrap();
    node.store.upkeep().check_in(&mut Membership::new("another")).unwrap();
    let mut explained = node.database.plans().take();
    let purposes: BTreeSet<&str> = explained.iter().map(|statement| statement.purpose).collect();
    assert!(purposes.is_superset(&BTreeSet::from(["check in", "register the instance"])), "{purposes:?}");
    explained.retain(|statement| statement.text.contains("SCHEDULER_STATE"));
    assert!(explained.len() > 4, "{explained:?}");
    explained.retain(|statement| statement.text.contains("JOIN"));
    assert!(explained.is_empty(), "{explained:?}");
    drop(node);
    place.end(kind);
}

#[test]
fn no_look_joins_members_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    no_look_joins_members(Kind::Sqlite, format!("sqlite:{}", folder.path().join("members.db").display()));
}

#[test]
fn no_look_joins_members_on_postgres() {
    no_look_joins_members(Kind::Postgres, support::postgres_url());
}

#[test]
fn no_look_joins_members_on_mysql() {
    no_look_joins_members(Kind::Mysql, support::mysql_url());
}
