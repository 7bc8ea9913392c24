//! Import: a job file meets what is stored, by Quartz's rules, all or nothing.

use super::*;
use carnelian::definitions::Imported;
use carnelian::job_file::{JobFile, JobFlags, LOADER_GROUP};
use carnelian::{CronSchedule, Error, JobKey, Result, Schedule, Trigger, TriggerKey};

fn file(parts: &str) -> JobFile {
    let text = format!(
        "<job-scheduling-data xmlns='http://www.quartz-scheduler.org/xml/JobSchedulingData'>\n{parts}</job-scheduling-data>"
    );
    JobFile::parse("jobs.xml", text.as_bytes(), chrono_tz::UTC).unwrap_or_else(|errors| panic!("{errors}"))
}

fn schedule(parts: &[&str]) -> String {
    format!("<schedule>{}</schedule>", parts.concat())
}

const DURABLE: &str = "<durability>true</durability><recover>false</recover>";

/// A job `jobs.name` that lives by its triggers.
fn a_job(name: &str, more: &str) -> String {
    format!("<job><name>{name}</name><group>jobs</group><job-class>work</job-class>{more}</job>\n")
}

/// A trigger `triggers.name` of the job `jobs.job`.
fn a_trigger(name: &str, job: &str, more: &str) -> String {
    format!(
        "<trigger><simple><name>{name}</name><group>triggers</group><job-name>{job}</job-name>\
         <job-group>jobs</job-group>{more}</simple></trigger>\n"
    )
}

const MINUTELY: &str = "<repeat-count>-1</repeat-count><repeat-interval>60000</repeat-interval>";

const KEEP: &str =
    "<processing-directives><overwrite-existing-data>false</overwrite-existing-data></processing-directives>";
const SKIP: &str = "<processing-directives><overwrite-existing-data>false</overwrite-existing-data>\
    <ignore-duplicates>true</ignore-duplicates></processing-directives>";

fn import(cluster: &Cluster, parts: &str) -> Result<Imported> {
    cluster.store.catalogue().import(&file(parts))
}

on_each_database!(the_file_of_a_java_service_is_stored_whole);
fn the_file_of_a_java_service_is_stored_whole() {
    let cluster = Cluster::new(open());
    let text = include_str!("../../testdata/quartz_data.xml");
    let berlin = chrono_tz::Europe::Berlin;
    let file = JobFile::parse("quartz_data.xml", text.as_bytes(), berlin).unwrap();
    let imported = cluster.store.catalogue().import(&file).unwrap();
    assert_eq!((imported.jobs.len(), imported.triggers.len()), (3, 4));
    assert_eq!(imported.remarks.len(), 1);
    assert!(imported.remarks[0].contains("warehouse.expired") && imported.remarks[0].contains("will never fire"));

    for job in file.jobs() {
        assert_eq!(cluster.store.catalogue().job(job.key()).unwrap().as_ref(), Some(job));
    }
    for trigger in &imported.triggers {
        assert_eq!(cluster.store.catalogue().trigger(trigger.key()).unwrap().as_ref(), Some(trigger));
        assert_eq!(cluster.state_of(trigger.key()), "WAITING");
    }
    let next = |group: &str, name: &str| {
        let trigger = cluster.store.catalogue().trigger(&TriggerKey::new(group, name)).unwrap().unwrap();
        trigger.next_fire_time().unwrap().to_rfc3339()
    };
    assert_eq!(next("DEFAULT", "heartbeat"), at(NOW).to_rfc3339());
    assert_eq!(next("DEFAULT", "once"), at(NOW + 90 * SECOND).to_rfc3339());
    assert_eq!(next("warehouse", "weekdays"), "2027-01-18T04:45:00+00:00", "Monday in Berlin");
    assert_eq!(next("warehouse", "inventory"), "2020-02-09T09:15:00+00:00", "a missed time is for the misfire handler");

    // Again: nothing is an error, and everything begins anew.
    cluster.advance(MINUTE);
    let again = cluster.store.catalogue().import(&file).unwrap();
    assert_eq!((again.jobs.len(), again.triggers.len(), again.unchanged.len()), (3, 4, 0));
    assert_eq!(next("DEFAULT", "heartbeat"), at(NOW + MINUTE).to_rfc3339());
}

