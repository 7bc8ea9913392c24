//! `Dashboard`: what every request is answered with.

use super::access::{Access, Who};
use super::actions::{self, Action, Order, Stopped};
use super::entrance::{log_in, login_page, session_of, to_login, wait_words, with_session};
use super::errors::{answer, of_store};
use super::flashes::Flashes;
use super::keys::{Subject, told};
use super::layout::{self, Flash, hidden};
use super::login::{Login, User};
use super::new_schedule::NewSchedule;
use super::one_time_tokens::OneTimeTokens;
use super::reads::Reads;
use super::request::Request;
use super::response::Response;
use super::session::Session;
use super::trends::Trends;
use super::undo::Undo;
use super::view::{Page, View};
use super::{api, assets, hosts, pages, rescheduling};
use crate::clock::{Clock, SystemClock};
use crate::debug_fields::debug_fields;
use crate::error::Result;
use crate::scheduler::{Scheduler, cluster_metrics_text};
use crate::store::JobStore;
use maud::html;
use std::time::Duration;

/// The web page for operators, as a function from requests to responses.
///
/// Threads may share it. Sessions, and what was read lately, are in memory.
pub struct Dashboard {
    store: JobStore,
    scheduler: Option<Scheduler>,
    access: Access,
    reads: Reads,
    trends: Trends,
    flashes: Flashes,
    one_time_tokens: OneTimeTokens,
    clock: SystemClock,
}

impl Dashboard {
    /// The dashboard of a scheduler, as its settings say (`carnelian.dashboard.*`).
    ///
    /// # Errors
    /// [`Error::Refused`](crate::Error::Refused) if the operating system gives no random numbers.
    pub fn new(scheduler: &Scheduler) -> Result<Self> {
        Ok(Self { scheduler: Some(scheduler.clone()), ..Self::of_store(scheduler.store().clone())? })
    }

    /// The dashboard of a store that no node of this process uses.
    // For the command line; carries no promise.
    #[doc(hidden)]
    pub fn of_store(store: JobStore) -> Result<Self> {
        Ok(Self {
            access: Access::new(store.settings().dashboard.clone())?,
            store,
            scheduler: None,
            reads: Reads::default(),
            trends: Trends::default(),
            flashes: Flashes::default(),
            one_time_tokens: OneTimeTokens::default(),
            clock: SystemClock::default(),
        })
    }

    /// The dashboard for people whom the program knows: `who` says who sent a request, and none for
    /// one that is refused. Passwords and proxies of the settings then count for nothing.
    ///
    /// ```
    /// use carnelian::Scheduler;
    /// use carnelian::dashboard::{Dashboard, Login, Request};
    ///
    /// let scheduler = Scheduler::builder().build()?;
    /// let dashboard = Dashboard::new(&scheduler)?.with_login(|_| Some(Login::viewer("everybody")));
    /// assert_eq!(dashboard.handle(&Request::new("GET", "/").header("Host", "jobs.example")).status(), 200);
    /// # Ok::<(), carnelian::Error>(())
    /// ```
    pub fn with_login(mut self, who: impl Fn(&Request) -> Option<Login> + Send + Sync + 'static) -> Self {
        self.access.authenticate = Some(Box::new(who));
        self
    }

