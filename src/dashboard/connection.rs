//! One connection: a request is read within its limits, and answered.

use super::request::Request;
use super::response::Response;
use crate::clock::{Clock, SystemClock};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

/// The longest head of a request.
const MOST_HEAD: usize = 16 * 1024;
/// The most headers.
const MOST_HEADERS: usize = 64;
/// The longest body.
const MOST_BODY: usize = 256 * 1024;
/// The time within which a request is there as a whole.
const READ_TIME: Duration = Duration::from_secs(10);
/// The time within which a client takes the whole answer.
const WRITE_TIME: Duration = Duration::from_secs(10);

/// Why there is no request.
pub(super) enum Refusal {
    /// The client is told by a status.
    Status(u16),
    /// The client is gone, or has said nothing.
    Gone,
}

/// A connection whose request comes in, piece by piece; nobody waits for it.
pub(super) struct Incoming {
    pub(super) stream: TcpStream,
    peer: SocketAddr,
    /// The time at which the request must be there as a whole.
    pub(super) end: Duration,
    pub(super) bytes: Vec<u8>,
    /// The request without its body, and the lengths of head and body, once the head is there.
    head: Option<(Request, usize, usize)>,
}

impl Incoming {
    /// Takes the next connection.
    pub(super) fn accept(listener: &TcpListener, now: Duration) -> std::io::Result<Self> {
        let (stream, peer) = listener.accept()?;
        stream.set_nonblocking(true)?;
        Ok(Self { stream, peer, end: now + READ_TIME, bytes: Vec::new(), head: None })
    }

    /// Reads what there is, if there is something; gives the request once it is there as a whole.
    pub(super) fn hear(&mut self, is_heard: bool, now: Duration) -> Result<Option<Request>, Refusal> {
        if is_heard && self.more()? {
            return self.whole();
        }
        match (now < self.end, self.bytes.is_empty()) {
            (true, _) => Ok(None),
            (false, true) => Err(Refusal::Gone),
            (false, false) => Err(Refusal::Status(408)),
        }
    }

    /// Reads once, without waiting; true if something came.
    fn more(&mut self) -> Result<bool, Refusal> {
        let mut buffer = [0; MOST_HEAD];
        match self.stream.read(&mut buffer) {
            Ok(0) => Err(Refusal::Gone),
            Ok(count) => {
                self.bytes.extend_from_slice(buffer.get(..count).unwrap_or_default());
                Ok(true)
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(false),
            Err(_) => Err(Refusal::Gone),
        }
    }

    fn whole(&mut self) -> Result<Option<Request>, Refusal> {
        if self.head.is_none() {
            self.head = parse(&self.bytes)?;
        }
        match &self.head {
            None if self.bytes.len() > MOST_HEAD => Err(Refusal::Status(431)),
            Some((_, _, length)) if *length > MOST_BODY => Err(Refusal::Status(413)),
            Some((request, head, length)) => {
                let body = self.bytes.get(*head..head + length);
                Ok(body.map(|body| request.clone().body(body).peer(self.peer.ip())))
            }
            None => Ok(None),
        }
    }
}

/// Answers a request, or refuses it with a status; the connection ends with it.
pub(super) fn answer(stream: &mut TcpStream, request: &Result<Request, u16>, handler: &dyn Fn(&Request) -> Response) {
    let (response, is_head) = match request {
        Ok(request) => (handler(request), request.is_head()),
        Err(status) => (Response::text(*status, format!("{}\n", reason(*status))), false),
    };
    // A client that is gone has no use for the answer.
    let _ = stream.set_nonblocking(false).and_then(|()| write(stream, &response, is_head));
}

/// The request of a head that is there as a whole, with the lengths of head and body.
fn parse(bytes: &[u8]) -> Result<Option<(Request, usize, usize)>, Refusal> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let head = match parsed.parse(bytes) {
        Ok(httparse::Status::Complete(head)) => head,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Refusal::Status(431)),
        Err(_) => return Err(Refusal::Status(400)),
    };
    if head > MOST_HEAD {
        return Err(Refusal::Status(431));
    }
    let (method, target) = (parsed.method.unwrap_or_default(), parsed.path.unwrap_or_default());
    if !target.starts_with('/') {
        return Err(Refusal::Status(400));
    }
    let mut request = Request::new(method, target).old(parsed.version == Some(0));
    let mut length = None;
    for header in parsed.headers.iter() {
        let value = std::str::from_utf8(header.value).map_err(|_| Refusal::Status(400))?;
        // Two servers that disagree about where a body ends can be played off against each other.
        if header.name.eq_ignore_ascii_case("transfer-encoding") {
            return Err(Refusal::Status(501));
        }
        if header.name.eq_ignore_ascii_case("content-length") {
            let given = value.parse::<usize>().map_err(|_| Refusal::Status(400))?;
            if length.replace(given).is_some_and(|before| before != given) {
                return Err(Refusal::Status(400));
            }
        }
        if header.name.eq_ignore_ascii_case("host") && request.get("host").is_some() {
            return Err(Refusal::Status(400));
        }
        request = request.header(header.name, value);
    }
    Ok(Some((request, head, length.unwrap_or(0))))
}

