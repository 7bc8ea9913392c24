//! One connection: a request is read within its limits, and answered.

use super::request::Request;
use super::response::Response;
use crate::clock::{Clock, SystemClock};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// The longest head of a request.
const MOST_HEAD: usize = 16 * 1024;
/// The most headers.
const MOST_HEADERS: usize = 64;
/// The longest body.
const MOST_BODY: usize = 256 * 1024;
/// The time within which a request is there as a whole.
const READ_TIME: Duration = Duration::from_secs(10);
/// The time for which a client may not take what is written.
const WRITE_TIME: Duration = Duration::from_secs(10);

/// Why there is no request.
enum Refusal {
    /// The client is told by a status.
    Status(u16),
    /// The client is gone, or was too slow.
    Gone,
}

/// Reads one request and writes its answer; the connection ends with it.
pub(super) fn serve(mut stream: TcpStream, handler: &dyn Fn(&Request) -> Response) {
    let clock = SystemClock::default();
    let response = match read(&mut stream, &clock) {
        Ok(request) => {
            let is_head = request.is_head();
            (handler(&request), is_head)
        }
        Err(Refusal::Status(status)) => (Response::text(status, format!("{}\n", reason(status))), false),
        Err(Refusal::Gone) => return,
    };
    // A client that is gone has no use for the answer.
    let _ = write(&mut stream, &response.0, response.1);
}

fn read(stream: &mut TcpStream, clock: &SystemClock) -> Result<Request, Refusal> {
    let peer = stream.peer_addr().map_err(|_| Refusal::Gone)?.ip();
    let mut bytes = Vec::new();
    let (mut request, head, length) = loop {
        more(stream, clock, &mut bytes)?;
        if let Some(read) = parse(&bytes)? {
            break read;
        }
        if bytes.len() > MOST_HEAD {
            return Err(Refusal::Status(431));
        }
    };
    if length > MOST_BODY {
        return Err(Refusal::Status(413));
    }
    while bytes.len() < head + length {
        more(stream, clock, &mut bytes)?;
    }
    request = request.body(bytes.get(head..head + length).unwrap_or_default());
    Ok(request.peer(peer))
}

/// Reads what there is, within what is left of the time.
fn more(stream: &mut TcpStream, clock: &SystemClock, bytes: &mut Vec<u8>) -> Result<(), Refusal> {
    let left = READ_TIME.saturating_sub(clock.ticks());
    if left.is_zero() {
        return Err(Refusal::Status(408));
    }
    stream.set_read_timeout(Some(left)).map_err(|_| Refusal::Gone)?;
    let mut buffer = [0; 4096];
    match stream.read(&mut buffer) {
        Ok(0) => Err(Refusal::Gone),
        Ok(count) => {
            bytes.extend_from_slice(buffer.get(..count).unwrap_or_default());
            Ok(())
        }
        Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Err(Refusal::Status(408)),
        Err(_) => Err(Refusal::Gone),
    }
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
    stream.set_write_timeout(Some(WRITE_TIME))?;
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
    stream.write_all(&bytes)?;
    stream.flush()
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
