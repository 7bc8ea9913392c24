//! `CaptureLog`: a logger that keeps, beside passing it on, what is logged while a run goes on.

use crate::clock::Clock;
use crate::job::{CapturedLine, RunLog, trace_id_of};
use crate::settings::HistorySettings;
use crate::store::FireBundle;
use log::{Level, LevelFilter, Log, Metadata, Record, SetLoggerError};
use parking_lot::Mutex;
use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

thread_local! {
    /// The run that this thread is at, if what it logs is kept.
    static RUN: RefCell<Option<Arc<RunLines>>> = const { RefCell::new(None) };
}

/// The lines that one run has logged so far.
pub(crate) struct RunLines {
    clock: Arc<dyn Clock>,
    level: LevelFilter,
    /// The trace that the run belongs to.
    trace_id: Option<String>,
    log: Mutex<RunLog>,
}

impl RunLines {
    /// The lines of this fire; none if nothing of it is to be kept, and it has no trace.
    pub(crate) fn of(bundle: &FireBundle, settings: &HistorySettings, clock: &Arc<dyn Clock>) -> Option<Arc<Self>> {
        let policy = bundle.job.policy();
        let level = policy.captured_level().unwrap_or(settings.log);
        let trace_id = bundle.traceparent().and_then(trace_id_of).map(str::to_owned);
        if level == LevelFilter::Off && trace_id.is_none() {
            return None;
        }
        let max_bytes = policy.captured_bytes().unwrap_or(settings.log_max_bytes);
        let log = RunLog::new(level, usize::try_from(max_bytes).unwrap_or(0));
        Some(Arc::new(Self { clock: Arc::clone(clock), level, trace_id, log: Mutex::new(log) }))
    }

    pub(crate) fn push(&self, level: Level, target: &str, message: &str) {
        self.log.lock().push(self.clock.ticks(), level, target, message);
    }

    /// The lines so far.
    pub(crate) fn lines(&self) -> Vec<CapturedLine> {
        self.log.lock().lines()
    }

    /// Keeps here what this thread logs, until the guard goes.
    pub(crate) fn attach(lines: Option<&Arc<Self>>) -> Attached {
        Attached(RUN.with(|run| run.replace(lines.cloned())))
    }
}

/// Puts back what was there before.
pub(crate) struct Attached(Option<Arc<RunLines>>);

impl Drop for Attached {
    fn drop(&mut self) {
        let before = self.0.take();
        // None in a thread that is just ending.
        let _ = RUN.try_with(|run| run.replace(before));
    }
}

/// The run of this thread.
fn run_of_thread() -> Option<Arc<RunLines>> {
    RUN.try_with(|run| run.try_borrow().ok()?.clone()).ok().flatten()
}

/// The run of this thread, if lines of this level are kept of it.
fn run_that_keeps(level: Level) -> Option<Arc<RunLines>> {
    run_of_thread().filter(|lines| level <= lines.level)
}

/// A logger that passes everything on to another, and keeps the lines of a run's thread as the log
/// of the run. Jobs ask for this by [`JobPolicy::capture_log`](crate::JobPolicy::capture_log), all
/// jobs by `carnelian.history.log`. `carnelian history show FIRE_ID` and
/// [`Scheduler::run_record`](crate::Scheduler::run_record) show the log.
///
/// Lines of a run that has a [trace context](crate::JobContext::traceparent) are passed on with
/// `trace=ID` at their end.
///
/// Lines of threads that the job itself has started are not kept. Lines that this thread logs
/// before and after the job, such as those of listeners, are not kept either.
///
/// ```
/// use carnelian::history::CaptureLog;
/// use log::LevelFilter;
///
/// let inner = env_logger::Builder::from_default_env().build();
/// CaptureLog::new(inner).install(LevelFilter::Info)?;
/// # Ok::<(), log::SetLoggerError>(())
/// ```
pub struct CaptureLog {
    inner: Box<dyn Log>,
}

impl CaptureLog {
    /// Passes on to this logger, which goes on to decide by itself what it says.
    pub fn new(inner: impl Log + 'static) -> Self {
        Self { inner: Box::new(inner) }
    }

    /// Makes it the logger of the program. The maximum level of the `log` crate becomes `level`, if
    /// it is not higher: set it to what the inner logger needs, or the runs, whichever is more.
    ///
    /// # Errors
    /// If the program has a logger already.
    pub fn install(self, level: LevelFilter) -> Result<(), SetLoggerError> {
        log::set_boxed_logger(Box::new(self))?;
        log::set_max_level(log::max_level().max(level));
        Ok(())
    }
}

