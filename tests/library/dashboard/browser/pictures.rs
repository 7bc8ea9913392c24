//! The pictures of the book: a warehouse on a working day, taken by `docs/pictures/take`.

use super::{Look, Site, support};
use carnelian::clock::SystemClock;
use carnelian::node::NodeActivity;
use carnelian::settings::Settings;
use carnelian::store::{Database, JobStore, SqlDatabase};
use carnelian::{
    Continuation, CronSchedule, JobContext, JobDetail, JobError, JobKey, JobMarks, JobPolicy, Schedule, Scheduler,
    SimpleSchedule, Trigger, TriggerKey,
};
use diesel::connection::SimpleConnection;
use diesel::{Connection, PgConnection};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The runs of the last two hours, one in a second and a half, most of them fine.
const HISTORY: &str = "\
    INSERT INTO QRTZ_CN_HISTORY (sched_name, fire_id, trigger_name, trigger_group, job_name, job_group, job_type, \
        instance_name, sched_ms, fired_ms, ended_ms, run_ms, outcome, attempt, error) \
    SELECT 'warehouse', 'f' || lpad(i::text, 6, '0') || '-' || substr(md5(i::text), 1, 8), t.name, t.grp, t.name, t.grp, 'work', \
        'node-' || chr(97 + i % 3), at - took - late, at - took, at, took, \
        CASE WHEN bad THEN 'failed' ELSE 'succeeded' END, 1, \
        CASE WHEN bad THEN 'HTTP 503 from https://stock.example/levels: the service is being restarted' END \
    FROM (SELECT i, (array['orders', 'billing', 'stock', 'mail', 'reports'])[1 + i % 5] AS grp, \
        (array['import', 'invoices', 'levels', 'newsletter', 'sales'])[1 + i % 5] AS name, \
        (extract(epoch FROM now()) * 1000)::bigint - 20000 - i::bigint * 1500 + (600 * sin(i / 90.0))::bigint AS at, \
        (300 + 900 * abs(sin(i * 1.7)) * (1 + i % 5) / 2)::bigint AS took, \
        (4 + 30 * abs(sin(i * 0.37)) + CASE WHEN i BETWEEN 2200 AND 2320 THEN 2200 - abs(i - 2260) * 30 ELSE 0 END)::bigint AS late, \
        i % 5 = 2 AND (i % 137 = 0 OR i BETWEEN 2210 AND 2270) AS bad \
        FROM generate_series(1, 4790) AS n(i)) AS t;";

static IS_OVER: AtomicBool = AtomicBool::new(false);

