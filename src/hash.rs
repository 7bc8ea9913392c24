//! The hash of the crate, FNV-1a: equal on all machines and in all versions, so that it can be
//! stored, and for maps in memory.

use std::fmt::Display;
use std::hash::{BuildHasherDefault, Hasher};

/// A map with cheaper look-ups than the standard library's, whose hash withstands keys that an
/// attacker chooses. No stranger chooses these keys, and each fire looks up a dozen. The order of
/// its entries is the same each time, so that a simulation can be repeated.
pub(crate) type HashMap<K, V> = std::collections::HashMap<K, V, BuildHasherDefault<Fnv1a>>;
/// A set of that kind.
pub(crate) type HashSet<T> = std::collections::HashSet<T, BuildHasherDefault<Fnv1a>>;

/// FNV-1a of 64 bits.
pub(crate) struct Fnv1a(u64);

impl Default for Fnv1a {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv1a {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3));
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// FNV-1a of 64 bits: equal on every machine and in every version, unlike the hashes of the
/// standard library.
pub(crate) fn fnv1a(bytes: impl IntoIterator<Item = u8>) -> u64 {
    let mut hash = Fnv1a::default();
    bytes.into_iter().for_each(|byte| hash.write(&[byte]));
    hash.finish()
}

/// FNV-1a of 32 bits, for the ids of fires, which are short.
pub(crate) fn fnv1a_32(bytes: impl IntoIterator<Item = u8>) -> u32 {
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    bytes.into_iter().fold(0x811c_9dc5, step)
}

/// A number drawn by a seed. Equal seeds give equal numbers. Similar seeds give numbers that lie
/// far apart, which FNV-1a alone does not.
pub(crate) fn drawn(seed: impl Display) -> u64 {
    let hash = fnv1a(seed.to_string().bytes());
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^ (hash >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stored names hang on these values, which are those of the hash's authors.
    #[test]
    fn fnv_is_that_of_its_authors() {
        assert_eq!(fnv1a([]), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(*b"foobar"), 0x8594_4171_f739_67e8);
        assert_eq!(fnv1a_32([]), 0x811c_9dc5);
        assert_eq!(fnv1a_32(*b"foobar"), 0xbf9c_f968);
    }
}
