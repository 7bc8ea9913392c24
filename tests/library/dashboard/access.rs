//! Access: who gets in, by which way, and what each may see and do.

use super::everywhere::ended;
use super::{Site, body, header, node, token};
use carnelian::dashboard::{Dashboard, Login, Request, hash_password};
use carnelian::{Continuation, JobKey};
use std::net::IpAddr;
use std::sync::{Barrier, OnceLock};

pub const PASSWORD: &str = "correct horse";

/// The hash of the password; a hash takes a while.
fn hash() -> &'static str {
    static HASH: OnceLock<String> = OnceLock::new();
    HASH.get_or_init(|| hash_password(PASSWORD).unwrap())
}

/// A site with an operator, ada, and a viewer, bob.
pub fn with_logins() -> Site {
    let hash = hash();
    Site::in_memory(&format!(
        "carnelian.dashboard.user.ada.password = {hash}\ncarnelian.dashboard.user.ada.role = operator\n\
         carnelian.dashboard.user.bob.password = {hash}\n"
    ))
}

fn log_in(site: &mut Site, name: &str, password: &str) -> u16 {
    let token = token(&body(&site.get("login")));
    let fields = [("name", name), ("password", password), ("token", &*token)];
    let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    site.ask(Request::new("POST", "/login").body(form)).status()
}

const PAGES: [&str; 17] = [
    "",
    "running",
    "triggers",
    "trigger",
    "jobs",
    "job",
    "history",
    "run",
    "nodes",
    "node",
    "parked",
    "outages",
    "calendars",
    "continuations",
    "locks",
    "actions",
    "nothing",
];

#[test]
fn without_a_login_only_this_machine_is_answered() {
    let site = Site::in_memory("");
    let status = |host: &str, peer: Option<&str>| {
        let request = Request::new("GET", "/").header("Host", host);
        let peer = peer.map(|peer| peer.parse::<IpAddr>().unwrap());
        site.dashboard.handle(&peer.map_or(request.clone(), |peer| request.peer(peer))).status()
    };
    assert_eq!(status("localhost:8080", Some("127.0.0.1")), 200);
    assert_eq!(status("[::1]:8080", Some("::1")), 200);
    assert_eq!(status("127.0.0.1", Some("::ffff:127.0.0.1")), 200);
    assert_eq!(status("evil.example", Some("127.0.0.1")), 421, "DNS rebinding");
    assert_eq!(status("localhost", Some("192.0.2.1")), 403, "another machine");
    assert_eq!(status("localhost", None), 403, "nobody knows from where");
}

#[test]
fn nothing_is_shown_before_the_login() {
    let mut site = with_logins();
    site.schedule("secret", "job");
    for page in PAGES {
        let response = site.get(page);
        assert_eq!((response.status(), header(&response, "Location")), (303, Some("login")), "{page}");
        assert!(response.body().is_empty());
    }
    for (page, login) in [("jobs/", "../login"), ("a/b/c", "../../login")] {
        assert_eq!(header(&site.get(page), "Location"), Some(login), "{page}: it leads to the login, not below itself");
    }
    for read in ["overview", "jobs", "triggers", "openapi.json", "nothing"] {
        assert_eq!(site.get(&format!("api/{read}")).status(), 401, "{read}");
    }
    assert_eq!(site.get("metrics").status(), 401);
    for to in ["act", "logout", "api/actions", "nothing"] {
        assert_eq!(site.ask(Request::new("POST", &format!("/{to}"))).status(), 401, "{to}");
    }
    for open in ["healthz", "readyz", "assets/style.css", "assets/live.js", "assets/icon.svg"] {
        assert_eq!(site.get(open).status(), 200, "{open}");
    }
}

#[test]
fn a_login_is_a_signed_cookie_that_scripts_cannot_read() {
    let mut site = with_logins();
    assert_eq!(log_in(&mut site, "ada", "wrong horse"), 403);
    assert_eq!(log_in(&mut site, "nobody", PASSWORD), 403);
    assert_eq!(site.get("").status(), 303);
    assert_eq!(log_in(&mut site, "ada", PASSWORD), 303);
    assert!(site.page("").contains("Log out"));
    let cookie = site.cookie.clone().unwrap();
    assert!(cookie.starts_with("carnelian_session_8080="), "{cookie}");
    let kept = site.get("login");
    assert_eq!(header(&kept, "Location"), Some("./"));

    site.cookie = Some(cookie.replace(".", "0."));
    assert_eq!(site.get("").status(), 303, "a cookie that was changed");
    site.cookie = Some(cookie.clone());
    assert_eq!(site.send("logout", &[]).status(), 303);
    site.cookie = Some(cookie);
    assert_eq!(site.get("").status(), 303, "a session that has ended");

    let fresh = Request::new("GET", "/login").header("X-Forwarded-Proto", "https");
    let response = site.ask(fresh);
    let set = header(&response, "Set-Cookie").unwrap();
    for part in ["; HttpOnly", "; SameSite=Strict", "; Secure", "; Path=/"] {
        assert!(set.contains(part), "{set}");
    }
}

