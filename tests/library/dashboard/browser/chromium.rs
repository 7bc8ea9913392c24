//! Chromium without a window, driven by its DevTools protocol over a pair of pipes.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// The longest time that the browser may need for an answer, on a machine that others use too.
const PATIENCE: Duration = Duration::from_secs(60);

/// Tests run as whoever they are: a browser of root has no sandbox.
const FLAGS: [&str; 10] = [
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--no-first-run",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
];

/// A browser with one tab, which ends with the value.
pub struct Chromium {
    process: Child,
    to: Option<ChildStdin>,
    from: Receiver<Value>,
    last_id: u64,
    session: String,
    /// The messages of the browser that nobody has asked for yet.
    events: Vec<Value>,
    _profile: tempfile::TempDir,
}

impl Chromium {
    pub fn start() -> Self {
        let profile = tempfile::tempdir().unwrap();
        // The protocol speaks over the descriptors 3 and 4.
        let mut process = Command::new("sh")
            .args(["-c", "exec chromium \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>/dev/null", "sh"])
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (answers, from) = channel();
        let pipe = BufReader::new(process.stdout.take().unwrap());
        std::thread::spawn(move || {
            for message in pipe.split(0).map_while(Result::ok) {
                let read = serde_json::from_slice(&message).is_ok_and(|value| answers.send(value).is_ok());
                if !read {
                    break;
                }
            }
        });
        let to = process.stdin.take();
        let mut browser =
            Self { process, to, from, last_id: 0, session: String::new(), events: Vec::new(), _profile: profile };
        browser.new_tab();
        browser
    }

    /// Opens a tab, in front of the others, and goes on in it.
    pub fn new_tab(&mut self) {
        self.session.clear();
        let target = self.call("Target.createTarget", &json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let attached = self.call("Target.attachToTarget", &attach);
        self.session = attached["sessionId"].as_str().expect("chromium is installed and starts").to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.call(&format!("{domain}.enable"), &json!({}));
        }
    }

    /// The tab in which the browser is.
    pub fn tab(&self) -> String {
        self.session.clone()
    }

    /// Goes on in another tab.
    pub fn go_to_tab(&mut self, tab: &str) {
        tab.clone_into(&mut self.session);
    }

