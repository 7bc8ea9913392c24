//! Attacks on the server: texts that would be SQL, requests that make no sense, rows that somebody
//! has damaged, a database whose password an error could tell.

use super::{Site, body, everywhere};
use carnelian::dashboard::{Request, Server};
use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

/// Texts that mean more than themselves to a database.
const TEXTS: [&str; 8] =
    ["' OR '1'='1", "'; DROP TABLE QRTZ_TRIGGERS; --", "%", "_", "\\", "\" OR \"\"=\"", "a'||'b", "\u{0}x"];

/// The pages with a field for text.
const SEARCHES: [&str; 14] = [
    "triggers?q=",
    "triggers?state=",
    "triggers?type=",
    "triggers?after=",
    "jobs?q=x&tag=",
    "jobs?owner=",
    "history?job=a.",
    "history?node=",
    "history?error=",
    "history?after=",
    "actions?subject=",
    "actions?kind=",
    "actions?actor=",
    "actions?action=",
];

fn encoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

#[test]
fn texts_that_would_be_sql_are_texts() {
    Site::everywhere(|site| {
        let key = site.schedule("plain", "job");
        site.store.catalogue().pause_triggers(std::slice::from_ref(&key)).unwrap();
        for search in SEARCHES {
            for text in TEXTS {
                let response = site.get(&format!("{search}{}", encoded(text)));
                let page = body(&response);
                assert!([200, 400, 404, 409].contains(&response.status()), "{search}{text:?}: {page}");
                assert!(!page.contains("<tbody>"), "{search}{text:?} finds something: {page}");
            }
        }
        for page in ["trigger", "job", "node", "run"] {
            for text in TEXTS {
                let text = encoded(text);
                let response = site.get(&format!("{page}?group={text}&name={text}&fire={text}"));
                assert_eq!(response.status(), 404, "{page} {text}: {}", body(&response));
            }
        }
        assert!(site.store.catalogue().trigger_exists(&key).unwrap());
    });
}

/// The next of a row of numbers that look random.
fn next(state: &mut u64) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    usize::try_from(*state >> 33).unwrap()
}

#[test]
fn requests_that_make_no_sense_are_answered() {
    let mut site = Site::in_memory("");
    everywhere::fill(&site.store);
    let paths = [
        "",
        "triggers",
        "jobs",
        "job",
        "trigger",
        "history",
        "run",
        "actions",
        "api/triggers",
        "api/history",
        "api/actions",
        "api/explain",
        "act",
        "logout",
        "login",
        "../",
        "//",
        "api/",
        "assets/../",
        "%2e%2e",
    ];
    let fields = [
        "after", "q", "group", "name", "key", "state", "since", "fire", "do", "sure", "token", "back", "kind", "when",
        "zone", "subject",
    ];
    let long = "x".repeat(50_000);
    let values = [
        "",
        "[\"a\"]",
        "[\"a\",\"b\"]",
        "[[[[",
        "null",
        "{}",
        "trigger.reschedule",
        "cron",
        "%ff%fe",
        "💥",
        "-1",
        "99999999999999999999",
        "../../etc/passwd",
        "\r\nSet-Cookie: a=b",
        &long,
    ];
    let mut state = 1;
    for n in 0..3_000 {
        let pick = |state: &mut u64, all: &[&str]| all[next(state) % all.len()].to_owned();
        let query: Vec<String> = (0..next(&mut state) % 4)
            .map(|_| format!("{}={}", pick(&mut state, &fields), encoded(&pick(&mut state, &values))))
            .collect();
        let (path, query) = (pick(&mut state, &paths), query.join("&"));
        let method = pick(&mut state, &["GET", "GET", "HEAD", "POST", "PUT", "X"]);
        let request = Request::new(&method, &format!("/{path}?{query}")).header("Content-Type", "application/json");
        let response = site.ask(request.body(query.clone()));
        assert!(response.status() < 500, "{n}: {method} /{path}?{query}: {}", body(&response));
        for (name, value) in response.headers() {
            assert!(!value.contains(['\r', '\n']), "{name}: {value:?}");
        }
    }
}

