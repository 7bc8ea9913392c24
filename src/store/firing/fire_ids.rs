//! `FireIds`: the ids of fires, and what they tell.

use crate::hash::fnv1a_32;
use crate::store::Owner;

/// The ids of an owner's fires, `<hash of the instance>-<incarnation>-<fence>`: of bounded length,
/// never used twice, and carrying their own fence.
pub(super) struct FireIds {
    prefix: String,
}

impl FireIds {
    pub(super) fn of(owner: &Owner) -> Self {
        // For people who look for all fires of one instance, not for safety.
        let hash = fnv1a_32(owner.instance.bytes());
        Self { prefix: format!("{hash:08x}-{}-", owner.incarnation) }
    }

    pub(super) fn with(&self, fence: i64) -> String {
        let fence = fence.to_string();
        let mut id = String::with_capacity(self.prefix.len() + fence.len());
        id.push_str(&self.prefix);
        id.push_str(&fence);
        id
    }
}

/// The fence in a fire's id; none if it is not one of ours.
pub(super) fn fence_of(fire_id: &str) -> Option<i64> {
    fire_id.rsplit_once('-').and_then(|(_, fence)| fence.parse().ok())
}