    /// The answer to a request. Paths begin with `/`: a server that mounts the dashboard below a
    /// folder leaves the folder out, and sends `/folder` on to `/folder/`.
    ///
    /// No request changes anything but a POST of an operator that bears the token of a page. The
    /// database is asked in the caller's thread.
    pub fn handle(&self, request: &Request) -> Response {
        let now = self.clock.ticks();
        match request.path() {
            "/healthz" => return Response::text(200, "ok\n"),
            "/readyz" => return self.ready(now),
            _ => {}
        }
        if !hosts::is_allowed(request, &self.access.settings.hosts, self.access.has_login()) {
            let text = "the page is not served under this name: name it in carnelian.dashboard.hosts";
            return answer(request, 421, text);
        }
        if let Some(asset) = assets::find(request.path()) {
            return asset;
        }
        let session = session_of(&self.access, request, now);
        let is_for_programs = request.path().starts_with("/api/") || request.path() == "/metrics";
        match self.access.who(request, session.as_ref(), is_for_programs, now) {
            Who::Refused(why) => answer(request, 403, why),
            Who::Unknown if request.path() == "/login" && request.is_post() => log_in(&self.access, request, now),
            Who::Unknown if request.path() == "/login" => login_page(&self.access, request, now, None),
            Who::Unknown => to_login(request),
            Who::TooMany(wait) => {
                let (seconds, text) = wait_words(wait);
                answer(request, 429, &text).with("Retry-After", &seconds.to_string())
            }
            Who::Known(_) if request.path() == "/login" => Response::see_other("./"),
            Who::Known(login) => self.serve(request, login, session, now),
        }
    }

    /// Says if the database can be asked.
    fn ready(&self, now: Duration) -> Response {
        match self.reads.load(&self.store, now) {
            Ok(_) => Response::text(200, "ready\n"),
            // The error may name the host of the database, which is nobody's business here.
            Err(_) => Response::text(503, "the database cannot be asked\n"),
        }
    }

    fn serve(&self, request: &Request, login: Login, session: Option<Session>, now: Duration) -> Response {
        let (session, is_new) = match session.filter(|session| session.name == login.name()) {
            Some(session) => (session, false),
            None => match self.access.sessions.begin(login.name(), false, now) {
                Ok(session) => (session, true),
                Err(error) => return of_store(request, &error),
            },
        };
        let token = self.access.sessions.token(&session);
        let user = User { login, session, token };
        let response = self.route(request, &user, now);
        if is_new && !request.path().starts_with("/api/") && request.path() != "/metrics" {
            return with_session(&self.access, request, response, &user.session);
        }
        response
    }

    fn route(&self, request: &Request, user: &User, now: Duration) -> Response {
        let is_post = request.is_post();
        if is_post && request.path() == "/api/actions" {
            let response = api::act(&self.acting(user), request, &user.login);
            if user.login.may_act() {
                self.reads.forget();
            }
            return response;
        }
        if is_post {
            return self.post(request, user, now);
        }
        if !request.is_get() {
            return answer(request, 405, "Only GET, HEAD and POST are understood.").with("Allow", "GET, HEAD, POST");
        }
        // The metrics of a node need no database.
        if let (Some(scheduler), "/metrics") = (&self.scheduler, request.path()) {
            return Response::metrics(scheduler.metrics_text());
        }
        let view = match self.view(request, user, now) {
            Ok(view) => view,
            Err(error) => return of_store(request, &error),
        };
        if request.path() == "/metrics" {
            return Response::metrics(cluster_metrics_text(&view.load));
        }
        if let Some(name) = request.path().strip_prefix("/api/") {
            return api::read(&view, request, name);
        }
        let place = request.path().strip_prefix('/').and_then(pages::find);
        let Some(place) = place else { return answer(request, 404, "There is no such page.") };
        match (place.make)(&view) {
            Ok(Some(page)) => {
                let flash = if request.is_head() { None } else { self.flashes.take(&user.token) };
                Response::html(200, layout::page(&view, place.section, &page, flash.as_ref()))
            }
            Ok(None) => {
                let (what, name) = (place.address, told(&view.query));
                let name = name.or_else(|| view.query.get("name").map(str::to_owned));
                let text = match name {
                    Some(name) => format!("The {what} `{name}` does not exist, or not any longer."),
                    None => format!("The address of this page names no {what}."),
                };
                answer(request, 404, &text)
            }
            Err(error) => of_store(request, &error),
        }
    }

    /// The store through which a user acts.
    fn acting(&self, user: &User) -> JobStore {
        self.store.clone().acting_as(user.login.name(), "dashboard")
    }

