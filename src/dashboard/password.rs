//! Passwords: hashed with Argon2id, and compared.

use crate::error::{Error, Result};
use crate::random;
use crate::settings::Secret;
use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use parking_lot::Mutex;

/// The shortest password that is hashed.
const SHORTEST: usize = 8;
/// The longest password that is compared.
const LONGEST: usize = 1024;

/// One comparison at a time: each takes 19 MiB, whoever asks.
static TURN: Mutex<()> = Mutex::new(());

/// The hash of a password, for `carnelian.dashboard.user.NAME.password`: Argon2id with a salt of
/// its own, as a PHC string.
///
/// ```
/// use carnelian::dashboard::hash_password;
///
/// assert!(hash_password("correct horse")?.starts_with("$argon2id$"));
/// assert!(hash_password("short").is_err());
/// # Ok::<(), carnelian::Error>(())
/// ```
///
/// # Errors
/// [`Error::Invalid`] for a password of fewer than eight characters or more than 1024 bytes;
/// [`Error::Refused`] if the operating system gives no random numbers.
pub fn hash_password(password: &str) -> Result<String> {
    if password.chars().count() < SHORTEST || password.len() > LONGEST {
        let expected = format!("expected at least {SHORTEST} characters and at most {LONGEST} bytes");
        return Err(Error::invalid("password", "***", expected));
    }
    let mut salt = [0; 16];
    random::fill(&mut salt)?;
    let hash: PasswordHash = Argon2::default()
        .hash_password_with_salt(password.as_bytes(), &salt)
        .map_err(|why| Error::Refused(format!("the password cannot be hashed: {why}")))?;
    Ok(hash.to_string())
}

/// True if the password is the one that was hashed. Takes as long for a login that does not exist.
pub(super) fn is_right(password: &str, hash: Option<&Secret>) -> bool {
    if password.len() > LONGEST {
        return false;
    }
    let _turn = TURN.lock();
    let is_same = |hash: &str| {
        PasswordHash::new(hash).is_ok_and(|hash| Argon2::default().verify_password(password.as_bytes(), &hash).is_ok())
    };
    match hash {
        Some(hash) => is_same(hash.reveal()),
        None => {
            // Nobody learns from the time of the answer which logins there are.
            let _: std::result::Result<PasswordHash, _> =
                Argon2::default().hash_password_with_salt(password.as_bytes(), b"no such login...");
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_known_by_its_hash() {
        let hash = Secret::new(hash_password("correct horse").unwrap());
        assert!(is_right("correct horse", Some(&hash)));
        assert!(!is_right("correct horsf", Some(&hash)));
        assert!(!is_right("correct horse", Some(&Secret::new("$argon2id$nonsense"))));
        assert!(!is_right("correct horse", None));
    }
}
