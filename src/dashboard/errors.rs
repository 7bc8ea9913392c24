//! Errors as answers: a status, and a text that says what to do.

use super::layout::alone;
use super::request::Request;
use super::response::Response;
use crate::error::Error;
use maud::html;
use serde_json::json;

/// The answer that something went wrong: as JSON where programs ask, else as a page.
pub(super) fn answer(request: &Request, status: u16, text: &str) -> Response {
    if request.path().starts_with("/api/") {
        return Response::json(status, &json!({"error": text}));
    }
    if request.path() == "/metrics" {
        return Response::text(status, format!("{text}\n"));
    }
    let title = match status {
        401 | 403 => "Not allowed",
        404 => "Not found",
        400 | 405 | 413 => "Not understood",
        _ => "Something is wrong",
    };
    let back = request.path().trim_start_matches('/').contains('/');
    Response::html(status, alone(title, &html! { p { (text) } @if !back { p { a href="./" { "To the overview" } } } }))
}

/// The answer for an error of the store.
pub(super) fn of_store(request: &Request, error: &Error) -> Response {
    answer(request, status_of(error), &error.to_string())
}

/// The status that tells whose an error of the store is: the caller's, or the server's.
pub(super) fn status_of(error: &Error) -> u16 {
    match error {
        Error::Database(_) | Error::Schema(_) => 503,
        Error::NotFound { .. } => 404,
        Error::Invalid { .. } | Error::Cron(_) | Error::NeverFires { .. } => 400,
        Error::Refused(_) | Error::AlreadyExists { .. } | Error::Locked { .. } => 409,
        _ => 500,
    }
}
