//! Every page: nothing in the console, labels and contrast, day and night, 400 pixels wide, and
//! without scripts.

use super::{Look, everywhere};
use crate::dashboard::access::{PASSWORD, with_logins};
use std::collections::{BTreeSet, VecDeque};

const CHECKS: &str = include_str!("checks.js");

/// The faults of the page at which the browser is; `colours` for those of its colours alone.
fn faults(look: &mut Look, colours: bool) -> Vec<String> {
    let faults = look.browser.eval(&format!("({CHECKS})({colours})"));
    faults.as_array().unwrap().iter().map(|fault| fault.as_str().unwrap().to_owned()).collect()
}

/// The page has no faults, by day and by night, wide and narrow.
fn is_for_everybody(look: &mut Look) {
    let page = look.browser.eval("location.href");
    let none = Vec::<String>::new();
    assert_eq!(faults(look, false), none, "{page}");
    look.browser.set_dark(true);
    assert_eq!(faults(look, true), none, "{page}, dark");
    look.browser.set_dark(false);
    look.browser.set_size(400, 800);
    let widths = look.browser.eval("[document.documentElement.scrollWidth, innerWidth]");
    assert!(widths[0].as_i64() <= widths[1].as_i64(), "{page} is wider than a window of 400 pixels: {widths}");
    look.browser.set_size(1200, 900);
}

/// The pages to which the page at which the browser is leads, as paths with a query.
fn links(look: &mut Look) -> Vec<String> {
    let links = look.browser.eval(
        "[...document.querySelectorAll('a[href]')].filter((one) => one.origin === location.origin)\
         .map((one) => (one.pathname + one.search).slice(1))",
    );
    links.as_array().unwrap().iter().map(|link| link.as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_page_is_for_everybody() {
    let mut look = Look::on_postgres();
    everywhere::fill(&look.store);
    let (mut known, mut open): (BTreeSet<String>, VecDeque<String>) = (BTreeSet::new(), [String::new()].into());
    while let Some(page) = open.pop_front() {
        // The trigger of a run by hand goes with its fire.
        if page.starts_with("api/") || page.contains("name=MT_") || !known.insert(page.clone()) {
            continue;
        }
        look.open(&page);
        look.is_content();
        is_for_everybody(&mut look);
        open.extend(links(&mut look));
    }
    for page in ["running", "triggers", "jobs", "history", "nodes", "parked", "outages", "locks", "actions"] {
        assert!(known.contains(page), "{page} is not among {known:?}");
    }
    look.open("triggers");
    look.browser.click("td input[type=checkbox]");
    look.browser.follow("button[value='trigger.pause']");
    is_for_everybody(&mut look);
    look.browser.follow(".confirm button");
    is_for_everybody(&mut look);
    look.is_content();
}

#[test]
fn a_login_page_and_an_error_are_for_everybody() {
    let mut look = Look::at(with_logins());
    look.open("jobs");
    assert!(look.browser.eval("location.href").as_str().unwrap().ends_with("/login"));
    is_for_everybody(&mut look);
    look.browser.click("input[name=name]");
    look.browser.write("bob");
    look.browser.click("input[name=password]");
    look.browser.write("wrong horse");
    look.browser.follow("button");
    is_for_everybody(&mut look);
    // The browser writes down that the answer was 403.
    look.browser.complaints();
    look.browser.click("input[name=name]");
    look.browser.eval("document.querySelector('input[name=name]').value = ''");
    look.browser.write("bob");
    look.browser.click("input[name=password]");
    look.browser.write(PASSWORD);
    look.browser.follow("button");
    assert!(look.browser.text().contains("Log out"), "{}", look.browser.text());
    assert_eq!(look.browser.eval("document.cookie"), "", "scripts cannot read the cookie");
    assert_eq!(look.browser.eval("document.querySelector('form[action=act]')"), serde_json::Value::Null, "a viewer");
    is_for_everybody(&mut look);
    look.is_content();
    look.open("nothing");
    is_for_everybody(&mut look);
}

#[test]
fn pages_work_without_scripts() {
    let mut look = Look::on_postgres();
    everywhere::fill(&look.store);
    look.browser.forbid_scripts();
    for page in ["", "triggers", "jobs", "history", "nodes", "actions"] {
        look.open(page);
        assert_eq!(look.browser.eval("document.querySelectorAll('h1').length"), 1, "{page}");
        assert_eq!(look.browser.eval("document.getElementById('fresh').textContent"), "", "{page}");
    }
    look.open("jobs?q=plain");
    look.browser.click("td input[type=checkbox]");
    look.browser.follow("button[value='job.pause']");
    look.browser.follow(".confirm button");
    assert!(look.browser.text().contains("Pause: 1 job."), "{}", look.browser.text());
}