#[expect(clippy::disallowed_methods, reason = "a run that lasts as long as the pictures are taken")]
fn work(ctx: &mut JobContext) -> Result<(), JobError> {
    let done = match ctx.job().key().name() {
        "sales" => 412,
        "newsletter" => 18_350,
        _ => 31,
    };
    ctx.progress(done, Some(done * 8 / 5), "");
    while !IS_OVER.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn fill(store: &JobStore) {
    let jobs = [
        ("orders", "import", "New orders from the shop", "every", "30s"),
        ("billing", "invoices", "Invoices of the day", "cron", "0 0 18 ? * MON-FRI"),
        ("stock", "levels", "Stock levels from the suppliers", "every", "300s"),
        ("mail", "newsletter", "The weekly newsletter", "cron", "0 0 7 ? * TUE"),
        ("reports", "sales", "Sales of yesterday", "cron", "0 30 6 ? * MON-FRI"),
    ];
    for (group, name, description, kind, when) in jobs {
        let key = JobKey::new(group, name);
        let job =
            JobDetail::builder(key.clone(), "work").description(description).durable(true).requests_recovery(true);
        let job = job.marks(JobMarks::new().owner(format!("team-{group}")).tag(if kind == "cron" {
            "daily"
        } else {
            "steady"
        }));
        let job = job.policy(JobPolicy::new().timeout(Duration::from_secs(3_600)).max_takeovers(5));
        let job = job.data("region", "north").data("apiToken", "secret-of-the-shop").build().unwrap();
        let schedule: Schedule = match kind {
            "cron" => CronSchedule::new(when).unwrap().in_zone("Europe/Berlin".parse().unwrap()).into(),
            _ => SimpleSchedule::every(Duration::from_secs(when.trim_end_matches('s').parse().unwrap())).into(),
        };
        let start = carnelian::clock::Clock::wall_time(&SystemClock::default()) + Duration::from_secs(25);
        let trigger = Trigger::builder(TriggerKey::new(group, name), key).schedule(schedule).start_at(start);
        store.catalogue().schedule(vec![(job, vec![trigger.build().unwrap()])], false).unwrap();
    }
    let follows = |parent: (&str, &str), child: (&str, &str)| {
        store
            .catalogue()
            .follow(&Continuation::new(JobKey::new(parent.0, parent.1), JobKey::new(child.0, child.1)))
            .unwrap();
    };
    follows(("orders", "import"), ("stock", "levels"));
    follows(("stock", "levels"), ("reports", "sales"));
    follows(("orders", "import"), ("billing", "invoices"));
    let ada = store.clone().acting_as("ada", "dashboard");
    ada.catalogue().pause_triggers(&[TriggerKey::new("mail", "newsletter")]).unwrap();
    ada.placement().drain("node-c", false, "ada").unwrap();
    for name in ["sales", "newsletter"] {
        let group = if name == "sales" { "reports" } else { "mail" };
        ada.catalogue().trigger_job(&JobKey::new(group, name), carnelian::JobDataMap::new()).unwrap();
    }
    store.locks().try_lock("price-list", "node-a", Duration::from_secs(600)).unwrap();
}

#[test]
#[ignore = "writes the pictures of the book"]
fn the_pictures_of_the_book() {
    let folder = PathBuf::from(std::env::var("CARNELIAN_PICTURES").expect("docs/pictures/take says where to"));
    let url = support::postgres_url();
    let mut settings = Settings::in_database("warehouse", url.parse().unwrap());
    settings.job_store.checkin_interval = Duration::from_secs(1);
    let clock = Arc::new(SystemClock::default());
    let database = SqlDatabase::open(&settings, clock.clone()).unwrap();
    database.migrate().unwrap();
    let store = JobStore::new(Arc::new(database), clock, settings.clone());
    fill(&store);
    PgConnection::establish(&url).unwrap().batch_execute(HISTORY).unwrap();
    let nodes = ["node-a", "node-b", "node-c"].map(|name| {
        let node = Scheduler::builder().settings(settings.clone()).instance_id(name).job_fn("work", work);
        let node = node.build().unwrap();
        node.start().unwrap();
        node
    });
    support::wait_until("two runs", Duration::from_secs(60), || {
        let fires = store.upkeep().fired_triggers().unwrap();
        fires.iter().filter(|fire| fire.heartbeat.as_ref().is_some_and(|beat| beat.progress.is_some())).count() >= 2
    });
    support::wait_until("three nodes that fire", Duration::from_secs(60), || {
        let nodes = store.upkeep().instances().unwrap();
        nodes
            .iter()
            .filter(|one| one.node.as_ref().is_some_and(|row| row.info.activity == NodeActivity::Firing))
            .count()
            == 3
    });
    let mut look = Look::at(Site::of(store, None));
    look.browser.set_size(1120, 700);
    let failed =
        look.store.history().find(&carnelian::history::HistoryQuery::new().limit(1)).unwrap().remove(0).fire_id;
    let pages = [
        ("overview", "".to_owned()),
        ("running", "running".to_owned()),
        ("triggers", "triggers".to_owned()),
        ("trigger", "trigger?group=mail&name=newsletter".to_owned()),
        ("jobs", "jobs".to_owned()),
        ("job", "job?group=stock&name=levels".to_owned()),
        ("history", "history?outcome=failed".to_owned()),
        ("run", format!("run?fire={failed}")),
        ("nodes", "nodes".to_owned()),
        ("node", "node?name=node-a".to_owned()),
        ("parked", "parked".to_owned()),
        ("outages", "outages".to_owned()),
        ("calendars", "calendars".to_owned()),
        ("continuations", "continuations".to_owned()),
        ("locks", "locks".to_owned()),
        ("actions", "actions".to_owned()),
    ];
    for (name, page) in pages {
        take(&mut look, &folder, name, &page);
    }
    look.browser.set_dark(true);
    take(&mut look, &folder, "overview-dark", "");
    look.browser.set_dark(false);
    look.browser.set_size(400, 760);
    take(&mut look, &folder, "overview-narrow", "");
    IS_OVER.store(true, Ordering::Relaxed);
    for node in nodes {
        node.shutdown_and_wait();
    }
}

/// Writes the picture of a page.
fn take(look: &mut Look, folder: &std::path::Path, name: &str, page: &str) {
    look.open(page);
    look.is_content();
    std::fs::write(folder.join(format!("{name}.png")), look.browser.picture()).unwrap();
}
