//! `drain`, `undrain`, `blacklist`, `limit`: which nodes take no work, and how much of a group runs
//! at a time; and the options that say where a job may run.

use crate::actions::person;
use crate::failure::Outcome;
use crate::output::{Output, or_dash, time};
use crate::page::Paging;
use crate::value::{self, With};
use carnelian::placement::{BlacklistEntry, BlacklistRow, LabelRule, LimitRow, Placement, Strategy};
use carnelian::store::JobStore;
use carnelian::store::row::BlacklistKind;
use clap::{Args, Subcommand};
use serde_json::json;
use std::time::Duration;

// On which nodes a job may run; as a doc comment it would be the help of the command.
#[derive(Args, Default)]
#[command(next_help_heading = "Placement")]
pub struct PlacementFlags {
    /// Runs on this node only, by its instance id or node name; may be repeated. Not beside nodes
    /// of Quartz, unless --force
    #[arg(long, value_name = "NODE")]
    pub allow_node: Vec<String>,
    /// Runs only on nodes with this label: `gpu`, `zone=eu`, `!spot`, `!zone=us`; may be repeated.
    /// Not beside nodes of Quartz, unless --force
    #[arg(long, value_name = "RULE")]
    pub require_label: Vec<LabelRule>,
    /// Runs elsewhere only if this node is not alive or may not run it, or the fire is late. Not
    /// beside nodes of Quartz, unless --force
    #[arg(long, value_name = "NODE")]
    pub prefer_node: Option<String>,
    /// With --prefer-node: how late [default: one check-in interval]
    #[arg(long, value_name = "DUR", requires = "prefer_node", value_parser = value::duration)]
    pub prefer_grace: Option<Duration>,
    /// The nodes that run each tick: preempt for one, broadcast for all that may run the job,
    /// sharded for all with a share each, or the name of a strategy of the program's own. Others
    /// than preempt not beside nodes of Quartz, unless --force
    #[arg(long, value_name = "NAME", default_value = "preempt")]
    pub strategy: Strategy,
}

// The person who gives an order about nodes or groups.
#[derive(Args)]
pub struct Who {
    /// The name of the operator, for people [default: the actor in the log of actions]
    #[arg(long, value_name = "TEXT")]
    who: Option<String>,
}

impl Who {
    fn name(&self, store: &JobStore) -> String {
        self.who.clone().unwrap_or_else(|| person(store.settings()))
    }
}

#[derive(Args)]
pub struct Drain {
    /// The node's instance id or node name
    pub node: String,
    /// Asks the node's runs to stop; otherwise they go on
    #[arg(long)]
    pub stop: bool,
    #[command(flatten)]
    pub who: Who,
}

#[derive(Subcommand)]
pub enum BlacklistCommand {
    /// The node takes no work from its next check-in on; what it runs goes on
    Add {
        /// The node's instance id or node name
        node: String,
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        /// For how long [default: until it is removed]
        #[arg(long = "for", value_name = "DUR", value_parser = value::duration)]
        lasting: Option<Duration>,
        #[command(flatten)]
        who: Who,
    },
    /// The node takes work again; exit code 1 if it is not there
    Remove { node: String },
    /// The nodes that take no work: on the blacklist, or drained
    List {
        #[command(flatten)]
        paging: Paging,
    },
}

#[derive(Subcommand)]
pub enum LimitCommand {
    /// At most so many runs of the jobs of a group
    #[command(group = clap::ArgGroup::new("bound").required(true).multiple(true).args(["per_node", "per_cluster"]))]
    Set {
        /// The group of the jobs
        group: String,
        /// On each node
        #[arg(long, value_name = "N")]
        per_node: Option<u32>,
        /// In the cluster
        #[arg(long, value_name = "N")]
        per_cluster: Option<u32>,
        #[command(flatten)]
        who: Who,
    },
    /// As many runs of the group as there are workers; exit code 1 if there is no limit
    Remove { group: String },
    /// All limits
    List {
        #[command(flatten)]
        paging: Paging,
    },
}

/// The placement that the options describe.
pub fn placement(flags: &PlacementFlags) -> Placement {
    let placement = flags.allow_node.iter().fold(Placement::new(), Placement::allow_node);
    let placement = flags.require_label.iter().cloned().fold(placement, Placement::require_label);
    placement.with(flags.prefer_node.as_ref(), Placement::prefer_node).with(flags.prefer_grace, Placement::prefer_grace)
}

/// Has a node take no work.
pub fn drain(store: &JobStore, output: Output, options: &Drain) -> Outcome {
    let Drain { node, stop, who } = options;
    warn_if_unknown(store, output, node)?;
    store.placement().drain(node, *stop, &who.name(store))?;
    let runs = if *stop { "is asked to stop" } else { "goes on" };
    output.done(
        json!({"node": node, "drained": true, "stop": stop}),
        &format!("{node} takes no work from its next check-in on; what it runs {runs}"),
    )
}

