//! The live parts of pages: brought up to date while somebody looks, at rest while nobody does.

use super::{Look, schedule};

/// A page that counts what it has planned, and whose waits are a hundred times shorter.
const WATCHED: &str = "(() => {\
    const plan = window.setTimeout, drop = window.clearTimeout; window.planned = new Set();\
    window.setTimeout = (act, wait) => {\
        const timer = plan(() => { window.planned.delete(timer); act(); }, wait / 100);\
        window.planned.add(timer); return timer; };\
    window.clearTimeout = (timer) => { window.planned.delete(timer); drop(timer); }; })()";

#[test]
fn a_page_follows_the_cluster_and_rests_in_a_hidden_tab() {
    let mut look = Look::on_postgres();
    let key = schedule(&look.store, "plain", "job");
    look.browser.call("Page.addScriptToEvaluateOnNewDocument", &serde_json::json!({"source": WATCHED}));
    look.open("triggers");
    assert_eq!(look.browser.eval("document.querySelector('#triggers .badge').textContent"), "waiting");
    look.store.catalogue().pause_triggers(std::slice::from_ref(&key)).unwrap();
    look.wait_for("document.querySelector('#triggers .badge').textContent === 'paused'");
    assert_eq!(look.browser.eval("document.getElementById('fresh').textContent"), "live");

    // A part in which somebody works stays as it is, and what was ticked stays ticked.
    look.browser.click("td input[type=checkbox]");
    look.store.catalogue().resume_triggers(std::slice::from_ref(&key), true).unwrap();
    look.browser.requests();
    let mut seen = 0;
    crate::support::wait_until("five more looks", std::time::Duration::from_secs(60), || {
        seen += look.browser.requests();
        seen >= 5
    });
    assert_eq!(look.browser.eval("document.querySelector('td input').checked"), true);
    assert_eq!(look.browser.eval("document.querySelector('#triggers .badge').textContent"), "paused");
    look.browser.click("td input[type=checkbox]");
    look.browser.eval("document.activeElement.blur()");
    look.wait_for("document.querySelector('#triggers .badge').textContent === 'waiting'");

    let page = look.browser.tab();
    look.browser.new_tab();
    let other = look.browser.tab();
    look.browser.go_to_tab(&page);
    look.wait_for("document.hidden");
    look.wait_for("window.planned.size === 0");
    look.browser.requests();
    look.store.catalogue().pause_triggers(&[key]).unwrap();
    look.browser.go_to_tab(&other);
    look.browser.eval("new Promise((go) => setTimeout(go, 500))"); // ten times as long as a page waits
    look.browser.go_to_tab(&page);
    assert_eq!(look.browser.requests(), 0, "a page that nobody sees asks nothing");
    look.browser.call("Page.bringToFront", &serde_json::json!({}));
    look.wait_for("document.querySelector('#triggers .badge').textContent === 'paused'");
    look.is_content();
}

#[test]
fn a_page_whose_server_is_gone_says_so() {
    let mut look = Look::at(super::Site::in_memory(""));
    look.browser.call("Page.addScriptToEvaluateOnNewDocument", &serde_json::json!({"source": WATCHED}));
    look.open("");
    let nobody = carnelian::dashboard::Server::start("127.0.0.1:0".parse().unwrap(), |_| panic!("not asked")).unwrap();
    drop(std::mem::replace(&mut look.server, nobody));
    look.wait_for("document.getElementById('fresh').textContent.startsWith('not up to date')");
    assert!(look.browser.text().contains("Overview"), "what was there stays");
}
