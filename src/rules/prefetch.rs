//! Taking ahead: which fires, and how many, a node may take of a backlog beyond its free workers.

use crate::hash::HashMap;
use std::collections::BTreeSet;
use std::time::Duration;

/// The part that is left of the longest run of a type after each further one: 7 parts of 8. A run
/// of three seconds is forgotten after 43 short ones, a hiccup of 40 ms after six.
const KEPT: (u32, u32) = (7, 8);

/// The recent duration of the runs of each job type on this node.
#[derive(Debug, Default)]
pub(crate) struct RunTimes {
    peaks: HashMap<String, Duration>,
}

impl RunTimes {
    /// A run of the type has ended.
    pub(crate) fn note(&mut self, job_type: &str, run: Duration) {
        match self.peaks.get_mut(job_type) {
            Some(peak) => *peak = run.max(*peak * KEPT.0 / KEPT.1),
            None => drop(self.peaks.insert(job_type.to_owned(), run)),
        }
    }

    /// The types of which a run is known, and no recent one that took longer than this.
    pub(crate) fn short(&self, allowed: Duration) -> BTreeSet<String> {
        self.peaks.iter().filter(|(_, peak)| **peak <= allowed).map(|(name, _)| name.clone()).collect()
    }
}

/// The room that a node has for fires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Room {
    /// Workers with nothing to do.
    pub(crate) free: usize,
    /// The number of fires that may wait for a worker.
    pub(crate) ahead: usize,
    /// Workers that are free or will be soon: no job is on them that may be long.
    pub(crate) quick: usize,
}

/// For whom a fire is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A worker that is free.
    Worker,
    /// The next worker that is done with a short job.
    Queue,
}

impl Room {
    /// Room for so many fires, whatever their jobs.
    pub(crate) fn of_workers(free: usize) -> Self {
        Self { free, ahead: 0, quick: free }
    }

    /// Room beside so many fires, of which so many are of jobs that may be long. Only as many wait
    /// for workers as those are soon done with that have short jobs.
    pub(crate) fn beside(workers: usize, window: usize, fires: usize, long: usize) -> Self {
        let quick = workers.saturating_sub(long);
        let window = window.saturating_mul(quick).checked_div(workers).unwrap_or(0);
        let waiting = fires.saturating_sub(workers);
        Self { free: workers.saturating_sub(fires), ahead: window.saturating_sub(waiting), quick }
    }

    /// The number of fires that there is room for, if they are short.
    pub(crate) fn size(&self) -> usize {
        self.free.saturating_add(if self.quick > 0 { self.ahead } else { 0 })
    }

    /// The place of the next fire, if there is one for it: a job that may be long gets a free
    /// worker or none.
    pub(crate) fn take(&mut self, is_short: bool) -> Option<Place> {
        let place = match (self.free, is_short && self.size() > 0) {
            (0, false) => return None,
            (0, true) => Place::Queue,
            _ => Place::Worker,
        };
        match place {
            Place::Worker => self.free -= 1,
            Place::Queue => self.ahead -= 1,
        }
        if !is_short {
            self.quick = self.quick.saturating_sub(1);
        }
        Some(place)
    }
}

/// The number of fires that may wait for a worker: as many as begin soon.
///
/// The duration of jobs is not known, so the window is found as that of a TCP connection is: it
/// doubles while all that began lately did so in time, shrinks in proportion when one did not, by
/// half at most, and closes when one was given back or the backlog is gone.
#[derive(Debug, Default)]
pub(crate) struct Window {
    pub(crate) size: usize,
    /// Until when it stays closed, in ticks.
    closed_until: Duration,
}

/// After fires were given back no fire is prefetched for so long. The long job types are known by
/// then.
const COOLING_TIME: Duration = Duration::from_secs(1);

/// A fire that no worker has begun after so long is given back in any case.
const MOST_PATIENCE: Duration = Duration::from_millis(500);

/// Jobs that run for less than this are no reason to give back what waits for their workers.
const LEAST_PATIENCE: Duration = Duration::from_millis(50);

/// For how long jobs run on all workers before what waits for these is given back: they run five
/// times as long as short ones may.
pub(crate) fn patience(allowed: Duration) -> Duration {
    allowed.saturating_mul(5).clamp(LEAST_PATIENCE, MOST_PATIENCE)
}

/// The time at which fires that wait are given back, in ticks: they were `handed` to the workers
/// then, and with jobs on all workers, `begun` is when the last of these began.
pub(crate) fn given_back_at(allowed: Duration, handed: Duration, begun: Option<Duration>) -> Duration {
    let latest = handed.saturating_add(MOST_PATIENCE);
    begun.map_or(latest, |begun| begun.max(handed).saturating_add(patience(allowed)).min(latest))
}

impl Window {
    /// After a batch that was as large as could be: `longest` is how long that fire waited for its
    /// worker that waited longest of those that began since the last one; none if none has, which
    /// says nothing.
    pub(crate) fn adapt(&mut self, longest: Option<Duration>, allowed: Duration, workers: usize, most: usize) {
        self.size = match longest {
            Some(longest) if longest <= allowed => self.size.saturating_mul(2).max(workers).min(most),
            // The window shrinks by as much as the wait was too long: halving would swing.
            Some(longest) => {
                let fits = self.size as u128 * allowed.as_nanos() / longest.as_nanos().max(1);
                usize::try_from(fits).unwrap_or(0).max(self.size / 2)
            }
            None => self.size.min(most),
        };
    }