fn write(stream: &mut TcpStream, response: &Response, is_head: bool) -> std::io::Result<()> {
    let status = response.status();
    let mut text = format!("HTTP/1.1 {status} {}\r\n", reason(status));
    for (name, value) in response.headers() {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str(&format!("Content-Length: {}\r\nConnection: close\r\n\r\n", response.body().len()));
    let mut bytes = text.into_bytes();
    if !is_head {
        bytes.extend_from_slice(response.body());
    }
    send(&bytes, &SystemClock::default(), |rest, left| {
        stream.set_write_timeout(Some(left))?;
        stream.write(rest)
    })
}

/// Gives all bytes to a client that takes some of them at a time, within one time for all of them.
fn send(
    mut rest: &[u8],
    clock: &dyn Clock,
    mut take: impl FnMut(&[u8], Duration) -> std::io::Result<usize>,
) -> std::io::Result<()> {
    let end = clock.ticks() + WRITE_TIME;
    while !rest.is_empty() {
        let left = end.saturating_sub(clock.ticks());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        match take(rest, left) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => rest = rest.get(count..).unwrap_or_default(),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        303 => "See Other",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        421 => "Misdirected Request",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        _ => "Unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;

    #[test]
    fn a_client_that_takes_little_at_a_time_has_one_time_for_all() {
        let (clock, mut taken) = (ManualClock::default(), 0);
        let mut send = |bytes: usize| {
            send(&vec![b'x'; bytes], &clock, |_, left| {
                assert!(left <= WRITE_TIME);
                clock.advance(Duration::from_secs(3));
                taken += 1;
                Ok(1)
            })
        };
        assert!(send(4).is_ok());
        assert_eq!(send(100).unwrap_err().kind(), ErrorKind::TimedOut);
        assert_eq!(taken, 8);
    }

    fn status(bytes: &[u8]) -> Option<u16> {
        match parse(bytes) {
            Err(Refusal::Status(status)) => Some(status),
            _ => None,
        }
    }

    #[test]
    fn heads_are_read_and_what_is_ambiguous_is_refused() {
        let post = b"POST /act?a=b HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc";
        let (request, head, length) = parse(post).ok().flatten().unwrap();
        assert_eq!((request.path(), request.query.as_str(), length), ("/act", "a=b", 3));
        assert_eq!(head + length, post.len());
        assert!(parse(b"GET / HTTP/1.1\r\nHost:").ok().unwrap().is_none());
        assert_eq!(status(b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), Some(501));
        assert_eq!(status(b"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"), Some(400));
        assert_eq!(status(b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"), Some(400));
        assert_eq!(status(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), Some(400));
        assert_eq!(status(b"GET http://x/ HTTP/1.1\r\n\r\n"), Some(400));
        assert_eq!(status(b"\x16\x03\x01\x02\x00"), Some(400), "TLS");
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(MOST_HEADERS + 1));
        assert_eq!(status(many.as_bytes()), Some(431));
    }
}