#[test]
fn wrong_passwords_are_tried_a_few_times_only() {
    let mut site = with_logins();
    for _ in 0..5 {
        assert_eq!(log_in(&mut site, "ada", "wrong horse"), 403);
    }
    assert_eq!(log_in(&mut site, "ada", PASSWORD), 429, "also the right one has to wait");
}

#[test]
fn tries_that_come_together_count_as_those_that_follow_each_other() {
    let together = |authorization: &str| {
        let (site, start) = (with_logins(), Barrier::new(20));
        let request = Request::new("GET", "/api/jobs").header("Host", "localhost:8080");
        let request = request.header("Authorization", authorization).peer("127.0.0.1".parse().unwrap());
        let ask = || {
            start.wait();
            site.dashboard.handle(&request).status()
        };
        std::thread::scope(|scope| {
            let asking: Vec<_> = (0..20).map(|_| scope.spawn(ask)).collect();
            asking.into_iter().map(|one| one.join().unwrap()).collect::<Vec<u16>>()
        })
    };
    let wrong = together("Basic YWRhOndyb25n");
    let of = |status: u16| wrong.iter().filter(|given| **given == status).count();
    assert_eq!((of(401), of(429)), (5, 15), "{wrong:?}");
    assert_eq!(together("Basic YWRhOmNvcnJlY3QgaG9yc2U="), [200; 20], "the right one is no try");
}

#[test]
fn a_form_of_another_page_does_nothing() {
    let mut site = Site::in_memory("");
    let key = site.schedule("plain", "job");
    let token = token(&site.page(""));
    let form = |token: &str| format!("do=trigger.pause&key=%5B%22plain%22%2C%22job%22%5D&sure=yes&token={token}");
    let post = |body: String| Request::new("POST", "/act").body(body);
    let mut refused = |request: Request| assert_eq!(site.ask(request).status(), 403);
    refused(post(form("")));
    refused(post(form(&format!("{token}0"))));
    refused(post(form(&token)).header("Origin", "http://evil.example"));
    refused(post(form(&token)).header("Sec-Fetch-Site", "cross-site"));
    let cookie = site.cookie.take();
    assert_eq!(site.ask(post(form(&token))).status(), 403, "the token of another session");
    let state = |site: &Site| site.store.catalogue().trigger_state(&key).unwrap().unwrap().name();
    assert_eq!(state(&site), "WAITING");
    site.cookie = cookie;
    assert_eq!(site.ask(post(form(&token)).header("Origin", "http://localhost:8080")).status(), 303);
    assert_eq!(state(&site), "PAUSED");
}

#[test]
fn a_viewer_looks_and_an_operator_acts() {
    let mut site = with_logins();
    let key = site.schedule("plain", "job");
    assert_eq!(log_in(&mut site, "bob", PASSWORD), 303);
    let page = site.page("job?group=plain&name=job");
    assert!(!page.contains("action=\"act\"") && !page.contains("hunter22"), "{page}");
    assert!(page.contains("Operators see the data."));
    let fields = [("do", "trigger.delete"), ("key", "[\"plain\",\"job\"]"), ("sure", "yes")];
    assert_eq!(site.send("act", &fields).status(), 403);
    let json = Request::new("POST", "/api/actions").header("Content-Type", "application/json");
    let request = json.body("{\"do\": \"trigger.delete\", \"keys\": [\"plain.job\"]}");
    assert_eq!(site.ask(request.clone()).status(), 403);
    assert!(site.page("api/job?key=plain.job").contains("\"data\": null"));
    assert!(site.store.catalogue().trigger_exists(&key).unwrap());

    site.cookie = None;
    assert_eq!(log_in(&mut site, "ada", PASSWORD), 303);
    let page = site.page("job?group=plain&name=job");
    assert!(page.contains("action=\"act\""));
    for text in [page, site.page("api/job?key=plain.job")] {
        assert!(!text.contains("hunter22") && !text.contains("sesame"), "secrets are masked: {text}");
        assert!(text.contains("example/x"), "{text}");
    }
    assert_eq!(site.ask(request).status(), 200);
    assert!(!site.store.catalogue().trigger_exists(&key).unwrap());
}

