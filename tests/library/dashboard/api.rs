//! The API: its description is true, its reads answer on every store, its actions need JSON.

use super::{Site, body};
use carnelian::dashboard::Request;
use serde_json::Value;

fn json(site: &mut Site, path: &str) -> Value {
    serde_json::from_str(&site.page(path)).unwrap()
}

#[test]
fn every_read_of_the_description_answers() {
    Site::everywhere(|site| {
        let _me = site.node("n");
        site.schedule("plain", "b");
        let description = json(site, "api/openapi.json");
        let paths = description["paths"].as_object().unwrap();
        assert!(paths.len() > 12, "{paths:?}");
        for (path, _) in paths.iter().filter(|(_, item)| item.get("get").is_some()) {
            let response = site.get(&format!("{}?key=plain.b", path.trim_start_matches('/')));
            // No run was named.
            let expected = if path == "/api/run" { 404 } else { 200 };
            assert_eq!(response.status(), expected, "{path}: {}", body(&response));
            serde_json::from_slice::<Value>(response.body()).unwrap();
        }
        assert_eq!(json(site, "api/triggers")["items"][0]["trigger"], "plain.b");
        assert_eq!(json(site, "api/cluster")["items"][0]["instance"], "n");
        assert_eq!(json(site, "api/explain?group=plain&name=b")["state"], "WAITING");
        assert_eq!(json(site, "api/overview")["nodes"], 1);
        assert_eq!(site.get("api/job?key=no.job").status(), 404);
    });
}

#[test]
fn pages_of_a_list_are_followed_by_their_next() {
    let mut site = Site::in_memory("");
    for n in 0..60 {
        site.schedule("plain", &format!("job-{n}"));
    }
    let first = json(&mut site, "api/jobs");
    let next: String = form_urlencoded::byte_serialize(first["next"].as_str().unwrap().as_bytes()).collect();
    let second = json(&mut site, &format!("api/jobs?after={next}"));
    let count = |page: &Value| page["items"].as_array().unwrap().len();
    assert_eq!((count(&first), count(&second)), (50, 10));
    assert_eq!(second["next"], Value::Null);
}

/// A monitor that misspells a value must hear of it: without its filter it would see everything.
#[test]
fn values_that_are_not_understood_are_refused_with_what_is_accepted() {
    Site::everywhere(|site| {
        let _me = site.node("n");
        site.schedule("plain", "b");
        for (read, accepted) in [
            ("history?outcome=fail", "timed_out"),
            ("history?since=yesterday", "2h"),
            ("actions?since=-2h", "2h"),
            ("triggers?state=resting", "PAUSED"),
            ("triggers?type=hourly", "CRON"),
            ("triggers?after=plain.b", "next"),
            ("jobs?after=%5B1%5D", "next"),
            ("actions?after=yesterday", "next"),
        ] {
            let response = site.get(&format!("api/{read}"));
            let text = body(&response);
            assert_eq!(response.status(), 400, "{read}: {text}");
            assert!(text.contains(accepted), "{read}: {text}");
        }
        assert_eq!(site.get("api/history?after=gone").status(), 404);
        assert_eq!(json(site, "api/triggers?state=waiting")["items"][0]["trigger"], "plain.b");
        for read in ["history?since=2h&outcome=timed_out", "actions?since=2026-01-31T08:00:00Z", "triggers?type=simple"]
        {
            assert_eq!(site.get(&format!("api/{read}")).status(), 200, "{read}");
        }
        let description = json(site, "api/openapi.json");
        let parameters = description["paths"]["/api/history"]["get"]["parameters"].as_array().unwrap();
        let of = |name: &str| parameters.iter().find(|one| one["name"] == name).unwrap()["schema"].clone();
        assert!(of("outcome")["enum"].as_array().unwrap().contains(&Value::from("timed_out")));
        assert_eq!(of("trigger_group")["type"], "string");
    });
}

#[test]
fn a_mistake_in_an_action_is_not_the_server_s() {
    let mut site = Site::in_memory("");
    site.schedule("plain", "b");
    for (when, status) in [("every day", 400), ("0 0 12 1 1 ? 2001", 400), ("0 0 12 * * ?", 200)] {
        let text = format!(
            "{{\"do\": \"trigger.reschedule\", \"keys\": [\"plain.b\"], \"kind\": \"cron\", \"when\": \"{when}\"}}"
        );
        let request = Request::new("POST", "/api/actions").header("Content-Type", "application/json").body(text);
        let response = site.ask(request);
        assert_eq!(response.status(), status, "{when}: {}", body(&response));
    }
}

#[test]
fn an_action_on_many_says_how_far_it_came() {
    let mut site = Site::in_memory("");
    site.schedule("plain", "b");
    let text = "{\"do\": \"job.run\", \"keys\": [\"plain.b\", \"plain.none\", \"plain.b\"]}";
    let request = Request::new("POST", "/api/actions").header("Content-Type", "application/json").body(text);
    let response = site.ask(request);
    assert_eq!(response.status(), 404);
    let answer: Value = serde_json::from_slice(response.body()).unwrap();
    assert_eq!(answer["done"], 1, "{answer}");
    assert!(answer["error"].as_str().unwrap().contains("plain.none"), "{answer}");
}

#[test]
fn actions_are_json_documents() {
    Site::everywhere(|site| {
        let key = site.schedule("plain", "b.c");
        let mut act = |kind: &str, text: &str| {
            let request = Request::new("POST", "/api/actions").header("Content-Type", kind).body(text);
            let response = site.ask(request);
            (response.status(), body(&response))
        };
        let pause = "{\"do\": \"trigger.pause\", \"keys\": [[\"plain\", \"b.c\"]]}";
        assert_eq!(act("text/plain", pause).0, 415, "a form of another page can be sent so");
        assert_eq!(act("application/json", "{").0, 400);
        assert_eq!(act("application/json", "{\"do\": \"explode\", \"keys\": []}").0, 400);
        assert_eq!(act("application/json", "{\"do\": \"trigger.pause\", \"keys\": [1]}").0, 400);
        assert_eq!(act("application/json", "{\"do\": \"trigger.pause\", \"keys\": []}").0, 409);
        let deep = "[".repeat(100_000);
        assert_eq!(act("application/json", &deep).0, 400);
        let (status, text) = act("application/json; charset=utf-8", pause);
        assert_eq!(status, 200, "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["done"], 1);
        assert_eq!(site.store.catalogue().trigger_state(&key).unwrap().unwrap().name(), "PAUSED");
    });
}

#[test]
fn metrics_tell_of_the_cluster() {
    let mut site = Site::in_memory("");
    let _me = site.node("n");
    let text = site.page("metrics");
    for line in ["carnelian_instances{state=\"alive\"} 1", "carnelian_overdue_triggers 0", "carnelian_parked_work 0"] {
        assert!(text.lines().any(|one| one == line), "{line} is not in {text}");
    }
}
