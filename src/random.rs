//! Random numbers: the only place where the operating system is asked for them.

use crate::error::{Error, Result};

#[cfg(feature = "test-util")]
pub use seeded::seed;

/// Fills `bytes` with random numbers.
///
/// # Errors
/// [`Error::Refused`] if the operating system gives none: without them nothing can be told apart
/// safely, and a fixed value would be a lie.
pub(crate) fn fill(bytes: &mut [u8]) -> Result<()> {
    #[cfg(feature = "test-util")]
    if seeded::fill(bytes) {
        return Ok(());
    }
    system(bytes).map_err(|why| Error::Refused(format!("the operating system gives no random numbers: {why}")))
}

/// Fills `bytes` through `rustix`, which the clock and the processes need in any case.
#[cfg(target_os = "linux")]
fn system(bytes: &mut [u8]) -> rustix::io::Result<()> {
    let mut left = bytes;
    while !left.is_empty() {
        let flags = rustix::rand::GetRandomFlags::empty();
        let filled = rustix::io::retry_on_intr(|| rustix::rand::getrandom(&mut *left, flags))?;
        left = left.get_mut(filled..).unwrap_or_default();
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
use getrandom::fill as system;

/// Sixteen random hexadecimal digits, never from a clock.
///
/// # Errors
/// [`Error::Refused`] if the operating system gives no random numbers.
pub(crate) fn hex() -> Result<String> {
    let mut bytes = [0; 8];
    fill(&mut bytes)?;
    Ok(format!("{:016x}", u64::from_be_bytes(bytes)))
}

/// A random share of a wait, from 0 to 1, so that nodes do not knock in step; a half if there are
/// no random numbers.
pub(crate) fn share() -> f64 {
    let mut bytes = [0; 4];
    match fill(&mut bytes) {
        Ok(()) => f64::from(u32::from_be_bytes(bytes)) / f64::from(u32::MAX),
        Err(_) => 0.5,
    }
}

/// Random numbers that a simulation can have again.
#[cfg(feature = "test-util")]
mod seeded {
    use std::cell::Cell;

    thread_local! {
        static STATE: Cell<Option<u64>> = const { Cell::new(None) };
    }

    /// From now on the random numbers of this thread follow from `seed`, or are the operating
    /// system's again.
    pub fn seed(seed: Option<u64>) {
        STATE.set(seed);
    }

    /// Fills `bytes` by the seed of this thread; false if it has none.
    pub(super) fn fill(bytes: &mut [u8]) -> bool {
        let Some(mut state) = STATE.get() else { return false };
        for chunk in bytes.chunks_mut(8) {
            // SplitMix64.
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            for (byte, value) in chunk.iter_mut().zip((mixed ^ (mixed >> 31)).to_be_bytes()) {
                *byte = value;
            }
        }
        STATE.set(Some(state));
        true
    }
}
