//! A PostgreSQL and a replica that follows it asynchronously: servers of one test, started as in
//! `tests/servers.sh`.

use super::support::{free_port, wait_until};
use diesel::connection::SimpleConnection;
use diesel::{Connection, PgConnection};
use rustix::process::{Pid, Signal, getuid, kill_process};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

/// The directory of initdb and postgres.
fn programs() -> PathBuf {
    let ask = ". tests/servers.sh; need_packages postgres && postgres_bin";
    let root = env!("CARGO_MANIFEST_DIR");
    let said = Command::new("bash").args(["-uc", ask]).current_dir(root).output().unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    PathBuf::from(String::from_utf8(said.stdout).unwrap().trim_end())
}

/// A command of the server's user, since PostgreSQL refuses to run as root. The command ends with
/// the thread that starts it.
fn as_server(program: PathBuf) -> Command {
    let mut command = Command::new("setpriv");
    if getuid().is_root() {
        command.args(["--reuid=postgres", "--regid=postgres", "--init-groups"]);
    }
    command.args(["--pdeathsig", "INT", "--"]).arg(program).env("LC_ALL", "C").stdin(Stdio::null());
    command
}

#[track_caller]
fn run(command: &mut Command) {
    let done = command.output().unwrap();
    assert!(done.status.success(), "{command:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// A server that runs on the data in a directory.
pub struct Server {
    process: Child,
    data: PathBuf,
    port: u16,
}

impl Server {
    fn start(programs: &Path, data: PathBuf) -> Self {
        // Somebody may take the port between the look and the start: then another one.
        for _ in 0..5 {
            let port = free_port();
            let options =
                ["listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off", "shared_buffers=32MB"];
            let mut command = as_server(programs.join("postgres"));
            command.arg("-D").arg(&data).args(["-p", &port.to_string()]).stdout(Stdio::null());
            let log = std::fs::File::create(data.with_extension("log")).unwrap();
            command.stderr(log).args(options.iter().flat_map(|option| ["-c", option]));
            let mut server = Self { process: command.spawn().unwrap(), data: data.clone(), port };
            let mut is_up = false;
            wait_until("the server answers or ends", LONG, || {
                is_up = PgConnection::establish(&server.url()).is_ok();
                is_up || server.process.try_wait().unwrap().is_some()
            });
            if is_up {
                return server;
            }
        }
        panic!("no PostgreSQL: {}", std::fs::read_to_string(data.with_extension("log")).unwrap());
    }

    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    pub fn connect(&self) -> PgConnection {
        PgConnection::establish(&self.url()).unwrap()
    }

    /// Kills it with SIGKILL; its sessions see that and end by themselves.
    pub fn kill(&mut self) {
        // Line 7 of the file has the key and the id of its shared memory.
        let file = std::fs::read_to_string(self.data.join("postmaster.pid")).unwrap_or_default();
        let shared = file.lines().nth(6).and_then(|line| line.split_whitespace().nth(1)).map(str::to_owned);
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        // The system keeps it when a server is killed, and frees it with the last session.
        shared.map(|id| Command::new("ipcrm").args(["-m", &id]).output());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.process.try_wait().is_ok_and(|end| end.is_none()) {
            kill_process(Pid::from_child(&self.process), Signal::INT).unwrap();
            self.process.wait().unwrap();
        }
    }
}

/// A primary, and a replica that has what it sends. Fields are dropped in their order.
pub struct Pair {
    pub replica: Server,
    pub primary: Server,
    _folder: tempfile::TempDir,
}

impl Pair {
    pub fn start() -> Self {
        let folder = tempfile::Builder::new().prefix("carnelian-replica").tempdir_in("/tmp").unwrap();
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o711)).unwrap();
        let servers = folder.path().join("servers");
        let mut make = Command::new("install");
        if getuid().is_root() {
            make.args(["-o", "postgres"]);
        }
        run(make.args(["-d", "-m", "700"]).arg(&servers));
        let (programs, data, copy) = (programs(), servers.join("primary"), servers.join("replica"));
        let options = ["-U", "postgres", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync"];
        run(as_server(programs.join("initdb")).arg("-D").arg(&data).args(options));
        let primary = Server::start(&programs, data);
        let port = primary.port.to_string();
        let options =
            ["-h", "127.0.0.1", "-p", &port, "-U", "postgres", "-R", "-X", "stream", "-c", "fast", "--no-sync"];
        run(as_server(programs.join("pg_basebackup")).arg("-D").arg(&copy).args(options));
        let replica = Server::start(&programs, copy);
        Self { replica, primary, _folder: folder }
    }

    /// Cuts the replica off from all later commits of the primary.
    pub fn separate(&self) {
        let stop = ["ALTER SYSTEM SET primary_conninfo = ''", "SELECT pg_reload_conf()"];
        let mut replica = self.replica.connect();
        stop.iter().for_each(|text| replica.batch_execute(text).unwrap());
        let mut primary = self.primary.connect();
        wait_until("nothing is sent any more", LONG, || super::count(&mut primary, "FROM pg_stat_replication") == 0);
    }

    /// The replica takes the primary's place, which must be dead.
    pub fn promote(&self) {
        self.replica.connect().batch_execute("SELECT pg_promote()").unwrap();
    }
}
