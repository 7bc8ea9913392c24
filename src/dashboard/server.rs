//! `Server`: a small blocking HTTP server on threads of its own.

use super::connection::{self, Incoming, Refusal};
use super::request::Request;
use super::response::Response;
use crate::clock::{Clock, Signal, SystemClock, Woken};
use crate::error::{Error, Result};
use crate::guarded::guarded;
use crossbeam_channel::{Receiver, bounded};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// The threads that answer.
const WORKERS: usize = 8;
/// The connections that wait for a thread; more are closed at once.
const WAITING: usize = 64;
/// The connections whose requests are not there as a whole; for more, the oldest are closed.
const MOST_INCOMING: usize = 256;
/// The bytes that all of these have sent together; for more, the oldest are closed.
const MOST_BYTES: usize = 4 * 1024 * 1024;
/// The path of a probe, whose answers take no time and have a thread of their own: else whoever
/// watches the process would end it because others wait for the database.
const PROBE: &str = "/healthz";
/// The wait after a connection could not be taken, such as for want of file descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// A running server: one request to a connection, at most eight answers at a time, each request and
/// each answer within limits of size and time. A request takes none of the eight places before it
/// is there as a whole, and one for `/healthz` takes none at all. TLS is for a proxy in front of
/// it, where one is needed.
///
/// Dropped, it stops listening and waits for the answers in progress.
///
/// ```
/// use carnelian::Scheduler;
/// use carnelian::dashboard::{Dashboard, Server};
///
/// let scheduler = Scheduler::builder().build()?;
/// let dashboard = Dashboard::new(&scheduler)?;
/// let server = Server::start("127.0.0.1:0".parse()?, move |request| dashboard.handle(request))?;
/// println!("READY http://{}", server.address());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stopped: Arc<AtomicBool>,
    /// Taken when the server ends.
    threads: Vec<JoinHandle<()>>,
}

impl Server {
    /// Listens at this address, and answers requests by `handler` from then on. Port 0 takes a free
    /// one.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an address at which this process cannot listen.
    pub fn start(listen: SocketAddr, handler: impl Fn(&Request) -> Response + Send + Sync + 'static) -> Result<Self> {
        let others = "choose another (`--listen`, `carnelian.dashboard.listen`, `carnelian.monitoring.listen`)";
        let cannot = |why| Error::invalid("address to listen on", listen.to_string(), format!("{why}: {others}"));
        let listener = TcpListener::bind(listen).map_err(|why: std::io::Error| cannot(why))?;
        listener.set_nonblocking(true).map_err(cannot)?;
        let address = listener.local_addr().map_err(cannot)?;
        let stopped = Arc::new(AtomicBool::new(false));
        let handler: Arc<dyn Fn(&Request) -> Response + Send + Sync> = Arc::new(handler);
        let (queue, waiting) = bounded::<Heard>(WAITING);
        let mut server = Self { address, stopped: Arc::clone(&stopped), threads: Vec::new() };
        let spawn = |name: String, work: Box<dyn FnOnce() + Send>| {
            std::thread::Builder::new()
                .name(name)
                .spawn(work)
                .map_err(|why| Error::Refused(format!("a thread of the web server cannot be started: {why}")))
        };
        let (probes, probing) = bounded::<Heard>(WAITING);
        let workers = (0..WORKERS).map(|n| (format!("carnelian-web-{n}"), &waiting));
        for (name, requests) in workers.chain([("carnelian-web-probe".to_owned(), &probing)]) {
            let (requests, handler, stopped) = (requests.clone(), Arc::clone(&handler), Arc::clone(&stopped));
            server.threads.push(spawn(name, Box::new(move || answer(&requests, &stopped, &*handler)))?);
        }
        let hand_over = move |heard: Heard| {
            let is_probe = heard.1.as_ref().is_ok_and(|request| request.path() == PROBE);
            if is_probe { &probes } else { &queue }.try_send(heard).is_ok()
        };
        let accept = move || accept(&listener, &stopped, hand_over);
        server.threads.push(spawn("carnelian-web".to_owned(), Box::new(accept))?);
        Ok(server)
    }