on_each_database!(what_exists_is_replaced_and_what_the_file_does_not_name_stays);
fn what_exists_is_replaced_and_what_the_file_does_not_name_stays() {
    let cluster = Cluster::new(open());
    let old = minutely("t", "a", NOW).priority(9).description("old");
    cluster.schedule(job("a").description("old").data("k", "old"), [old, minutely("other", "a", NOW)]);
    let parts =
        schedule(&[&a_job("a", "<durability>true</durability><recover>true</recover>"), &a_trigger("t", "a", "")]);
    let imported = import(&cluster, &parts).unwrap();
    let stored = cluster.store.catalogue().job(&job_key("a")).unwrap().unwrap();
    assert_eq!((stored.description(), stored.data().text("k")), (None, None));
    assert!(stored.is_durable() && stored.requests_recovery());
    let trigger = cluster.store.catalogue().trigger(&trigger_key("t")).unwrap().unwrap();
    assert_eq!((trigger.priority(), trigger.description(), &trigger), (5, None, &imported.triggers[0]));
    assert_eq!(cluster.state("other"), "WAITING");
}

on_each_database!(without_overwriting_nothing_at_all_is_stored_or_deleted_if_anything_exists);
fn without_overwriting_nothing_at_all_is_stored_or_deleted_if_anything_exists() {
    let cluster = Cluster::new(open());
    cluster.schedule(job("a"), [minutely("t", "a", NOW)]);
    cluster.schedule(job("doomed"), [minutely("u", "doomed", NOW)]);
    let before = cluster.rows();
    let doom = "<pre-processing-commands><delete-job><name>doomed</name><group>jobs</group></delete-job></pre-processing-commands>";
    let work = schedule(&[
        &a_job("new", DURABLE),
        &a_job("a", DURABLE),
        &a_trigger("t", "a", ""),
        &a_trigger("x", "none", ""),
    ]);
    let error = import(&cluster, &format!("{doom}{KEEP}{work}")).unwrap_err();
    let Error::Refused(reasons) = error else { panic!("{error}") };
    let lines: Vec<_> = reasons.lines().map(|line| line.split_once(": ").unwrap()).collect();
    assert_eq!(lines.iter().map(|(place, _)| *place).collect::<Vec<_>>(), ["jobs.xml:3", "jobs.xml:4", "jobs.xml:5"]);
    assert!(lines[0].1.contains("job `jobs.a` exists already"), "{reasons}");
    assert!(lines[1].1.contains("trigger `triggers.t` exists already"), "{reasons}");
    assert!(lines[2].1.contains("job `jobs.none`, which is neither stored nor in the file"), "{reasons}");
    assert_eq!(cluster.rows(), before);

    // A job that the commands delete does not exist any more.
    let both = format!("{}{doom}{KEEP}{}", "", schedule(&[&a_job("doomed", DURABLE), &a_trigger("u", "doomed", "")]));
    let imported = import(&cluster, &both).unwrap();
    assert_eq!((imported.deleted_jobs.len(), imported.jobs.len(), imported.triggers.len()), (1, 1, 1));
}

on_each_database!(duplicates_are_passed_over_if_the_file_says_so);
fn duplicates_are_passed_over_if_the_file_says_so() {
    let cluster = Cluster::new(open());
    cluster.schedule(job("a").description("old"), [minutely("t", "a", NOW).priority(9)]);
    let parts = schedule(&[&a_job("a", ""), &a_trigger("t", "a", ""), &a_trigger("new", "a", MINUTELY)]);
    let imported = import(&cluster, &format!("{SKIP}{parts}")).unwrap();
    assert_eq!((imported.ignored_jobs, imported.ignored_triggers), (vec![job_key("a")], vec![trigger_key("t")]));
    assert_eq!(cluster.store.catalogue().job(&job_key("a")).unwrap().unwrap().description(), Some("old"));
    assert_eq!(cluster.store.catalogue().trigger(&trigger_key("t")).unwrap().unwrap().priority(), 9);
    assert_eq!(cluster.state("new"), "WAITING");
}

