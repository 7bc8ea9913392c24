//! `Service`: one pass of background work; and the one loop that knows threads, waiting, back-off
//! and the end.

use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::listener::{guarded, lifecycle_log};
use crate::random;
use crate::scheduler::health::{ServiceRecord, ServiceState};
use crate::signal::{Signal, Woken};
use std::sync::Arc;
use std::thread::{JoinHandle, ThreadId};
use std::time::Duration;

/// The wish of a service after a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Another pass at once.
    Now,
    /// A pass when the clock's ticks reach this, or when signalled.
    At(Duration),
    /// A pass when signalled.
    WhenSignalled,
    /// No further pass.
    Stop,
}

/// Background work, one pass at a time.
pub(crate) trait Service: Send {
    /// One pass. A service never waits in it for anything but the store.
    fn run_once(&mut self) -> Result<Next>;

    /// The wait between two passes: until the signal, until this time in ticks, or until something
    /// comes that the service knows of.
    fn wait(&mut self, clock: &dyn Clock, signal: &Signal, until: Option<Duration>) -> Woken {
        clock.wait(signal, until)
    }

    /// The end of each pass, with what came of it.
    fn passed(&mut self, _outcome: &Result<Next>) {}

    /// The longest wait after a failed pass, where the settings say this one.
    fn longest_retry(&self, settings: Duration) -> Duration {
        settings
    }

    /// Last words, when the loop was told to stop.
    fn stopped(&mut self) {}
}

/// The wait after a first failed pass; it doubles with each further one.
const SHORTEST_RETRY: Duration = Duration::from_millis(100);

/// A service on its thread.
pub(crate) struct ServiceThread {
    pub(crate) name: &'static str,
    signal: Arc<Signal>,
    ended: Arc<Signal>,
    /// None if the owner of the service has it pass, and stops `ended`.
    thread: Option<JoinHandle<()>>,
}

/// The parts of a loop beside its service.
pub(crate) struct LoopParts {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) signal: Arc<Signal>,
    pub(crate) record: Arc<ServiceRecord>,
    /// The first error in a row is loud, and then each so many later.
    pub(crate) log_threshold: u32,
    /// `jobStore.dbRetryInterval`.
    pub(crate) longest_retry: Duration,
}

/// Starts the loop of a service on a thread of this name.
pub(crate) fn spawn(service: Box<dyn Service>, thread_name: String, parts: LoopParts) -> Result<ServiceThread> {
    let name = parts.record.name;
    let ended = Arc::new(Signal::default());
    let signal = Arc::clone(&parts.signal);
    let at_end = StopOnDrop(Arc::clone(&ended));
    let thread = std::thread::Builder::new()
        .name(thread_name.clone())
        .spawn(move || {
            let _at_end = at_end;
            run(service, &parts);
        })
        .map_err(|why| Error::Refused(format!("the thread `{thread_name}` could not be started: {why}")))?;
    Ok(ServiceThread { name, signal, ended, thread: Some(thread) })
}