#[test]
fn bytes_that_are_no_request_do_not_end_the_server() {
    let Site { dashboard, .. } = Site::in_memory("");
    let server = Server::start("127.0.0.1:0".parse().unwrap(), move |request| dashboard.handle(request)).unwrap();
    let mut state = 7;
    let parts: [&[u8]; 12] = [
        b"GET / HTTP/1.1",
        b"\r\n",
        b"\n",
        b"Host: localhost",
        b": ",
        b"Content-Length: 5",
        b"\0",
        b"\xff\xfe",
        b"POST /act HTTP/1.1",
        b"Transfer-Encoding: chunked",
        b"HTTP/9.9",
        b"Content-Length: -1",
    ];
    for _ in 0..300 {
        let bytes: Vec<u8> =
            (0..next(&mut state) % 12).flat_map(|_| parts[next(&mut state) % parts.len()]).copied().collect();
        let mut stream = TcpStream::connect(server.address()).unwrap();
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(Shutdown::Write);
        let _ = stream.read_to_end(&mut Vec::new());
    }
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[test]
fn rows_that_somebody_has_damaged_are_shown_as_far_as_they_go() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page.db");
    let mut site = Site::in_database(&format!("sqlite:{}", path.display()), None);
    everywhere::fill(&site.store);
    let mut database = SqliteConnection::establish(path.to_str().unwrap()).unwrap();
    for damage in [
        "UPDATE QRTZ_TRIGGERS SET TRIGGER_STATE = 'WHAT', TRIGGER_TYPE = 'NEVER', MISFIRE_INSTR = 77, PRIORITY = NULL",
        "UPDATE QRTZ_TRIGGERS SET NEXT_FIRE_TIME = -9223372036854775808, PREV_FIRE_TIME = 9223372036854775807",
        "UPDATE QRTZ_TRIGGERS SET JOB_DATA = x'aced0005', TRIGGER_TYPE = 'SIMPLE'",
        "UPDATE QRTZ_JOB_DETAILS SET JOB_DATA = x'ff00', JOB_CLASS_NAME = '../../x; rm -rf /'",
        "UPDATE QRTZ_CN_HISTORY SET OUTCOME = 'exploded', ENDED_MS = 9223372036854775807, RUN_MS = -1",
        "UPDATE QRTZ_CN_NODES SET LABELS = '=,=,', NODE_ROLE = 'king', ACTIVITY = 'sleeping', ALARMS = 'fire flood'",
        "UPDATE QRTZ_CALENDARS SET CALENDAR = x'00'",
        "UPDATE QRTZ_SCHEDULER_STATE SET LAST_CHECKIN_TIME = -1, CHECKIN_INTERVAL = 9223372036854775807",
    ] {
        database.batch_execute(damage).unwrap();
        for page in [
            "",
            "running",
            "triggers",
            "trigger?group=plain&name=job",
            "jobs",
            "job?group=plain&name=job",
            "history",
            "nodes",
            "node?name=node-%3Cb%3Ea%3C%2Fb%3E",
            "parked",
            "outages",
            "calendars",
            "continuations",
            "locks",
            "actions",
            "api/triggers",
            "api/cluster",
            "api/history",
        ] {
            let response = site.get(page);
            // A row that cannot be read at all is told, and nothing else suffers.
            assert!([200, 404, 409, 500, 503].contains(&response.status()), "{damage}: {page}: {}", body(&response));
            assert!(
                body(&response).contains("<h1>") || page.starts_with("api"),
                "{damage}: {page}: {}",
                body(&response)
            );
        }
        assert_eq!(site.get("nodes").status(), 200, "{damage}");
        assert_eq!(site.get("triggers").status(), 200, "{damage}");
    }
}
