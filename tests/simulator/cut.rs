//! `Cut`: what is left out of the plan of a seed, so that a failure becomes small.

use super::plan::{MS, Plan};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// The parts of a plan that are left out; none by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    pub nodes: Option<usize>,
    /// The end of the faults, in milliseconds.
    pub calm: Option<u64>,
    /// The names of classes of faults, of grids and of other things that a plan has.
    pub without: BTreeSet<String>,
    /// The dice of a smaller plan fall otherwise anyway: they are thrown so often until they fail.
    pub throw: u64,
}

impl Cut {
    pub fn without(&self, name: &str) -> Self {
        let mut cut = self.clone();
        cut.without.insert(name.to_owned());
        cut
    }

    pub fn apply(&self, mut plan: Plan) -> Plan {
        plan.nodes = self.nodes.map_or(plan.nodes, |nodes| nodes.clamp(1, plan.nodes));
        plan.calm = self.calm.map_or(plan.calm, |calm| plan.calm.min(calm * MS));
        for name in &self.without {
            plan.leave_out(name);
        }
        plan
    }
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |name: &str, n: Option<u64>| n.map(|n| format!("{name}={n}"));
        let numbers = [
            number("nodes", self.nodes.map(|nodes| nodes as u64)),
            number("calm", self.calm),
            number("throw", Some(self.throw).filter(|throw| *throw > 0)),
        ];
        let parts = numbers.into_iter().flatten().chain(self.without.iter().map(|name| format!("no-{name}")));
        f.write_str(&parts.collect::<Vec<_>>().join(","))
    }
}

impl FromStr for Cut {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut cut = Self::default();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let number = |text: &str| text.parse::<u64>().map_err(|error| format!("{part}: {error}"));
            match part.split_once('=') {
                Some(("nodes", n)) => cut.nodes = Some(number(n)?.try_into().map_err(|_| part.to_owned())?),
                Some(("calm", n)) => cut.calm = Some(number(n)?),
                Some(("throw", n)) => cut.throw = number(n)?,
                _ => {
                    let name = part.strip_prefix("no-").ok_or_else(|| format!("{part}: no such cut"))?;
                    cut.without.insert(name.to_owned());
                }
            }
        }
        Ok(cut)
    }
}
