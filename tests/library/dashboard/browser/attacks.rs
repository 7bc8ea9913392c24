//! Attacks on the people who look: names that are scripts, scripts that get into a page, frames of
//! foreign pages, forms of foreign pages.

use super::{Look, schedule};
use carnelian::{JobDetail, JobKey, Trigger, TriggerKey};
use serde_json::{Value, json};

/// Names that run a script, or break a page, where one place forgets to escape.
const NAMES: [&str; 20] = [
    "<script>window.hit = 1</script>",
    "\"><script>window.hit = 1</script>",
    "'><img src=x onerror=window.hit=1>",
    "<img src=x onerror=\"window.hit = 1\">",
    "<svg onload=window.hit=1>",
    "<svg><script>window.hit=1</script></svg>",
    "\" onfocus=\"window.hit=1\" autofocus=\"",
    "' onmouseover='window.hit=1",
    "javascript:window.hit=1",
    "</title><script>window.hit=1</script>",
    "</textarea><script>window.hit=1</script>",
    "--><script>window.hit=1</script><!--",
    "<iframe srcdoc=\"<script>parent.hit=1</script>\">",
    "<meta http-equiv=refresh content=\"0;url=javascript:window.hit=1\">",
    "<base href=http://evil.example/>",
    "<form action=http://evil.example><button>",
    "<style>*{display:none}</style>",
    "<details open ontoggle=window.hit=1>",
    "&lt;script&gt;window.hit=1&lt;/script&gt;",
    "\u{202e}<ScRiPt /x>window.hit=1</sCrIpT>",
];

#[test]
fn names_that_are_scripts_are_texts() {
    let mut look = Look::on_postgres();
    let mut stored = Vec::new();
    for (at, name) in NAMES.iter().enumerate() {
        for n in 0..10 {
            let key = JobKey::new(format!("g{n}"), format!("{at:02}{n} {name}"));
            let job = JobDetail::builder(key.clone(), *name).description(*name).durable(true).build().unwrap();
            let trigger = Trigger::builder(TriggerKey::new(key.group(), key.name()), key.clone())
                .schedule(carnelian::SimpleSchedule::once())
                .start_at(chrono_from_now())
                .build()
                .unwrap();
            stored.push((job, vec![trigger]));
        }
    }
    let keys: Vec<JobKey> = stored.iter().map(|(job, _)| job.key().clone()).collect();
    look.store.catalogue().schedule(stored, false).unwrap();
    let mut shown = 0;
    for list in ["triggers", "jobs"] {
        look.open(list);
        loop {
            shown += look.browser.eval("document.querySelectorAll('td.tick').length").as_u64().unwrap();
            assert_eq!(look.browser.eval("window.hit ?? null"), Value::Null);
            assert_eq!(look.browser.eval("document.querySelectorAll('script').length"), 1);
            look.is_content();
            if look.browser.eval("document.querySelector('a[rel=next]') === null") == true {
                break;
            }
            look.browser.follow("a[rel=next]");
        }
    }
    assert_eq!(shown, 400, "two hundred names in each list");
    for key in keys.iter().step_by(10) {
        let fields = [("group", key.group()), ("name", key.name())];
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        for page in ["job", "trigger"] {
            look.open(&format!("{page}?{query}"));
            let title = look.browser.eval("document.querySelector('h1').textContent");
            assert!(title.as_str().unwrap().ends_with(key.name()), "{title}");
            assert_eq!(look.browser.eval("window.hit ?? null"), Value::Null);
            look.is_content();
        }
        look.open(&format!(
            "jobs?{}",
            form_urlencoded::Serializer::new(String::new()).append_pair("q", key.name()).finish()
        ));
        assert_eq!(look.browser.eval("window.hit ?? null"), Value::Null);
        look.is_content();
    }
}

fn chrono_from_now() -> chrono::DateTime<chrono::Utc> {
    use carnelian::clock::{Clock, SystemClock};
    SystemClock::default().wall_time() + std::time::Duration::from_secs(3600)
}

#[test]
fn what_gets_into_a_page_all_the_same_does_nothing() {
    let mut look = Look::at(super::Site::in_memory(""));
    look.open("");
    look.is_content();
    for attack in [
        "const one = document.createElement('script'); one.textContent = 'window.hit = 1'; document.body.append(one)",
        "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.hit = 1\">')",
        "document.body.insertAdjacentHTML('beforeend', '<p id=p style=\"color: red\">')",
        "document.body.insertAdjacentHTML('beforeend', '<iframe src=\"https://evil.example/\"></iframe>')",
        "fetch('http://127.0.0.1:1/').catch(() => null).then(() => null)",
    ] {
        look.browser.eval(&format!("(() => {{ {attack} }})()"));
        look.wait_for("true");
        let mut complaints = Vec::new();
        crate::support::wait_until("the policy blocks it", std::time::Duration::from_secs(60), || {
            complaints.extend(look.browser.complaints());
            complaints.iter().any(|one| one.contains("Content Security Policy"))
        });
        assert_eq!(look.browser.eval("window.hit ?? null"), Value::Null, "{attack}");
    }
}

#[test]
fn pages_of_others_neither_frame_nor_act() {
    let mut look = Look::on_postgres();
    let key = schedule(&look.store, "plain", "job");
    look.open("triggers");
    let token = look.browser.eval("document.querySelector('input[name=token]').value");
    // The page of another server: another port of this machine, which shares the cookies.
    let foreign = carnelian::dashboard::Server::start("127.0.0.1:0".parse().unwrap(), |request| {
        let store = carnelian::Scheduler::builder().build().unwrap();
        carnelian::dashboard::monitoring(&store, request)
    })
    .unwrap();
    look.browser.open(&format!("http://{}/healthz", foreign.address()));
    // The policy of that page would forbid what a foreign page does.
    look.browser.call("Page.setBypassCSP", &json!({"enabled": true}));
    look.browser.open(&format!("http://{}/healthz", foreign.address()));
    let target = look.address("act");
    let fields = json!([["token", token], ["do", "trigger.pause"], ["key", "[\"plain\",\"job\"]"], ["sure", "yes"]]);
    look.browser.loading(|browser| {
        browser.eval(&format!(
            "(() => {{ const form = document.createElement('form'); form.method = 'post'; form.action = {}; \
             for (const [name, value] of {fields}) {{ const field = document.createElement('input'); \
             field.name = name; field.value = value; form.append(field); }} \
             document.body.append(form); form.submit(); }})()",
            json!(target)
        ));
    });
    assert!(look.browser.text().contains("was not sent from it"), "{}", look.browser.text());
    assert_eq!(look.store.catalogue().trigger_state(&key).unwrap().unwrap().name(), "WAITING");

    look.browser.open(&format!("http://{}/healthz", foreign.address()));
    look.browser.complaints();
    let page = look.address("");
    look.browser.eval(&format!(
        "(() => {{ const frame = document.createElement('iframe'); frame.src = {}; document.body.append(frame); }})()",
        json!(page)
    ));
    let mut complaints = Vec::new();
    crate::support::wait_until("the frame is refused", std::time::Duration::from_secs(60), || {
        complaints.extend(look.browser.complaints());
        complaints.iter().any(|one| one.contains("frame") || one.contains("X-Frame-Options"))
    });
    let read = look.browser.eval(&format!("fetch({}).then((answer) => answer.text(), () => 'refused')", json!(page)));
    assert_eq!(read, "refused", "a foreign page cannot read either");
}
