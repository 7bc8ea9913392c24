//! Nodes on the members of a Galera cluster, each of which takes writes. `tests/engines/galera`
//! starts three members and runs this.

use super::cluster::{Cluster, Death};
use super::history::text;
use super::support::wait_until;
use super::{WINDOW, checker, effects_happen_once_on, number};
use carnelian::clock::{Clock, SystemClock};
use carnelian::settings::{DataSourceUrl, Settings};
use carnelian::store::{Lock, Membership, TxMode};
use carnelian::{Error, FailureClass, JobContext, JobDetail, JobError, JobKey, Scheduler, Trigger, TriggerKey};
use diesel::connection::{AnsiTransactionManager, SimpleConnection, TransactionManager};
use diesel::sql_types::Text;
use diesel::{Connection, MysqlConnection, QueryableByName, RunQueryDsl, sql_query};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The time that a member may take to be back: it reads its tables, and gets what it lacks.
const BACK: Duration = Duration::from_secs(60);

/// The URLs of the members, each with another one first.
fn urls() -> Vec<String> {
    let url = std::env::var("CARNELIAN_TEST_GALERA").expect("tests/engines/galera starts three members");
    let (head, rest) = url.rsplit_once('@').unwrap();
    let (servers, database) = rest.split_once('/').unwrap();
    let mut servers: Vec<&str> = servers.split(',').collect();
    let mut turned = Vec::new();
    for _ in 0..servers.len() {
        turned.push(format!("{head}@{}/{database}", servers.join(",")));
        servers.rotate_left(1);
    }
    turned
}

/// The lock's form, where a test is to be seen without the product's guard.
fn lines() -> String {
    let form = std::env::var("CARNELIAN_TEST_LOCK_FORM").unwrap_or_else(|_| "auto".to_owned());
    format!("carnelian.jobStore.lockForm={form}\n")
}

/// Clusters of one name on the first two members.
fn two(what: &str) -> (Cluster, Cluster) {
    let urls = urls();
    let first = Cluster::at(what, vec![urls[0].clone()], &lines());
    let second = first.elsewhere(&urls[1]);
    (first, second)
}

/// Two sessions, on two members, have the lock at a time: one of them is not committed.
#[test]
#[ignore = "needs the members that tests/engines/galera starts"]
fn locks_exclude_each_other_on_different_members() {
    let (first, second) = two("locks");
    for lock in [Lock::TriggerAccess, Lock::StateAccess] {
        let mut inner = None;
        let outer = first.store.database().transact("hold the lock", TxMode::Exclusive(lock), &mut |_| {
            inner = Some(second.store.database().transact("hold it as well", TxMode::Exclusive(lock), &mut |_| Ok(())));
            Ok(())
        });
        let failure = outer.err().and_then(|error| error.failure_class());
        println!("galera two members with {lock:?} at a time: inner={inner:?} outer={failure:?}");
        assert!(inner.unwrap().is_ok(), "nobody held the lock on the second member");
        assert_eq!(failure, Some(FailureClass::Deadlock), "both were committed");
    }
    second.succeeded();
    first.succeeded();
}

/// A session on another member sees what was committed before.
#[test]
#[ignore = "needs the members that tests/engines/galera starts"]
fn locks_and_looks_see_what_was_committed_on_another_member() {
    let (first, second) = two("looks");
    for n in 0..200 {
        let job = JobDetail::builder(JobKey::new("g", format!("j{n}")), "demo.append").durable(true).build().unwrap();
        first.store.catalogue().schedule(vec![(job.clone(), vec![])], false).unwrap();
        assert!(second.store.catalogue().job(job.key()).unwrap().is_some(), "job {n} was not seen");
    }
    println!("galera looks on another member right after a commit: 200, stale: 0");
    second.succeeded();
    first.succeeded();
}

/// A session on a member in a transaction that writes `word`, and is guarded by a fire.
fn guarded(url: &str, cluster: &Cluster, fire_id: &str, word: &str) -> Result<MysqlConnection, Error> {
    let mut session = session(url);
    AnsiTransactionManager::begin_transaction(&mut session).unwrap();
    session.batch_execute(&format!("INSERT INTO {GUARDED} VALUES ('{word}')")).unwrap();
    cluster.store.firing().guard_within(&mut session, fire_id)?;
    Ok(session)
}

const GUARDED: &str = "carnelian_guarded";

fn session(url: &str) -> MysqlConnection {
    let url: DataSourceUrl = url.parse().unwrap();
    let mut session = MysqlConnection::establish(url.of_each_server()[0].reveal()).unwrap();
    let settings = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; SET SESSION wsrep_sync_wait = 7";
    session.batch_execute(settings).unwrap();
    session
}

