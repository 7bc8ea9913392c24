//! TLS to MySQL and MariaDB: a mode that the client library cannot keep is refused.
//!
//! MariaDB's client library has no `ssl_mode`: it would connect in clear text without a word.

use super::failure::Failure;
use super::statement::Variable;
use crate::error::FailureClass;
use mysqlclient_sys::SUPPORTS_MYSQL_SSL_MODE;

const CIPHER: &str = "SHOW SESSION STATUS LIKE 'Ssl_cipher'";

/// The mode of a URL that asks for encryption at least.
fn strict_mode(url: &str) -> Option<&str> {
    let mode = url.split(['?', '&']).find_map(|part| part.strip_prefix("ssl_mode="))?;
    matches!(mode, "required" | "verify_ca" | "verify_identity").then_some(mode)
}

fn refused(mode: &str, why: &str) -> Failure {
    Failure { class: FailureClass::Permanent, message: format!("cannot connect: ssl_mode={mode}: {why}") }
}

/// Refuses a URL whose server would not be verified.
pub(super) fn check_library(url: &str) -> Result<(), Failure> {
    match strict_mode(url) {
        Some(mode) if mode != "required" && !SUPPORTS_MYSQL_SSL_MODE => Err(refused(
            mode,
            "this program is built with MariaDB's client library, which cannot be told to verify the server: \
             build the program with MySQL's (libmysqlclient), or connect through a tunnel that verifies",
        )),
        _ => Ok(()),
    }
}

/// Refuses a session in clear text where the URL asks for another.
pub(super) fn check_session(
    url: &str,
    ask: impl FnOnce(&str) -> Result<Vec<Variable>, Failure>,
) -> Result<(), Failure> {
    // MySQL's library has seen to it, and a proxy tells of the session behind it.
    let Some(mode) = strict_mode(url).filter(|_| !SUPPORTS_MYSQL_SSL_MODE) else { return Ok(()) };
    let ciphers = ask(CIPHER)?;
    if ciphers.iter().any(|cipher| !cipher.value.is_empty()) {
        return Ok(());
    }
    Err(refused(
        mode,
        "the session is not encrypted: the server must offer TLS, and MariaDB's client library asks for it only if the \
         URL names the authority's certificate, ssl_ca=FILE",
    ))
}
