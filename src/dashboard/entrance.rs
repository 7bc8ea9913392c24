//! The entrance: the login page, and the cookie that a session leaves.

use super::access::{Access, Who};
use super::errors::answer;
use super::hosts;
use super::layout::alone;
use super::request::Request;
use super::response::Response;
use super::session::Session;
use maud::html;
use std::time::Duration;

/// The name of the cookie. Dashboards on other ports of the machine have cookies of their own.
fn cookie_name(request: &Request) -> String {
    format!("carnelian_session_{}", hosts::port(request).unwrap_or("0"))
}

/// The session of a request, if it bears one that counts.
pub(super) fn session_of(access: &Access, request: &Request, now: Duration) -> Option<Session> {
    access.sessions.open(request.cookie(&cookie_name(request))?, now)
}

/// The response that leaves a session with the browser.
pub(super) fn with_session(access: &Access, request: &Request, response: Response, session: &Session) -> Response {
    // A proxy that speaks TLS to the browser says so.
    let secure = if request.get("x-forwarded-proto") == Some("https") { "; Secure" } else { "" };
    let (name, value) = (cookie_name(request), access.sessions.seal(session));
    let lasts = access.settings.session_length.as_secs();
    response.with("Set-Cookie", &format!("{name}={value}; Path=/; Max-Age={lasts}; HttpOnly; SameSite=Strict{secure}"))
}

/// The way to the login page.
pub(super) fn to_login(request: &Request) -> Response {
    if request.path().starts_with("/api/") || request.path() == "/metrics" {
        let response = answer(request, 401, "log in: send a name and a password (HTTP Basic)");
        return response.with("WWW-Authenticate", "Basic realm=\"carnelian\", charset=\"UTF-8\"");
    }
    if !request.is_get() {
        return answer(request, 401, "The session has ended: log in again.");
    }
    let folders = request.path().matches('/').count().saturating_sub(1);
    Response::see_other(&format!("{}login", "../".repeat(folders)))
}

/// The login page, and what was wrong with the last try.
pub(super) fn login_page(access: &Access, request: &Request, now: Duration, wrong: Option<(u16, &str)>) -> Response {
    let session = match session_of(access, request, now).map_or_else(|| access.sessions.begin("", false, now), Ok) {
        Ok(session) => session,
        Err(error) => return answer(request, 500, &error.to_string()),
    };
    let page = alone(
        "Log in",
        &html! {
            @if let Some((_, text)) = wrong { p.flash.bad role="alert" { (text) } }
            form.login method="post" action="login" {
                input type="hidden" name="token" value=(access.sessions.token(&session));
                label { "Name" input name="name" autocomplete="username" required autofocus; }
                label { "Password" input type="password" name="password" autocomplete="current-password" required; }
                button.main { "Log in" }
            }
        },
    );
    with_session(access, request, Response::html(wrong.map_or(200, |(status, _)| status), page), &session)
}

/// The wait after too many wrong tries: in seconds, and in words.
pub(super) fn wait_words(wait: Duration) -> (u64, String) {
    let seconds = wait.as_secs() + 1;
    (seconds, format!("Too many wrong tries: wait {seconds} seconds."))
}

/// Tries the name and the password of the login form.
pub(super) fn log_in(access: &Access, request: &Request, now: Duration) -> Response {
    let form = request.form();
    let is_own = session_of(access, request, now)
        .is_some_and(|session| access.sessions.is_token(&session, form.get("token").unwrap_or_default()));
    if !is_own || !hosts::is_same_origin(request) {
        return login_page(access, request, now, Some((403, "The page was too old. Try again.")));
    }
    let (name, password) = (form.get("name").unwrap_or_default(), form.get("password").unwrap_or_default());
    match access.log_in(request, name, password, now) {
        Who::Known(login) => match access.sessions.begin(login.name(), true, now) {
            Ok(session) => with_session(access, request, Response::see_other("./"), &session),
            Err(error) => answer(request, 500, &error.to_string()),
        },
        Who::Unknown | Who::Refused(_) => login_page(access, request, now, Some((403, "Name or password is wrong."))),
        Who::TooMany(wait) => {
            let (seconds, text) = wait_words(wait);
            login_page(access, request, now, Some((429, &text))).with("Retry-After", &seconds.to_string())
        }
    }
}
