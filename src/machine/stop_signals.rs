//! `StopSignals`: the signals by which people and operating systems end a program.

use crate::error::{Error, Result};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::low_level::{pipe, unregister};
use signal_hook::{SigId, flag};
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Catches SIGTERM and SIGINT (Ctrl-C), so that a program can end in order.
///
/// Catch them before anything is started, so that none is lost. The first signal is for the
/// program; a second one ends the process at once, for people who cannot wait. Once the value is
/// dropped, signals end the process again.
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
        let mut signals = Self { pipe: reader, registered: Vec::new() };
        let came_before = Arc::new(AtomicBool::new(false));
        for signal in [SIGTERM, SIGINT] {
            // In this order: the first signal finds the flag down, and raises the flag.
            let end = flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&came_before));
            signals.registered.push(end.map_err(problem)?);
            signals.registered.push(flag::register(signal, Arc::clone(&came_before)).map_err(problem)?);
            let writer = writer.try_clone().map_err(problem)?;
            signals.registered.push(pipe::register(signal, writer).map_err(problem)?);
        }
        Ok(signals)
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
    }
}
