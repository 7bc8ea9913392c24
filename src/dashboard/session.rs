//! Sessions: who has logged in, in a signed cookie; and the tokens that forms carry.

use crate::error::Result;
use crate::random;
use hmac::{Hmac, KeyInit, Mac};
use parking_lot::Mutex;
use sha2::Sha256;
use std::collections::BTreeMap;
use std::time::Duration;

/// The most sessions that are remembered as ended.
const MOST_ENDED: usize = 10_000;
/// The way in of a session that a password began, as its cookie has it.
const PASSWORD: &str = "password";

/// A session: the name of its person, empty for nobody in particular.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Session {
    pub(super) name: String,
    /// True if a password began it. A name that a proxy gave is no login of the settings.
    pub(super) is_of_password: bool,
    /// The time at which it ends, by the ticks of this process.
    ends: Duration,
    nonce: String,
}

/// The signature of all sessions of this process. The key is drawn at its start: a new start ends
/// all of them.
pub(super) struct Sessions {
    key: [u8; 32],
    length: Duration,
    /// The nonces of sessions that were ended by their people, until they would have ended.
    ended: Mutex<BTreeMap<String, Duration>>,
}

impl Sessions {
    /// Sessions of this length.
    ///
    /// # Errors
    /// [`Error::Refused`](crate::Error::Refused) if the operating system gives no random numbers.
    pub(super) fn new(length: Duration) -> Result<Self> {
        let mut key = [0; 32];
        random::fill(&mut key)?;
        Ok(Self { key, length, ended: Mutex::default() })
    }

    /// A new session.
    pub(super) fn begin(&self, name: &str, is_of_password: bool, now: Duration) -> Result<Session> {
        let nonce = format!("{}{}", random::hex()?, random::hex()?);
        Ok(Session { name: name.to_owned(), is_of_password, ends: now.saturating_add(self.length), nonce })
    }

    /// The session as a cookie has it.
    pub(super) fn seal(&self, session: &Session) -> String {
        let way = if session.is_of_password { PASSWORD } else { "" };
        let (name, ends) = (hex(session.name.as_bytes()), session.ends.as_millis());
        let text = format!("{way}.{name}.{ends}.{}", session.nonce);
        let signature = hex(&self.sign("session", &text));
        format!("{text}.{signature}")
    }

    /// The session of a cookie, if it was sealed here, is not over and was not ended.
    pub(super) fn open(&self, cookie: &str, now: Duration) -> Option<Session> {
        let (text, signature) = cookie.rsplit_once('.')?;
        self.verify("session", text, signature)?;
        let mut parts = text.split('.');
        let is_of_password = parts.next()? == PASSWORD;
        let name = String::from_utf8(unhex(parts.next()?)?).ok()?;
        let ends = Duration::from_millis(parts.next()?.parse().ok()?);
        let session = Session { name, is_of_password, ends, nonce: parts.next()?.to_owned() };
        (session.ends > now && !self.ended.lock().contains_key(&session.nonce)).then_some(session)
    }

    /// Ends a session: its cookie counts no longer. For one too many, that which would have ended
    /// first is forgotten.
    pub(super) fn end(&self, session: &Session, now: Duration) {
        let mut ended = self.ended.lock();
        ended.retain(|_, ends| *ends > now);
        if ended.len() >= MOST_ENDED
            && let Some(first) = ended.iter().min_by_key(|(_, ends)| **ends).map(|(nonce, _)| nonce.clone())
        {
            ended.remove(&first);
        }
        ended.insert(session.nonce.clone(), session.ends);
    }

    /// The token that forms of this session carry: no other page can know it.
    pub(super) fn token(&self, session: &Session) -> String {
        hex(&self.sign("form", &session.nonce))
    }

    /// True if a form carries the token of this session.
    pub(super) fn is_token(&self, session: &Session, token: &str) -> bool {
        self.verify("form", &session.nonce, token).is_some()
    }

    /// A fingerprint of a secret text, that says nothing about it to anybody else.
    pub(super) fn fingerprint(&self, text: &str) -> String {
        hex(&self.sign("login", text))
    }

    fn sign(&self, purpose: &str, text: &str) -> Vec<u8> {
        self.mac(purpose, text).finalize().into_bytes().to_vec()
    }

    /// Compares in a time that does not depend on the signature.
    fn verify(&self, purpose: &str, text: &str, signature: &str) -> Option<()> {
        self.mac(purpose, text).verify_slice(&unhex(signature)?).ok()
    }

    #[expect(clippy::expect_used, reason = "HMAC takes keys of any length")]
    fn mac(&self, purpose: &str, text: &str) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).expect("a key of any length");
        mac.update(purpose.as_bytes());
        mac.update(&[0]);
        mac.update(text.as_bytes());
        mac
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) {
        return None;
    }
    let byte = |at: usize| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
    (0..text.len()).step_by(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn a_cookie_counts_until_it_ends_and_only_as_it_was_sealed() {
        let sessions = Sessions::new(HOUR).unwrap();
        let session = sessions.begin("ada.l \u{e9}", true, Duration::ZERO).unwrap();
        let cookie = sessions.seal(&session);
        assert_eq!(sessions.open(&cookie, Duration::ZERO), Some(session.clone()));
        assert_eq!(sessions.open(&cookie, HOUR), None, "it is over");
        for at in 0..cookie.len() {
            let mut other = cookie.clone().into_bytes();
            other[at] = if other[at] == b'0' { b'1' } else { b'0' };
            let other = String::from_utf8(other).unwrap();
            assert!(other == cookie || sessions.open(&other, Duration::ZERO).is_none(), "{other}");
        }
        assert_eq!(Sessions::new(HOUR).unwrap().open(&cookie, Duration::ZERO), None, "of another process");
        sessions.end(&session, Duration::ZERO);
        assert_eq!(sessions.open(&cookie, Duration::ZERO), None, "it was ended");
    }

    #[test]
    fn a_session_ends_however_many_have_ended_before() {
        let sessions = Sessions::new(HOUR).unwrap();
        let others = (0..MOST_ENDED).map(|n| (n.to_string(), Duration::from_secs(if n == 77 { 50 } else { 60 })));
        sessions.ended.lock().extend(others);
        let session = sessions.begin("ada", true, Duration::ZERO).unwrap();
        sessions.end(&session, Duration::ZERO);
        assert_eq!(sessions.open(&sessions.seal(&session), Duration::ZERO), None);
        let ended = sessions.ended.lock();
        assert_eq!((ended.len(), ended.contains_key("77")), (MOST_ENDED, false), "which would have ended first");
    }

    #[test]
    fn a_token_is_of_one_session() {
        let sessions = Sessions::new(HOUR).unwrap();
        let [one, other] = ["", ""].map(|name| sessions.begin(name, false, Duration::ZERO).unwrap());
        assert!(sessions.is_token(&one, &sessions.token(&one)));
        assert!(!sessions.is_token(&one, &sessions.token(&other)));
        assert!(!sessions.is_token(&one, "") && !sessions.is_token(&one, "zz"));
    }
}
