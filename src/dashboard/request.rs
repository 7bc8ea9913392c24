//! `Request`: an HTTP request as a plain value.

use super::form::Fields;
use crate::setters::setters;
use std::net::IpAddr;

/// An HTTP request, from whatever server has read it.
///
/// ```
/// use carnelian::dashboard::Request;
///
/// let request = Request::new("GET", "/history?outcome=failed").header("Host", "localhost:8080");
/// assert_eq!(request.path(), "/history");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Request {
    method: String,
    path: String,
    pub(super) query: String,
    headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
    pub(super) peer: Option<IpAddr>,
    pub(super) is_old: bool,
}

impl Request {
    /// A request by its method and its target: the path, with a query if there is one. A server
    /// that mounts the dashboard below a folder leaves that folder out.
    pub fn new(method: impl Into<String>, target: &str) -> Self {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        Self { method: method.into(), path: path.to_owned(), query: query.to_owned(), ..Self::default() }
    }

    /// With one more header. Default: none.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    setters! {
        /// With this body. Default: empty.
        pub fn body(bytes: impl Into<Vec<u8>>) { self.body = bytes.into() }

        /// From this address, which tells the own machine and proxies apart from others. Default:
        /// unknown, which is neither.
        pub fn peer(address: IpAddr) { self.peer = Some(address) }

        /// In HTTP/1.0, which no browser speaks, and nginx before 1.29.7 as a proxy unless it is
        /// told otherwise. A proxy that speaks HTTP/1.1 and sets no header of its own, as later
        /// ones do, looks like a browser: no check stands for a login there.
        pub(super) fn old(is_old: bool) { self.is_old = is_old }
    }

    /// The path, without the query.
    pub fn path(&self) -> &str {
        &self.path
    }

    pub(super) fn is_post(&self) -> bool {
        self.method == "POST"
    }

    /// `HEAD` asks what `GET` asks; the server leaves out the body.
    pub(super) fn is_get(&self) -> bool {
        self.method == "GET" || self.method == "HEAD"
    }

    pub(super) fn is_head(&self) -> bool {
        self.method == "HEAD"
    }

    /// The values of a header, as often as it was given.
    pub(super) fn all<'a>(&'a self, name: &str) -> impl DoubleEndedIterator<Item = &'a str> {
        let is_it = move |(given, _): &&(String, String)| given.eq_ignore_ascii_case(name);
        self.headers.iter().filter(is_it).map(|(_, value)| value.as_str())
    }

    /// The value of a header; of several the first.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// The fields of the query.
    pub(super) fn query(&self) -> Fields {
        Fields::read(self.query.as_bytes())
    }

    /// The fields of a form that was sent.
    pub(super) fn form(&self) -> Fields {
        Fields::read(&self.body)
    }

    /// The value of a cookie.
    pub(super) fn cookie(&self, name: &str) -> Option<&str> {
        let pairs = self.get("cookie")?.split(';');
        pairs.filter_map(|pair| pair.trim().split_once('=')).find(|(given, _)| *given == name).map(|(_, value)| value)
    }
}
