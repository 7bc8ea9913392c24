//! An outage of the database: the lines of the log, and a shutdown beside it.

use crate::scheduler::fixture::{Cluster, LONG};
#[cfg(feature = "postgres")]
use crate::support::cutting_proxy::Proxy;
use crate::support::{self, kept_log, wait_until};
#[cfg(feature = "postgres")]
use carnelian::monitoring::ServiceHealth;
use std::time::Duration;

/// H19: without a back-off a peer wrote 300 GB of log in one night of a database that was down.
/// Here tries become rarer, and most of them are not worth a line. The first is (QZ-38), and then
/// every fourth: whoever looks at the log at once sees that there is an outage.
#[test]
fn an_outage_fills_no_log() {
    if !support::is_alone(module_path!(), "an_outage_fills_no_log") {
        return;
    }
    kept_log::keep(log::LevelFilter::Info);
    let cluster = Cluster::with_checkin(Duration::from_millis(200), Duration::from_millis(400));
    let node = cluster.node("n1", 1).build().unwrap();
    node.start().unwrap();
    let errors = || node.health().services.iter().map(|s| (s.name, s.errors_in_a_row)).collect::<Vec<_>>();
    let failed = || node.health().services.iter().map(|service| service.errors).sum::<u64>();
    wait_until("the start is logged", LONG, || node.health().is_registered);
    let (told, before) = (kept_log::lines().len(), failed());
    let began = cluster.clock.ticks();
    cluster.database.turn(false);
    wait_until("two dozen passes have failed", LONG, || failed() >= before + 24);
    let (seen, failures, lines) = (errors(), failed() - before, kept_log::lines().split_off(told));
    let took = cluster.clock.ticks() - began;
    println!("outage failures={failures} lines={} took={took:?}", lines.len());
    assert!(lines.len() as u64 <= failures / 2, "{lines:#?} for {failures} failures");
    for (service, in_a_row) in seen {
        for nth in 1..=in_a_row {
            let part = format!("service failed service={service} in_a_row={nth} ");
            let found: Vec<_> =
                lines.iter().filter(|(_, line)| line.starts_with(&part)).map(|(level, _)| *level).collect();
            let expected: &[log::Level] = if nth % 4 == 1 { &[log::Level::Error] } else { &[] };
            assert_eq!(found, expected, "{part}");
        }
    }
    // Three services that doubled their waits from 100 ms cannot have failed so often sooner.
    assert!(took >= Duration::from_millis(700), "{failures} failures in {took:?}");
    cluster.database.turn(true);
}

/// A node ends while its database is away, and nothing answers its check-in: its rows are left to
/// the others, where it had waited for a connection once more after its deadline.
#[cfg(feature = "postgres")]
#[test]
fn a_shutdown_does_not_wait_for_a_database_that_is_away() {
    let url = support::postgres_url();
    let proxy = Proxy::before(&url);
    let name = support::fresh_name("away");
    let mut settings = carnelian::settings::Settings::in_database(&name, proxy.url(&url).parse().unwrap());
    settings.job_store.checkin_interval = Duration::from_millis(100);
    settings.data_source.as_mut().unwrap().connection_timeout = Duration::from_secs(20);
    settings.shutdown.deadline = Duration::from_secs(1);
    let node = carnelian::Scheduler::builder().settings(settings).job_fn("t", |_| Ok(())).build().unwrap();
    node.migrate().unwrap();
    node.start().unwrap();
    wait_until("it is registered", LONG, || node.health().is_registered);
    proxy.shut(Duration::from_secs(600));
    let hangs =
        |service: &ServiceHealth| service.name == "cluster" && service.since_last_pass >= Some(Duration::from_secs(1));
    wait_until("its check-in hangs", LONG, || node.health().services.iter().any(hangs));
    let report = node.shutdown_and_wait();
    let error = report.leave_error.unwrap();
    assert_eq!(error, "the database is away, and no time was left to wait for it", "{:?}", report.overran);
}