struct StopOnDrop(Arc<Signal>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl ServiceThread {
    /// A service that its owner has pass, and that has ended once its owner has stopped `ended`.
    #[cfg(feature = "test-util")]
    pub(crate) fn without_thread(name: &'static str, signal: Arc<Signal>, ended: Arc<Signal>) -> Self {
        Self { name, signal, ended, thread: None }
    }

    /// The thread; none if the owner of the service has it pass.
    pub(crate) fn id(&self) -> Option<ThreadId> {
        self.thread.as_ref().map(|thread| thread.thread().id())
    }

    /// Tells the loop to end after the present pass.
    pub(crate) fn stop(&self) {
        self.signal.stop();
    }

    /// Waits for the end of the loop; false if it did not come until `deadline`.
    pub(crate) fn wait(self, clock: &dyn Clock, deadline: Duration) -> bool {
        // A listener that ends the node from a service's thread would wait for itself.
        if self.id() == Some(std::thread::current().id()) {
            return true;
        }
        // Nobody raises it: it is stopped at the end.
        if clock.wait(&self.ended, Some(deadline)) != Woken::Stopped {
            return false;
        }
        let _ = self.thread.map(JoinHandle::join);
        true
    }
}

/// Passes and waits until the signal is stopped or the service wants no more.
pub(crate) fn run(mut service: Box<dyn Service>, parts: &LoopParts) {
    let LoopParts { clock, signal, record, .. } = parts;
    lifecycle_log::service_started(record.name);
    while !signal.is_stopped() {
        let until = match pass(&mut *service, parts) {
            Ok(Next::Now) => continue,
            Ok(Next::At(until)) => Some(until),
            Ok(Next::WhenSignalled) => None,
            Ok(Next::Stop) => break,
            Err(until) => {
                record.enter(ServiceState::BackingOff);
                if !back_off(&**clock, signal, until) {
                    break;
                }
                continue;
            }
        };
        record.enter(ServiceState::Waiting);
        if service.wait(&**clock, signal, until) == Woken::Stopped {
            break;
        }
    }
    end(&mut *service, parts);
}

/// The last words of a service.
pub(crate) fn end(service: &mut dyn Service, parts: &LoopParts) {
    if let Err(panic) = guarded(|| service.stopped()) {
        lifecycle_log::service_panicked(parts.record.name, &panic);
    }
    parts.record.enter(ServiceState::Stopped);
    lifecycle_log::service_stopped(parts.record.name);
}

/// The wish of a service after a pass; after one that failed, the time until which it backs off.
pub(crate) type Passed = std::result::Result<Next, Duration>;

/// One pass.
pub(crate) fn pass(service: &mut dyn Service, parts: &LoopParts) -> Passed {
    let LoopParts { clock, record, .. } = parts;
    record.begin_pass(clock.ticks());
    let passed = guarded(|| {
        let outcome = service.run_once();
        service.passed(&outcome);
        outcome
    });
    record.end_pass(clock.ticks());
    let (why, panicked) = match passed {
        Ok(Ok(next)) => {
            let errors = record.succeed();
            if errors > 0 {
                lifecycle_log::service_recovered(record.name, errors);
            }
            return Ok(next);
        }
        Ok(Err(error)) => (error.to_string(), false),
        Err(panic) => (format!("panic: {panic}"), true),
    };
    let errors = record.fail(&why, panicked);
    let wait = retry_after(errors, service.longest_retry(parts.longest_retry));
    if panicked {
        lifecycle_log::service_panicked(record.name, &why);
    } else {
        let loud = is_loud(errors, parts.log_threshold);
        lifecycle_log::service_failed(record.name, errors, loud, wait, &why);
    }
    Err(clock.ticks().saturating_add(wait))
}

/// True if this error in a row is worth a line in every log: the first, and then every so many
/// (QZ-38).
pub(crate) fn is_loud(errors: u64, threshold: u32) -> bool {
    errors.saturating_sub(1).is_multiple_of(u64::from(threshold.max(1)))
}

/// Waits out a back-off; a raise does not shorten it and is not lost. False if the loop is to end.
fn back_off(clock: &dyn Clock, signal: &Signal, until: Duration) -> bool {
    let mut raised = false;
    loop {
        match clock.wait(signal, Some(until)) {
            Woken::Raised => raised = true,
            Woken::TimedOut => break,
            Woken::Stopped => return false,
        }
    }
    if raised {
        signal.raise();
    }
    true
}

/// Doubles from 100 ms to `longest`, less up to a quarter, so that nodes do not knock in step.
fn retry_after(errors: u64, longest: Duration) -> Duration {
    let doublings = u32::try_from(errors.saturating_sub(1).min(16)).unwrap_or(16);
    let full = SHORTEST_RETRY.saturating_mul(1 << doublings).min(longest).max(SHORTEST_RETRY);
    full.mul_f64(1.0 - random::share() / 4.0).max(SHORTEST_RETRY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{ManualClock, SystemClock};
    use std::sync::atomic::{AtomicU64, Ordering};

    const LONGEST: Duration = Duration::from_secs(2);

    /// Says what each pass does; the passes are counted and each raises `passed`.
    struct Scripted<F> {
        script: F,
        passes: Arc<AtomicU64>,
        passed: Arc<Signal>,
    }

    impl<F: FnMut(u64) -> Result<Next> + Send> Service for Scripted<F> {
        fn run_once(&mut self) -> Result<Next> {
            let pass = self.passes.fetch_add(1, Ordering::SeqCst) + 1;
            self.passed.raise();
            (self.script)(pass)
        }
        fn stopped(&mut self) {
            self.passed.stop();
        }
    }

    struct Fixture {
        thread: ServiceThread,
        record: Arc<ServiceRecord>,
        passes: Arc<AtomicU64>,
        passed: Arc<Signal>,
        signal: Arc<Signal>,
    }

    fn start(clock: Arc<dyn Clock>, script: impl FnMut(u64) -> Result<Next> + Send + 'static) -> Fixture {
        let (passes, passed) = (Arc::new(AtomicU64::new(0)), Arc::new(Signal::default()));
        let record = Arc::new(ServiceRecord::new("scripted"));
        let signal = Arc::new(Signal::default());
        let service = Scripted { script, passes: Arc::clone(&passes), passed: Arc::clone(&passed) };
        let parts = LoopParts {
            clock,
            signal: Arc::clone(&signal),
            record: Arc::clone(&record),
            log_threshold: 4,
            longest_retry: LONGEST,
        };
        let thread = spawn(Box::new(service), "test-scripted".to_owned(), parts).expect("a thread");
        Fixture { thread, record, passes, passed, signal }
    }

    impl Fixture {
        fn await_passes(&self, count: u64) {
            while self.passes.load(Ordering::SeqCst) < count {
                assert_ne!(self.passed.wait(None), Woken::TimedOut);
            }
        }
        fn await_state(&self, state: ServiceState) {
            while self.record.health(Duration::ZERO).state != state {
                std::thread::yield_now();
            }
        }
        fn end(self) {
            self.thread.stop();
            assert!(self.thread.wait(&SystemClock::default(), Duration::from_secs(60)));
            assert_eq!(self.record.health(Duration::ZERO).state, ServiceState::Stopped);
        }
    }

    #[test]
    fn a_raise_during_a_pass_is_not_lost() {
        let (entered, go_on) = (Arc::new(Signal::default()), Arc::new(Signal::default()));
        let (inside, outside) = (Arc::clone(&entered), Arc::clone(&go_on));
        let fixture = start(Arc::new(SystemClock::default()), move |pass| {
            if pass == 1 {
                inside.raise();
                outside.wait(None);
            }
            Ok(Next::WhenSignalled)
        });
        entered.wait(None);
        fixture.signal.raise();
        go_on.raise();
        fixture.await_passes(2);
        fixture.await_state(ServiceState::Waiting);
        assert_eq!(fixture.passes.load(Ordering::SeqCst), 2);
        fixture.end();
    }

    #[test]
    fn errors_and_panics_are_counted_and_waited_out_and_the_service_goes_on() {
        let clock = Arc::new(ManualClock::default());
        let fixture = start(Arc::clone(&clock) as Arc<dyn Clock>, |pass| match pass {
            1 => Err(Error::Refused("not now".to_owned())),
            2 => panic!("ouch"),
            _ => Ok(Next::WhenSignalled),
        });
        fixture.await_passes(1);
        fixture.await_state(ServiceState::BackingOff);
        // A raise does not end the back-off.
        fixture.signal.raise();
        while clock.next_deadline().is_none() {
            std::thread::yield_now();
        }
        let health = fixture.record.health(Duration::ZERO);
        assert_eq!((health.errors_in_a_row, health.last_error.as_deref()), (1, Some("not now")));
        assert_eq!(fixture.passes.load(Ordering::SeqCst), 1);
        while fixture.passes.load(Ordering::SeqCst) < 4 {
            clock.advance(Duration::from_millis(50));
            std::thread::yield_now();
        }
        fixture.await_state(ServiceState::Waiting);
        let health = fixture.record.health(Duration::ZERO);
        assert_eq!((health.errors_in_a_row, health.errors, health.panics), (0, 1, 1));
        assert_eq!(health.last_error.as_deref(), Some("panic: ouch"));
        fixture.end();
    }

    /// LT-70: how long passes take, by the clock, whether they end well or badly.
    #[test]
    fn the_last_and_the_longest_pass_are_known() {
        let clock = Arc::new(ManualClock::default());
        let moved = Arc::clone(&clock);
        let fixture = start(Arc::clone(&clock) as Arc<dyn Clock>, move |pass| {
            moved.advance(Duration::from_millis(if pass == 1 { 30 } else { 10 }));
            if pass == 1 { Err(Error::Refused("not now".to_owned())) } else { Ok(Next::WhenSignalled) }
        });
        fixture.await_state(ServiceState::BackingOff);
        let first = fixture.record.health(Duration::from_millis(50));
        assert_eq!((first.last_duration, first.errors), (Some(Duration::from_millis(30)), 1));
        assert_eq!(first.since_last_pass, Some(Duration::from_millis(50)));
        while fixture.passes.load(Ordering::SeqCst) < 2 {
            clock.advance(Duration::from_millis(50));
            std::thread::yield_now();
        }
        fixture.await_state(ServiceState::Waiting);
        let second = fixture.record.health(clock.ticks());
        assert!(second.last_duration >= Some(Duration::from_millis(10)), "{second:?}");
        assert!(second.longest_duration >= Some(Duration::from_millis(30)), "{second:?}");
        fixture.end();
    }

    #[test]
    fn stop_ends_every_wait() {
        for next in [Next::WhenSignalled, Next::At(Duration::from_secs(3600)), Next::Now] {
            let fixture = start(Arc::new(SystemClock::default()), move |_| Ok(next));
            fixture.await_passes(1);
            fixture.end();
        }
        let failing = start(Arc::new(ManualClock::default()), |_| Err(Error::Refused("never".to_owned())));
        failing.await_state(ServiceState::BackingOff);
        failing.end();
        let own_wish = start(Arc::new(SystemClock::default()), |_| Ok(Next::Stop));
        own_wish.await_state(ServiceState::Stopped);
    }

    /// QZ-38: Quartz logs the 1st, the 5th, the 9th …
    #[test]
    fn the_first_error_and_then_every_fourth_is_loud() {
        let loud = |threshold| (1..=9).filter(|errors| is_loud(*errors, threshold)).collect::<Vec<_>>();
        assert_eq!(loud(4), [1, 5, 9]);
        assert_eq!(loud(1), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(loud(1_000), [1]);
    }

    #[test]
    fn the_wait_doubles_within_its_bound() {
        let longest = Duration::from_millis(1500);
        for errors in 1..100 {
            let wait = retry_after(errors, longest);
            assert!(wait >= SHORTEST_RETRY && wait <= longest, "{errors}: {wait:?}");
        }
        assert!(retry_after(50, longest) >= longest * 3 / 4);
        assert_eq!(retry_after(9, Duration::ZERO), SHORTEST_RETRY);
    }
}
