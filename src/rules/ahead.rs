//! Taking ahead: how many fires a node may take of a backlog beyond its free workers.

use std::time::Duration;

/// How many fires may wait for a worker: as many as are over soon.
///
/// How long jobs take is not known, so this is found out as the window of a TCP connection is: it doubles while all that
/// ended were over in time, halves when one was not, and closes when one was given back or the backlog is gone.
#[derive(Debug, Default)]
pub(crate) struct Window {
    size: usize,
    /// Until when it stays closed, in ticks.
    closed_until: Duration,
}

/// After fires were given back none are taken ahead for so long: some jobs here are long.
const COOLING_TIME: Duration = Duration::from_secs(10);

impl Window {
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// After a batch that was as large as could be: `longest` is the time from hand-over to end of the slowest fire that has
    /// ended since the last one; none if none has, which says nothing.
    pub(crate) fn adapt(&mut self, longest: Option<Duration>, allowed: Duration, workers: usize, most: usize) {
        self.size = match longest {
            Some(longest) if longest <= allowed => self.size.saturating_mul(2).max(workers).min(most),
            Some(_) => self.size / 2,
            None => self.size.min(most),
        };
    }

    /// After a batch that brought all there was: so many wait, and twice as many are as much as is needed.
    pub(crate) fn fit(&mut self, waiting: usize) {
        self.size = self.size.min(waiting.saturating_mul(2));
    }

    /// Nothing waits from now on.
    pub(crate) fn close(&mut self) {
        self.size = 0;
    }

    /// Some were given back: it closes, and stays closed for a while.
    pub(crate) fn cool_down(&mut self, now: Duration) {
        self.close();
        self.closed_until = now.saturating_add(COOLING_TIME);
    }

    pub(crate) fn is_cooling(&self, now: Duration) -> bool {
        now < self.closed_until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALLOWED: Duration = Duration::from_millis(10);

    /// Twenty workers whose jobs take so long: how large the window becomes.
    fn settles(job: Duration, most: usize) -> (usize, usize) {
        let mut window = Window::default();
        let mut sizes = Vec::new();
        for round in 0..100 {
            let rounds = 1 + u32::try_from(window.size().div_ceil(20)).unwrap();
            window.adapt(Some(job * rounds), ALLOWED, 20, most);
            if round >= 20 {
                sizes.push(window.size());
            }
        }
        (*sizes.iter().min().unwrap(), *sizes.iter().max().unwrap())
    }

    #[test]
    fn as_much_waits_as_is_over_in_time() {
        assert_eq!(settles(Duration::from_micros(10), 500), (500, 500), "jobs that do nothing");
        assert_eq!(settles(Duration::from_millis(1), 500), (160, 320), "the last of 180 that wait is over after 10 ms");
        assert_eq!(settles(Duration::from_millis(8), 500), (0, 20));
        assert_eq!(settles(Duration::from_millis(11), 500), (0, 0), "nothing waits for longer jobs");
    }

    #[test]
    fn a_window_fits_what_waits_and_closes() {
        let mut window = Window::default();
        window.adapt(None, ALLOWED, 20, 30);
        assert_eq!(window.size(), 0, "that nothing has ended says nothing");
        window.adapt(Some(Duration::ZERO), ALLOWED, 20, 30);
        window.adapt(Some(Duration::ZERO), ALLOWED, 20, 30);
        assert_eq!(window.size(), 30);
        window.adapt(None, ALLOWED, 20, 30);
        assert_eq!(window.size(), 30);
        window.fit(20);
        assert_eq!(window.size(), 30);
        window.fit(6);
        assert_eq!(window.size(), 12);
        window.close();
        assert_eq!((window.size(), window.is_cooling(Duration::ZERO)), (0, false));
        window.adapt(Some(Duration::ZERO), ALLOWED, 20, 30);
        let now = Duration::from_secs(5);
        window.cool_down(now);
        assert_eq!((window.size(), window.is_cooling(now)), (0, true));
        assert!(window.is_cooling(Duration::from_secs(14)) && !window.is_cooling(Duration::from_secs(15)));
    }
}
