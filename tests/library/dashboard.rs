//! The dashboard as a browser meets it, but without one: pages on all four stores, access, actions,
//! the API, and the server's limits.
#![cfg(all(feature = "sqlite", feature = "postgres", feature = "mysql", feature = "dashboard"))]

mod access;
mod actions;
mod api;
mod attacks;
mod browser;
mod everywhere;
mod server;

use crate::support;
use carnelian::clock::{Clock, SystemClock};
use carnelian::dashboard::{Dashboard, Request, Response};
use carnelian::settings::Settings;
use carnelian::store::{Database, JobStore, Membership, MemoryDatabase, SqlDatabase};
use carnelian::{JobDetail, JobKey, SimpleSchedule, Trigger, TriggerKey};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

/// A name that would be a script if it were not escaped.
const HOSTILE: &str = "<script>alert('&\"x')</script>";

/// A scheduler with a dashboard, and a browser that looks at it.
pub struct Site {
    pub store: JobStore,
    pub dashboard: Dashboard,
    cookie: Option<String>,
    _folder: Option<tempfile::TempDir>,
}

impl Site {
    /// A scheduler in memory with further settings.
    fn in_memory(more: &str) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
        let settings = Settings::from_text("test", more, |_| None).unwrap();
        Self::of(JobStore::new(Arc::new(MemoryDatabase::new(Arc::clone(&clock))), clock, settings), None)
    }

    fn in_database(url: &str, folder: Option<tempfile::TempDir>) -> Self {
        let clock = Arc::new(SystemClock::default());
        let settings = Settings::in_database(support::fresh_name("page"), url.parse().unwrap());
        let database = SqlDatabase::open(&settings, clock.clone()).unwrap();
        database.migrate().unwrap();
        Self::of(JobStore::new(Arc::new(database), clock, settings), folder)
    }

    fn of(store: JobStore, folder: Option<tempfile::TempDir>) -> Self {
        let dashboard = Dashboard::of_store(store.clone()).unwrap();
        Self { store, dashboard, cookie: None, _folder: folder }
    }

    /// Tells the story on every store.
    fn everywhere(story: fn(&mut Self)) {
        let folder = tempfile::tempdir().unwrap();
        let sqlite = format!("sqlite:{}", folder.path().join("page.db").display());
        for mut site in [
            Self::in_memory(""),
            Self::in_database(&sqlite, Some(folder)),
            Self::in_database(&support::postgres_url(), None),
            Self::in_database(&support::mysql_url(), None),
        ] {
            println!("on {}", site.store.database().describe());
            story(&mut site);
            site.store.database().forget_scheduler().unwrap();
        }
    }

    /// A node that has checked in, and does nothing else.
    fn node(&self, name: &str) -> Membership {
        node(&self.store, name)
    }

    /// A job with a trigger that fires every hour from an hour from now on.
    fn schedule(&self, group: &str, name: &str) -> TriggerKey {
        schedule(&self.store, group, name)
    }

    /// Asks as a browser on this machine does.
    fn ask(&mut self, request: Request) -> Response {
        let mut request = request.header("Host", "localhost:8080").peer(IpAddr::V4(Ipv4Addr::LOCALHOST));
        if let Some(cookie) = &self.cookie {
            request = request.header("Cookie", cookie);
        }
        let response = self.dashboard.handle(&request);
        if let Some(cookie) = header(&response, "Set-Cookie") {
            self.cookie = cookie.split(';').next().map(str::to_owned);
        }
        response
    }

    fn get(&mut self, page: &str) -> Response {
        self.ask(Request::new("GET", &format!("/{page}")))
    }

    /// The text of a page that must be there.
    #[track_caller]
    fn page(&mut self, page: &str) -> String {
        let response = self.get(page);
        let text = body(&response);
        assert_eq!(response.status(), 200, "{page}: {text}");
        text
    }

    /// Sends a form with the token of the first page.
    fn send(&mut self, to: &str, fields: &[(&str, &str)]) -> Response {
        let token = token(&self.page(""));
        let fields = fields.iter().copied().chain([("token", &*token)]);
        let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        self.ask(Request::new("POST", &format!("/{to}")).body(form))
    }
}

fn node(store: &JobStore, name: &str) -> Membership {
    let mut me = Membership::new(name);
    store.upkeep().check_in(&mut me).unwrap();
    me
}

fn schedule(store: &JobStore, group: &str, name: &str) -> TriggerKey {
    let at = SystemClock::default().wall_time() + Duration::from_secs(3600);
    let job = JobDetail::builder(JobKey::new(group, name), "t").durable(true).data("password", "hunter22");
    let job = job.data("url", "https://ada:sesame@example/x").description(HOSTILE).build().unwrap();
    let trigger = Trigger::builder(TriggerKey::new(group, name), job.key().clone())
        .schedule(SimpleSchedule::every(Duration::from_secs(3600)))
        .start_at(at)
        .build()
        .unwrap();
    let key = trigger.key().clone();
    store.catalogue().schedule(vec![(job, vec![trigger])], false).unwrap();
    key
}

fn header<'a>(response: &'a Response, name: &str) -> Option<&'a str> {
    response.headers().iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
}

fn body(response: &Response) -> String {
    String::from_utf8(response.body().to_vec()).unwrap()
}

/// The token in the forms of a page.
fn token(page: &str) -> String {
    let (_, rest) = page.split_once("name=\"token\" value=\"").expect("a form");
    rest.split('"').next().unwrap().to_owned()
}
