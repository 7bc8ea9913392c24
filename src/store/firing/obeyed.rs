//! Orders to stop that the node of a run had not read when the run ended: its work goes on in no
//! other fire.

use super::Completion;
use crate::error::{Result, storable};
use crate::job::FireOutcome;
use crate::store::Session;
use crate::store::stop_orders::StopOrders;
use std::borrow::Cow;

/// These ends as the orders have them. Only for work that would go on are orders read.
pub(super) fn obeyed<'c>(s: &mut dyn Session, completions: &'c [Completion]) -> Result<Cow<'c, [Completion]>> {
    let goes_on = completions.iter().filter(|c| c.rerun.is_some());
    let orders = StopOrders::of(s, &goes_on.map(|c| c.fire_id.clone()).collect::<Vec<_>>())?;
    if orders.is_empty() {
        return Ok(Cow::Borrowed(completions));
    }
    let mut ends = completions.to_vec();
    for end in &mut ends {
        let Some(told) = orders.told(&end.fire_id) else { continue };
        let own = end.ending.error.take();
        end.ending.error = Some(own.map_or_else(|| told.clone(), |own| storable(&format!("{told}: {own}"), 2000)));
        end.ending.outcome = FireOutcome::Cancelled;
        (end.rerun, end.has_stop_order) = (None, true);
    }
    Ok(Cow::Owned(ends))
}