/// `ctx.guard` on members: of two transactions that one fire guards one is committed, and one whose
/// fire is taken away on another member is not.
#[test]
#[ignore = "needs the members that tests/engines/galera starts"]
fn locks_of_guards_are_certified() {
    let (first, second) = two("guards");
    let (go, gate) = crossbeam_channel::unbounded::<()>();
    let settings = Settings::from_file(first.properties()).unwrap();
    let work = move |_: &mut JobContext| gate.recv().map_err(|error| JobError::new(error.to_string()));
    let scheduler = Scheduler::builder().settings(settings).job_fn("work", work).build().unwrap();
    scheduler.start().unwrap();
    let job = JobDetail::builder(JobKey::named("j"), "work").build().unwrap();
    let trigger = Trigger::builder(TriggerKey::named("j"), job.key().clone()).build().unwrap();
    scheduler.schedule_job(job, trigger).unwrap();
    wait_until("it runs", Duration::from_secs(30), || !scheduler.running_fires().unwrap().is_empty());
    let fire_id = scheduler.running_fires().unwrap()[0].fire_id.clone();

    let urls = urls();
    let mut other = session(&urls[1]);
    let made = format!("DROP TABLE IF EXISTS {GUARDED}; CREATE TABLE {GUARDED} (word VARCHAR(20) PRIMARY KEY)");
    other.batch_execute(&made).unwrap();
    let mut here = guarded(&urls[0], &first, &fire_id, "here").unwrap();
    let mut there = guarded(&urls[1], &second, &fire_id, "there").unwrap();
    AnsiTransactionManager::commit_transaction(&mut there).unwrap();
    let overtaken = AnsiTransactionManager::commit_transaction(&mut here);
    println!(
        "galera two transactions guarded by a fire on two members: the first to commit is, the other: {overtaken:?}"
    );

    let mut here = guarded(&urls[0], &first, &fire_id, "late").unwrap();
    let name = &first.store.settings().scheduler.instance_name;
    for table in ["CN_INSTANCES", "SCHEDULER_STATE"] {
        other.batch_execute(&format!("DELETE FROM QRTZ_{table} WHERE SCHED_NAME = '{name}'")).unwrap();
    }
    let mut judge = Membership::new("judge");
    let taken = || second.store.upkeep().snapshot().unwrap().fired.iter().all(|row| row.fire_id != fire_id);
    wait_until("the fire is taken away", Duration::from_secs(30), || {
        second.store.upkeep().check_in(&mut judge).unwrap();
        taken()
    });
    let lost = AnsiTransactionManager::commit_transaction(&mut here);
    println!("galera a guarded transaction whose fire was taken away on another member: {lost:?}");
    let refused = guarded(&urls[0], &first, &fire_id, "later").err();
    let words: Vec<Word> = sql_query(format!("SELECT word FROM {GUARDED}")).load(&mut other).unwrap();
    let words: Vec<String> = words.into_iter().map(|row| row.word).collect();
    go.send(()).unwrap();
    scheduler.shutdown_now();
    other.batch_execute(&format!("DROP TABLE {GUARDED}")).unwrap();
    assert_eq!(words, ["there"], "a transaction was committed without its guard");
    assert!(overtaken.is_err() && lost.is_err());
    assert!(refused.is_some_and(|error| error.is_fenced()), "a guard passed after the fire was lost");
    second.succeeded();
    first.succeeded();
}

#[derive(QueryableByName)]
struct Word {
    #[diesel(sql_type = Text)]
    word: String,
}

/// The members, whose folders `CARNELIAN_TEST_GALERA_MEMBERS` has.
struct Members {
    folder: PathBuf,
    count: u32,
    started: Vec<Child>,
}

impl Members {
    fn new() -> Self {
        let folder = std::env::var("CARNELIAN_TEST_GALERA_MEMBERS").expect("tests/engines/galera says where they are");
        Self { folder: folder.into(), count: u32::try_from(urls().len()).unwrap(), started: Vec::new() }
    }

    /// Kills a member with SIGKILL and starts it again.
    fn kill_and_start(&mut self, member: u32) {
        let folder = self.folder.join(member.to_string());
        let pid = std::fs::read_to_string(folder.join("pid")).unwrap();
        kill_process(Pid::from_raw(pid.trim().parse().unwrap()).unwrap(), Signal::KILL).unwrap();
        // As the user that the others run as.
        let user = std::fs::read_to_string(folder.join("as")).unwrap();
        let words: Vec<&str> = user.split_whitespace().collect();
        let log = std::fs::File::options().append(true).open(folder.join("log")).unwrap();
        let start = folder.join("start");
        let mut command = match words.split_first() {
            Some((program, arguments)) => {
                let mut command = Command::new(program);
                command.args(arguments).arg(start);
                command
            }
            None => Command::new(start),
        };
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        self.started.push(command.spawn().unwrap());
    }

