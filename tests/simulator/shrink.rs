//! Shrinking: a run that fails becomes one of fewer nodes, fewer faults and less work that fails
//! alike.

use super::cut::Cut;
use super::plan::{MS, Place, Plan};
use super::run::{Report, run};
use carnelian::clock::{Clock, SystemClock};
use std::time::Duration;

/// The throws of the dice that each smaller plan gets.
const THROWS: u64 = 8;

/// Nobody waits longer for a smaller failure.
const LONGEST: Duration = Duration::from_secs(120);

/// The problem in words that another run of it has too: without numbers, and without what follows.
fn kind(report: &Report) -> Option<String> {
    let problem = report.problems.first()?;
    let words: String = problem.chars().filter(|one| !one.is_ascii_digit()).take(16).collect();
    Some(words)
}

/// The smallest run of the seed that was found to fail as this one does, with its cut.
pub fn shrink(failed: Report, cut: Cut, place: Place) -> (Report, Cut) {
    let clock = SystemClock::default();
    let wanted = kind(&failed);
    let (mut best, mut cut) = (failed, cut);
    'smaller: loop {
        for candidate in candidates(&best, &cut) {
            for throw in cut.throw..cut.throw + THROWS {
                if clock.ticks() > LONGEST {
                    return (best, cut);
                }
                let candidate = Cut { throw, ..candidate.clone() };
                let report = run(best.seed, &candidate, place);
                if kind(&report) == wanted {
                    (best, cut) = (report, candidate);
                    continue 'smaller;
                }
            }
        }
        return (best, cut);
    }
}

/// Cuts that leave out a little more, the largest first.
fn candidates(failed: &Report, cut: &Cut) -> Vec<Cut> {
    let plan = cut.apply(Plan::draw(failed.seed));
    let mut cuts = Vec::new();
    let calm = plan.calm / MS;
    // A failure before the end of the faults is the same with an end right after it.
    let found = failed.time / MS + 1;
    for calm in [found, calm / 2, calm * 3 / 4, calm * 9 / 10].into_iter().filter(|cut| *cut + 100 < calm) {
        cuts.push(Cut { calm: Some(calm), ..cut.clone() });
    }
    for nodes in [1, 2, plan.nodes / 2, plan.nodes - 1].into_iter().filter(|nodes| (1..plan.nodes).contains(nodes)) {
        cuts.push(Cut { nodes: Some(nodes), ..cut.clone() });
    }
    cuts.extend(plan.parts().iter().map(|name| cut.without(name)));
    cuts
}