/// Warns of an order about a node that nobody knows.
fn warn_if_unknown(store: &JobStore, output: Output, node: &str) -> Outcome {
    if !store.upkeep().instances()?.iter().any(|known| known.is_named(node)) {
        output.warn(&format!("no node `{node}` has checked in: one of that name takes no work when it comes"));
    }
    Ok(())
}

/// Ends a drain; exit code 1 if there is none.
pub fn undrain(store: &JobStore, output: Output, node: &str) -> Outcome {
    let ended = store.placement().undrain(node)?;
    let text = match ended {
        true => format!("{node} takes work again from its next check-in on"),
        false => format!("{node} is not drained"),
    };
    output.verdict(json!({"node": node, "drained": false, "was_drained": ended}), &text, ended)
}

/// Runs one of the `blacklist` commands.
pub fn blacklist(store: &JobStore, output: Output, command: &BlacklistCommand) -> Outcome {
    match command {
        BlacklistCommand::Add { node, reason, lasting, who } => {
            warn_if_unknown(store, output, node)?;
            let entry = BlacklistEntry::new(node)
                .with(reason.as_ref(), BlacklistEntry::reason)
                .with(*lasting, BlacklistEntry::lasting);
            store.placement().blacklist(&entry, &who.name(store))?;
            let text = format!("{node} is on the blacklist: it takes no work from its next check-in on");
            output.done(json!({"node": node, "blacklisted": true}), &text)
        }
        BlacklistCommand::Remove { node } => {
            let removed = store.placement().unblacklist(node)?;
            let text = match removed {
                true => format!("{node} is off the blacklist: it takes work from its next check-in on"),
                false => format!("{node} is not on the blacklist"),
            };
            output.verdict(json!({"node": node, "blacklisted": false, "was_there": removed}), &text, removed)
        }
        BlacklistCommand::List { paging } => list_bars(store, output, paging),
    }
}

/// Runs one of the `limit` commands.
pub fn limit(store: &JobStore, output: Output, command: &LimitCommand) -> Outcome {
    match command {
        LimitCommand::Set { group, per_node, per_cluster, who } => {
            store.placement().set_group_limit(group, *per_node, *per_cluster, &who.name(store))?;
            let text = format!("group {group} is limited, on each node from its next check-in on");
            output.done(json!({"group": group, "per_node": per_node, "per_cluster": per_cluster}), &text)
        }
        LimitCommand::Remove { group } => {
            let removed = store.placement().remove_group_limit(group)?;
            let text = match removed {
                true => format!("group {group} is not limited any longer"),
                false => format!("group {group} has no limit"),
            };
            output.verdict(json!({"group": group, "removed": removed}), &text, removed)
        }
        LimitCommand::List { paging } => list_limits(store, output, paging),
    }
}

fn list_bars(store: &JobStore, output: Output, paging: &Paging) -> Outcome {
    let now_ms = store.now_ms()?;
    let bars = store.placement().blacklist_rows()?;
    let part = paging.cut(bars, |entry| [entry.node.clone(), entry.kind.name().to_owned()])?;
    let is_over = |entry: &BlacklistRow| entry.until_ms.is_some_and(|until_ms| until_ms <= now_ms);
    let document = |entry: &BlacklistRow| {
        json!({
            "node": entry.node,
            "kind": entry.kind.name(),
            "stop": entry.kind == BlacklistKind::DrainAndStop,
            "reason": entry.reason,
            "who": entry.who,
            "until_ms": entry.until_ms,
            "made_ms": entry.made_ms,
            "is_over": is_over(entry),
        })
    };
    let heading = ["NODE", "KIND", "BY", "SINCE", "UNTIL", "REASON"];
    output.part("every node takes work", heading, &part, document, |entry| {
        let until = match entry.until_ms {
            Some(until_ms) if is_over(entry) => format!("over since {}", time(Some(until_ms))),
            until_ms => time(until_ms),
        };
        let (kind, reason) = (entry.kind.name().to_owned(), entry.reason.clone().unwrap_or_default());
        [entry.node.clone(), kind, entry.who.clone(), time(Some(entry.made_ms)), until, reason]
    })
}

fn list_limits(store: &JobStore, output: Output, paging: &Paging) -> Outcome {
    let part = paging.cut(store.placement().group_limits()?, |limit| [limit.group.clone()])?;
    let document = |limit: &LimitRow| {
        json!({
            "group": limit.group,
            "per_node": limit.per_node,
            "per_cluster": limit.per_cluster,
            "who": limit.who,
            "made_ms": limit.made_ms,
        })
    };
    let heading = ["GROUP", "PER NODE", "PER CLUSTER", "BY", "SINCE"];
    output.part("no group is limited", heading, &part, document, |limit| {
        let (per_node, per_cluster) = (or_dash(limit.per_node), or_dash(limit.per_cluster));
        [limit.group.clone(), per_node, per_cluster, limit.who.clone(), time(Some(limit.made_ms))]
    })
}