/// Passwords are in the data of a continuation, in a result and in an error.
#[test]
fn what_viewers_may_not_see_is_in_no_answer_to_them() {
    let mut site = with_logins();
    site.schedule("plain", "job");
    let job = JobKey::new("plain", "job");
    let follow = Continuation::new(job.clone(), job.clone()).data("password", "hunter22").data("plan", "gold");
    site.store.catalogue().follow(&follow.allow_cycle(true)).unwrap();
    let mut me = node(&site.store, "n");
    let fire = ended(&site.store, &mut me, &job, |end| {
        end.ending.error = Some("login failed: password=hunter22".to_owned());
        end.ending.result = Some("42 rows for password=hunter22".to_owned());
    });
    let run = format!("run?fire={fire}");
    let (api_run, explain) = (format!("api/{run}"), "api/explain?key=plain.job");
    let places = ["", "history", &run, "api/history", &api_run, explain, "job?group=plain&name=job"];
    for (name, sees) in [("bob", false), ("ada", true)] {
        site.cookie = None;
        assert_eq!(log_in(&mut site, name, PASSWORD), 303);
        for place in places {
            let text = site.page(place);
            assert!(!text.contains("hunter22"), "{name} at {place}: {text}");
        }
        assert_eq!(site.page(explain).contains("gold"), sees, "{name}");
        for place in ["api/history", &api_run] {
            assert_eq!(site.page(place).contains("42 rows"), sees, "{name} at {place}");
            assert!(site.page(place).contains("login failed"), "{name} at {place}");
        }
    }
}

/// The address of a proxy is that of everybody behind it.
#[test]
fn behind_a_proxy_a_stranger_locks_out_only_himself() {
    let hash = hash();
    let mut site = Site::in_memory(&format!(
        "carnelian.dashboard.user.ada.password = {hash}\ncarnelian.dashboard.proxyAddresses = 127.0.0.1\n"
    ));
    let log_in = |site: &mut Site, from: &str, name: &str, password: &str| {
        let token = token(&body(&site.get("login")));
        let fields = [("name", name), ("password", password), ("token", &*token)];
        let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        site.ask(Request::new("POST", "/login").header("X-Forwarded-For", from).body(form)).status()
    };
    for _ in 0..5 {
        // The first entry is what a browser says itself, the last the proxy's.
        assert_eq!(log_in(&mut site, "198.51.100.1, 203.0.113.7", "eve", "wrong horse"), 403);
    }
    assert_eq!(log_in(&mut site, "203.0.113.7", "ada", PASSWORD), 429);
    assert_eq!(log_in(&mut site, "198.51.100.1", "nobody", "wrong horse"), 403, "names that nobody has");
    assert_eq!(log_in(&mut site, "198.51.100.1", "ada", PASSWORD), 303);
}

#[test]
fn programs_that_must_wait_are_told_so() {
    let mut site = with_logins();
    let mut ask = || site.ask(Request::new("GET", "/api/jobs").header("Authorization", "Basic YWRhOndyb25n"));
    for _ in 0..5 {
        assert_eq!(ask().status(), 401);
    }
    let response = ask();
    assert_eq!(response.status(), 429);
    assert!(header(&response, "Retry-After").is_some() && body(&response).contains("Too many wrong tries"));
}

#[test]
fn programs_send_name_and_password() {
    let mut site = with_logins();
    let ask = |site: &mut Site, path: &str, value: &str| {
        site.ask(Request::new("GET", path).header("Authorization", value)).status()
    };
    // The base64 of `ada:correct horse`, and of `ada:wrong`.
    let (right, wrong) = ("Basic YWRhOmNvcnJlY3QgaG9yc2U=", "Basic YWRhOndyb25n");
    assert_eq!(ask(&mut site, "/api/jobs", right), 200);
    assert_eq!(ask(&mut site, "/metrics", right), 200);
    assert_eq!(ask(&mut site, "/api/jobs", wrong), 401);
    assert_eq!(ask(&mut site, "/jobs", right), 303, "a browser would send it with the forms of other pages");
}

