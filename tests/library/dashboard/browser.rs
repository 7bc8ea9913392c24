//! The dashboard in a real browser: pages without a complaint, actions, the keyboard, colours,
//! small windows, attacks. Each test has a Chromium of its own.

mod acting;
mod attacks;
mod chromium;
mod living;
mod pages;
mod pictures;
mod with_keys;

use super::{Site, everywhere, node, schedule};
use crate::support;
use carnelian::dashboard::Server;
use carnelian::store::JobStore;
use chromium::Chromium;
use std::time::Duration;

/// A dashboard that is served, and a browser that looks at it.
struct Look {
    store: JobStore,
    server: Server,
    browser: Chromium,
}

impl Look {
    fn at(site: Site) -> Self {
        let Site { store, dashboard, .. } = site;
        let server = Server::start("127.0.0.1:0".parse().unwrap(), move |request| dashboard.handle(request)).unwrap();
        let mut browser = Chromium::start();
        browser.set_size(1200, 900);
        Self { store, server, browser }
    }

    /// A dashboard of a scheduler on PostgreSQL.
    fn on_postgres() -> Self {
        Self::at(Site::in_database(&support::postgres_url(), None))
    }

    fn address(&self, page: &str) -> String {
        format!("http://{}/{page}", self.server.address())
    }

    #[track_caller]
    fn open(&mut self, page: &str) {
        let address = self.address(page);
        self.browser.open(&address);
    }

    /// Waits until the page is as an expression says.
    #[track_caller]
    fn wait_for(&mut self, expression: &str) {
        support::wait_until(expression, Duration::from_secs(60), || self.browser.eval(expression) == true);
    }

    /// The browser has had nothing to complain of.
    #[track_caller]
    fn is_content(&mut self) {
        let page = self.browser.eval("location.href");
        assert_eq!(self.browser.complaints(), Vec::<String>::new(), "{page}");
    }
}

impl Drop for Look {
    fn drop(&mut self) {
        let _ = self.store.database().forget_scheduler();
    }
}
