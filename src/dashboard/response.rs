//! `Response`: an HTTP response as a plain value, with the headers that keep a page safe.

use maud::Markup;
use serde_json::Value;

/// Everything comes from the dashboard itself: no script in a page, no foreign frame around it, no
/// foreign target of a form.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The headers of every answer.
const SAFE: [(&str, &str); 7] = [
    ("Content-Security-Policy", POLICY),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cache-Control", "no-store"),
];

/// An HTTP response, for whatever server writes it.
///
/// ```
/// use carnelian::dashboard::{Dashboard, Request};
///
/// let scheduler = carnelian::Scheduler::builder().build()?;
/// let answer = Dashboard::new(&scheduler)?.handle(&Request::new("GET", "/healthz"));
/// assert_eq!((answer.status(), answer.body()), (200, &b"ok\n"[..]));
/// assert!(answer.headers().iter().any(|(name, _)| name == "Content-Security-Policy"));
/// # Ok::<(), carnelian::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Response {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Response {
    /// The status code.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The headers, without `Content-Length`, in no particular order.
    pub fn headers(&self) -> &[(String, String)] {
        &self.headers
    }

    /// The body.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    fn new(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        let safe = SAFE.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let headers = safe.chain([("Content-Type".to_owned(), content_type.to_owned())]).collect();
        Self { status, headers, body: body.into() }
    }

    pub(super) fn html(status: u16, page: Markup) -> Self {
        Self::new(status, "text/html; charset=utf-8", page.into_string())
    }

    pub(super) fn json(status: u16, document: &Value) -> Self {
        Self::new(status, "application/json", format!("{document:#}\n"))
    }

    pub(super) fn text(status: u16, text: impl Into<String>) -> Self {
        Self::new(status, "text/plain; charset=utf-8", text.into())
    }

    /// Metrics in Prometheus's text format.
    pub(super) fn metrics(text: String) -> Self {
        Self::new(200, "text/plain; version=0.0.4; charset=utf-8", text)
    }

    /// A file of the dashboard's own, which changes with its version only.
    pub(super) fn asset(content_type: &str, bytes: &'static str) -> Self {
        let mut response = Self::new(200, content_type, bytes);
        response.set("Cache-Control", "max-age=3600");
        response
    }

    /// The browser is sent on to another page, which it gets.
    pub(super) fn see_other(page: &str) -> Self {
        Self::new(303, "text/plain; charset=utf-8", "").with("Location", page)
    }

    pub(super) fn with(mut self, name: &str, value: &str) -> Self {
        self.set(name, value);
        self
    }

    fn set(&mut self, name: &str, value: &str) {
        // A line break would begin another header.
        let value = value.chars().filter(|c| !c.is_control()).collect();
        self.headers.retain(|(given, _)| given != name);
        self.headers.push((name.to_owned(), value));
    }
}
