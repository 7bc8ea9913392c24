//! The server: real connections, and what it does with those that overdo it.

use super::Site;
use carnelian::dashboard::{Request, Server, monitoring};
use carnelian::placement::{EligibleNode, Tick};
use carnelian::{JobDetail, JobKey, JobPolicy, Scheduler, Trigger, TriggerKey};
use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::mpsc::channel;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

/// Sends bytes, and gives all of the answer.
fn talk(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    // A server that has refused already may not read to the end.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    all_of(&mut stream)
}

fn all_of(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or("nothing")
}

fn server() -> Server {
    let Site { dashboard, .. } = Site::in_memory("");
    Server::start("127.0.0.1:0".parse().unwrap(), move |request| dashboard.handle(request)).unwrap()
}

#[test]
fn requests_are_answered_over_the_network() {
    let server = server();
    let address = server.address();
    let host = format!("Host: {address}\r\n");
    let get = |path: &str| talk(address, format!("GET {path} HTTP/1.1\r\n{host}\r\n").as_bytes());
    assert_eq!(status(&get("/")), "200");
    assert!(get("/").contains("Content-Length: ") && get("/").ends_with("</html>"));
    let head = talk(address, format!("HEAD / HTTP/1.1\r\n{host}\r\n").as_bytes());
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.ends_with("\r\n\r\n"), "{head}");
    assert_eq!(status(&talk(address, format!("PUT / HTTP/1.1\r\n{host}\r\n").as_bytes())), "405");
    assert_eq!(status(&talk(address, b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n")), "421");
    assert_eq!(status(&talk(address, b"GET / HTTP/1.1\r\n\r\n")), "421", "without a host");
    // A proxy that says nothing of its own, as nginx before 1.29.7 is without further settings. In
    // HTTP/1.1, as later ones speak, it could not be told from a browser.
    let proxied = talk(address, format!("GET / HTTP/1.0\r\n{host}Connection: close\r\n\r\n").as_bytes());
    assert_eq!(status(&proxied), "403");
}

#[test]
fn what_is_too_long_or_no_request_is_refused() {
    let server = server();
    let address = server.address();
    let ask = |text: String| talk(address, text.as_bytes());
    let long = "x".repeat(20_000);
    assert_eq!(status(&ask(format!("GET /{long} HTTP/1.1\r\nHost: localhost\r\n\r\n"))), "431");
    assert_eq!(status(&ask(format!("GET / HTTP/1.1\r\nHost: localhost\r\nA: {long}\r\n\r\n"))), "431");
    assert_eq!(
        status(&ask("POST /act HTTP/1.1\r\nHost: localhost\r\nContent-Length: 300000\r\n\r\n".to_owned())),
        "413"
    );
    assert_eq!(
        status(&ask("POST /act HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned())),
        "501"
    );
    assert_eq!(status(&talk(address, b"\0\0\0\0\r\n\r\n")), "400");
    assert_eq!(talk(address, b"GET / HTT"), "", "a request that does not end");
    assert_eq!(status(&ask("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned())), "200", "it goes on");
}

#[test]
fn connections_that_say_nothing_keep_nobody_from_an_answer() {
    let server = server();
    let idle: Vec<TcpStream> = (0..100).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
    assert_eq!(status(&talk(server.address(), b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")), "200");
    drop(idle);
}

/// The eight threads that answer are for requests that are there as a whole.
#[test]
fn requests_that_come_slowly_keep_nobody_from_an_answer() {
    let server = server();
    let halves = [
        ("GET / HTTP/1.1\r\nHost: ", "localhost\r\n\r\n"),
        ("POST /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nto", "ken"),
    ];
    let begin = |n: usize| {
        let (first, second) = halves[n % 2];
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.write_all(first.as_bytes()).unwrap();
        (stream, second)
    };
    let slow: Vec<(TcpStream, &str)> = (0..20).map(begin).collect();
    assert_eq!(status(&talk(server.address(), b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")), "200");
    for (mut stream, second) in slow {
        stream.write_all(second.as_bytes()).unwrap();
        assert_eq!(status(&all_of(&mut stream)), "200", "each has its time");
    }
}

/// Eight readers of a page waited for a database that was away, and the liveness probe of a
/// dashboard behind them.
#[test]
fn a_probe_is_answered_while_all_others_wait() {
    let (begins, begun) = channel();
    let (go_on, may_go_on) = crossbeam_channel::bounded::<()>(0);
    let Site { dashboard, .. } = Site::in_memory("");
    let handler = move |request: &Request| {
        if request.path() != "/healthz" {
            begins.send(()).unwrap();
            let _ = may_go_on.recv();
        }
        dashboard.handle(request)
    };
    let server = Server::start("127.0.0.1:0".parse().unwrap(), handler).unwrap();
    let get = |path: &str| {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes()).unwrap();
        stream
    };
    // The handlers go on before the server ends, also if this test fails.
    let go_on = go_on;
    let mut waiting: Vec<TcpStream> = (0..20).map(|_| get("/")).collect();
    (0..8).for_each(|_| begun.recv_timeout(LONG).unwrap());
    assert_eq!(status(&all_of(&mut get("/healthz"))), "200");
    drop(go_on);
    waiting.iter_mut().for_each(|one| assert_eq!(status(&all_of(one)), "200"));
}

#[test]
fn requests_that_do_not_end_take_little_memory() {
    let server = server();
    let head = b"POST /act HTTP/1.1\r\nHost: localhost\r\nContent-Length: 262144\r\n\r\n";
    let begin = |_| {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        // The server may have had enough already.
        let _ = stream.write_all(head).and_then(|()| stream.write_all(&[b'x'; 250_000]));
        stream
    };
    let mut large: Vec<TcpStream> = (0..40).map(begin).collect();
    assert_eq!(all_of(&mut large[0]), "", "the oldest is closed, long before its time is over");
    assert_eq!(status(&talk(server.address(), b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")), "200");
}

#[test]
fn a_handler_that_panics_is_an_answer() {
    let server = Server::start("127.0.0.1:0".parse().unwrap(), |_| panic!("at the disco")).unwrap();
    for _ in 0..20 {
        assert_eq!(status(&talk(server.address(), b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")), "500");
    }
}

#[test]
fn an_address_that_is_taken_is_an_error() {
    let server = server();
    let error = Server::start(server.address(), |_| panic!("it does not listen")).unwrap_err().to_string();
    assert!(error.contains(&server.address().to_string()), "{error}");
    let address = server.address();
    drop(server);
    assert!(TcpStream::connect(address).is_err(), "it has stopped listening");
}

#[test]
fn a_node_tells_of_its_health_and_its_metrics() {
    let scheduler = Scheduler::builder().build().unwrap();
    let node = scheduler.clone();
    let server = Server::start("127.0.0.1:0".parse().unwrap(), move |request| monitoring(&node, request)).unwrap();
    let get = |path: &str| talk(server.address(), format!("GET {path} HTTP/1.1\r\nHost: 10.0.0.1\r\n\r\n").as_bytes());
    assert_eq!((status(&get("/healthz")), status(&get("/readyz"))), ("200", "503"));
    scheduler.start().unwrap();
    super::support::wait_until("it is ready", std::time::Duration::from_secs(20), || status(&get("/readyz")) == "200");
    assert!(get("/metrics").contains("\ncarnelian_fires_total{outcome=\"succeeded\"} 0\n"));
    assert!(get("/health").contains("\"status\": \"running\""));
    assert_eq!((status(&get("/")), status(&get("/api/jobs"))), ("404", "404"));
    scheduler.shutdown_and_wait();
    assert_eq!(status(&get("/readyz")), "503");
}

/// The error may name the host and the user of the database, and whoever reaches the endpoint reads
/// it.
#[test]
fn the_health_of_a_node_tells_no_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jobs.db");
    let broken = |_: &Tick<'_>, _: &[EligibleNode]| panic!("no rule");
    let scheduler = Scheduler::builder().database(format!("sqlite:{}", path.display()));
    let scheduler = scheduler.job_fn("t", |_| Ok(())).execution_strategy("broken", broken).build().unwrap();
    let policy = JobPolicy::new().strategy("broken");
    let job = JobDetail::builder(JobKey::named("j"), "t").policy(policy).build().unwrap();
    let trigger = Trigger::builder(TriggerKey::named("damaged"), job.key().clone()).build().unwrap();
    scheduler.migrate().unwrap();
    scheduler.start().unwrap();
    scheduler.schedule_job(job, trigger).unwrap();
    let all = || scheduler.health().to_json().to_string();
    super::support::wait_until("it is quarantined", LONG, || all().contains("no rule"));
    let mut database = SqliteConnection::establish(path.to_str().unwrap()).unwrap();
    database.batch_execute("PRAGMA busy_timeout = 60000; DROP TABLE QRTZ_FIRED_TRIGGERS").unwrap();
    super::support::wait_until("a service fails", LONG, || all().contains("no such table"));
    let told = monitoring(&scheduler, &Request::new("GET", "/health"));
    let text = String::from_utf8(told.body().to_vec()).unwrap();
    assert!(text.contains("damaged") && text.contains("errors_in_a_row"), "{text}");
    assert!(!text.contains("no rule") && !text.contains("no such table"), "{text}");
}