    /// Asks the browser, and waits for its answer.
    #[track_caller]
    pub fn call(&mut self, method: &str, parameters: &Value) -> Value {
        let mut answer = self.ask(method, parameters);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].take()
    }

    #[track_caller]
    fn ask(&mut self, method: &str, parameters: &Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        let mut message = json!({"id": id, "method": method, "params": parameters});
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.to.as_mut().unwrap().write_all(&bytes).expect("chromium is installed and runs");
        loop {
            let message = self.receive(method);
            if message["id"] == id {
                return message;
            }
            self.events.push(message);
        }
    }

    #[track_caller]
    fn receive(&self, what: &str) -> Value {
        self.from.recv_timeout(PATIENCE).unwrap_or_else(|error| panic!("{what}: chromium says nothing: {error}"))
    }

    /// Does something that loads a page, and waits until the page is there.
    #[track_caller]
    pub fn loading(&mut self, act: impl FnOnce(&mut Self)) {
        let is_loaded = |event: &Value| event["method"] == "Page.loadEventFired";
        self.events.retain(|event| !is_loaded(event));
        act(self);
        while !self.events.iter().any(is_loaded) {
            let event = self.receive("a page loads");
            self.events.push(event);
        }
    }

    /// The page of an address.
    #[track_caller]
    pub fn open(&mut self, address: &str) {
        self.loading(|browser| {
            let answer = browser.call("Page.navigate", &json!({"url": address}));
            assert!(answer.get("errorText").is_none(), "{address}: {answer}");
        });
    }

    /// The value of an expression in the page.
    #[track_caller]
    pub fn eval(&mut self, expression: &str) -> Value {
        let asked = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let mut answer = self.call("Runtime.evaluate", &asked);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].take()
    }

    /// The text that a reader of the page sees.
    #[track_caller]
    pub fn text(&mut self) -> String {
        self.eval("document.body.innerText").as_str().unwrap_or_default().to_owned()
    }

    /// Clicks on the middle of an element.
    #[track_caller]
    pub fn click(&mut self, selector: &str) {
        let place = self.eval(&format!(
            "(() => {{ const one = document.querySelector({}); if (one === null) return null; \
             one.scrollIntoView({{ block: 'center', behavior: 'instant' }}); const box = one.getBoundingClientRect(); \
             return [box.x + box.width / 2, box.y + box.height / 2]; }})()",
            json!(selector)
        ));
        assert!(place.is_array(), "no {selector} on {}: {}", self.eval("location.href"), self.text());
        for kind in ["mousePressed", "mouseReleased"] {
            let at = json!({"type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1});
            self.call("Input.dispatchMouseEvent", &at);
        }
    }

    /// Clicks on what leads to another page.
    #[track_caller]
    pub fn follow(&mut self, selector: &str) {
        self.loading(|browser| browser.click(selector));
    }

    /// Presses a key: `Tab`, `Enter` or `Space`.
    #[track_caller]
    pub fn press(&mut self, key: &str) {
        let (key, code, number, text) = match key {
            "Enter" => ("Enter", "Enter", 13, "\r"),
            "Space" => (" ", "Space", 32, " "),
            _ => ("Tab", "Tab", 9, ""),
        };
        for kind in [if text.is_empty() { "rawKeyDown" } else { "keyDown" }, "keyUp"] {
            let mut event = json!({"type": kind, "key": key, "code": code, "windowsVirtualKeyCode": number});
            if kind == "keyDown" {
                event["text"] = json!(text);
            }
            self.call("Input.dispatchKeyEvent", &event);
        }
    }

    /// Types a text into what has the focus.
    #[track_caller]
    pub fn write(&mut self, text: &str) {
        self.call("Input.insertText", &json!({"text": text}));
    }

    /// Shows pages with the colours of the evening, or of the day.
    pub fn set_dark(&mut self, is_dark: bool) {
        let scheme = json!({"name": "prefers-color-scheme", "value": if is_dark { "dark" } else { "light" }});
        self.call("Emulation.setEmulatedMedia", &json!({"features": [scheme]}));
    }

    /// The size of the window, in pixels.
    pub fn set_size(&mut self, width: u32, height: u32) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", &size);
    }

    /// Lets pages run no script, as some people's browsers do.
    pub fn forbid_scripts(&mut self) {
        self.call("Emulation.setScriptExecutionDisabled", &json!({"value": true}));
    }

    /// The number of requests that were sent since this was asked last.
    pub fn requests(&mut self) -> usize {
        self.taken("Network.requestWillBeSent").len()
    }

    fn taken(&mut self, method: &str) -> Vec<Value> {
        self.eval("1"); // what came before has been read then
        let (taken, left) = std::mem::take(&mut self.events).into_iter().partition(|event| event["method"] == method);
        self.events = left;
        taken
    }

    /// The complaints of the browser since this was asked last: errors and warnings of the
    /// console, errors of scripts, what the policy for contents has blocked, dialogs.
    pub fn complaints(&mut self) -> Vec<String> {
        let logged = self.taken("Log.entryAdded").into_iter().map(|event| event["params"]["entry"].clone());
        let said = self.taken("Runtime.consoleAPICalled").into_iter().map(|event| event["params"].clone());
        let mut complaints: Vec<Value> = logged
            .filter(|entry| ["error", "warning"].iter().any(|level| entry["level"] == *level))
            .chain(said.filter(|call| ["error", "warning", "assert"].iter().any(|kind| call["type"] == *kind)))
            .collect();
        complaints.extend(self.taken("Runtime.exceptionThrown"));
        complaints.extend(self.taken("Page.javascriptDialogOpening"));
        complaints.iter().map(Value::to_string).collect()
    }

    /// A picture of the page from its top on, as PNG.
    pub fn picture(&mut self) -> Vec<u8> {
        let size = self.eval("[innerWidth, Math.min(document.documentElement.scrollHeight, 710)]");
        let clip = json!({"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1});
        let asked = json!({"format": "png", "captureBeyondViewport": true, "clip": clip});
        let picture = self.call("Page.captureScreenshot", &asked);
        unbase64(picture["data"].as_str().unwrap_or_default())
    }
}

/// The bytes of a text in base64.
fn unbase64(text: &str) -> Vec<u8> {
    const DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for digit in text.chars().filter_map(|c| DIGITS.find(c)) {
        bits = bits << 6 | u32::try_from(digit).unwrap();
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).unwrap());
        }
    }
    bytes
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // Chromium ends with its pipe; it may have ended before.
        self.to = None;
        for _ in self.from.iter() {}
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