impl fmt::Debug for CaptureLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CaptureLog").finish_non_exhaustive()
    }
}

impl Log for CaptureLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        run_that_keeps(metadata.level()).is_some() || self.inner.enabled(metadata)
    }

    fn log(&self, record: &Record<'_>) {
        if let Some(run) = run_that_keeps(record.level()) {
            // Before the lines are locked: an argument may log while it is written.
            let message = record.args().to_string();
            run.push(record.level(), record.target(), &message);
        }
        if !self.inner.enabled(record.metadata()) {
            return;
        }
        match run_of_thread().as_deref().and_then(|run| run.trace_id.as_ref()) {
            None => self.inner.log(record),
            Some(id) => self.inner.log(
                &Record::builder()
                    .metadata(record.metadata().clone())
                    .module_path(record.module_path())
                    .file(record.file())
                    .line(record.line())
                    .args(format_args!("{} trace={id}", record.args()))
                    .build(),
            ),
        }
    }

    fn flush(&self) {
        self.inner.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;

    struct Deaf;

    impl Log for Deaf {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            false
        }

        fn log(&self, record: &Record<'_>) {
            panic!("it does not want {}", record.args());
        }

        fn flush(&self) {}
    }

    fn say(logger: &CaptureLog, level: Level, message: &str) {
        logger.log(&Record::builder().level(level).target("shop").args(format_args!("{message}")).build());
    }

    /// LT-58: what the thread of a run logs, as long as it is at it.
    #[test]
    fn a_run_has_what_its_thread_logs_while_it_is_attached() {
        let log = Mutex::new(RunLog::new(LevelFilter::Info, 1_000));
        let run = Arc::new(RunLines {
            clock: Arc::new(ManualClock::default()),
            level: LevelFilter::Info,
            trace_id: None,
            log,
        });
        let logger = CaptureLog::new(Deaf);
        say(&logger, Level::Info, "before");
        let attached = RunLines::attach(Some(&run));
        say(&logger, Level::Info, "during");
        say(&logger, Level::Debug, "too small");
        std::thread::scope(|scope| drop(scope.spawn(|| say(&logger, Level::Error, "elsewhere")).join()));
        drop(attached);
        say(&logger, Level::Info, "after");
        let lines = run.lines();
        assert_eq!(lines.iter().map(|line| line.message.as_str()).collect::<Vec<_>>(), ["during"]);
        assert_eq!((lines[0].level, lines[0].target.as_str()), (Level::Info, "shop"));
    }

    /// LT-106: what is passed on says the trace, what is kept stands under it anyway.
    #[test]
    fn lines_of_a_run_with_a_trace_are_passed_on_with_its_id() {
        struct Seen(Arc<Mutex<Vec<String>>>);

        impl Log for Seen {
            fn enabled(&self, metadata: &Metadata<'_>) -> bool {
                metadata.level() <= Level::Info
            }

            fn log(&self, record: &Record<'_>) {
                self.0.lock().push(format!("{} {}", record.target(), record.args()));
            }

            fn flush(&self) {}
        }

        let seen = Arc::new(Mutex::new(Vec::new()));
        let logger = CaptureLog::new(Seen(Arc::clone(&seen)));
        let log = Mutex::new(RunLog::new(LevelFilter::Off, 1_000));
        let (clock, trace_id) = (Arc::new(ManualClock::default()), Some("0af7".to_owned()));
        let run = Arc::new(RunLines { clock, level: LevelFilter::Off, trace_id, log });
        let attached = RunLines::attach(Some(&run));
        say(&logger, Level::Info, "during");
        say(&logger, Level::Debug, "too small");
        drop(attached);
        say(&logger, Level::Info, "after");
        assert_eq!(*seen.lock(), ["shop during trace=0af7", "shop after"]);
        assert!(run.lines().is_empty());
    }

    struct Chatty<'a>(&'a CaptureLog);

    impl fmt::Display for Chatty<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            say(self.0, Level::Info, "inner");
            f.write_str("outer")
        }
    }

    #[test]
    fn an_argument_may_log_while_it_is_written() {
        let log = Mutex::new(RunLog::new(LevelFilter::Info, 1_000));
        let run = Arc::new(RunLines {
            clock: Arc::new(ManualClock::default()),
            level: LevelFilter::Info,
            trace_id: None,
            log,
        });
        let logger = CaptureLog::new(Deaf);
        let _attached = RunLines::attach(Some(&run));
        logger.log(&Record::builder().level(Level::Info).args(format_args!("{}", Chatty(&logger))).build());
        assert_eq!(run.lines().into_iter().map(|line| line.message).collect::<Vec<_>>(), ["inner", "outer"]);
    }
}
