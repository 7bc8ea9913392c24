//! Declared tables: written rows are read again, by every operation, on every database.

use super::*;
use carnelian::placement::BlacklistRow;
use carnelian::recovery::Outage;
use carnelian::store::row::{BlacklistKind, CheckpointRow, LockRow, NodeRow, PrefetchedRow};

fn outages() -> [Outage; 3] {
    [1, 2, 3].map(|at| {
        let mut outage = Outage::default();
        (outage.began_ms, outage.ended_ms, outage.instance) = (at, at * 10, format!("node {at}"));
        (outage.uncounted, outage.overdue) = (at == 2, i64::MAX);
        outage
    })
}

fn ends(rows: &[Outage]) -> Vec<i64> {
    rows.iter().map(|row| row.ended_ms).collect()
}

on_each_database!(rows_are_read_by_key_by_conditions_and_in_pages);
fn rows_are_read_by_key_by_conditions_and_in_pages() {
    let cluster = Cluster::new(open());
    cluster.tamper(|s| {
        assert_eq!(s.row::<Outage>(&10_i64)?, None);
        s.insert_all(&outages())?;
        assert_eq!(s.row(&20_i64)?.as_ref(), outages().get(1));
        assert_eq!(ends(&s.rows().by(&["ended_ms"]).list()?), [10, 20, 30]);
        assert_eq!(ends(&s.rows().latest_by(&["ended_ms"]).limit(1).skip(1).list()?), [20]);
        assert_eq!(ends(&s.rows().with("instance", "node 3").list()?), [30]);
        assert_eq!(ends(&s.rows().with("uncounted", &true).below("ended_ms", 21).list()?), [20]);
        assert_eq!(ends(&s.rows().any_of(&["ended_ms"], &[30_i64, 40]).list()?), [30]);
        assert!(s.rows::<Outage>().any_of(&["ended_ms"], &[] as &[i64]).list()?.is_empty());
        assert_eq!((s.rows::<Outage>().below("ended_ms", 20).count()?, s.rows::<Outage>().count()?), (1, 3));
        assert_eq!(s.rows::<Outage>().at_most("ended_ms", 20).delete()?, 2);
        assert_eq!(ends(&s.rows().list()?), [30]);
        Ok(())
    });
}

on_each_database!(rows_are_written_anew_in_place_of_others_and_in_part);
fn rows_are_written_anew_in_place_of_others_and_in_part() {
    let cluster = Cluster::new(open());
    let row = |node: &str, kind, until_ms| {
        let (node, who) = (node.to_owned(), "ann".to_owned());
        BlacklistRow { node, kind, reason: None, who, until_ms, made_ms: 5 }
    };
    cluster.tamper(|s| {
        let (a, b) = (row("a", BlacklistKind::Drain, None), row("b", BlacklistKind::Blacklist, Some(7)));
        s.put_all(&[a.clone(), b.clone()])?;
        s.put(&BlacklistRow { reason: Some("full".to_owned()), ..b.clone() })?;
        s.put(&row("b", BlacklistKind::Drain, Some(9)))?;
        let rows: Vec<BlacklistRow> = s.rows().by(&["node", "kind"]).list()?;
        assert_eq!(
            rows.iter().map(|row| (row.node.as_str(), row.until_ms)).collect::<Vec<_>>(),
            [("a", None), ("b", Some(7)), ("b", Some(9)),]
        );
        assert_eq!(rows[1].reason.as_deref(), Some("full"));
        // A row without a time is neither below nor at most any.
        assert_eq!(s.rows::<BlacklistRow>().below("until_ms", 9).set("who", "bob")?, 1);
        assert_eq!(s.rows::<BlacklistRow>().with("who", "bob").count()?, 1);
        let kinds = [BlacklistKind::Drain, BlacklistKind::DrainAndStop];
        assert_eq!(s.rows::<BlacklistRow>().with("node", "b").any_of(&["kind"], &kinds).delete()?, 1);
        let keys = [("a".to_owned(), BlacklistKind::Drain), ("b".to_owned(), BlacklistKind::Drain)];
        assert_eq!(s.rows::<BlacklistRow>().any_of(&["node", "kind"], &keys).list()?, std::slice::from_ref(&a));
        assert_eq!(s.rows::<BlacklistRow>().any_of(&["node", "kind"], &keys).delete()?, 1);
        Ok(())
    });
}

on_each_database!(a_guarded_write_changes_what_fits_and_nothing_else);
fn a_guarded_write_changes_what_fits_and_nothing_else() {
    let cluster = Cluster::new(open());
    let row = |holder: &str, fence: i64| LockRow {
        name: "stock".to_owned(),
        holder: holder.to_owned(),
        instance: "A".to_owned(),
        fence,
        taken_ms: 1,
        ttl_ms: 2,
        expires_ms: 10 * fence,
    };
    cluster.tamper(|s| {
        s.insert(&row("x", 1))?;
        assert_eq!(s.rows::<LockRow>().with("name", "stock").at_most("expires_ms", 9).write(&row("y", 2))?, 0);
        assert_eq!(s.rows::<LockRow>().with("name", "stock").at_most("expires_ms", 10).write(&row("y", 2))?, 1);
        assert_eq!(s.row("stock")?, Some(row("y", 2)));
        Ok(())
    });
}

on_each_database!(a_stamp_is_the_time_of_the_transaction_and_kept_fields_stay);
fn a_stamp_is_the_time_of_the_transaction_and_kept_fields_stay() {
    let cluster = Cluster::new(open());
    let node = |started_ms, seen_ms, running| {
        let mut info = carnelian::node::NodeInfo::default();
        (info.node_name, info.running) = ("n".to_owned(), running);
        info.load.memory_total = Some(u64::from(u32::MAX) * 2);
        NodeRow { instance: "gone".to_owned(), started_ms, seen_ms, info }
    };
    cluster.tamper(|s| {
        let checkpoint = CheckpointRow { root_fire_id: "r".to_owned(), version: 1, fence: 2, data: vec![0, 255, 63] };
        s.insert(&checkpoint)?;
        let now_ms = s.now_ms()?;
        assert_eq!(s.rows::<CheckpointRow>().below("made_ms", now_ms).count()?, 0);
        assert_eq!(s.rows::<CheckpointRow>().at_most("made_ms", now_ms).list()?, [checkpoint]);
        assert_eq!(s.rows::<CheckpointRow>().delete()?, 1);
        s.upsert(&node(1, 1, 1), &["started_ms"])?;
        s.upsert(&node(2, 3, 4), &["started_ms"])?;
        assert_eq!(s.row("gone")?, Some(node(1, 3, 4)));
        assert_eq!(s.rows::<NodeRow>().with("instance", "gone").delete()?, 1);
        Ok(())
    });
}

on_each_database!(a_row_of_a_key_that_is_there_is_a_unique_violation);
fn a_row_of_a_key_that_is_there_is_a_unique_violation() {
    let cluster = Cluster::new(open());
    let row = PrefetchedRow { instance: "A".to_owned(), last_fence: 1, fires: "[]".to_owned() };
    let mut insert = |s: &mut dyn carnelian::store::Session| s.insert(&row);
    let transact = |work: &mut dyn FnMut(&mut dyn carnelian::store::Session) -> carnelian::Result<()>| {
        cluster.opened.database.transact("insert", carnelian::store::TxMode::OwnRows, work)
    };
    transact(&mut insert).unwrap();
    let error = transact(&mut insert).unwrap_err();
    assert_eq!(error.failure_class(), Some(carnelian::FailureClass::UniqueViolation));
}