on_each_database!(commands_delete_before_anything_is_stored);
fn commands_delete_before_anything_is_stored() {
    let cluster = Cluster::new(open());
    for (group, name) in [("g", "a"), ("g", "b"), ("h", "c"), (LOADER_GROUP, "scan"), ("kept", "d")] {
        let job = carnelian::JobDetail::builder(JobKey::new(group, name), "work");
        cluster.schedule(job, [Trigger::builder(TriggerKey::new(group, name), JobKey::new(group, name))]);
    }
    let jobs = || {
        let jobs = cluster.store.catalogue().jobs(&carnelian::GroupMatcher::Any).unwrap();
        jobs.iter().map(|job| job.key().to_string()).collect::<Vec<_>>().join(" ")
    };
    let commands = |inner: &str| format!("<pre-processing-commands>{inner}</pre-processing-commands>");
    let one = commands(
        "<delete-job><name>a</name><group>g</group></delete-job><delete-job><name>none</name></delete-job>\
         <delete-trigger><name>c</name><group>h</group></delete-trigger>",
    );
    let imported = import(&cluster, &one).unwrap();
    // A job that lives by its triggers goes with the last of them.
    assert_eq!(imported.deleted_jobs, [JobKey::new("g", "a"), JobKey::new("h", "c")]);
    assert_eq!(imported.deleted_triggers, [TriggerKey::new("h", "c")]);
    assert_eq!(jobs(), format!("{LOADER_GROUP}.scan g.b kept.d"));

    let all = commands(
        "<delete-jobs-in-group>*</delete-jobs-in-group><delete-triggers-in-group>*</delete-triggers-in-group>",
    );
    let protected = file(&all).never_delete_job_group("kept").never_delete_trigger_group("kept");
    cluster.store.catalogue().import(&protected).unwrap();
    assert_eq!(jobs(), format!("{LOADER_GROUP}.scan kept.d"));
    import(&cluster, &format!("{all}{}", schedule(&[&a_job("a", ""), &a_trigger("t", "a", "")]))).unwrap();
    assert_eq!(jobs(), format!("{LOADER_GROUP}.scan jobs.a"));
}

on_each_database!(a_file_that_deletes_first_and_is_loaded_by_several_nodes_is_applied_once);
/// Each node of a cluster scans its own copy of the file; Quartz has one node scan. The second node
/// began anew what it found stored just so: a trigger without a start fired once for each node.
fn a_file_that_deletes_first_and_is_loaded_by_several_nodes_is_applied_once() {
    let cluster = Cluster::new(open());
    let node = cluster.node("n1");
    cluster.schedule(job("a"), [minutely("t", "a", NOW)]);
    cluster.schedule(job("gone"), [minutely("v", "gone", NOW)]);
    let commands = "<pre-processing-commands><delete-jobs-in-group>*</delete-jobs-in-group>\
                    <delete-triggers-in-group>*</delete-triggers-in-group></pre-processing-commands>";
    let parts = format!("{commands}{KEEP}{}", schedule(&[&a_job("a", DURABLE), &a_trigger("t", "a", MINUTELY)]));
    let load = || cluster.store.catalogue().import(&file(&parts).keep_unchanged(true)).unwrap();
    let first = load();
    assert_eq!((first.jobs.len(), first.triggers.len(), first.deleted_jobs.len()), (1, 1, 2));
    node.complete(&node.fire_one());
    cluster.schedule(job("later"), [minutely("w", "later", NOW)]);
    cluster.store.catalogue().add_trigger(minutely("u", "a", NOW).build().unwrap(), false).unwrap();
    // A run of the job has left this one to do: it is no trigger of the file.
    let retry = Trigger::builder(TriggerKey::new("RETRYING_JOBS", "retry_x"), job_key("a")).start_at(at(NOW + MINUTE));
    cluster.store.catalogue().add_trigger(retry.build().unwrap(), false).unwrap();

    let second = load();
    assert_eq!((second.jobs.len(), second.triggers.len(), second.unchanged), (0, 0, vec![trigger_key("t")]));
    assert_eq!((second.deleted_jobs, second.deleted_triggers), (vec![job_key("later")], vec![trigger_key("u")]));
    assert!(node.acquire().fired.is_empty(), "its first time has fired");
    assert_eq!(cluster.next("t"), Some(NOW + MINUTE));
    assert_eq!(cluster.state_of(&TriggerKey::new("RETRYING_JOBS", "retry_x")), "WAITING");
    assert_eq!(second.remarks, Vec::<String>::new());
}