    fn view<'a>(&'a self, request: &Request, user: &'a User, now: Duration) -> Result<View<'a>> {
        let (load, now_ms) = self.reads.load(&self.store, now)?;
        let address = request.path().trim_start_matches('/');
        let address = if address.is_empty() { "./" } else { address };
        let here = match request.query.as_str() {
            "" => address.to_owned(),
            query => format!("{address}?{query}"),
        };
        let (query, reads, trends) = (request.query(), &self.reads, &self.trends);
        Ok(View { store: &self.store, user, query, here, load, now_ms, ticks: now, reads, trends })
    }

    fn post(&self, request: &Request, user: &User, now: Duration) -> Response {
        let form = request.form();
        let is_own = self.access.sessions.is_token(&user.session, form.get("token").unwrap_or_default());
        if !is_own || !hosts::is_same_origin(request) {
            return answer(request, 403, "The page was too old, or this was not sent from it. Load it again.");
        }
        match request.path() {
            "/logout" => {
                self.access.sessions.end(&user.session, now);
                Response::see_other("./")
            }
            "/act" if !user.login.may_act() => answer(request, 403, "Only operators may do that."),
            "/act" => {
                let subjects: Vec<Subject> = form.all("key").filter_map(Subject::read).collect();
                let back = back(form.get("back"));
                let Some(action) = form.get("do").and_then(actions::find) else {
                    return answer(request, 400, "There is no such action.");
                };
                if subjects.is_empty() {
                    return self.refuse(user, "Nothing was ticked.".to_owned(), &back);
                }
                // The store is not asked, for too many, what it takes to undo or to show them.
                if let Err(error) = action.check(&subjects) {
                    return self.refuse(user, format!("{}: {error}", action.label), &back);
                }
                let new_schedule = NewSchedule::of_form(&form).filter(|_| action.takes_new_schedule());
                if form.get("sure").is_none() {
                    return self.confirm(request, user, action, (&subjects, new_schedule.as_ref()), &back, now);
                }
                if form.get("once").is_some_and(|token| !self.one_time_tokens.is_first(token)) {
                    let text = format!("{}: this was done already; ask for it anew to do it again.", action.label);
                    return self.refuse(user, text, &back);
                }
                self.flashes.put(&user.token, self.perform(user, action, &subjects, new_schedule.as_ref()));
                Response::see_other(after(action, &back))
            }
            _ => answer(request, 404, "There is nothing to send a form to."),
        }
    }

    /// Sends the user back with a word of why nothing was done.
    fn refuse(&self, user: &User, text: String, back: &str) -> Response {
        self.flashes.put(&user.token, Flash { text, is_error: true, undo: None });
        Response::see_other(back)
    }

    fn perform(
        &self,
        user: &User,
        action: &'static Action,
        subjects: &[Subject],
        new_schedule: Option<&NewSchedule>,
    ) -> Flash {
        let undo = Undo::of(&self.store, action, subjects);
        let order = Order { subjects, actor: user.login.name(), new_schedule };
        let done = action.perform(&self.acting(user), &order);
        self.reads.forget();
        match done {
            Ok(n) => {
                let is_all = n == subjects.len();
                let others = if is_all { "" } else { "; the others were so already, or are gone" };
                let text = format!("{}: {}{others}.", action.label, action.counted(n));
                Flash { text, is_error: n == 0, undo: undo.filter(|_| is_all) }
            }
            Err(Stopped { done: 0, error }) => {
                Flash { text: format!("{}: {error}", action.label), is_error: true, undo: None }
            }
            Err(Stopped { done, error }) => {
                let of = subjects.len();
                Flash {
                    text: format!("{}: {done} of {of} done, then {error}", action.label),
                    is_error: true,
                    undo: None,
                }
            }
        }
    }

