//! Access: who a request comes from.

use super::hosts;
use super::login::Login;
use super::login_rate::LoginRate;
use super::password;
use super::request::Request;
use super::session::{Session, Sessions};
use crate::error::Result;
use crate::settings::{DashboardRole, DashboardSettings};
use base64ct::{Base64Unpadded, Encoding};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

/// The person of a request, as the program that mounts the dashboard knows it.
pub(super) type Authenticate = dyn Fn(&Request) -> Option<Login> + Send + Sync;

/// The name of whoever uses the dashboard of this machine without a login.
const NOBODY: &str = "dashboard";

/// The time for which a name and password that were right are not hashed again.
const REMEMBERED: Duration = Duration::from_secs(300);
/// The most that are remembered.
const MOST_REMEMBERED: usize = 100;

/// The ways in: passwords, a proxy, the program that mounts the dashboard, the machine itself.
pub(super) struct Access {
    pub(super) settings: DashboardSettings,
    pub(super) sessions: Sessions,
    pub(super) authenticate: Option<Box<Authenticate>>,
    rate: LoginRate,
    /// The turn to compare a password and to count it, so that tries that come together count too.
    turn: Mutex<()>,
    /// Fingerprints of names with passwords that were right, and until when they count.
    remembered: Mutex<BTreeMap<String, Duration>>,
}

/// The person of a request.
pub(super) enum Who {
    /// Somebody known.
    Known(Login),
    /// Nobody yet: the login page comes first.
    Unknown,
    /// Somebody who tried too often: the time to wait.
    TooMany(Duration),
    /// Nobody who could log in.
    Refused(&'static str),
}

impl Access {
    pub(super) fn new(settings: DashboardSettings) -> Result<Self> {
        let sessions = Sessions::new(settings.session_length)?;
        Ok(Self {
            settings,
            sessions,
            authenticate: None,
            rate: LoginRate::default(),
            turn: Mutex::default(),
            remembered: Mutex::default(),
        })
    }

    /// True if somebody has to say who they are.
    pub(super) fn has_login(&self) -> bool {
        self.settings.has_login() || self.authenticate.is_some()
    }

    /// True if there is a login page.
    pub(super) fn has_passwords(&self) -> bool {
        !self.settings.users.is_empty()
    }

    /// The person of a request. Names and passwords in its header count only for programs
    /// (`by_header`).
    pub(super) fn who(&self, request: &Request, session: Option<&Session>, by_header: bool, now: Duration) -> Who {
        if let Some(authenticate) = &self.authenticate {
            return authenticate(request)
                .map_or(Who::Refused("the program that serves this page knows nobody by this request"), Who::Known);
        }
        match self.by_proxy(request) {
            Ok(Some(login)) => return Who::Known(login),
            Ok(None) => {}
            Err(why) => return Who::Refused(why),
        }
        let session = session.filter(|session| session.is_of_password);
        if let Some(user) =
            session.and_then(|session| self.settings.users.iter().find(|user| user.name == session.name))
        {
            return Who::Known(Login::new(&user.name, user.role));
        }
        if by_header && let Some((name, password)) = basic(request) {
            return self.log_in(request, &name, &password, now);
        }
        if self.has_passwords() {
            return Who::Unknown;
        }
        if self.settings.has_login() {
            return Who::Refused("a proxy does the login here, and this request bears no name of a proxy's");
        }
        if hosts::is_of_this_machine(request) {
            return Who::Known(Login::operator(NOBODY));
        }
        Who::Refused(
            "without a login only this machine is answered: set carnelian.dashboard.user.NAME.password to what \
             `carnelian dashboard --hash-password` prints, or carnelian.dashboard.proxyUserHeader",
        )
    }

