//! The API: its description is true, its reads answer on every store, its actions need JSON.

use super::everywhere::run;
use super::{Site, body};
use crate::monitoring::park;
use carnelian::dashboard::Request;
use carnelian::{JobDataMap, JobKey, TriggerKey};
use serde_json::{Value, json};

fn json_of(site: &mut Site, path: &str) -> Value {
    serde_json::from_str(&site.page(path)).unwrap()
}

#[test]
fn every_read_of_the_description_answers() {
    Site::everywhere(|site| {
        let _me = site.node("n");
        site.schedule("plain", "b");
        let description = json_of(site, "api/openapi.json");
        let paths = description["paths"].as_object().unwrap();
        assert!(paths.len() > 12, "{paths:?}");
        for (path, item) in paths.iter().filter(|(_, item)| item.get("get").is_some()) {
            let has_key = item["get"]["parameters"].as_array().unwrap().iter().any(|one| one["name"] == "key");
            let query = if has_key { "?key=plain.b" } else { "" };
            let response = site.get(&format!("{}{query}", path.trim_start_matches('/')));
            // No run was named.
            let expected = if path == "/api/run" { 400 } else { 200 };
            assert_eq!(response.status(), expected, "{path}: {}", body(&response));
            serde_json::from_slice::<Value>(response.body()).unwrap();
        }
        assert_eq!(json_of(site, "api/triggers")["items"][0]["trigger"], "plain.b");
        assert_eq!(json_of(site, "api/cluster")["items"][0]["instance"], "n");
        assert_eq!(json_of(site, "api/explain?group=plain&name=b")["state"], "WAITING");
        assert_eq!(json_of(site, "api/overview")["nodes"], 1);
        assert_eq!(site.get("api/job?key=no.job").status(), 404);
    });
}

#[test]
fn pages_of_a_list_are_followed_by_their_next() {
    let mut site = Site::in_memory("");
    for n in 0..60 {
        site.schedule("plain", &format!("job-{n}"));
    }
    let first = json_of(&mut site, "api/jobs");
    let next: String = form_urlencoded::byte_serialize(first["next"].as_str().unwrap().as_bytes()).collect();
    let second = json_of(&mut site, &format!("api/jobs?after={next}"));
    let count = |page: &Value| page["items"].as_array().unwrap().len();
    assert_eq!((count(&first), count(&second)), (50, 10));
    assert_eq!(second["next"], Value::Null);
}

/// Scripts that read a short list see what they always saw.
#[test]
fn lists_that_were_read_whole_are_cut_where_they_are_long() {
    let mut site = Site::in_memory("");
    let mut me = site.node("n");
    let keys: Vec<TriggerKey> = (0..501).map(|n| site.schedule("plain", &format!("t{n:03}"))).collect();
    let job = JobKey::new("plain", "t000");
    let short = json_of(&mut site, "api/job?key=plain.t000");
    assert_eq!((&short["triggers"], &short["triggers_next"]), (&json!(["plain.t000"]), &Value::Null));
    for _ in 0..500 {
        site.store.catalogue().trigger_job(&job, JobDataMap::new()).unwrap();
    }
    let followed = |site: &mut Site, list: &str, first: &Value, [field, next]: [&str; 2]| {
        let place: String = form_urlencoded::byte_serialize(first[next].as_str().unwrap().as_bytes()).collect();
        let rest = json_of(site, &format!("api/{list}after={place}"));
        assert_eq!(rest["next"], Value::Null, "{list}");
        (first[field].as_array().unwrap().len(), rest["items"].as_array().unwrap().len())
    };
    let whole = json_of(&mut site, "api/job?key=plain.t000");
    assert_eq!(followed(&mut site, "triggers?job=plain.t000&", &whole, ["triggers", "triggers_next"]), (500, 1));
    for _ in 0..501 {
        run(&site.store, &mut me, &job, false);
    }
    let running = json_of(&mut site, "api/running?node=n");
    assert_eq!(followed(&mut site, "running?node=n&", &running, ["items", "next"]), (500, 1));
    park(&site.store, &keys);
    let parked = json_of(&mut site, "api/parked");
    assert_eq!(followed(&mut site, "parked?", &parked, ["items", "next"]), (500, 1));
    for list in ["running", "parked"] {
        assert_eq!(site.get(&format!("api/{list}?after=yesterday")).status(), 400, "{list}");
    }
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
        assert_eq!(json_of(site, "api/triggers?state=waiting")["items"][0]["trigger"], "plain.b");
        for read in ["history?since=2h&outcome=timed_out", "actions?since=2026-01-31T08:00:00Z", "triggers?type=simple"]
        {
            assert_eq!(site.get(&format!("api/{read}")).status(), 200, "{read}");
        }
        let description = json_of(site, "api/openapi.json");
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
    let (status, answer) = act(&mut site, "job.run", json!(["plain.b", "plain.none", "plain.b"]));
    assert_eq!((status, &answer["done"]), (404, &json!(2)), "{answer}");
    assert!(answer["error"].as_str().unwrap().starts_with("1 of 3 not done: job `plain.none`"), "{answer}");
    assert_eq!(
        (&answer["not_done"][0]["key"], answer["not_done"].as_array().unwrap().len()),
        (&json!("plain.none"), 1)
    );
}

