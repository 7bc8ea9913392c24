//! The places of an operation at which a test lets something fail: all, or each so many of them.

/// The step that `CARNELIAN_FAULTS_EVERY` asks for.
pub fn asked_step() -> Option<u64> {
    std::env::var("CARNELIAN_FAULTS_EVERY").ok()?.parse().ok().filter(|step| *step > 0)
}

/// A tenth of a step, for what is cheap or rare.
pub fn tenth(step: u64) -> u64 {
    step.div_ceil(10)
}

/// All operations; with a step of 40 each second one, with a step of 60 each third, and so on, the
/// first of them drawn at random.
pub fn operations<T>(all: Vec<T>) -> impl Iterator<Item = T> {
    let stride = asked_step().map_or(1, |step| step / 20).max(1);
    all.into_iter().skip(drawn_below(stride)).step_by(small(stride))
}

/// Each `step`-th of `all` places, the first of them drawn at random: over many runs no place is
/// left out. Each single one with a step of 1; the place after the last is then among them, where
/// nothing may fail.
pub fn places(all: u64, step: u64) -> impl Iterator<Item = u64> {
    let last = if step == 1 { all + 1 } else { all };
    (1..=last).skip(drawn_below(step.min(all).max(1))).step_by(small(step))
}

fn drawn_below(bound: u64) -> usize {
    small(u64::from(getrandom::u32().expect("the system has random numbers")) % bound)
}

fn small(number: u64) -> usize {
    usize::try_from(number).expect("a small number")
}
