//! The end of a total outage, and the recovery mode.

use super::*;

/// Both nodes fall silent, for so long that what they held is overdue; then A is started again.
fn silent(c: &Cluster, w: &mut World) {
    c.clock.advance(WINDOW + MINUTE);
    w.a = c.stranger("A");
}

pub fn operations() -> Vec<Operation> {
    let usual = |name, act| Operation { name, holding: true, retried: true, whole: true, prepare: nothing, act };
    vec![
        usual("start_recovery", |c, _| {
            let mode = c.outages().start_recovery("ann")?;
            assert_eq!(c.outages().recovery_mode()?, Some(mode));
            Ok(())
        }),
        Operation {
            prepare: |c, _| drop(c.outages().start_recovery("ann").unwrap()),
            ..usual("stop_recovery", |c, _| {
                assert!(c.outages().stop_recovery(None)?);
                assert_eq!(c.outages().recovery_mode()?, None);
                Ok(())
            })
        },
        // The next check-in does what one could not do: the report is told of once, whenever that
        // is.
        Operation {
            retried: false,
            whole: false,
            prepare: silent,
            ..usual("register after a total outage", |c, w| {
                w.a.try_check_in()?;
                assert_eq!(c.outages().list()?.len(), 1);
                Ok(())
            })
        },
    ]
}
