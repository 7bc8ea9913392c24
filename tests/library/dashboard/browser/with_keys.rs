//! The keyboard alone.

use super::Look;
use carnelian::TriggerState;
use serde_json::json;

/// Presses Tab until the focus is on an element.
fn tab_to(look: &mut Look, selector: &str) {
    for _ in 0..100 {
        look.browser.press("Tab");
        if look.browser.eval(&format!("document.activeElement.matches({})", json!(selector))) == true {
            return;
        }
    }
    panic!("Tab does not lead to {selector}: {}", look.browser.text());
}

#[test]
fn a_trigger_is_found_paused_and_resumed_by_keys_alone() {
    let mut look = Look::on_postgres();
    let key = super::schedule(&look.store, "plain", "job");
    let state = |look: &Look| look.store.catalogue().trigger_state(&key).unwrap();
    look.open("");
    tab_to(&mut look, "a.skip");
    look.browser.press("Enter");
    look.wait_for("document.activeElement.matches('main')");
    tab_to(&mut look, "a[href^='trigger?']");
    look.open("");
    tab_to(&mut look, "nav a[href=triggers]");
    look.browser.loading(|browser| browser.press("Enter"));
    tab_to(&mut look, "td input[type=checkbox]");
    look.browser.press("Space");
    assert_eq!(look.browser.eval("document.activeElement.checked"), true);
    // The buttons are before the list.
    look.browser.eval("document.querySelector('.bar input').focus()");
    tab_to(&mut look, "button[value='trigger.pause']");
    look.browser.loading(|browser| browser.press("Enter"));
    // The button has `autofocus`, and gets the focus a moment after the page has been read.
    look.wait_for("document.activeElement.textContent === 'Pause'");
    assert_eq!(state(&look), Some(TriggerState::Waiting));
    look.browser.loading(|browser| browser.press("Enter"));
    assert_eq!(state(&look), Some(TriggerState::Paused));
    tab_to(&mut look, ".flash button");
    look.browser.loading(|browser| browser.press("Enter"));
    assert_eq!(state(&look), Some(TriggerState::Waiting));
    look.is_content();
}