    /// All members are of the cluster again.
    fn wait_until_whole(&self) {
        wait_until("all members are of the cluster", BACK, || {
            (1..=self.count).all(|member| {
                let status = "SELECT GROUP_CONCAT(variable_value ORDER BY variable_name) FROM information_schema.global_status \
                     WHERE variable_name IN ('WSREP_CLUSTER_SIZE', 'WSREP_LOCAL_STATE')";
                let socket = self.folder.join(member.to_string()).join("socket");
                let mut command = Command::new("mariadb");
                command.arg("--no-defaults").arg("--socket").arg(socket);
                command.args(["--user=root", "--batch", "--skip-column-names", "-e", status]);
                let answer = command.stderr(Stdio::null()).output().unwrap();
                String::from_utf8_lossy(&answer.stdout).trim() == format!("{},4", self.count)
            })
        });
    }
}

/// The times of more than a second without a start of a run, while one is due every so often: from
/// when on, and how long, in milliseconds.
fn gaps(events: &[Value]) -> Vec<(i64, i64)> {
    let starts = events.iter().filter(|event| text(event, "event") == "START");
    let mut times: Vec<i64> = starts.filter_map(|event| event["wall_ms"].as_i64()).collect();
    times.sort_unstable();
    times.windows(2).map(|pair| (pair[0], pair[1] - pair[0])).filter(|(_, ms)| *ms > 1000).collect()
}

fn wall_ms() -> i64 {
    SystemClock::default().wall_time().timestamp_millis()
}

/// Says of each gap what was done before it, and how long before.
fn name_gaps(gaps: &[(i64, i64)], blows: &[(i64, String)]) {
    for (from, ms) in gaps {
        let before = blows.iter().rfind(|(at, _)| *at <= from + 500);
        let after = before.map_or(String::new(), |(at, what)| format!(", {} ms after {what}", from - at));
        println!("galera gap of {ms} ms from {from}{after}");
    }
}

/// Nodes and members are killed in turn, beside strict grids: no fire is lost, none happens twice.
#[test]
#[ignore = "needs the members that tests/engines/galera starts"]
fn storms_of_kills() {
    let blows = number("CARNELIAN_STORM_KILLS", 8);
    let mut cluster = Cluster::at("galera", urls(), &lines());
    let mut members = Members::new();
    // A member that is back within some seconds, and a node.
    let seconds = blows * 10 + 15;
    let expected = cluster.begin_grids(4, Duration::from_millis(900), seconds);
    let mut deaths: Vec<Death> = Vec::new();
    let mut done: Vec<(i64, String)> = Vec::new();
    for blow in 0..blows {
        std::thread::sleep(Duration::from_millis(1500 + u64::from(cluster.random(1500))));
        if blow % 2 == 0 {
            let member = 1 + cluster.random(members.count);
            done.push((wall_ms(), format!("member {member} was killed")));
            members.kill_and_start(member);
            members.wait_until_whole();
            done.push((wall_ms(), format!("member {member} was back")));
        } else {
            let at = wall_ms();
            let death = cluster.kill_one();
            done.push((at, format!("node {} was killed", death.instance)));
            deaths.push(death);
            cluster.start_node();
        }
    }
    // Until then the row of the one that was killed last would count for the one in its place.
    cluster.wait_until_ready(3);
    cluster.wait_until_quiet(WINDOW * 2 + Duration::from_secs(u64::from(seconds) + 120));
    members.wait_until_whole();
    cluster.stop_all();
    let events = cluster.events();
    let verdict = checker::check(&events, &expected);
    let gaps = gaps(&events);
    name_gaps(&gaps, &done);
    let count = |wrong: &[&str]| {
        verdict.problems.iter().filter(|problem| wrong.iter().any(|word| problem.starts_with(word))).count()
    };
    println!(
        "galera kills seed={} members_killed={} nodes_killed={} starts={} recoveries={} lost={} twice={} \
         longest_ms_without_a_fire={} gaps_over_a_second={} longest_recovery={:?}",
        cluster.seed,
        blows.div_ceil(2),
        deaths.len(),
        verdict.starts,
        verdict.recoveries,
        count(&["Lost", "NeverEnded"]),
        count(&["FiredTwice", "StartedTwice", "RecoveredTwice"]),
        gaps.iter().map(|(_, ms)| *ms).max().unwrap_or(0),
        gaps.len(),
        checker::longest_recovery(&events, &deaths)
    );
    verdict.assert_clean(&cluster);
    assert!(verdict.starts >= 10 * usize::try_from(blows).unwrap(), "a quiet run proves nothing");
    cluster.succeeded();
}

/// Nodes are killed and stopped while their jobs write in one transaction with their ends, on three
/// members.
#[test]
#[ignore = "needs the members that tests/engines/galera starts"]
fn storms_of_effects() {
    Members::new().wait_until_whole();
    let cluster = Cluster::at("effects", urls(), &lines());
    effects_happen_once_on(cluster, "galera", number("CARNELIAN_STORM_EFFECTS", 4));
}