    /// After a batch that brought all there was: so many wait, and twice as many are as much as is
    /// needed.
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

    #[test]
    fn a_job_that_may_be_long_gets_a_free_worker_or_none() {
        let take = |room: &mut Room, jobs: &[bool]| jobs.iter().map(|short| room.take(*short)).collect::<Vec<_>>();
        let (worker, queue) = (Some(Place::Worker), Some(Place::Queue));
        let mut room = Room::beside(5, 20, 3, 0);
        assert_eq!(room, Room { free: 2, ahead: 20, quick: 5 });
        assert_eq!(take(&mut room, &[false, true, false, true, true]), [worker, worker, None, queue, queue]);
        assert_eq!(room, Room { free: 0, ahead: 18, quick: 4 });
        // Ten long ones, due together on an idle node.
        let mut room = Room::beside(5, 100, 0, 0);
        assert_eq!(take(&mut room, &[false; 10]).iter().flatten().count(), 5);
        assert_eq!((room.size(), room.take(true)), (0, None), "nothing waits behind jobs that may all be long");
    }

    #[test]
    fn fewer_wait_where_long_jobs_have_workers() {
        assert_eq!(Room::beside(4, 40, 4, 3), Room { free: 0, ahead: 10, quick: 1 });
        assert_eq!(Room::beside(4, 40, 12, 3), Room { free: 0, ahead: 2, quick: 1 });
        assert_eq!(Room::beside(4, 40, 4, 4).size(), 0);
        assert_eq!(Room::beside(4, 0, 1, 0).size(), 3);
        assert_eq!(Room::beside(0, 40, 0, 0).size(), 0);
    }

    #[test]
    fn a_type_is_short_while_its_own_recent_runs_were() {
        let mut times = RunTimes::default();
        let short = |times: &RunTimes| times.short(ALLOWED).into_iter().collect::<Vec<_>>();
        assert!(short(&times).is_empty(), "nothing is known of a type that has not run");
        times.note("quick", Duration::from_millis(1));
        times.note("slow", Duration::from_secs(3));
        assert_eq!(short(&times), ["quick"]);
        let forgotten = (1..).find(|_| {
            times.note("slow", Duration::from_millis(1));
            short(&times).len() == 2
        });
        assert_eq!(forgotten, Some(43));
        times.note("quick", Duration::from_millis(11));
        assert_eq!(short(&times), ["slow"]);
    }

    /// Twenty workers whose jobs take so long: how large the window becomes.
    fn settles(job: Duration, most: usize) -> (usize, usize) {
        let mut window = Window::default();
        let mut sizes = Vec::new();
        for round in 0..100 {
            let rounds = 1 + u32::try_from(window.size.div_ceil(20)).unwrap();
            window.adapt(Some(job * rounds), ALLOWED, 20, most);
            if round >= 20 {
                sizes.push(window.size);
            }
        }
        (*sizes.iter().min().unwrap(), *sizes.iter().max().unwrap())
    }

    #[test]
    fn as_much_waits_as_is_over_in_time() {
        assert_eq!(settles(Duration::from_micros(10), 500), (500, 500), "jobs that do nothing");
        assert_eq!(settles(Duration::from_millis(1), 500), (170, 340), "the last of 180 that wait is over after 10 ms");
        assert_eq!(settles(Duration::from_millis(8), 500), (0, 20));
        assert_eq!(settles(Duration::from_millis(11), 500), (0, 0), "nothing waits for longer jobs");
    }

    #[test]
    fn a_window_fits_what_waits_and_closes() {
        let mut window = Window::default();
        window.adapt(None, ALLOWED, 20, 30);
        assert_eq!(window.size, 0, "that nothing has ended says nothing");
        window.adapt(Some(Duration::ZERO), ALLOWED, 20, 30);
        window.adapt(Some(Duration::ZERO), ALLOWED, 20, 30);
        assert_eq!(window.size, 30);
        window.adapt(None, ALLOWED, 20, 30);
        assert_eq!(window.size, 30);
        window.fit(20);
        assert_eq!(window.size, 30);
        window.fit(6);
        assert_eq!(window.size, 12);
        window.close();
        assert_eq!((window.size, window.is_cooling(Duration::ZERO)), (0, false));
        window.adapt(Some(Duration::ZERO), ALLOWED, 20, 30);
        let now = Duration::from_secs(5);
        window.cool_down(now);
        assert_eq!((window.size, window.is_cooling(now)), (0, true));
        assert!(window.is_cooling(Duration::from_millis(5_999)) && !window.is_cooling(Duration::from_secs(6)));
    }

    #[test]
    fn what_waits_behind_jobs_that_are_no_longer_short_is_given_back_soon() {
        let ms = Duration::from_millis;
        let at = |allowed, begun: Option<u64>| given_back_at(ms(allowed), ms(1_000), begun.map(ms));
        assert_eq!(at(10, None), ms(1_500), "a worker has nothing to do, and has not begun it for other reasons");
        assert_eq!(at(10, Some(1_030)), ms(1_080));
        assert_eq!(at(10, Some(200)), ms(1_050), "what has been there for a moment only waits as others do");
        assert_eq!(at(40, Some(1_030)), ms(1_230));
        assert_eq!([at(10, Some(1_480)), at(1_000, Some(1_030))], [ms(1_500); 2]);
        assert_eq!(at(0, Some(1_030)), ms(1_080));
    }
}
