//! A proxy before a database server that cuts connections, at once or when a certain transaction
//! commits, that leads to another server, that makes transactions wait, or that has the server
//! refuse a statement.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

pub struct Proxy {
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// Host and port of the server.
    server: Mutex<String>,
    /// The time for which the begin of a transaction is kept back.
    delay: Mutex<Duration>,
    /// A transaction that mentions these bytes is cut at its commit, and nobody is let in for so
    /// long.
    armed: Mutex<Option<(Vec<u8>, Duration)>>,
    /// The word that the server gets to read as nonsense.
    garbled: Mutex<Option<Vec<u8>>>,
    /// By the client's address.
    open: Mutex<Vec<(Option<SocketAddr>, [TcpStream; 2])>>,
    closed_until: Mutex<Option<Instant>>,
    cuts: AtomicUsize,
}

/// Host and port of a URL, and what is before and after them.
pub(super) fn split(url: &str) -> (&str, &str, &str) {
    let begin = url.find('@').map_or_else(|| url.find("://").expect("a URL") + 3, |at| at + 1);
    let end = url[begin..].find(['/', '?']).map_or(url.len(), |at| begin + at);
    (&url[..begin], &url[begin..end], &url[end..])
}

impl Proxy {
    /// A proxy before the server that the URL names.
    pub fn before(url: &str) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let shared = Arc::new(Shared { server: Mutex::new(split(url).1.to_owned()), ..Shared::default() });
        let inside = Arc::clone(&shared);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                inside.let_in(client);
            }
        });
        Self { port, shared }
    }

    /// A URL of the server, by way of the proxy.
    pub fn url(&self, url: &str) -> String {
        let (before, _, after) = split(url);
        format!("{before}127.0.0.1:{}{after}", self.port)
    }

    /// The number of open connections.
    pub fn connections(&self) -> usize {
        self.shared.open.lock().expect("no panic").len()
    }

    /// The number of commits that were cut.
    pub fn cuts(&self) -> usize {
        self.shared.cuts.load(Ordering::SeqCst)
    }

    /// The next transaction that mentions `word` is committed and not answered: when the server has
    /// answered, all connections are cut, and none is let in for `outage`.
    pub fn cut_at_commit_with(&self, word: &str, outage: Duration) {
        *self.shared.armed.lock().expect("no panic") = Some((word.as_bytes().to_vec(), outage));
    }

    /// Cuts all connections.
    pub fn cut(&self) {
        self.shared.cut();
    }

    /// Cuts all connections, and lets none in for so long.
    pub fn shut(&self, outage: Duration) {
        *self.shared.closed_until.lock().expect("no panic") = Some(Instant::now() + outage);
        self.cut();
    }

    /// Cuts all connections; those to come lead to the server that this URL names.
    pub fn lead_to(&self, url: &str) {
        *self.shared.server.lock().expect("no panic") = split(url).1.to_owned();
        self.cut();
    }

    /// The server refuses whatever has this word in it, since it reads something else.
    pub fn garble(&self, word: &str) {
        *self.shared.garbled.lock().expect("no panic") = Some(word.as_bytes().to_vec());
    }

    /// Keeps back for so long whatever begins a transaction.
    pub fn delay(&self, delay: Duration) {
        *self.shared.delay.lock().expect("no panic") = delay;
    }
}

impl Shared {
    fn let_in(self: &Arc<Self>, client: TcpStream) {
        let is_closed = self.closed_until.lock().expect("no panic").is_some_and(|until| Instant::now() < until);
        let server = self.server.lock().expect("no panic").clone();
        let Some(server) = TcpStream::connect(server).ok().filter(|_| !is_closed) else { return };
        let copy = |stream: &TcpStream| stream.try_clone().expect("a handle");
        drop((client.set_nodelay(true), server.set_nodelay(true)));
        self.open.lock().expect("no panic").push((client.peer_addr().ok(), [copy(&client), copy(&server)]));
        let muted = Arc::new(Mutex::new(false));
        let (up, down) = ((copy(&client), copy(&server)), (server, client));
        let (shared, is_muted) = (Arc::clone(self), Arc::clone(&muted));
        std::thread::spawn(move || shared.carry_up(up, &is_muted));
        let shared = Arc::clone(self);
        std::thread::spawn(move || shared.carry_down(down, &muted));
    }

    fn carry_up(&self, (mut from, mut to): (TcpStream, TcpStream), muted: &Mutex<bool>) {
        let mut buffer = vec![0; 65536];
        let mut is_meant = false;
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            let bytes = buffer.get_mut(..length).unwrap_or_default();
            if let Some(word) = &*self.garbled.lock().expect("no panic") {
                while let Some(at) = bytes.windows(word.len()).position(|window| window == word) {
                    bytes[at..at + word.len()].fill(b'x');
                }
            }
            let bytes = &*bytes;
            let has = |word: &[u8]| bytes.windows(word.len()).any(|window| window == word);
            let begins = has(b"BEGIN") || has(b"START TRANSACTION");
            if begins {
                let delay = *self.delay.lock().expect("no panic");
                std::thread::sleep(delay);
            }
            is_meant &= !begins;
            if let Some((word, _)) = &*self.armed.lock().expect("no panic") {
                is_meant |= has(word);
                if is_meant && has(b"COMMIT") {
                    *muted.lock().expect("no panic") = true;
                }
            }
            if to.write_all(bytes).is_err() {
                break;
            }
        }
        drop((from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both)));
    }

    fn carry_down(&self, (mut from, mut to): (TcpStream, TcpStream), muted: &Mutex<bool>) {
        let peer = to.peer_addr().ok();
        let mut buffer = vec![0; 65536];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            if *muted.lock().expect("no panic") {
                // The transaction is committed.
                let armed = self.armed.lock().expect("no panic").take();
                if let Some((_, outage)) = armed {
                    *self.closed_until.lock().expect("no panic") = Some(Instant::now() + outage);
                    self.cut();
                    self.cuts.fetch_add(1, Ordering::SeqCst);
                }
                break;
            }
            if to.write_all(buffer.get(..length).unwrap_or_default()).is_err() {
                break;
            }
        }
        drop((from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both)));
        self.open.lock().expect("no panic").retain(|(ours, _)| *ours != peer);
    }

    fn cut(&self) {
        for (_, [client, server]) in self.open.lock().expect("no panic").drain(..) {
            drop((client.shutdown(Shutdown::Both), server.shutdown(Shutdown::Both)));
        }
    }
}