/// A script that writes a key wrong must hear of it: with an answer of success it would go on as if
/// the trigger were paused.
#[test]
fn an_action_on_what_is_not_there_is_an_error_that_names_it() {
    Site::everywhere(|site| {
        let _me = site.node("n");
        site.schedule("com.acme", "t");
        site.schedule("plain", "b");
        for word in ["trigger.pause", "trigger.resume", "trigger.reset", "trigger.delete", "job.run", "job.pause"]
            .into_iter()
            .chain(["job.resume", "job.delete", "run.stop", "run.retry", "node.drain", "node.undrain"])
            .chain(["group.resume", "parked.retry", "parked.delete", "lock.release"])
        {
            let (status, answer) = act(site, word, json!(["nope.x"]));
            assert_eq!((status, &answer["done"]), (404, &json!(0)), "{word}: {answer}");
            assert!(answer["error"].as_str().unwrap().contains("`nope.x`"), "{word}: {answer}");
            assert_eq!(answer["not_done"][0]["key"], "nope.x", "{word}");
        }
        for word in ["trigger.pause", "job.pause", "job.run"] {
            let (status, answer) = act(site, word, json!(["com.acme.t"]));
            let way_out = answer["error"].as_str().unwrap().to_owned();
            assert!(status == 404 && way_out.contains(r#"'["com.acme","t"]'"#), "{word}: {answer}");
        }
        // An action that cannot be done to something that is there is refused.
        let (status, answer) = act(site, "trigger.reset", json!(["plain.b"]));
        assert!(status == 409 && answer["error"].as_str().unwrap().contains("plain.b"), "{answer}");
        // A pause of a paused trigger is no error, nor that a node takes work which took it.
        assert_eq!(act(site, "node.undrain", json!(["n"])).0, 200);
        for done in [1, 0] {
            assert_eq!(act(site, "trigger.pause", json!([["com.acme", "t"]])).1["done"], done);
        }
        let (status, answer) = act(site, "trigger.pause", json!(["plain.b", "nope.x", "nope.y"]));
        assert_eq!((status, &answer["done"]), (404, &json!(1)), "{answer}");
        let left: Vec<&Value> = answer["not_done"].as_array().unwrap().iter().map(|one| &one["key"]).collect();
        assert_eq!(left, ["nope.x", "nope.y"]);
    });
}

#[test]
fn reads_and_pages_name_what_is_not_there_and_refuse_unknown_parameters() {
    let mut site = Site::in_memory("");
    site.schedule("com.acme", "t");
    for (read, status, told) in [
        ("triggers?stat=PAUSED", 400, "parameter `stat`: expected one of q, job, state, type, after"),
        ("overview?key=a.b", 400, "parameter `key`: this read has no parameters"),
        ("trigger", 400, "names no trigger: expected `key=group.name`"),
        ("explain?name=t", 400, "names no trigger"),
        ("run", 400, "names no run: expected `fire`"),
        ("trigger?key=nope", 404, "trigger `nope` does not exist"),
        ("explain?key=no.pe", 404, "trigger `no.pe` does not exist"),
        ("job?group=no&name=pe", 404, "job `no.pe` does not exist"),
        ("run?fire=x-1", 404, "run `x-1` does not exist"),
        ("trigger?key=com.acme.t", 404, r#"as '["com.acme","t"]'"#),
    ] {
        let response = site.get(&format!("api/{read}"));
        let answer: Value = serde_json::from_slice(response.body()).unwrap();
        assert_eq!(response.status(), status, "{read}: {answer}");
        assert!(answer["error"].as_str().unwrap().contains(told), "{read}: {answer}");
    }
    for (page, told) in [("trigger?group=no&name=pe", "The trigger `no.pe`"), ("node?name=x", "The node `x`")] {
        let response = site.get(page);
        assert!(response.status() == 404 && body(&response).contains(told), "{page}: {}", body(&response));
    }
    assert!(body(&site.get("job")).contains("names no job"));
    let answers = json_of(&mut site, "api/openapi.json")["paths"]["/api/actions"]["post"]["responses"].clone();
    for status in ["200", "400", "401", "403", "404", "409", "415", "503"] {
        assert!(answers.get(status).is_some(), "{status}: {answers}");
    }
}

fn act(site: &mut Site, word: &str, keys: Value) -> (u16, Value) {
    let document = json!({"do": word, "keys": keys}).to_string();
    let request = Request::new("POST", "/api/actions").header("Content-Type", "application/json").body(document);
    let response = site.ask(request);
    (response.status(), serde_json::from_slice(response.body()).unwrap())
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