    /// The person of a name with a password, never one that is refused.
    pub(super) fn log_in(&self, request: &Request, name: &str, password: &str, now: Duration) -> Who {
        let user = self.settings.users.iter().find(|user| user.name == name);
        let fingerprint = self.sessions.fingerprint(&format!("{name}\n{password}"));
        let known = || user.filter(|_| self.remembered.lock().get(&fingerprint).is_some_and(|until| *until > now));
        if let Some(user) = known() {
            return Who::Known(Login::new(name, user.role));
        }
        let _turn = self.turn.lock();
        if let Some(user) = known() {
            return Who::Known(Login::new(name, user.role));
        }
        let peer = self.asker(request).map_or_else(|| "?".to_owned(), |peer| peer.to_string());
        // A name counts as any other, also if nobody has it: the answers tell no names.
        let by_name = self.sessions.fingerprint(name);
        let who = [by_name.as_str(), peer.as_str()];
        if let Some(wait) = self.rate.wait(&who, now) {
            return Who::TooMany(wait);
        }
        match user.filter(|_| password::is_right(password, user.map(|user| &user.password))) {
            Some(user) => {
                self.remember(fingerprint, now);
                Who::Known(Login::new(name, user.role))
            }
            None => {
                if user.is_none() {
                    password::is_right(password, None);
                }
                self.rate.note_failure(&who);
                log::warn!("a login to the dashboard failed peer={peer}");
                Who::Unknown
            }
        }
    }

    fn remember(&self, fingerprint: String, now: Duration) {
        let mut remembered = self.remembered.lock();
        remembered.retain(|_, until| *until > now);
        if remembered.len() < MOST_REMEMBERED {
            remembered.insert(fingerprint, now + REMEMBERED);
        }
    }

    /// The address from which a request comes: for a proxy's, that for which the proxy asks.
    fn asker(&self, request: &Request) -> Option<IpAddr> {
        let peer = request.peer?;
        // The address that the proxy itself has seen comes last.
        let seen = request.all("x-forwarded-for").next_back().filter(|_| self.is_proxy(peer));
        seen.and_then(|seen| seen.rsplit(',').next()?.trim().parse().ok()).or(Some(peer))
    }

    fn is_proxy(&self, peer: IpAddr) -> bool {
        self.settings.proxy_addresses.iter().any(|proxy| proxy.to_canonical() == peer.to_canonical())
    }

    fn by_proxy(&self, request: &Request) -> std::result::Result<Option<Login>, &'static str> {
        let header = self.settings.proxy_user_header.as_deref();
        let is_proxy = request.peer.is_some_and(|peer| self.is_proxy(peer));
        let Some(header) = header.filter(|_| is_proxy) else { return Ok(None) };
        let mut names = request.all(header).map(str::trim);
        let name = names.next().unwrap_or_default();
        if names.next().is_some() {
            return Err("this request bears the header of carnelian.dashboard.proxyUserHeader more than once: the \
                        proxy must replace what browsers send, and not add to it");
        }
        let is_operator = self.settings.proxy_operators.iter().any(|operator| operator == name || operator == "*");
        let role = if is_operator { DashboardRole::Operator } else { DashboardRole::Viewer };
        Ok((!name.is_empty()).then(|| Login::new(name, role)))
    }
}

/// The name and the password of a header `Authorization: Basic …`.
fn basic(request: &Request) -> Option<(String, String)> {
    let (scheme, encoded) = request.get("authorization")?.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let bytes = Base64Unpadded::decode_vec(encoded.trim().trim_end_matches('=')).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    text.split_once(':').map(|(name, password)| (name.to_owned(), password.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_passwords_are_read_from_the_header() {
        let request = |value: &str| Request::new("GET", "/").header("Authorization", value);
        let ada = Some(("ada".to_owned(), "correct: horse".to_owned()));
        assert_eq!(basic(&request("Basic YWRhOmNvcnJlY3Q6IGhvcnNl")), ada);
        assert_eq!(basic(&request("basic YWRhOmNvcnJlY3Q6IGhvcnNl=")), ada);
        for wrong in ["Bearer YWRh", "Basic", "Basic ***", "Basic YWRh", "Basic //8="] {
            assert_eq!(basic(&request(wrong)), None, "{wrong}");
        }
    }
}