    /// The address at which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        // The thread that accepts is woken by a connection.
        let _ = TcpStream::connect_timeout(&reachable(self.address), Duration::from_secs(1));
        for thread in self.threads.drain(..) {
            // Panics of handlers are caught; a thread has no other.
            let _ = thread.join();
        }
    }
}

/// An address by which this process reaches itself.
fn reachable(address: SocketAddr) -> SocketAddr {
    let mut own = address;
    if own.ip().is_unspecified() {
        own.set_ip(if own.is_ipv4() {
            std::net::Ipv4Addr::LOCALHOST.into()
        } else {
            std::net::Ipv6Addr::LOCALHOST.into()
        });
    }
    own
}

/// A connection, with its request or the status of a refusal.
type Heard = (TcpStream, std::result::Result<Request, u16>);

/// Takes connections until the server is stopped, and hands each over when its request is there as
/// a whole: one that says nothing, as browsers keep them, and one that speaks slowly hold no
/// worker. The queue goes with this thread, and then the workers end.
fn accept(listener: &TcpListener, stopped: &AtomicBool, hand_over: impl Fn(Heard) -> bool) {
    let clock = SystemClock::default();
    let mut incoming: VecDeque<Incoming> = VecDeque::new();
    loop {
        let heard = match wait(listener, &incoming, &clock) {
            Ok(heard) => heard,
            Err(error) => {
                pause(&clock, error);
                continue;
            }
        };
        if stopped.load(Ordering::SeqCst) {
            return;
        }
        let now = clock.ticks();
        for (mut one, is_heard) in std::mem::take(&mut incoming).into_iter().zip(heard) {
            let request = match one.hear(is_heard, now) {
                Ok(None) => {
                    incoming.push_back(one);
                    continue;
                }
                Ok(Some(request)) => Ok(request),
                Err(Refusal::Status(status)) => Err(status),
                Err(Refusal::Gone) => continue,
            };
            if !hand_over((one.stream, request)) {
                log::warn!("the web server is busy: a connection was closed");
            }
        }
        match Incoming::accept(listener, now) {
            Ok(one) => incoming.push_back(one),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => pause(&clock, error),
        }
        let mut bytes: usize = incoming.iter().map(|one| one.bytes.len()).sum();
        while incoming.len() > MOST_INCOMING || bytes > MOST_BYTES {
            bytes -= incoming.pop_front().map_or(bytes, |one| one.bytes.len());
        }
    }
}

/// Waits for a connection, for a word on one of those that come in, or until the time of the oldest
/// is over; says of each whether there is a word.
fn wait(listener: &TcpListener, incoming: &VecDeque<Incoming>, clock: &SystemClock) -> std::io::Result<Vec<bool>> {
    let streams = incoming.iter().map(|one| PollFd::new(&one.stream, PollFlags::IN));
    let mut all: Vec<PollFd<'_>> = std::iter::once(PollFd::new(listener, PollFlags::IN)).chain(streams).collect();
    let left = incoming.front().and_then(|one| Timespec::try_from(one.end.saturating_sub(clock.ticks())).ok());
    match poll(&mut all, left.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(all.iter().skip(1).map(|one| !one.revents().is_empty()).collect()),
        Err(error) => Err(error.into()),
    }
}

fn pause(clock: &SystemClock, error: std::io::Error) {
    log::warn!("the web server cannot take a connection error={error}");
    let _: Woken = clock.wait(&Signal::default(), Some(clock.ticks() + PAUSE));
}

fn answer(waiting: &Receiver<Heard>, stopped: &AtomicBool, handler: &(dyn Fn(&Request) -> Response + Send + Sync)) {
    while let Ok((mut stream, request)) = waiting.recv() {
        if stopped.load(Ordering::SeqCst) {
            continue;
        }
        connection::answer(&mut stream, &request, &|request| {
            guarded(|| handler(request)).unwrap_or_else(|panic| {
                log::error!("an answer of the web server panicked path={:?} panic={panic}", request.path());
                Response::text(500, "something went wrong: the log of the server has more\n")
            })
        });
    }
}
