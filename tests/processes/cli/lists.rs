//! Lists in parts, and what changes many things at once: dry runs, counts, exit codes.

use super::{Place, text};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A place with a number of triggers of one job.
fn with_triggers(count: usize) -> Place {
    let place = Place::new();
    let triggers: String = (0..count)
        .map(|n| {
            format!(
                "<trigger><simple><name>t{n:03}</name><group>g</group><job-name>j</job-name><job-group>g</job-group>\
                 <start-time>2040-01-01T00:{:02}:00.0Z</start-time><repeat-count>-1</repeat-count>\
                 <repeat-interval>60000</repeat-interval></simple></trigger>",
                59 - n % 60
            )
        })
        .collect();
    let file = format!(
        "<job-scheduling-data xmlns=\"http://www.quartz-scheduler.org/xml/JobSchedulingData\" version=\"2.0\"><schedule>\
         <job><name>j</name><group>g</group><job-class>demo</job-class></job>{triggers}</schedule></job-scheduling-data>"
    );
    std::fs::write(place.path("jobs.xml"), file).unwrap();
    place.fine("import jobs.xml --quiet");
    place
}

fn keys(items: &Value) -> Vec<String> {
    items.as_array().unwrap().iter().map(|one| text(one, "trigger").to_owned()).collect()
}

/// A list that is whole is an array as it always was; one that was cut is an object with `next`.
#[test]
fn a_cut_list_says_where_it_goes_on() {
    let place = with_triggers(60);
    let first = place.json("trigger list");
    assert_eq!(first["items"].as_array().unwrap().len(), 50);
    let second = place.json(&format!("trigger list --after {}", text(&first, "next")));
    assert_eq!(second.as_array().unwrap().len(), 10);
    let all = place.json("trigger list --all");
    assert_eq!([keys(&first["items"]), keys(&second)].concat(), keys(&all));
    assert_eq!(keys(&place.json("trigger list --limit 60")), keys(&all));

    let mut shown = BTreeSet::new();
    let mut line = "trigger list --sort next --limit 7".to_owned();
    loop {
        let part = place.json(&line);
        let items = if part.is_array() { &part } else { &part["items"] };
        shown.extend(keys(items));
        if part.is_array() {
            break;
        }
        line = format!("trigger list --sort next --limit 7 --after {}", text(&part, "next"));
    }
    assert_eq!(shown, keys(&all).into_iter().collect());

    let table = place.fine("trigger list --limit 2");
    assert!(table.contains("2 of 60; --all shows all, --after key:"), "{table}");
    assert!(!place.fine("trigger list --limit 2 --quiet").contains("2 of 60"));
    assert!(place.refused(2, &format!("trigger list --sort next --after {}", text(&first, "next"))).contains("--sort"));
    assert!(place.refused(2, "trigger list --after nonsense").contains("no place in this list"));
}

#[test]
fn lists_are_narrowed_by_state_job_and_type() {
    let place = with_triggers(5);
    place.fine("schedule --job g.other --type demo.other --trigger g.cron --calendar-interval 1day --start 2040-01-01T00:00:00Z");
    place.fine("trigger pause g.t003");
    assert_eq!(keys(&place.json("trigger list --state paused")), ["g.t003"]);
    assert_eq!(keys(&place.json("trigger list --job g.other")), ["g.cron"]);
    assert_eq!(keys(&place.json("trigger list --type CAL_INT")), ["g.cron"]);
    assert_eq!(keys(&place.json("trigger list --sort next --limit 1")["items"]), ["g.cron"]);
    assert_eq!(place.json("job list --type demo.other").as_array().unwrap().len(), 1);
    assert_eq!(place.json("job list --limit 1")["items"].as_array().unwrap().len(), 1);
    assert!(place.fine("job list --type none").contains("no such job"));
    assert!(place.refused(2, "trigger list --state asleep").contains("PAUSED"));
    for list in ["running", "history", "calendar list", "parked list", "definitions", "outages"] {
        assert_eq!(place.json(&format!("{list} --limit 3")), json!([]), "{list}");
        assert!(place.fine(list).starts_with("no") && place.fine(list).lines().count() == 1, "{list}");
    }
    for name in ["a", "b", "c"] {
        std::fs::write(place.path(name), "{\"type\": \"weekly\", \"days\": [\"SAT\"]}").unwrap();
        place.fine(&format!("calendar put {name} {name}"));
    }
    let first = place.json("calendar list --limit 2");
    assert_eq!((text(&first["items"][1], "calendar"), text(&first, "next")), ("b", "b"));
    assert_eq!(text(&place.json("calendar list --after b")[0], "calendar"), "c");
}

