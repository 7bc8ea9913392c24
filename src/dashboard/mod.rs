//! The dashboard: a web page for operators, the same as JSON, and an endpoint for health and
//! metrics.
//!
//! `carnelian dashboard` serves it beside the database. A program that has a server already mounts
//! it: [`Dashboard::handle`] answers a [`Request`] with a [`Response`], both plain values. A
//! program without one starts a [`Server`], which blocks nobody and needs no async runtime.
//!
//! Without a login (`carnelian.dashboard.user.NAME.password`, a proxy, or
//! [`Dashboard::with_login`]) only this machine is answered. `docs/monitoring.md` says what the
//! pages show and how they are kept safe.
//!
//! ```
//! use carnelian::Scheduler;
//! use carnelian::dashboard::{Dashboard, Request};
//!
//! let scheduler = Scheduler::builder().build()?;
//! let dashboard = Dashboard::new(&scheduler)?;
//! let answer = dashboard.handle(&Request::new("GET", "/healthz"));
//! assert_eq!(answer.status(), 200);
//! # Ok::<(), carnelian::Error>(())
//! ```

mod access;
mod actions;
mod api;
mod assets;
mod chart;
mod components;
mod connection;
mod entrance;
mod errors;
mod flashes;
mod form;
mod graph;
mod handle;
mod hosts;
mod keys;
mod layout;
mod login;
mod login_rate;
mod monitoring;
mod new_schedule;
mod one_by_one;
mod one_time_tokens;
mod openapi;
mod pages;
mod password;
mod reading;
mod reads;
mod request;
mod rescheduling;
mod response;
mod search;
mod server;
mod session;
mod trends;
mod undo;
mod view;

pub use handle::Dashboard;
pub use login::Login;
pub use monitoring::monitoring;
pub use password::hash_password;
pub use request::Request;
pub use response::Response;
pub use server::Server;