on_each_database!(a_job_that_lives_by_a_trigger_that_is_stored_just_so_is_not_said_to_be_missing);
fn a_job_that_lives_by_a_trigger_that_is_stored_just_so_is_not_said_to_be_missing() {
    let cluster = Cluster::new(open());
    let commands = "<pre-processing-commands><delete-jobs-in-group>*</delete-jobs-in-group></pre-processing-commands>";
    let parts = format!("{commands}{}", schedule(&[&a_job("a", ""), &a_trigger("t", "a", MINUTELY)]));
    for unchanged in [0, 1] {
        let imported = cluster.store.catalogue().import(&file(&parts).keep_unchanged(true)).unwrap();
        assert_eq!((imported.unchanged.len(), imported.remarks), (unchanged, Vec::<String>::new()));
    }
    assert_eq!(cluster.state("t"), "WAITING");
}

on_each_database!(a_fire_in_progress_survives_the_file_that_replaces_its_trigger_or_deletes_its_job);
/// H16 for files: a service that loads its file at each start must not forget what runs.
fn a_fire_in_progress_survives_the_file_that_replaces_its_trigger_or_deletes_its_job() {
    let cluster = Cluster::new(open());
    let mut node = cluster.node("n1");
    node.check_in();
    let parts = schedule(&[&a_job("a", DURABLE), &a_trigger("t", "a", MINUTELY)]);
    import(&cluster, &parts).unwrap();
    let fire = node.fire_one();
    import(&cluster, &parts).unwrap();
    let doom = "<pre-processing-commands><delete-jobs-in-group>*</delete-jobs-in-group></pre-processing-commands>";
    import(&cluster, &format!("{doom}{parts}")).unwrap();
    assert_eq!(node.complete(&fire), carnelian::store::CompletionOutcome::Recorded);
    assert_eq!(cluster.state("t"), "WAITING");
}

on_each_database!(a_reserved_trigger_is_taken_back_when_a_file_replaces_it);
fn a_reserved_trigger_is_taken_back_when_a_file_replaces_it() {
    let cluster = Cluster::new(open());
    let mut node = cluster.node("n1");
    node.check_in();
    cluster.schedule(job("a"), [once("t", "a", NOW + 5 * SECOND)]);
    let reservation = node.reserve_one();
    import(
        &cluster,
        &schedule(&[&a_trigger("t", "a", "<start-time-seconds-in-future>60</start-time-seconds-in-future>")]),
    )
    .unwrap();
    cluster.advance(5 * SECOND);
    assert!(node.fire(&[reservation]).is_empty());
    assert_eq!((cluster.state("t").as_str(), cluster.next("t")), ("WAITING", Some(NOW + MINUTE)));
}

