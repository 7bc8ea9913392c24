//! A PgBouncer before a PostgreSQL, for the time of a test.

use super::{free_port, wait_until};
use diesel::{Connection, PgConnection};
use rustix::process::{Pid, Signal, getuid, kill_process};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

pub struct PgBouncer {
    process: Child,
    port: u16,
    /// The URL of the server.
    url: String,
    _folder: tempfile::TempDir,
}

impl PgBouncer {
    /// Starts one that lends sessions of the server as `pool_mode` says.
    pub fn before(url: &str, pool_mode: &str) -> Self {
        let (_, server, _) = super::cutting_proxy::split(url);
        let (host, port) = server.split_once(':').expect("the server's port");
        let (login, _) = url.split_once("://").and_then(|(_, rest)| rest.split_once('@')).expect("a login");
        let (user, password) = login.split_once(':').expect("a password");
        // PgBouncer refuses to run as root, so that its folder must be one for all.
        let folder = tempfile::Builder::new().prefix("carnelian-pgbouncer").tempdir_in("/tmp").expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let write = |name: &str, text: String| {
            std::fs::write(path(name), text).expect("the folder can be written");
            std::fs::set_permissions(path(name), std::fs::Permissions::from_mode(0o644)).expect("it is ours");
        };
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).expect("it is ours");
        write("users", format!("\"{user}\" \"{password}\"\n"));
        let own_port = free_port();
        write(
            "ini",
            format!(
                "[databases]\n* = host={host} port={port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
                 listen_port = {own_port}\nunix_socket_dir =\nauth_type = trust\nauth_file = {}\n\
                 pool_mode = {pool_mode}\ndefault_pool_size = 20\nserver_login_retry = 1\n",
                path("users").display()
            ),
        );
        let mut command = Command::new("setpriv");
        if getuid().is_root() {
            command.args(["--reuid=postgres", "--regid=postgres", "--init-groups"]);
        }
        let log = std::fs::File::create(path("log")).expect("the folder can be written");
        command.args(["--pdeathsig", "INT", "--", "pgbouncer"]).arg(path("ini"));
        command.env("PATH", format!("{}:/usr/sbin", std::env::var("PATH").unwrap_or_default()));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let process = command.spawn().expect("setpriv and pgbouncer are installed: see tests/servers.sh");
        let mut pooler = Self { process, port: own_port, url: url.to_owned(), _folder: folder };
        wait_until("the pooler answers", Duration::from_secs(30), || {
            assert!(pooler.process.try_wait().expect("it is ours").is_none(), "PgBouncer has ended");
            PgConnection::establish(&pooler.url()).is_ok()
        });
        pooler
    }

    /// A URL of the server, by way of the pooler.
    pub fn url(&self) -> String {
        let (before, _, after) = super::cutting_proxy::split(&self.url);
        format!("{before}127.0.0.1:{}{after}", self.port)
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.process), Signal::INT);
        let _ = self.process.wait();
    }
}
