//! Neighbours: the members at the end of whose windows a node looks.

use super::failover::is_dead;
use super::foresight::lateness_ms;
use crate::store::row::InstanceRow;
use std::collections::BTreeSet;

/// In a cluster of more nodes than this, each looks at the end of the window of those only that
/// come before it: else all would look, again and again, and at a death all at the same moment.
const ALL_LOOK: usize = 8;

/// True if a node that lives would have checked in by now.
pub(crate) fn is_late(row: &InstanceRow, tolerance_ms: i64, now_ms: i64) -> bool {
    is_dead(row, lateness_ms(tolerance_ms), now_ms)
}

/// A member, in the order of names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Neighbour<'a> {
    pub instance: &'a str,
    /// The member has checked in when it was to.
    pub is_timely: bool,
    /// A node of ours, which looks at others as this one does.
    pub is_ours: bool,
}

/// The members whose windows `me` is to look at when they end: all in a small cluster, else those
/// before it in the order of names, up to the first that is in time and looks at those before it.
/// A dead node that is not among them is found by the next check-in of anybody.
pub(crate) fn neighbours<'a>(me: &str, members: &[Neighbour<'a>]) -> BTreeSet<&'a str> {
    let others = members.iter().filter(|member| member.instance != me);
    if members.len() <= ALL_LOOK {
        return others.map(|member| member.instance).collect();
    }
    let (before, after): (Vec<&Neighbour<'a>>, Vec<&Neighbour<'a>>) = others.partition(|member| member.instance < me);
    let mut looked_at = BTreeSet::new();
    for member in before.into_iter().rev().chain(after.into_iter().rev()) {
        looked_at.insert(member.instance);
        if member.is_timely && member.is_ours {
            break;
        }
    }
    looked_at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::failover::Observations;
    use crate::rules::observer::{Observer, Suspect};
    use std::time::Duration;

    #[test]
    fn in_a_large_cluster_each_looks_at_those_before_it() {
        let names: Vec<String> = (0..10).map(|n| format!("n{n}")).collect();
        let members = |late: &[usize], foreign: &[usize]| -> Vec<Neighbour<'static>> {
            let member = |(n, name): (usize, &'static str)| Neighbour {
                instance: name,
                is_timely: !late.contains(&n),
                is_ours: !foreign.contains(&n),
            };
            let names = ["n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9"];
            names.into_iter().enumerate().map(member).collect()
        };
        let of = |me: &str, late: &[usize], foreign: &[usize]| -> Vec<String> {
            neighbours(me, &members(late, foreign)).into_iter().map(str::to_owned).collect()
        };
        assert_eq!(of("n5", &[], &[]), ["n4"]);
        assert_eq!(of("n0", &[], &[]), ["n9"]);
        assert_eq!(of("n1", &[0, 9], &[8]), ["n0", "n7", "n8", "n9"]);
        // Each is looked at by somebody, whoever is dead.
        let dead = [2, 3, 7];
        let living = (0..10).filter(|n| !dead.contains(n));
        let all: BTreeSet<String> = living.flat_map(|n| of(&names[n], &dead, &[])).collect();
        assert_eq!(all.into_iter().collect::<Vec<_>>(), names);
        let few = &members(&[], &[])[..ALL_LOOK];
        assert_eq!(neighbours("n3", few).len(), ALL_LOOK - 1);
    }

    #[test]
    fn of_several_clocks_only_silence_that_was_seen_convicts() {
        let peer = Suspect { instance: "peer", last_checkin_ms: 100_000, interval_ms: 15_000, foreign: false };
        let mut seen = Observations::default();
        let mut convicts = |now_ms: i64, ticks_ms: u64| {
            let ticks = Duration::from_millis(ticks_ms);
            let (answered, gap_ms, tolerance_ms) = (ticks, 0, 7_500);
            seen.convicts(peer, &Observer { now_ms, ticks, answered, gap_ms, tolerance_ms, has_several_clocks: true })
        };
        assert!(!convicts(130_000, 0), "the peer's clock may be behind");
        assert!(!convicts(152_500, 22_500));
        assert!(convicts(152_501, 22_501));
    }
}