/// A job with a trigger for each customer has many.
#[test]
fn a_job_is_shown_with_a_part_of_its_triggers() {
    let place = with_triggers(503);
    let shown = place.json("job show g.j");
    let next = text(&shown, "triggers_next");
    let rest = keys(&place.json(&format!("trigger list --job g.j --after {next}")));
    assert_eq!(
        (shown["triggers"].as_array().unwrap().len(), rest),
        (500, ["g.t500", "g.t501", "g.t502"].map(str::to_owned).to_vec())
    );
    let shown = place.fine("job show g.j");
    assert!(shown.contains(&format!("`trigger list --job g.j --after {next}` shows what follows")), "{shown}");
    for name in ["t000", "t001", "t002"] {
        place.fine(&format!("trigger delete g.{name}"));
    }
    let whole = place.json("job show g.j");
    assert_eq!((whole["triggers"].as_array().unwrap().len(), &whole["triggers_next"]), (500, &Value::Null));
    assert!(!place.fine("job show g.j").contains("shows what follows"));
}

#[test]
fn what_touches_many_says_how_many() {
    let place = with_triggers(3);
    place.fine("schedule --job g.other --type demo --trigger h.t --every 1h --start +1h");
    assert!(place.fine("group pause g").contains("paused g: 3 triggers"));
    assert_eq!(place.json("group resume g"), json!({"groups": ["g"], "done": "resumed", "triggers": 3}));
    assert!(place.refused(1, "group resume none").contains("does not exist"));
    assert!(place.fine("all pause").contains("4 triggers changed"));
    assert_eq!(place.json("all resume"), json!({"done": "resumed", "triggers": 4}));

    assert!(place.fine("job delete g.other --dry-run").contains("would delete g.other with 1 trigger\n"));
    let planned = place.json("job delete --type demo --dry-run");
    assert_eq!(planned["deleted"], json!(["g.j", "g.other"]));
    assert_eq!((&planned["triggers"], &planned["dry_run"]), (&json!(4), &json!(true)));
    assert_eq!(place.json("job list").as_array().unwrap().len(), 2);
    assert!(place.fine("job delete --type demo").ends_with("deleted 2 jobs of type demo with 4 triggers\n"));
    assert_eq!(place.json("job list"), json!([]));
    assert!(place.refused(1, "job delete --type demo").contains("no job has type `demo`"));
    place.refused(1, "job delete g.j --dry-run");
    place.refused(2, "job delete");
    place.refused(2, "job delete g.j --type demo");
}

#[test]
fn a_quiet_command_says_nothing_when_it_is_done() {
    let place = Place::new();
    super::write_config(&place.path("carnelian.properties"), "org.quartz.scheduler.jmx.objectName = x\n");
    let line = ["migrate"];
    assert!(place.run(&line).with(0, "migrate").err.contains("warning"), "the key means nothing here");
    let words = "schedule --job g.j --type none --trigger g.t --every 1h --quiet".split(' ').collect::<Vec<_>>();
    let ran = place.run(&words).with(0, "schedule");
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
    assert!(place.run(&["-q", "trigger", "list"]).with(0, "list").out.contains("g.t"), "an answer is an answer");
    assert!(place.run(&["-q", "cron", "explain", "0 0 3 * * ?"]).with(0, "explain").out.contains("3"));
    assert!(!place.run(&["-q", "top", "--once"]).with(0, "top").out.is_empty());
}

#[test]
fn completions_man_pages_and_help_are_made_from_the_grammar() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish"] {
        assert!(place.fine(&format!("completions {shell}")).contains("doctor"), "{shell}");
    }
    place.fine("man pages");
    let page = std::fs::read_to_string(place.path("pages/carnelian-trigger-list.1")).unwrap();
    assert!(page.contains("\\-\\-sort"), "{page}");
    let help = place.fine("--help");
    assert!(help.contains("Runs:\n  running") && help.contains("Exit codes:"), "{help}");
    assert!(!place.path("carnelian.db").exists(), "none of them needs a database");
}

/// The state of work by its request id, from its caller's id alone.
#[test]
fn a_request_is_followed_by_its_id() {
    let place = Place::new();
    place.fine("schedule --job g.j --type demo --trigger g.t --at 2040-01-01T00:00:00Z --request-id order-17");
    let shown = place.json("submission show order-17");
    assert_eq!((text(&shown, "state"), text(&shown, "job"), &shown["is_over"]), ("pending", "g.j", &json!(false)));
    place.fine("trigger pause g.t");
    assert!(place.fine("submission show order-17").contains("paused"));
    place.fine("job delete g.j");
    assert_eq!(text(&place.json("submission show order-17"), "state"), "gone");
    assert!(place.refused(1, "submission show order-18").contains("no request `order-18` is known"));
}
