//! The places of an operation at which a test lets something fail: all, or each so many of them.

/// The step that `CARNELIAN_FAULTS_EVERY` asks for.
pub fn asked_step() -> Option<u64> {
    std::env::var("CARNELIAN_FAULTS_EVERY").ok()?.parse().ok().filter(|step| *step > 0)
}

/// A tenth of a step, for what is cheap or rare.
pub fn tenth(step: u64) -> u64 {
    step.div_ceil(10)
}

/// Each `step`-th of `all` places, the first of them drawn at random: over many runs no place is
/// left out. Each single one with a step of 1; the place after the last is then among them, where
/// nothing may fail.
pub fn places(all: u64, step: u64) -> impl Iterator<Item = u64> {
    let random = u64::from(getrandom::u32().expect("the system has random numbers"));
    let first = 1 + random % step.min(all).max(1);
    let beyond = u64::from(step == 1);
    (if step == 1 { 1 } else { first }..=all + beyond).step_by(usize::try_from(step).expect("a small step"))
}
