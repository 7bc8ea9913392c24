//! Beside Quartz: what is refused while one of its nodes is a member of the cluster.

use super::Catalogue;
use crate::error::{Error, Result};
use crate::job::{JobDetail, Strategy};
use crate::store::Session;
use crate::store::row::{InstanceSelection, JobRow, JobVersionRow};
use crate::trigger::{Policies, Schedule, Trigger};

impl Catalogue<'_> {
    /// Refuses jobs of types that no node of Quartz can load, while there is such a node.
    ///
    /// Quartz's nodes take every trigger that is due. One whose job's class they cannot load they
    /// put in `ERROR`, for every node, until a person resets it (H13).
    pub(in crate::store) fn check_types_beside_quartz(&self, s: &mut dyn Session, jobs: &[JobRow]) -> Result<()> {
        let Some(job) = jobs.iter().find(|job| !is_class_in_a_package(&job.job_type)) else { return Ok(()) };
        if self.store.settings.cluster.own_types_beside_quartz {
            return Ok(());
        }
        let Some(quartz) = node_of_quartz(s)? else { return Ok(()) };
        Err(Error::Refused(format!(
            "job `{}` is of type `{}`, which names no Java class in a package, and `{}` is a node of Quartz: it would put \
             the job's triggers in ERROR; name the type like the Java class, use another scheduler name for jobs that \
             only Rust nodes have, or set carnelian.cluster.ownTypesBesideQuartz",
            job.key, job.job_type, quartz
        )))
    }

    /// Refuses jobs whose data are of a later version than the first, while there is a node of
    /// Quartz: it knows nothing of versions, and takes every trigger that is due.
    pub(in crate::store) fn check_versions_beside_quartz(
        &self,
        s: &mut dyn Session,
        versions: &[JobVersionRow],
    ) -> Result<()> {
        let Some(row) = versions.iter().find(|row| row.version > 1) else { return Ok(()) };
        let Some(quartz) = node_of_quartz(s)? else { return Ok(()) };
        Err(Error::Refused(format!(
            "the data of job `{}` would be of version {}, and `{quartz}` is a node of Quartz, which knows nothing of \
             versions and takes every job: wait until no node of Quartz is left, or use another scheduler name",
            row.job, row.version
        )))
    }

    /// Refuses jobs that run on several nodes, while there is a node of Quartz, unless it is
    /// forced: such a node takes every trigger, and runs it alone.
    pub(in crate::store) fn check_strategies_beside_quartz(s: &mut dyn Session, jobs: &[&JobDetail]) -> Result<()> {
        let spreads =
            |job: &&&JobDetail| !job.even_beside_quartz && *job.policy().execution_strategy() != Strategy::Preempt;
        let Some(job) = jobs.iter().find(spreads) else { return Ok(()) };
        let Some(quartz) = node_of_quartz(s)? else { return Ok(()) };
        Err(Error::Refused(format!(
            "job `{}` has the strategy {}, which Quartz does not know, and `{quartz}` is a node of Quartz: it would run ticks \
             and parts of other nodes alone; use preempt, wait until no node of Quartz is left, use another scheduler \
             name, or force it (JobDetailBuilder::even_beside_quartz, `--force`)",
            job.key(),
            job.policy().execution_strategy()
        )))
    }

    /// Refuses jobs with a placement, while there is a node of Quartz, unless it is forced: such a
    /// node takes every trigger.
    pub(in crate::store) fn check_placements_beside_quartz(s: &mut dyn Session, jobs: &[&JobDetail]) -> Result<()> {
        let placed = |job: &&&JobDetail| !job.even_beside_quartz && job.policy().placed().is_some();
        let Some(job) = jobs.iter().find(placed) else { return Ok(()) };
        let Some(quartz) = node_of_quartz(s)? else { return Ok(()) };
        Err(Error::Refused(format!(
            "job `{}` has a placement ({}), which Quartz does not know, and `{quartz}` is a node of Quartz: it would run the \
             job too; leave the placement out, wait until no node of Quartz is left, use another scheduler name, or force \
             it (JobDetailBuilder::even_beside_quartz, `--force`)",
            job.key(),
            job.policy().placed().map(ToString::to_string).unwrap_or_default()
        )))
    }
}

/// Refuses triggers with options while there is a node of Quartz: such a node fires every trigger,
/// and by its own rules. And recurrences, at which whatever a Java program asks of it would fail
/// that loads them.
pub(super) fn check_triggers_beside_quartz<'a>(
    s: &mut dyn Session,
    mut triggers: impl Iterator<Item = &'a Trigger>,
) -> Result<()> {
    let ours = |trigger: &&Trigger| {
        matches!(trigger.schedule, Schedule::Recurrence(_))
            || !trigger.schedule.options().is_empty()
            || trigger.policies != Policies::default()
    };
    let Some(trigger) = triggers.find(ours) else { return Ok(()) };
    let Some(quartz) = node_of_quartz(s)? else { return Ok(()) };
    let why = match trigger.schedule.options().first() {
        Some(option) => format!(
            "has the option `{}`, which Quartz does not know, and `{quartz}` is a node of Quartz: it would fire the \
             trigger at other times; leave the option out",
            option.name()
        ),
        None if trigger.policies != Policies::default() => format!(
            "has the policy `{}`, which Quartz does not know, and `{quartz}` is a node of Quartz: it would not heed it; \
             leave the policy out",
            trigger.policies.words().join(", ")
        ),
        None => format!(
            "is a recurrence, which Quartz does not know, and `{quartz}` is a node of Quartz: it could not read the \
             trigger; use another kind"
        ),
    };
    let key = &trigger.key;
    Err(Error::Refused(format!(
        "trigger `{key}` {why}, wait until no node of Quartz is left, or use another scheduler name"
    )))
}

/// The name of a node of Quartz that is a member of the cluster.
fn node_of_quartz(s: &mut dyn Session) -> Result<Option<String>> {
    Ok(s.instances(InstanceSelection::All)?
        .into_iter()
        .find(|member| member.incarnation.is_none())
        .map(|member| member.name))
}

/// True if the job type may be a class that Java nodes have, such as `com.acme.Report` or
/// `com.acme.Jobs$Report`.
pub(super) fn is_class_in_a_package(job_type: &str) -> bool {
    let is_start = |c: char| c.is_alphabetic() || c == '_' || c == '$';
    let is_identifier =
        |part: &str| part.starts_with(is_start) && part.chars().all(|c| is_start(c) || c.is_alphanumeric());
    job_type.contains('.') && job_type.split('.').all(is_identifier)
}

#[cfg(test)]
mod tests {
    use super::is_class_in_a_package;

    #[test]
    fn a_class_of_java_is_told_from_other_names() {
        for class in ["com.acme.Report", "demo.append", "com.acme.Jobs$Report", "a._b.C1", "münchen.Bericht"] {
            assert!(is_class_in_a_package(class), "{class}");
        }
        for other in ["command", "send-mail", "com.acme.", ".Report", "com..Report", "com.1st.Report", "a.b c", ""] {
            assert!(!is_class_in_a_package(other), "{other}");
        }
    }
}
