//! `Placement`: on which nodes a job may run, and on which it would rather.

use crate::error::{Error, Result};
use crate::key::check_name;
use crate::node::Labels;
use crate::setters::setters;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The most names and the most labels of one placement.
const MOST: usize = 64;

/// The nodes on which a job may run, and those that it prefers. Anywhere, by default.
///
/// A placement is stored with the job's [policy](crate::JobPolicy) and holds for all fires of the
/// job: those of its schedule, recoveries, retries, and those that somebody asks for. A node is
/// named by its node name (`carnelian.scheduler.nodeName`) or by its instance id. Nodes of Quartz
/// know nothing of placements, so a job with one is refused while there is such a node, unless the
/// job is [forced](crate::JobDetailBuilder::even_beside_quartz).
///
/// ```
/// use carnelian::{JobDetail, JobKey, JobPolicy};
/// use carnelian::placement::Placement;
///
/// let placement = Placement::new()
///     .require_label("zone=eu".parse()?)
///     .require_label("!spot".parse()?)
///     .prefer_node("rack7-a");
/// let policy = JobPolicy::new().placement(placement);
/// let job = JobDetail::builder(JobKey::named("render"), "video.render").policy(policy).build()?;
/// assert_eq!(job.policy().placed().map(|p| p.to_string()).as_deref(), Some("labels zone=eu, !spot; prefers rack7-a"));
/// # Ok::<(), carnelian::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[must_use = "it does nothing until a job's policy is given it"]
pub struct Placement {
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    allow: BTreeSet<String>,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    labels: BTreeSet<LabelRule>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prefer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", with = "super::whole_millis::optional")]
    grace: Option<Duration>,
}

impl Placement {
    /// Anywhere.
    pub fn new() -> Self {
        Self::default()
    }

    /// Only this node, and others that are allowed so: the white list of other schedulers.
    pub fn allow_node(mut self, node: impl Into<String>) -> Self {
        self.allow.insert(node.into());
        self
    }

    /// Only nodes of which this is true; all such rules must be.
    pub fn require_label(mut self, rule: LabelRule) -> Self {
        self.labels.insert(rule);
        self
    }

    setters! {
        /// Rather this node: others take a fire only if that node is not alive or may not run it,
        /// or if the fire is later than the [grace](Placement::prefer_grace).
        pub fn prefer_node(node: impl Into<String>) { self.prefer = Some(node.into()) }

        /// The time for which a fire waits for the preferred node while that is alive. Default: one
        /// check-in interval (`org.quartz.jobStore.clusterCheckinInterval`).
        pub fn prefer_grace(grace: Duration) { self.grace = Some(grace) }
    }

    /// The nodes that are allowed; all if there is none.
    pub fn allowed(&self) -> impl Iterator<Item = &str> {
        self.allow.iter().map(String::as_str)
    }

    /// The rules that a node's labels must satisfy.
    pub fn labels(&self) -> impl Iterator<Item = &LabelRule> {
        self.labels.iter()
    }

    /// The node it would rather run on.
    pub fn preferred(&self) -> Option<&str> {
        self.prefer.as_deref()
    }

    /// The time for which a fire waits for the preferred node, if the placement names it.
    pub fn grace(&self) -> Option<Duration> {
        self.grace
    }

    /// True if the placement restricts nothing.
    pub fn is_anywhere(&self) -> bool {
        self.allow.is_empty() && self.labels.is_empty() && self.prefer.is_none()
    }

