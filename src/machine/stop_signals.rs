//! `StopSignals`: the signals by which people and operating systems end a program.

use crate::error::{Error, Result};
use parking_lot::Mutex;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::low_level::{pipe, unregister};
use signal_hook::{SigId, flag};
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// True while a signal ends the process at once: the next one is not the first, or no value catches
/// signals. The handlers of the process outlive each [`StopSignals`], since the operating system's
/// own handlers do not come back; without this flag the process would ignore signals from then on.
static ENDS_AT_ONCE: AtomicBool = AtomicBool::new(true);

/// The values of this process that catch signals.
static CATCHERS: Mutex<Catchers> = Mutex::new(Catchers { alive: 0, has_handlers: false });

struct Catchers {
    alive: usize,
    has_handlers: bool,
}

impl Catchers {
    /// Has the process end at a signal while [`ENDS_AT_ONCE`] says so.
    fn handle(&mut self) -> std::io::Result<()> {
        if !self.has_handlers {
            for signal in [SIGTERM, SIGINT] {
                // In this order: the first signal finds the flag down, and raises the flag.
                flag::register_conditional_shutdown(signal, 128 + signal, &ENDS_AT_ONCE)?;
                flag::register(signal, &ENDS_AT_ONCE)?;
            }
            self.has_handlers = true;
        }
        Ok(())
    }
}

/// Catches SIGTERM and SIGINT (Ctrl-C), so that a program can end in order.
///
/// Catch them before anything is started, so that none is lost. The first signal is for the
/// program; a second one ends the process at once, for people who cannot wait, and so does any
/// signal once the value is dropped (exit code 128 and the signal's number).
///
/// [`Scheduler::run_until_signal`](crate::Scheduler::run_until_signal) does all of it; this is for
/// programs with more to end than a scheduler:
///
/// ```no_run
/// use carnelian::{Scheduler, StopSignals};
///
/// let signals = StopSignals::catch()?;
/// let scheduler = Scheduler::builder().build()?;
/// scheduler.start()?;
/// // … the threads of the server …
/// signals.wait();
/// // … the server takes no more requests …
/// let report = scheduler.shutdown_and_wait();
/// # Ok::<(), carnelian::Error>(())
/// ```
#[derive(Debug)]
pub struct StopSignals {
    pipe: UnixStream,
    has_come: Arc<AtomicBool>,
    registered: Vec<SigId>,
}

impl StopSignals {
    /// Catches the signals from now on.
    ///
    /// # Errors
    /// [`Error::Refused`] if the operating system does not let the process catch them.
    pub fn catch() -> Result<Self> {
        let problem = |why: std::io::Error| Error::Refused(format!("signals cannot be caught: {why}"));
        let (reader, writer) = UnixStream::pair().map_err(problem)?;
        let mut catchers = CATCHERS.lock();
        catchers.handle().map_err(problem)?;
        if catchers.alive == 0 {
            ENDS_AT_ONCE.store(false, Ordering::SeqCst);
        }
        catchers.alive += 1;
        drop(catchers);
        let mut signals = Self { pipe: reader, has_come: Arc::default(), registered: Vec::new() };
        for signal in [SIGTERM, SIGINT] {
            let writer = writer.try_clone().map_err(problem)?;
            signals.registered.push(flag::register(signal, Arc::clone(&signals.has_come)).map_err(problem)?);
            signals.registered.push(pipe::register(signal, writer).map_err(problem)?);
        }
        Ok(signals)
    }

    /// True if a signal came since [`StopSignals::catch`].
    pub fn have_come(&self) -> bool {
        self.has_come.load(Ordering::SeqCst)
    }

    /// Waits for the first signal; returns at once if one came since [`StopSignals::catch`].
    pub fn wait(&self) {
        // A read fails only where waiting makes no sense: the handlers keep the other end open.
        let _ = (&self.pipe).read_exact(&mut [0]);
    }
}

impl Drop for StopSignals {
    fn drop(&mut self) {
        for id in self.registered.drain(..) {
            unregister(id);
        }
        let mut catchers = CATCHERS.lock();
        catchers.alive -= 1;
        if catchers.alive == 0 {
            ENDS_AT_ONCE.store(true, Ordering::SeqCst);
        }
    }
}
