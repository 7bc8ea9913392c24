//! Job files of the settings: loaded at the start, watched for changes, and refused with a reason.

use crate::scheduler::fixture::{Cluster, LONG};
use crate::support::wait_until;
use carnelian::listener::SchedulerListener;
use carnelian::{Error, JobContext, JobKey, Scheduler, SchedulerBuilder, TriggerKey};
use parking_lot::Mutex;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::TempDir;

/// A folder with job files, and nodes that load them.
struct Place {
    cluster: Cluster,
    folder: TempDir,
    heard: Arc<Mutex<Vec<String>>>,
}

/// Keeps what nobody else could be told of.
struct Recorder(Arc<Mutex<Vec<String>>>);

impl SchedulerListener for Recorder {
    fn name(&self) -> &str {
        "recorder"
    }

    fn scheduler_error(&self, message: &str) {
        self.0.lock().push(message.to_owned());
    }

    fn scheduler_starting(&self) {
        self.0.lock().push("starting".to_owned());
    }

    fn job_added(&self, job: &carnelian::JobDetail) {
        self.0.lock().push(format!("added {}", job.key()));
    }
}

impl Place {
    fn new() -> Self {
        Self { cluster: Cluster::new(), folder: tempfile::tempdir().unwrap(), heard: Arc::default() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file with hourly triggers `(name, repeats)` of one job.
    fn write(&self, name: &str, triggers: &[(&str, u32)]) {
        let triggers = triggers.iter().map(|(name, count)| {
            format!(
                "<trigger><simple><name>{name}</name><job-name>a</job-name><start-time>2100-01-01T00:00:00Z</start-time>\
                 <repeat-count>{count}</repeat-count><repeat-interval>3600000</repeat-interval></simple></trigger>"
            )
        });
        let text = format!(
            "<job-scheduling-data xmlns='http://www.quartz-scheduler.org/xml/JobSchedulingData'><schedule>\
             <job><name>a</name><job-class>noop</job-class></job>{}</schedule></job-scheduling-data>",
            triggers.collect::<String>()
        );
        self.put(name, &text);
    }

    /// In one step, as whoever deploys a file should do it.
    fn put(&self, name: &str, text: &str) {
        std::fs::write(self.path("new"), text).unwrap();
        std::fs::rename(self.path("new"), self.path(name)).unwrap();
    }

    fn builder(&self, instance: &str, more: &str) -> SchedulerBuilder {
        let names = self.path("a.xml").display().to_string();
        let properties = format!(
            "plugin.files.class = org.quartz.plugins.xml.XMLSchedulingDataProcessorPlugin\n\
             plugin.files.fileNames = {names}\n{more}\n"
        );
        let noop = |_: &mut JobContext| Ok(());
        self.cluster
            .node_with(instance, &properties)
            .job_fn("noop", noop)
            .scheduler_listener(Recorder(Arc::clone(&self.heard)))
    }

    fn start(&self, instance: &str, more: &str) -> Scheduler {
        let scheduler = self.builder(instance, more).build().unwrap();
        scheduler.start().unwrap();
        scheduler
    }

    fn has(&self, trigger: &str) -> bool {
        self.cluster.store().catalogue().trigger(&TriggerKey::named(trigger)).unwrap().is_some()
    }

    fn state(&self, trigger: &str) -> String {
        self.cluster.store().catalogue().trigger_state(&TriggerKey::named(trigger)).unwrap().unwrap().name().to_owned()
    }

    fn heard(&self, words: &str) -> bool {
        self.heard.lock().iter().any(|message| message.contains(words))
    }
}

#[test]
fn files_are_loaded_before_the_start_returns_and_as_quartz_does_anew_at_each_start() {
    let place = Place::new();
    place.write("a.xml", &[("t", 5)]);
    let node = place.start("n1", "");
    assert!(place.has("t") && place.heard("added DEFAULT.a"));
    let service = |node: &Scheduler| node.health().services.iter().find(|s| s.name == "job-files").cloned();
    assert_eq!(service(&node).unwrap().state, carnelian::monitoring::ServiceState::NotStarted, "nothing is left to do");
    let key = TriggerKey::named("t");
    node.pause_trigger(&key).unwrap();
    assert_eq!(place.state("t"), "PAUSED");
    let second = place.start("n2", "carnelian.jobFiles.keepUnchanged = true");
    assert_eq!(place.state("t"), "PAUSED");
    let third = place.start("n3", "");
    assert_eq!(place.state("t"), "WAITING");
    for node in [node, second, third] {
        assert!(node.shutdown_and_wait().is_clean());
    }
    place.cluster.assert_sound();
}

/// A start returns when the files are loaded, also if another start loads them.
#[test]
fn a_second_start_waits_until_the_first_has_loaded_the_files() {
    let place = Place::new();
    place.write("a.xml", &[("t", 5)]);
    let (comes, go) = place.cluster.database.hold_answer_of("import a job file");
    let node = place.builder("n1", "").build().unwrap();
    let is_released = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| node.start());
        comes.recv_timeout(LONG).unwrap();
        let second = scope.spawn(|| node.start().map(|()| is_released.load(Ordering::SeqCst)));
        let both = || place.heard.lock().iter().filter(|heard| *heard == "starting").count() == 2;
        wait_until("the second has come", LONG, both);
        is_released.store(true, Ordering::SeqCst);
        go.send(()).unwrap();
        first.join().unwrap().unwrap();
        assert!(second.join().unwrap().unwrap(), "it has not waited");
    });
    assert!(place.has("t") && node.shutdown_and_wait().is_clean());
}