    pub(crate) fn check(&self) -> Result<()> {
        if self.allow.len() > MOST || self.labels.len() > MOST {
            let found = format!("{} nodes and {} labels", self.allow.len(), self.labels.len());
            return Err(Error::invalid("placement", found, format!("expected at most {MOST} of each")));
        }
        self.allow.iter().try_for_each(|name| check_name("allowed node", name))?;
        self.prefer.iter().try_for_each(|name| check_name("preferred node", name))?;
        if let (Some(grace), None) = (self.grace, &self.prefer) {
            return Err(Error::invalid("grace of a preferred node", format!("{grace:?}"), "expected a preferred node"));
        }
        Ok(())
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if !self.allow.is_empty() {
            parts.push(format!("only {}", self.allow.iter().map(String::as_str).collect::<Vec<_>>().join(", ")));
        }
        if !self.labels.is_empty() {
            let rules: Vec<String> = self.labels.iter().map(ToString::to_string).collect();
            parts.push(format!("labels {}", rules.join(", ")));
        }
        if let Some(node) = &self.prefer {
            parts.push(format!("prefers {node}"));
        }
        f.write_str(&if parts.is_empty() { "anywhere".to_owned() } else { parts.join("; ") })
    }
}

/// Something that must be true of a node's labels: `gpu` (there is such a label), `zone=eu` (it has
/// this value), `!spot` (there is none), `!zone=us` (it does not have this value).
///
/// ```
/// use carnelian::node::Labels;
/// use carnelian::placement::LabelRule;
///
/// let labels: Labels = "zone=eu, gpu=yes".parse().unwrap();
/// for (rule, holds) in [("gpu", true), ("zone=eu", true), ("zone=us", false), ("!spot", true), ("!zone=eu", false)] {
///     assert_eq!(rule.parse::<LabelRule>()?.holds_for(&labels), holds, "{rule}");
/// }
/// assert!("!".parse::<LabelRule>().is_err());
/// # Ok::<(), carnelian::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LabelRule {
    forbids: bool,
    name: String,
    value: Option<String>,
}

impl LabelRule {
    /// True if the labels satisfy the rule.
    pub fn holds_for(&self, labels: &Labels) -> bool {
        let found = labels.get(&self.name);
        let is_so = match &self.value {
            Some(value) => found == Some(value),
            None => found.is_some(),
        };
        is_so != self.forbids
    }
}

impl FromStr for LabelRule {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (forbids, rest) = match text.trim().strip_prefix('!') {
            Some(rest) => (true, rest.trim()),
            None => (false, text.trim()),
        };
        let (name, value) = match rest.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim())),
            None => (rest, None),
        };
        // A label that no node can have is a typing error.
        Labels::new([(name, value.unwrap_or_default())]).map_err(|why| {
            Error::invalid("label rule", text, format!("expected gpu, zone=eu, !spot or !zone=us: {why}"))
        })?;
        Ok(Self { forbids, name: name.to_owned(), value: value.map(str::to_owned) })
    }
}

impl fmt::Display for LabelRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let not = if self.forbids { "!" } else { "" };
        match &self.value {
            Some(value) => write!(f, "{not}{}={value}", self.name),
            None => write!(f, "{not}{}", self.name),
        }
    }
}

impl TryFrom<String> for LabelRule {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<LabelRule> for String {
    fn from(rule: LabelRule) -> Self {
        rule.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A node that passed it over would run the job where it must not.
    #[test]
    fn a_constraint_of_a_later_version_cannot_be_read() {
        let read = |text: &str| serde_json::from_str::<Placement>(text);
        assert!(read(r#"{"allow": ["a"]}"#).is_ok() && read(r#"{"zones": ["eu"]}"#).is_err());
    }

    #[test]
    fn a_placement_that_makes_no_sense_is_refused() {
        assert!(Placement::new().allow_node("").check().is_err());
        assert!(Placement::new().prefer_grace(Duration::ZERO).check().is_err());
        assert!(Placement::new().prefer_node("a").prefer_grace(Duration::ZERO).check().is_ok());
        let many = (0..65).fold(Placement::new(), |placement, n| placement.allow_node(format!("n{n}")));
        assert!(many.check().unwrap_err().to_string().contains("65 nodes"));
        for text in ["", "!", "a b", "zone=x,y", "-a"] {
            assert!(text.parse::<LabelRule>().unwrap_err().to_string().contains("zone=eu"), "{text}");
        }
    }
}