on_each_database!(paused_groups_and_running_jobs_decide_the_state_of_what_a_file_stores);
fn paused_groups_and_running_jobs_decide_the_state_of_what_a_file_stores() {
    let cluster = Cluster::new(open());
    let mut node = cluster.node("n1");
    node.check_in();
    cluster.schedule(lone_job("lone"), [once("running", "lone", NOW)]);
    let fire = node.fire_one();
    let imported = import(&cluster, &schedule(&[&a_trigger("t", "lone", MINUTELY)])).unwrap();
    assert_eq!((imported.triggers.len(), cluster.state("t").as_str()), (1, "BLOCKED"));
    cluster.store.catalogue().pause_all().unwrap();
    import(&cluster, &schedule(&[&a_trigger("t", "lone", MINUTELY)])).unwrap();
    assert_eq!(cluster.state("t"), "PAUSED_BLOCKED");
    node.complete(&fire);
    assert_eq!(cluster.state("t"), "PAUSED");
    cluster.store.catalogue().resume_all(true).unwrap();
    assert_eq!(cluster.state("t"), "WAITING");
}

on_each_database!(a_replaced_job_keeps_its_flags_unless_somebody_knows_better);
/// No job file says what Java takes from annotations.
fn a_replaced_job_keeps_its_flags_unless_somebody_knows_better() {
    let cluster = Cluster::new(open());
    cluster.schedule(lone_job("a").durable(true).persist_job_data_after_execution(true), []);
    let parts = schedule(&[&a_job("a", DURABLE), &a_job("b", DURABLE)]);
    let flags = |name: &str| {
        let job = cluster.store.catalogue().job(&job_key(name)).unwrap().unwrap();
        (job.disallows_concurrent_execution(), job.persists_job_data_after_execution())
    };
    import(&cluster, &parts).unwrap();
    assert_eq!((flags("a"), flags("b")), ((true, true), (false, false)));
    let alone = JobFlags { disallow_concurrent_execution: true, persist_job_data_after_execution: false };
    cluster
        .store
        .catalogue()
        .import(&file(&parts).with_flags(|job_type| (job_type == "work").then_some(alone)))
        .unwrap();
    assert_eq!((flags("a"), flags("b")), ((true, false), (true, false)));
    import(&cluster, &parts.replace("<job-class>work", "<job-class>other")).unwrap();
    assert_eq!(flags("a"), (false, false), "another type");
}

on_each_database!(unchanged_triggers_may_be_kept_as_they_stand);
fn unchanged_triggers_may_be_kept_as_they_stand() {
    let cluster = Cluster::new(open());
    let mut node = cluster.node("n1");
    node.check_in();
    let cron = "<trigger><cron><name>c</name><group>triggers</group><job-name>a</job-name><job-group>jobs</job-group>\
                <cron-expression>0 0 * * * ?</cron-expression></cron></trigger>";
    let parts = |count: u32| {
        let often = format!("<repeat-count>{count}</repeat-count><repeat-interval>60000</repeat-interval>");
        schedule(&[&a_job("a", DURABLE), &a_trigger("t", "a", &often), &a_trigger("u", "a", MINUTELY), cron])
    };
    cluster.store.catalogue().import(&file(&parts(9)).keep_unchanged(true)).unwrap();
    for fire in node.acquire().fired {
        node.complete(&fire);
    }
    cluster.store.catalogue().pause_triggers(&[trigger_key("u")]).unwrap();
    cluster.advance(10 * SECOND);
    let before = cluster.rows();
    let imported = cluster.store.catalogue().import(&file(&parts(9)).keep_unchanged(true)).unwrap();
    assert_eq!((imported.unchanged.len(), imported.triggers.len(), imported.jobs.len()), (3, 0, 0));
    assert_eq!(cluster.rows(), before);
    // Only what the file changes begins anew.
    let imported = cluster.store.catalogue().import(&file(&parts(8)).keep_unchanged(true)).unwrap();
    assert_eq!((imported.unchanged.len(), imported.triggers.len()), (2, 1));
    assert_eq!((cluster.next("t"), cluster.state("u").as_str()), (Some(NOW + 10 * SECOND), "PAUSED"));
    // As in Quartz: everything does.
    assert_eq!(import(&cluster, &parts(8)).unwrap().triggers.len(), 3);
    assert_eq!(cluster.state("u"), "WAITING");
}