#[test]
fn nodes_that_start_at_once_do_not_disturb_each_other() {
    let place = Place::new();
    place.write("a.xml", &[("t", 5), ("u", 5)]);
    let nodes: Vec<Scheduler> = std::thread::scope(|scope| {
        let place = &place;
        let starts: Vec<_> = (0..4).map(|n| scope.spawn(move || place.start(&format!("n{n}"), ""))).collect();
        starts.into_iter().map(|start| start.join().unwrap()).collect()
    });
    assert!(place.has("t") && place.has("u"));
    assert!(!place.heard("job file"), "{:?}", place.heard.lock());
    nodes.iter().for_each(|node| drop(node.shutdown_and_wait()));
    place.cluster.assert_sound();
}

#[test]
fn a_changed_file_is_loaded_again_and_leaves_alone_what_it_does_not_change() {
    let place = Place::new();
    place.write("a.xml", &[("t", 5), ("u", 5)]);
    let node = place.start("n1", "plugin.files.scanInterval = 1");
    for name in ["t", "u"] {
        node.pause_trigger(&TriggerKey::named(name)).unwrap();
    }
    place.write("a.xml", &[("t", 5), ("u", 777), ("new", 5)]);
    wait_until("the change is loaded", LONG, || place.has("new"));
    assert_eq!((place.state("t").as_str(), place.state("u").as_str()), ("PAUSED", "WAITING"));

    // A file that cannot be read is told of once, and changes nothing.
    place.put("a.xml", "<job-scheduling-data>");
    wait_until("the mistake is told", LONG, || place.heard("job file not loaded: "));
    assert!(place.heard("a.xml:1: <job-scheduling-data>: the file ends before the end of this element"));
    std::fs::remove_file(place.path("a.xml")).unwrap();
    place.write("a.xml", &[("t", 5), ("newer", 5)]);
    wait_until("the next change is loaded", LONG, || place.has("newer"));
    assert!(place.has("new"), "what a file no longer names stays");
    let mistakes = place.heard.lock().iter().filter(|message| message.contains("not loaded")).count();
    assert_eq!(mistakes, 1);
    assert!(node.shutdown_and_wait().is_clean());
}

#[test]
fn a_missing_file_keeps_the_scheduler_from_being_built_unless_it_may_be_missing() {
    let place = Place::new();
    let error = place.builder("n1", "").build().unwrap_err();
    assert!(
        matches!(&error, Error::Settings(why) if why.contains("plugin.files.fileNames: there is no file `")),
        "{error}"
    );
    let node = place.start("n1", "plugin.files.failOnFileNotFound = false\nplugin.files.scanInterval = 1");
    place.write("a.xml", &[("t", 5)]);
    wait_until("the file that came later is loaded", LONG, || place.has("t"));
    node.shutdown_and_wait();
}

#[test]
fn a_file_with_mistakes_keeps_nobody_from_starting_and_is_told_of() {
    let place = Place::new();
    place.put("a.xml", "<job-scheduling-data/>");
    let node = place.start("n1", "");
    assert!(node.is_started() && !node.is_in_standby());
    wait_until("it is told of", LONG, || place.heard("job file not loaded: ") && place.heard("write xmlns="));
    node.shutdown_and_wait();
}

#[test]
fn a_load_whose_answer_is_lost_is_made_good_when_the_database_is_back() {
    let place = Place::new();
    place.write("a.xml", &[("t", 5)]);
    let node = place.builder("n1", "").build().unwrap();
    place.cluster.database.lose_answer_of("import a job file");
    node.start().unwrap();
    assert!(place.cluster.database.is_off());
    wait_until("it is told of", LONG, || place.heard("job files are loaded later: "));
    place.cluster.database.turn(true);
    wait_until("the file is loaded", LONG, || place.heard("added DEFAULT.a"));
    assert!(place.has("t") && place.cluster.store().catalogue().job(&JobKey::named("a")).unwrap().is_some());
    assert!(node.shutdown_and_wait().is_clean());
    place.cluster.assert_sound();
}
