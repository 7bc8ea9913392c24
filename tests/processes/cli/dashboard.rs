//! `carnelian dashboard`, and a node that answers for its health.
#![cfg(feature = "dashboard")]

use super::{Place, write_config};
use crate::support::wait_until;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A program that is killed when the test is over.
struct Running(Child);

impl Running {
    fn start(command: &mut Command) -> Self {
        Self(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// The rest of the first line on standard output that begins so.
    fn said(&mut self, begin: &str) -> String {
        line_of(BufReader::new(self.0.stdout.take().unwrap()), begin)
    }

    /// As [`Running::said`], on standard error.
    fn complained(&mut self, begin: &str) -> String {
        line_of(BufReader::new(self.0.stderr.take().unwrap()), begin)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn line_of(output: impl BufRead, begin: &str) -> String {
    let mut lines = output.lines().map_while(Result::ok);
    lines.find_map(|line| line.strip_prefix(begin).map(str::to_owned)).unwrap_or_else(|| panic!("no line `{begin}`"))
}

/// The status and the text of an answer.
fn get(address: &str, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap();
    (status, answer.split_once("\r\n\r\n").unwrap().1.to_owned())
}

#[test]
fn the_dashboard_says_where_it_is_and_serves_pages() {
    let place = Place::new();
    write_config(&place.path("carnelian.properties"), "");
    place.fine("migrate");
    place.fine("schedule --job billing.a --type command --trigger billing.t --every 1h");
    let mut dashboard = Running::start(&mut place.command(&["dashboard", "--listen", "127.0.0.1:0"]));
    let address = dashboard.said("READY http://");
    let page = get(&address, "/triggers");
    assert_eq!(page.0, 200);
    assert!(page.1.contains("trigger?group=billing&amp;name=t"), "{}", page.1);
    assert_eq!(get(&address, "/healthz"), (200, "ok\n".to_owned()));
    assert_eq!(get(&address, "/readyz"), (200, "ready\n".to_owned()));
    assert!(get(&address, "/metrics").1.contains("carnelian_instances{state=\"alive\"} 0"));
    // The reads of the API are those of the command line.
    let of_api = |path: &str| serde_json::from_str::<serde_json::Value>(&get(&address, path).1).unwrap();
    assert_eq!(of_api("/api/triggers")["items"], place.json("trigger list"));
    assert_eq!(of_api("/api/explain?key=billing.t")["schedule"], place.json("explain billing.t")["schedule"]);
}

#[test]
fn other_machines_are_answered_with_a_login_only() {
    let place = Place::new();
    let config = place.path("carnelian.properties");
    write_config(&config, "");
    place.fine("migrate");
    let refused = place.refused(2, "dashboard --listen 0.0.0.0:0");
    assert!(refused.contains("carnelian.dashboard.user.NAME.password"), "{refused}");
    let mut hash = place.command(&["dashboard", "--hash-password"]);
    let mut hashing = hash.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    hashing.stdin.take().unwrap().write_all(b"correct horse\n").unwrap();
    let hash = String::from_utf8(hashing.wait_with_output().unwrap().stdout).unwrap();
    assert!(hash.starts_with("$argon2id$"), "{hash}");
    write_config(&config, &format!("carnelian.dashboard.user.ada.password = {hash}"));
    let mut dashboard = Running::start(&mut place.command(&["dashboard", "--listen", "0.0.0.0:0"]));
    let address = dashboard.said("READY http://").replace("0.0.0.0", "127.0.0.1");
    assert_eq!(get(&address, "/api/triggers").0, 401);
    assert_eq!(get(&address, "/").0, 303);
    assert_eq!(get(&address, "/healthz").0, 200);
}

#[test]
fn a_short_password_and_a_wrong_address_are_usage_errors() {
    let place = Place::new();
    let short = place.refused(2, "dashboard --hash-password");
    assert!(short.contains("at least 8 characters"), "{short}");
    place.refused(2, "dashboard --listen localhost");
    place.refused(2, "dashboard --listen 192.0.2.1");
}

#[test]
fn a_node_answers_for_its_health_where_its_settings_say() {
    let place = Place::new();
    write_config(&place.path("carnelian.properties"), "carnelian.monitoring.listen = 127.0.0.1:0\n");
    place.fine("migrate");
    let mut node = Running::start(&mut place.command(&["node"]));
    let address = node.complained("carnelian: health and metrics at http://");
    wait_until("the node is ready", Duration::from_secs(30), || get(&address, "/readyz").0 == 200);
    assert_eq!(get(&address, "/healthz"), (200, "ok\n".to_owned()));
    assert!(get(&address, "/metrics").1.contains("carnelian_fires_total{outcome=\"succeeded\"} 0"));
    assert_eq!(get(&address, "/triggers").0, 404, "it shows no page");
}
