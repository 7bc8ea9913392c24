//! `Arrivals`: waits until a server has sent something on a connection of ours.

use crate::clock::{Clock, Signal, Woken};
use mio::{Events, Interest, Poll, Token, Waker};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

const SOCKET: Token = Token(0);
const SIGNAL: Token = Token(1);

/// The sockets that this process has open, each with its number; none where the system does not
/// say so.
pub(super) type Sockets = BTreeMap<PathBuf, i32>;

/// The sockets of this process now.
pub(super) fn sockets() -> Option<Sockets> {
    let open = std::fs::read_dir("/proc/self/fd").ok()?.filter_map(Result::ok);
    let socket = |entry: std::fs::DirEntry| {
        let what = std::fs::read_link(entry.path()).ok()?;
        let number = entry.file_name().to_str()?.parse().ok()?;
        what.to_str()?.starts_with("socket:").then_some((what, number))
    };
    Some(open.filter_map(socket).collect())
}

/// The sockets of TCP whose own end has this port.
fn at_port(port: i64) -> BTreeSet<PathBuf> {
    let tables = ["/proc/self/net/tcp", "/proc/self/net/tcp6"].map(std::fs::read_to_string);
    let socket = |line: &str| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let (_, own) = columns.get(1)?.rsplit_once(':')?;
        let is_there = i64::from_str_radix(own, 16).ok()? == port;
        columns.get(9).filter(|_| is_there).map(|number| PathBuf::from(format!("socket:[{number}]")))
    };
    tables.iter().flatten().flat_map(|table| table.lines().filter_map(socket)).collect()
}

/// Waits for the socket of one connection and for a signal. libpq does not lend its socket, but
/// whoever opens a connection can see which socket is new, and the server says at which port.
#[derive(Default)]
pub(super) struct Arrivals {
    watched: Option<Watched>,
}

struct Watched {
    poll: Poll,
    waker: Arc<Waker>,
}

impl Arrivals {
    /// Watches the socket that was not there before, in the place of any other; nothing if it
    /// cannot be watched. Other threads may have opened some as well: then it is the one at this
    /// port.
    pub(super) fn watch_new(&mut self, before: &Option<Sockets>, port: i64) {
        self.watched = before.as_ref().and_then(|before| {
            let mut new = sockets()?;
            new.retain(|what, _| !before.contains_key(what));
            if new.len() > 1 {
                let at_port = at_port(port);
                new.retain(|what, _| at_port.contains(what));
            }
            let (_, fd) = new.pop_first().filter(|_| new.is_empty())?;
            watch(fd).ok()
        });
    }

    /// True if [`Arrivals::wait`] ends when something arrives.
    pub(super) fn is_watching(&self) -> bool {
        self.watched.is_some()
    }

    /// Waits for the signal, until this time in ticks, or until something has arrived since the
    /// last wait.
    pub(super) fn wait(&mut self, clock: &dyn Clock, signal: &Signal, until: Option<Duration>) -> Woken {
        let Some(Watched { poll, waker }) = &mut self.watched else { return clock.wait(signal, until) };
        signal.wake_too(waker);
        let mut events = Events::with_capacity(2);
        loop {
            if let Some(news) = signal.take_news() {
                return news;
            }
            let left = until.map(|until| until.saturating_sub(clock.ticks()));
            match poll.poll(&mut events, left) {
                Ok(()) if events.iter().any(|event| event.token() == SOCKET) => return Woken::Raised,
                Ok(()) if left.is_some_and(|left| left.is_zero()) => return Woken::TimedOut,
                Ok(()) => {}
                Err(why) if why.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => {
                    self.watched = None;
                    return clock.wait(signal, until);
                }
            }
        }
    }
}

#[cfg(unix)]
fn watch(fd: i32) -> std::io::Result<Watched> {
    let poll = Poll::new()?;
    poll.registry().register(&mut mio::unix::SourceFd(&fd), SOCKET, Interest::READABLE)?;
    let waker = Arc::new(Waker::new(poll.registry(), SIGNAL)?);
    Ok(Watched { poll, waker })
}

#[cfg(not(unix))]
fn watch(_: i32) -> std::io::Result<Watched> {
    Err(std::io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SystemClock;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_wait_ends_with_what_arrives_with_the_signal_and_with_its_time() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let (mut arrivals, clock, signal) = (Arrivals::default(), SystemClock::default(), Signal::default());
        let before = sockets();
        let client = TcpStream::connect(server.local_addr().unwrap()).unwrap();
        let mut sender = server.accept().unwrap().0;
        arrivals.watch_new(&before, client.local_addr().unwrap().port().into());
        assert!(arrivals.is_watching(), "of two new sockets, the one at the port");
        assert_eq!(arrivals.wait(&clock, &signal, Some(clock.ticks())), Woken::TimedOut);
        sender.write_all(b"something").unwrap();
        assert_eq!(arrivals.wait(&clock, &signal, None), Woken::Raised, "something has arrived");
        assert_eq!(arrivals.wait(&clock, &signal, Some(clock.ticks())), Woken::TimedOut, "and nothing since");
        std::thread::scope(|threads| {
            threads.spawn(|| signal.raise());
            assert_eq!(arrivals.wait(&clock, &signal, None), Woken::Raised);
        });
        std::thread::scope(|threads| {
            threads.spawn(|| signal.stop());
            assert_eq!(arrivals.wait(&clock, &signal, None), Woken::Stopped);
        });
        drop(client);
    }
}
