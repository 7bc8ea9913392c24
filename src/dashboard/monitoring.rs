//! Monitoring of a node by HTTP: its health and its metrics, and nothing else.

use super::request::Request;
use super::response::Response;
use crate::scheduler::Scheduler;
use serde_json::Value;

/// The answer of a node to a request for its health: `/healthz` and `/readyz` for probes, `/health`
/// as JSON, `/metrics` for Prometheus. Nothing of the store is asked, and no name of a job or
/// trigger is told but in `/health`, which names quarantined ones. Errors and reasons are left out
/// of it, since they may name the host and the user of the database.
///
/// `carnelian node` answers so at `carnelian.monitoring.listen`.
///
/// ```
/// use carnelian::Scheduler;
/// use carnelian::dashboard::{Request, monitoring};
///
/// let scheduler = Scheduler::builder().build()?;
/// let answer = |path: &str| monitoring(&scheduler, &Request::new("GET", path));
/// assert_eq!((answer("/healthz").status(), answer("/readyz").status()), (200, 503), "it is not started yet");
/// assert!(answer("/metrics").body().starts_with(b"# HELP carnelian_"));
/// # Ok::<(), carnelian::Error>(())
/// ```
pub fn monitoring(scheduler: &Scheduler, request: &Request) -> Response {
    if !request.is_get() {
        return Response::text(405, "only GET is understood\n").with("Allow", "GET, HEAD");
    }
    let verdict = |yes: bool, word: &str| match yes {
        true => Response::text(200, format!("{word}\n")),
        false => Response::text(503, format!("not {word}\n")),
    };
    match request.path() {
        "/healthz" => verdict(scheduler.health().is_live(), "ok"),
        "/readyz" => verdict(scheduler.health().is_ready(), "ready"),
        "/health" => Response::json(200, &told(scheduler.health().to_json())),
        "/metrics" => Response::metrics(scheduler.metrics_text()),
        _ => Response::text(404, "there are /healthz, /readyz, /health and /metrics\n"),
    }
}

/// The health as everybody may read it: without the texts of errors.
fn told(mut health: Value) -> Value {
    for (list, text) in [("services", "last_error"), ("quarantined", "reason")] {
        let entries = health.get_mut(list).and_then(Value::as_array_mut);
        for entry in entries.into_iter().flatten().filter_map(Value::as_object_mut) {
            entry.remove(text);
        }
    }
    health
}
