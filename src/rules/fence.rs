//! Fence: the number in the id of a fire, which grows with every fire.

/// The number of fences that are passed over where the last one is not known: beyond the largest
/// that is seen others may have been given out.
pub(crate) const FENCES_TO_SPARE: i64 = 1_000_000;

/// The fence in an id that one of our nodes made, `<hash>-<incarnation>-<fence>`: those of Quartz
/// end with numbers too.
pub(crate) fn own_fence(fire_id: &str) -> Option<i64> {
    let mut parts = fire_id.split('-');
    let (hash, incarnation, fence) = (parts.next()?, parts.next()?, parts.next()?);
    let is_hex = |text: &str, length| text.len() == length && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_ours = parts.next().is_none() && is_hex(hash, 8) && is_hex(incarnation, 16);
    fence.parse().ok().filter(|_| is_ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_quartz_carry_no_fence() {
        assert_eq!(own_fence("00c0ffee-0123456789abcdef-42"), Some(42));
        for id in ["node-11700000000000", "a-b-3", "host1700000000001", "00c0ffee-0123456789abcdef-42-7", ""] {
            assert_eq!(own_fence(id), None, "{id}");
        }
    }
}
