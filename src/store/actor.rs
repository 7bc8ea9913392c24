//! `Actor`: on whose behalf a store acts.

use crate::error::storable;
use std::sync::Arc;

/// The actor on whose behalf a store acts, and the node through which.
#[derive(Clone, Debug)]
pub(super) struct Actor {
    pub(super) name: String,
    pub(super) node: String,
    /// True for a person; a program that triggers its own jobs does ordinary scheduling.
    pub(super) is_person: bool,
}

impl Actor {
    pub(super) fn program(name: &str, node: &str) -> Arc<Self> {
        Arc::new(Self { name: name.to_owned(), node: node.to_owned(), is_person: false })
    }

    pub(super) fn person(name: &str, node: &str) -> Arc<Self> {
        Arc::new(Self { name: storable(name, 250), node: storable(node, 190), is_person: true })
    }
}
