//! `StopOrders`: the orders to stop of fires that end otherwise than by a node that has read them.
//! An order outlives the node of its run: the work of such a run is over.

use super::Session;
use super::row::CancelRow;
use crate::error::Result;
use crate::hash::HashMap;
use crate::job::FireOutcome;

/// The first words of orders to stop that a pause has given.
const ORDER_OF_PAUSE: &str = "pause: ";

/// The order to stop that a pause gives in this name.
pub(super) fn order_of_pause(who: &str) -> String {
    format!("{ORDER_OF_PAUSE}{who}")
}

/// An order to stop was given by a pause.
pub(crate) fn is_order_of_pause(who: &str) -> bool {
    who.starts_with(ORDER_OF_PAUSE)
}

/// The authors of orders to stop, by the fires.
#[derive(Clone, Debug, Default)]
pub(super) struct StopOrders(HashMap<String, String>);

impl StopOrders {
    /// The orders for these fires, read by one statement; by none if there are no fires.
    pub(super) fn of(s: &mut dyn Session, fire_ids: &[String]) -> Result<Self> {
        if fire_ids.is_empty() {
            return Ok(Self::default());
        }
        let rows: Vec<CancelRow> = s.rows().any_of(&["fire_id"], fire_ids).list()?;
        Ok(Self(rows.into_iter().map(|row| (row.fire_id, row.who)).collect()))
    }

    /// As [`StopOrders::of`], of fires whose rows are gone by now: their orders go too.
    pub(super) fn take(s: &mut dyn Session, fire_ids: &[String]) -> Result<Self> {
        let orders = Self::of(s, fire_ids)?;
        if !orders.is_empty() {
            s.rows::<CancelRow>().any_of(&["fire_id"], fire_ids).delete()?;
        }
        Ok(orders)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Somebody wants this fire to stop.
    pub(super) fn has(&self, fire_id: &str) -> bool {
        self.0.contains_key(fire_id)
    }

    /// The outcome of a fire that was lost with its node.
    pub(super) fn outcome_of_lost(&self, fire_id: &str) -> FireOutcome {
        if self.has(fire_id) { FireOutcome::Cancelled } else { FireOutcome::Lost }
    }

    /// The cause and the author of the order for this fire, as the history tells them.
    pub(super) fn told(&self, fire_id: &str) -> Option<String> {
        let who = self.0.get(fire_id)?;
        Some(match who.strip_prefix(ORDER_OF_PAUSE) {
            Some(who) => format!("paused: {who} asked it to stop"),
            None => format!("cancelled: {who} asked it to stop"),
        })
    }
}
