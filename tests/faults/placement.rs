//! Operations of placement, and acquisitions that go by it.

use super::*;
use carnelian::JobPolicy;
use carnelian::placement::BlacklistEntry;
use carnelian::placement::Placement;

/// A limit of two runs on each node, and a job that would rather run on B.
fn limited(c: &Cluster, w: &mut World) {
    c.placement().set_group_limit("DEFAULT", Some(2), None, "ann").unwrap();
    let policy = JobPolicy::new().placement(Placement::new().prefer_node("B"));
    let elsewhere = a_job("elsewhere").policy(policy).durable(true).build().unwrap();
    c.catalogue()
        .schedule(vec![(elsewhere.clone(), vec![once("e1", &elsewhere, 0), once("e2", &elsewhere, SECOND)])], false)
        .unwrap();
    w.a.check_in();
    w.b.check_in();
    w.a.check_in();
}

pub fn operations() -> Vec<Operation> {
    let usual = |name, act| Operation { name, holding: true, retried: true, whole: true, prepare: nothing, act };
    let after = |name, prepare, act| Operation { prepare, ..usual(name, act) };
    vec![
        usual("blacklist", |c, _| {
            c.placement().blacklist(&BlacklistEntry::new("A").lasting(Duration::from_secs(10)), "ann")
        }),
        after(
            "unblacklist",
            |c, _| c.placement().blacklist(&BlacklistEntry::new("A"), "ann").unwrap(),
            |c, _| c.placement().unblacklist("A").map(drop),
        ),
        after(
            "drain with stop",
            |c, _| c.placement().drain("A", false, "ann").unwrap(),
            |c, _| c.placement().drain("A", true, "ann"),
        ),
        after(
            "undrain",
            |c, _| c.placement().drain("A", true, "ann").unwrap(),
            |c, _| c.placement().undrain("A").map(drop),
        ),
        usual("set_group_limit", |c, _| c.placement().set_group_limit("G", Some(1), None, "ann")),
        after("remove_group_limit", limited, |c, _| c.placement().remove_group_limit("DEFAULT").map(drop)),
        Operation {
            holding: false,
            prepare: limited,
            ..usual("acquire by limits and placement", |_, w| {
                let acquired = w.a.try_acquire(20)?;
                w.running.extend(acquired.fired);
                w.reserved.extend(acquired.reserved);
                Ok(())
            })
        },
        after(
            "fire by limits",
            |c, w| {
                limited(c, w);
                c.clock.advance(20 * SECOND);
            },
            |_, w| {
                let fired = w.a.try_to_fire(&w.reserved)?;
                w.running.extend(fired);
                w.reserved.clear();
                Ok(())
            },
        ),
    ]
}
