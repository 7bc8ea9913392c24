//! `FireIds`: the ids of fires, and what they tell.

use crate::hash::fnv1a_32;
use crate::rules::fence::own_fence;
use crate::store::Owner;
use std::fmt::Write;

/// The ids of an owner's fires, `<hash of the instance>-<incarnation>-<fence>`: of bounded length,
/// never used twice, and carrying their own fence.
///
/// The fence has leading zeros: ids of equal length come in the order in which they are drawn, and
/// an index of them grows at its end. In the order of texts each id of a new length is beside one
/// of the length before: pages would split all over the index, and a page that splits is written
/// whole into the log of the database.
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
        let mut id = String::with_capacity(self.prefix.len() + 8);
        id.push_str(&self.prefix);
        let _ = write!(id, "{fence:08}");
        id
    }
}

/// The fence in a fire's id; none if it is not one of ours.
pub(super) fn fence_of(fire_id: &str) -> Option<i64> {
    fire_id.rsplit_once('-').and_then(|(_, fence)| fence.parse().ok())
}

/// True if the id of a fire is one of ours, whatever a node of Quartz calls its own.
pub(in crate::store) fn is_fire_id(text: &str) -> bool {
    own_fence(text).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_quartz_are_told_from_ours() {
        let owner = Owner { instance: "n1".to_owned(), incarnation: "0123456789abcdef".to_owned() };
        assert!(is_fire_id(&FireIds::of(&owner).with(42)) && is_fire_id("00c0ffee-0123456789abcdef-42"));
        for theirs in ["node-11772366400000", "JAVA1772366400000", "a-b-1", "00c0ffee-0123456789abcdef-42-1", ""] {
            assert!(!is_fire_id(theirs), "{theirs}");
        }
    }

    #[test]
    fn ids_are_in_the_order_of_their_fences_and_carry_them() {
        let owner = Owner { instance: "n1".to_owned(), incarnation: "0123456789abcdef".to_owned() };
        let ids = FireIds::of(&owner);
        let fences = [1, 9, 10, 99, 100, 12_345_678, 99_999_999, 100_000_000, i64::MAX];
        let made: Vec<String> = fences.iter().map(|fence| ids.with(*fence)).collect();
        assert!(made[..7].is_sorted(), "{made:?}");
        assert_eq!(made.iter().map(|id| fence_of(id).unwrap()).collect::<Vec<_>>(), fences);
        assert_eq!(fence_of("00c0ffee-0123456789abcdef-42"), Some(42), "ids of earlier versions had no zeros");
    }
}