#[test]
fn a_proxy_is_believed_at_its_address_only() {
    let site = Site::in_memory(
        "carnelian.dashboard.proxyUserHeader = X-User\ncarnelian.dashboard.proxyAddresses = 192.0.2.7\n\
         carnelian.dashboard.proxyOperators = ada\ncarnelian.dashboard.hosts = jobs.example\n",
    );
    site.schedule("plain", "job");
    let ask = |peer: &str, user: Option<&str>, host: &str| {
        let request = Request::new("GET", "/triggers").header("Host", host).peer(peer.parse().unwrap());
        site.dashboard.handle(&user.map_or(request.clone(), |user| request.header("x-user", user)))
    };
    let operator = ask("192.0.2.7", Some("ada"), "jobs.example");
    assert_eq!(operator.status(), 200);
    assert!(body(&operator).contains("trigger.pause"));
    let viewer = ask("192.0.2.7", Some("bob"), "jobs.example:443");
    assert_eq!(viewer.status(), 200);
    assert!(!body(&viewer).contains("trigger.pause"));
    assert_eq!(ask("192.0.2.8", Some("ada"), "jobs.example").status(), 403);
    assert_eq!(ask("192.0.2.7", None, "jobs.example").status(), 403);
    assert_eq!(ask("127.0.0.1", None, "localhost").status(), 421);
}

/// A proxy that adds its header leaves that of a stranger before it.
#[test]
fn two_names_of_a_proxy_are_nobody() {
    let site =
        Site::in_memory("carnelian.dashboard.proxyUserHeader = X-User\ncarnelian.dashboard.proxyOperators = ada\n");
    let ask = |names: &[&str]| {
        let request = Request::new("GET", "/").header("Host", "localhost").peer("127.0.0.1".parse().unwrap());
        site.dashboard.handle(&names.iter().fold(request, |request, name| request.header("x-USER", *name)))
    };
    assert_eq!(ask(&["bob"]).status(), 200);
    for names in [["ada", "bob"], ["bob", "ada"], ["ada", "ada"], ["ada", ""], ["", "ada"]] {
        let response = ask(&names);
        assert_eq!(response.status(), 403, "{names:?}");
        assert!(body(&response).contains("carnelian.dashboard.proxyUserHeader"), "{}", body(&response));
    }
}

/// The proxy's ada may be another person, with another role.
#[test]
fn a_session_that_a_proxy_began_is_none_of_a_password() {
    let hash = hash();
    let mut site = Site::in_memory(&format!(
        "carnelian.dashboard.user.ada.password = {hash}\ncarnelian.dashboard.user.ada.role = operator\n\
         carnelian.dashboard.proxyUserHeader = X-User\ncarnelian.dashboard.proxyAddresses = 192.0.2.7\n"
    ));
    let request = Request::new("GET", "/").header("Host", "localhost:8080").header("X-User", "ada");
    let proxied = site.dashboard.handle(&request.peer("192.0.2.7".parse().unwrap()));
    assert!(proxied.status() == 200 && !body(&proxied).contains("Log out"), "the proxy does that");
    site.cookie = header(&proxied, "Set-Cookie").and_then(|set| set.split(';').next()).map(str::to_owned);
    assert_eq!(header(&site.get(""), "Location"), Some("login"), "its cookie without the proxy");
    assert_eq!(log_in(&mut site, "ada", PASSWORD), 303);
    assert!(site.page("").contains("Log out"));
}

#[test]
fn the_program_that_mounts_it_may_know_who_asks() {
    let site = Site::in_memory("");
    let who = |request: &Request| (request.path() != "/jobs").then(|| Login::viewer("carl"));
    let dashboard = Dashboard::of_store(site.store.clone()).unwrap().with_login(who);
    let ask = |path: &str| dashboard.handle(&Request::new("GET", path).header("Host", "jobs.example"));
    assert!(body(&ask("/")).contains("carl"));
    assert_eq!(ask("/jobs").status(), 403);
}

#[test]
fn every_answer_forbids_scripts_and_frames_of_others() {
    let mut site = with_logins();
    for page in ["", "login", "healthz", "api/jobs", "nothing", "assets/live.js"] {
        let response = site.get(page);
        let policy = header(&response, "Content-Security-Policy").unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(header(&response, "X-Content-Type-Options"), Some("nosniff"));
    }
}

#[test]
fn settings_name_what_is_wrong_with_a_login() {
    let problem = |text: &str| carnelian::settings::Settings::from_text("t", text, |_| None).unwrap_err().to_string();
    let plain = problem("carnelian.dashboard.user.ada.password = hunter22");
    assert!(plain.contains("carnelian dashboard --hash-password") && !plain.contains("hunter22"), "{plain}");
    let missing = problem("carnelian.dashboard.user.ada.role = operator");
    assert!(missing.contains("carnelian.dashboard.user.ada.password"), "{missing}");
    assert!(problem("carnelian.dashboard.listen = 8080").contains("127.0.0.1:8080"));
    assert!(problem("carnelian.dashboard.proxyAddresses = localhost").contains("localhost"));
}