on_each_database!(what_the_tables_hold_in_another_form_is_unchanged_all_the_same);
/// An empty value comes back as an empty text instead of none if data is text.
fn what_the_tables_hold_in_another_form_is_unchanged_all_the_same() {
    let cluster = Cluster::with(open(), |settings| settings.job_store.use_properties = true);
    let empty = "<job-data-map><entry><key>k</key><value/></entry></job-data-map>";
    let parts = schedule(&[&a_job("a", &format!("{DURABLE}{empty}")), &a_trigger("t", "a", empty)]);
    cluster.store.catalogue().import(&file(&parts)).unwrap();
    let again = cluster.store.catalogue().import(&file(&parts).keep_unchanged(true)).unwrap();
    assert_eq!((again.jobs.len(), again.unchanged), (0, vec![trigger_key("t")]));
}

on_each_database!(a_trigger_may_go_on_where_the_replaced_one_stands);
/// A directive of Quartz.NET.
fn a_trigger_may_go_on_where_the_replaced_one_stands() {
    let cluster = Cluster::new(open());
    let mut node = cluster.node("n1");
    node.check_in();
    cluster.schedule(job("a"), [minutely("t", "a", NOW), minutely("u", "a", NOW), minutely("v", "a", NOW + MINUTE)]);
    for fire in node.acquire().fired {
        node.complete(&fire);
    }
    cluster.advance(20 * SECOND);
    let relative = "<processing-directives><schedule-trigger-relative-to-replaced-trigger>true\
        </schedule-trigger-relative-to-replaced-trigger></processing-directives>";
    let half = "<repeat-count>-1</repeat-count><repeat-interval>30000</repeat-interval>";
    let later = "<start-time-seconds-in-future>60</start-time-seconds-in-future>";
    let parts = schedule(&[
        &a_trigger("t", "a", half),
        &a_trigger("u", "a", &format!("{later}{half}")),
        &a_trigger("v", "a", half),
    ]);
    import(&cluster, &format!("{relative}{parts}")).unwrap();
    assert_eq!(cluster.next("t"), Some(NOW + 30 * SECOND), "after its last fire");
    let trigger = cluster.store.catalogue().trigger(&trigger_key("t")).unwrap().unwrap();
    assert_eq!((trigger.start_time(), trigger.previous_fire_time()), (at(NOW), Some(at(NOW))));
    assert_eq!(cluster.next("u"), Some(NOW + 80 * SECOND), "it has a start of its own");
    assert_eq!(cluster.next("v"), Some(NOW + MINUTE), "it has not fired yet");
}

on_each_database!(a_trigger_stays_with_its_job_and_a_missing_calendar_is_refused);
fn a_trigger_stays_with_its_job_and_a_missing_calendar_is_refused() {
    let cluster = Cluster::new(open());
    cluster.schedule(job("a"), [minutely("t", "a", NOW)]);
    let imported = import(&cluster, &schedule(&[&a_job("b", DURABLE), &a_trigger("t", "b", MINUTELY)])).unwrap();
    assert_eq!(imported.triggers[0].job_key(), &job_key("a"));
    assert!(imported.remarks[0].starts_with("jobs.xml:3: "), "{:?}", imported.remarks);
    let before = cluster.rows();
    let calendar = a_trigger("u", "a", "<calendar-name>none</calendar-name>");
    let error = import(&cluster, &schedule(&[&calendar])).unwrap_err().to_string();
    assert!(error.contains("jobs.xml:2: trigger `triggers.u`: calendar `none` does not exist"), "{error}");
    assert_eq!(cluster.rows(), before);
}

on_each_database!(replacing_by_a_file_may_change_the_kind);
fn replacing_by_a_file_may_change_the_kind() {
    let cluster = Cluster::new(open());
    let noon = CronSchedule::new("0 0 12 * * ?").unwrap();
    cluster.schedule(job("a").durable(true), [once("t", "a", NOW).schedule(noon)]);
    import(&cluster, &schedule(&[&a_trigger("t", "a", MINUTELY)])).unwrap();
    let stored = cluster.store.catalogue().trigger(&trigger_key("t")).unwrap().unwrap();
    assert!(matches!(stored.schedule(), Schedule::Simple(_)));
}