    /// The page that says what will happen.
    fn confirm(
        &self,
        request: &Request,
        user: &User,
        action: &Action,
        (subjects, new_schedule): (&[Subject], Option<&NewSchedule>),
        back: &str,
        now: Duration,
    ) -> Response {
        let view = match self.view(request, user, now) {
            Ok(view) => View { here: back.to_owned(), ..view },
            Err(error) => return of_store(request, &error),
        };
        let preview =
            match action.takes_new_schedule().then(|| rescheduling::preview(&view, subjects, new_schedule)).transpose()
            {
                Ok(preview) => preview,
                Err(error) => return self.refuse(user, format!("{}: {error}", action.label), back),
            };
        let once = match OneTimeTokens::draw() {
            Ok(number) => number,
            Err(error) => return of_store(request, &error),
        };
        let title = format!("{}: {}?", action.label, action.counted(subjects.len()));
        let page = Page::new(
            title,
            html! {
                section.card.confirm {
                    p { (action.warning) @if action.is_grave { " " b { "This cannot be undone." } } }
                    ul.subjects { @for subject in subjects { li.mono { (subject.name()) } } }
                    @if let Some(preview) = preview { (preview) }
                    form method="post" action="act" {
                        (hidden(&view, action.word, subjects))
                        @if let Some(new_schedule) = new_schedule { (new_schedule.hidden()) }
                        input type="hidden" name="sure" value="yes";
                        input type="hidden" name="once" value=(once);
                        button.(if action.is_grave { "grave" } else { "main" }) autofocus { (action.label) } " "
                        a.cancel href=(back) { "Leave it" }
                    }
                }
            },
        );
        Response::html(200, layout::page(&view, "", &page, None))
    }
}

debug_fields! { Dashboard { settings = me.access.settings } finish_non_exhaustive |me| }

/// The page to which an action comes back: one of the dashboard's own.
fn back(field: Option<&str>) -> String {
    let page = field.unwrap_or("./");
    let address = page.split('?').next().unwrap_or_default();
    if pages::find(address).is_some() && !address.is_empty() { page.to_owned() } else { "./".to_owned() }
}

/// The page to which an action leads: what was deleted has no page any more.
fn after<'a>(action: &Action, back: &'a str) -> &'a str {
    match back.split_once('?') {
        Some(("trigger", _)) if action.word.ends_with(".delete") => "triggers",
        Some(("job", _)) if action.word.ends_with(".delete") => "jobs",
        _ => back,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reading is made anew for whoever may change something, and for nobody else.
    #[test]
    fn a_viewer_who_is_refused_costs_no_reading() {
        let scheduler = Scheduler::builder().build().unwrap();
        let dashboard = Dashboard::new(&scheduler).unwrap().with_login(|request| {
            let is_operator = request.get("x-user") == Some("ada");
            Some(if is_operator { Login::operator("ada") } else { Login::viewer("bob") })
        });
        let load = || dashboard.reads.load(&dashboard.store, Duration::ZERO).unwrap().0;
        let ask = |user: &str| {
            let request = Request::new("POST", "/api/actions").header("Host", "jobs.example").header("X-User", user);
            let request = request.header("Content-Type", "application/json");
            dashboard.handle(&request.body("{\"do\": \"all.pause\", \"keys\": [\"all\"]}")).status()
        };
        let before = load();
        assert_eq!(ask("bob"), 403);
        assert!(std::sync::Arc::ptr_eq(&before, &load()));
        assert_eq!(ask("ada"), 200);
        assert!(!std::sync::Arc::ptr_eq(&before, &load()));
    }

    #[test]
    fn an_action_comes_back_to_pages_of_the_dashboard_only() {
        assert_eq!(back(Some("trigger?group=a&name=b")), "trigger?group=a&name=b");
        for foreign in [
            None,
            Some("./"),
            Some(""),
            Some("//evil.example"),
            Some("https://evil.example/"),
            Some("/jobs"),
            Some("act"),
        ] {
            assert_eq!(back(foreign), "./", "{foreign:?}");
        }
    }
}
