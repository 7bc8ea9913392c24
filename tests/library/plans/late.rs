//! Plans beside very many late triggers, which are the misfire handler's, and some that ignore
//! misfires.
//!
//! A search once began at the oldest trigger that ignores misfires, as each retry does, and went
//! through all that is late: 15,000 pages for each poll of each node.

use super::{Kind, Node, Place, fill, gather_statistics, judge, run, stored};
use crate::support;
use carnelian::clock::{Clock, SystemClock};
use carnelian::settings::TriggerOrder;
use std::collections::BTreeSet;

fn what_is_late_is_not_gone_through(kind: Kind, server: impl Fn(TriggerOrder) -> String) {
    for order in [TriggerOrder::TimeThenPriority, TriggerOrder::PriorityThenTime] {
        let place = Place::on(kind, server(order));
        let node = Node::with(&place.url, "late", |settings| settings.job_store.trigger_order = order);
        let now_ms = SystemClock::default().wall_time().timestamp_millis();
        fill(kind, &place.url, "late", now_ms - 86_400_000, 0..stored() / 5);
        // The oldest, of a type that nobody has, and the youngest.
        for (change, condition) in [
            ("TRIGGERS SET misfire_instr = -1", "job_name = 'job0'"),
            ("JOB_DETAILS SET job_class_name = 'gone'", "job_name = 'job0'"),
            ("TRIGGERS SET misfire_instr = -1", "job_name = 'job99'"),
        ] {
            run(kind, &place.url, &format!("UPDATE QRTZ_{change} WHERE {condition}"));
        }
        gather_statistics(kind, &place.url);
        node.schedule("due", now_ms - 1_000);
        node.database.plans().begin();
        let poll = node.store.firing().poll(None, "", &node.types).unwrap();
        let nobody = BTreeSet::new();
        let fired = node.store.firing().acquire(&node.owner, &node.request(0, &nobody)).unwrap().fired;
        let explained = node.database.plans().take();
        let of_the_youngest = fired.iter().filter(|fire| fire.job.key().name() == "job99").count();
        assert_eq!((poll.earliest_ms, of_the_youngest), (Some(now_ms - 86_400_000 + 991), 10), "{order:?}");
        judge(&explained, &format!("{} late, {order:?}", stored() / 5));
        drop(node);
        place.end(kind);
    }
}

#[test]
fn what_is_late_is_not_gone_through_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let url = |order| format!("sqlite:{}", folder.path().join(format!("{order:?}.db")).display());
    what_is_late_is_not_gone_through(Kind::Sqlite, url);
}

#[test]
fn what_is_late_is_not_gone_through_on_postgres() {
    what_is_late_is_not_gone_through(Kind::Postgres, |_| support::postgres_url());
}
