//! `dashboard`: serves the web page until a signal ends it, or hashes a password for it.

use crate::config::Config;
use crate::failure::{Failure, Outcome};
use crate::output::write;
use carnelian::StopSignals;
use carnelian::dashboard::{Dashboard as Page, Server, hash_password};
use clap::Args;
use std::io::Read;
use std::net::SocketAddr;

/// The longest password that is read.
const MOST_BYTES: u64 = 4096;

// The page is served or a password hashed; as a doc comment it would be the help of the command.
#[derive(Args)]
pub struct Dashboard {
    /// The IP address and port to listen on; port 0 takes a free one [default: that of
    /// carnelian.dashboard.listen, 127.0.0.1:8080]
    #[arg(long, value_name = "ADDR", value_parser = address)]
    pub listen: Option<SocketAddr>,
    /// Reads a password from standard input and prints its hash, for
    /// carnelian.dashboard.user.NAME.password
    #[arg(long, conflicts_with = "listen")]
    pub hash_password: bool,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let text = text.strip_prefix("localhost:").map_or_else(|| text.to_owned(), |port| format!("127.0.0.1:{port}"));
    text.parse().map_err(|_| "expected an IP address and a port, such as 127.0.0.1:8080".to_owned())
}

/// Prints the hash of the password on standard input.
pub fn hash() -> Outcome {
    let mut password = String::new();
    let mut input = std::io::stdin().lock().take(MOST_BYTES);
    input.read_to_string(&mut password).map_err(|why| Failure::Usage(format!("standard input: {why}")))?;
    let hash = hash_password(password.trim_end_matches(['\n', '\r']))?;
    write(&format!("{hash}\n"))
}

/// Serves until SIGTERM or SIGINT.
pub fn run(config: &Config, options: &Dashboard) -> Outcome {
    let settings = &config.settings.dashboard;
    let listen = options.listen.unwrap_or(settings.listen);
    if !listen.ip().is_loopback() && !settings.has_login() {
        return Err(Failure::Usage(format!(
            "without a login the dashboard listens on this machine only, not at {listen}: set \
             carnelian.dashboard.user.NAME.password to what `carnelian dashboard --hash-password` prints, or \
             carnelian.dashboard.proxyUserHeader if a proxy does the login"
        )));
    }
    if !settings.has_login() {
        log::warn!(
            "the dashboard has no login: whoever reaches it from this machine is an operator, and so is everybody \
             behind a proxy here that does not say for whom it asks"
        );
    }
    let signals = StopSignals::catch()?;
    let page = Page::of_store(config.open()?)?;
    let server = Server::start(listen, move |request| page.handle(request))?;
    write(&format!("READY http://{}\n", server.address()))?;
    signals.wait();
    Ok(())
}
