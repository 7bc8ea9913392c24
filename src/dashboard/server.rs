//! `Server`: a small blocking HTTP server on threads of its own.

use super::connection;
use super::request::Request;
use super::response::Response;
use crate::clock::{Clock, Signal, SystemClock, Woken};
use crate::error::{Error, Result};
use crate::guarded::guarded;
use crossbeam_channel::{Receiver, TrySendError, bounded};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// The threads that answer.
const WORKERS: usize = 8;
/// The connections that wait for a thread; more are closed at once.
const WAITING: usize = 64;
/// The wait after a connection could not be taken, such as for want of file descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// A running server: one request to a connection, at most eight at a time, each within limits of
/// size and time. TLS is for a proxy in front of it, where one is needed.
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
        let cannot = |why: std::io::Error| Error::invalid("address to listen on", listen.to_string(), why.to_string());
        let listener = TcpListener::bind(listen).map_err(cannot)?;
        let address = listener.local_addr().map_err(cannot)?;
        let stopped = Arc::new(AtomicBool::new(false));
        let handler: Arc<dyn Fn(&Request) -> Response + Send + Sync> = Arc::new(handler);
        let (queue, waiting) = bounded::<TcpStream>(WAITING);
        let mut server = Self { address, stopped: Arc::clone(&stopped), threads: Vec::new() };
        let spawn = |name: String, work: Box<dyn FnOnce() + Send>| {
            std::thread::Builder::new()
                .name(name)
                .spawn(work)
                .map_err(|why| Error::Refused(format!("a thread of the web server cannot be started: {why}")))
        };
        for n in 0..WORKERS {
            let (waiting, handler, stopped) = (waiting.clone(), Arc::clone(&handler), Arc::clone(&stopped));
            let work = move || answer(&waiting, &stopped, &*handler);
            server.threads.push(spawn(format!("carnelian-web-{n}"), Box::new(work))?);
        }
        let accept = move || accept(&listener, &stopped, |stream| queue.try_send(stream));
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

/// Takes connections until the server is stopped. The queue goes with this thread, and then the
/// workers end.
fn accept(
    listener: &TcpListener,
    stopped: &AtomicBool,
    hand_over: impl Fn(TcpStream) -> std::result::Result<(), TrySendError<TcpStream>>,
) {
    let (clock, nobody) = (SystemClock::default(), Signal::default());
    loop {
        let taken = listener.accept();
        if stopped.load(Ordering::SeqCst) {
            return;
        }
        match taken {
            Ok((stream, _)) => {
                if hand_over(stream).is_err() {
                    log::warn!("the web server is busy: a connection was closed");
                }
            }
            Err(error) => {
                log::warn!("the web server cannot take a connection error={error}");
                let _: Woken = clock.wait(&nobody, Some(clock.ticks() + PAUSE));
            }
        }
    }
}

fn answer(waiting: &Receiver<TcpStream>, stopped: &AtomicBool, handler: &(dyn Fn(&Request) -> Response + Send + Sync)) {
    while let Ok(stream) = waiting.recv() {
        if stopped.load(Ordering::SeqCst) {
            continue;
        }
        connection::serve(stream, &|request| {
            guarded(|| handler(request)).unwrap_or_else(|panic| {
                log::error!("an answer of the web server panicked path={:?} panic={panic}", request.path());
                Response::text(500, "something went wrong: the log of the server has more\n")
            })
        });
    }
}
