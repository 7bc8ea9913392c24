//! Orders to stop that the node of a run had not read when the run ended: its work goes on in no
//! other fire.

use super::Completion;
use crate::error::{Result, storable};
use crate::job::FireOutcome;
use crate::store::Session;
use crate::store::stop_orders::StopOrders;

/// Makes of these ends what the orders have them be. Only for work that would go on are orders
/// read: this transaction holds the rows of those fires, so that no order comes after the look.
pub(super) fn apply_stop_orders(s: &mut dyn Session, ends: &mut [Completion]) -> Result<()> {
    let goes_on = ends.iter().filter(|end| end.rerun.is_some());
    let orders = StopOrders::of(s, &goes_on.map(|end| end.fire_id.clone()).collect::<Vec<_>>())?;
    for end in ends {
        let Some(told) = orders.told(&end.fire_id) else { continue };
        let own = end.ending.error.take();
        end.ending.error = Some(own.map_or_else(|| told.clone(), |own| storable(&format!("{told}: {own}"), 2000)));
        end.ending.outcome = FireOutcome::Cancelled;
        (end.rerun, end.has_stop_order) = (None, true);
    }
    Ok(())
}
