//! Definitions in code (LT-100…103): inserted if missing, updated if the code has changed,
//! remembered by their source.

use super::*;
use carnelian::definitions::{DefinitionReport, OrphanedDefinitions, WhyLeft};
use carnelian::store::CompletionInstruction;
use carnelian::{CronSchedule, Error, JobDefinition, JobKey, OnChange, Trigger, TriggerKey};

const SOURCE: &str = "billing";

fn nightly(hour: u32) -> JobDefinition {
    JobDefinition::new(job("nightly").build().unwrap()).schedule(CronSchedule::daily_at(hour, 0).unwrap()).unwrap()
}

fn minutes(name: &str, from_ms: i64) -> JobDefinition {
    JobDefinition::new(job(name).build().unwrap()).trigger(minutely(name, name, from_ms).build().unwrap())
}

fn sync(cluster: &Cluster, definitions: &[JobDefinition]) -> DefinitionReport {
    cluster
        .store
        .catalogue()
        .sync_definitions(SOURCE, definitions, |_| true, OrphanedDefinitions::Report, false)
        .unwrap()
}

fn left(name: &str, why: WhyLeft) -> Vec<(JobKey, WhyLeft)> {
    vec![(job_key(name), why)]
}

/// The trigger that a definition gives to a job of its name.
fn own(name: &str) -> TriggerKey {
    let key = job_key(name);
    TriggerKey::new(key.group(), key.name())
}

on_each_database!(what_is_missing_is_stored_once_and_costs_no_lock_afterwards);
fn what_is_missing_is_stored_once_and_costs_no_lock_afterwards() {
    let cluster = Cluster::new(open());
    let defined = [nightly(2), minutes("often", NOW + SECOND)];
    let plan = cluster
        .store
        .catalogue()
        .sync_definitions(SOURCE, &defined, |_| true, OrphanedDefinitions::Report, true)
        .unwrap();
    assert_eq!(plan.inserted, [job_key("nightly"), job_key("often")]);
    assert!(!cluster.has_job("nightly"), "a plan stores nothing");
    let report = sync(&cluster, &defined);
    assert_eq!(report, plan);
    assert!(cluster.store.catalogue().job(&job_key("nightly")).unwrap().unwrap().is_durable());
    assert_eq!(cluster.state_of(&own("nightly")), "WAITING");

    let rows = cluster.rows();
    let before = cluster.opened.database.counts();
    let again = sync(&cluster, &defined);
    let spent = cluster.opened.database.counts();
    assert!(again.changed_nothing() && spent.commits == before.commits, "{again:?}");
    assert_eq!(again.left.iter().map(|(_, why)| *why).collect::<Vec<_>>(), [WhyLeft::Unchanged; 2]);
    assert_eq!(cluster.rows(), rows);
    let noted = cluster.store.catalogue().definitions().unwrap();
    assert_eq!(noted.iter().map(|row| (row.source.as_str(), row.triggers.len())).collect::<Vec<_>>(), [(SOURCE, 1); 2]);
}

on_each_database!(what_the_code_has_changed_is_updated_and_the_rest_goes_on_as_it_was);
fn what_the_code_has_changed_is_updated_and_the_rest_goes_on_as_it_was() {
    let cluster = Cluster::new(open());
    let node = cluster.node("A");
    sync(&cluster, &[nightly(2), minutes("often", NOW)]);
    let fire = node.fire_one();
    node.complete(&fire);
    let next = cluster.next("often");
    let described = |definition: JobDefinition| {
        let trigger = definition.triggers()[0].clone();
        let job = definition.job().to_builder().description("of the new code").build().unwrap();
        JobDefinition::new(job).trigger(trigger)
    };
    let report = sync(&cluster, &[nightly(3), described(minutes("often", NOW))]);
    assert_eq!(report.updated, [job_key("nightly"), job_key("often")]);
    let stored = cluster.store.catalogue().trigger(&own("nightly")).unwrap().unwrap();
    assert_eq!(stored.next_fire_time().unwrap().timestamp_millis() % (24 * 60 * MINUTE), 3 * 60 * MINUTE);
    // The trigger is as it was: a description does not make it begin anew.
    assert_eq!(cluster.next("often"), next);
    let often = cluster.store.catalogue().job(&job_key("often")).unwrap().unwrap();
    assert_eq!(often.description(), Some("of the new code"));
}

on_each_database!(what_an_operator_has_changed_stays_until_the_code_changes);
fn what_an_operator_has_changed_stays_until_the_code_changes() {
    let cluster = Cluster::new(open());
    let policies = |hour| {
        [
            nightly(hour),
            JobDefinition::new(job("kept").build().unwrap())
                .schedule(CronSchedule::daily_at(hour, 0).unwrap())
                .unwrap()
                .on_change(OnChange::Keep),
            JobDefinition::new(job("enforced").build().unwrap())
                .schedule(CronSchedule::daily_at(hour, 0).unwrap())
                .unwrap()
                .on_change(OnChange::Enforce),
        ]
    };
    sync(&cluster, &policies(2));
    for name in ["nightly", "kept", "enforced"] {
        let by_hand = Trigger::builder(own(name), job_key(name)).schedule(CronSchedule::daily_at(7, 0).unwrap());
        cluster.store.catalogue().reschedule(&own(name), by_hand.build().unwrap()).unwrap().unwrap();
    }
    let report = sync(&cluster, &policies(2));
    assert_eq!(report.updated, [job_key("enforced")]);
    let expected = [left("nightly", WhyLeft::ChangedByHand), left("kept", WhyLeft::Kept)].concat();
    assert_eq!(report.left, expected);
    let hour = |name: &str| {
        let next = cluster.store.catalogue().trigger(&own(name)).unwrap().unwrap().next_fire_time().unwrap();
        next.timestamp_millis() / (60 * MINUTE) % 24
    };
    assert_eq!(["nightly", "kept", "enforced"].map(hour), [7, 7, 2]);
    let report = sync(&cluster, &policies(4));
    assert_eq!(report.updated, [job_key("nightly"), job_key("enforced")]);
    assert_eq!(["nightly", "kept", "enforced"].map(hour), [4, 7, 4]);
}

on_each_database!(data_of_runs_stay_when_the_code_of_their_job_changes);
/// A cursor fell back to where the code begins when a release changed the job's description.
fn data_of_runs_stay_when_the_code_of_their_job_changes() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    let code = |description: &str, persists: bool| {
        let job = job("feed").persist_job_data_after_execution(persists).description(description);
        let job = job.data("last_id", "0").build().unwrap();
        JobDefinition::new(job).trigger(minutely("feed", "feed", NOW).build().unwrap())
    };
    let last_id = || {
        let stored = cluster.store.catalogue().job(&job_key("feed")).unwrap().unwrap();
        (stored.description().unwrap().to_owned(), stored.data().text("last_id").unwrap().to_owned())
    };
    sync(&cluster, &[code("reads", true)]);
    let fire = a.fire_one();
    let mut data = fire.job.data().clone();
    data.put("last_id", "918273");
    a.complete_all(&[fire.completion(CompletionInstruction::NoInstruction, Some(data))]);
    assert_eq!(sync(&cluster, &[code("reads all", true)]).updated, [job_key("feed")]);
    assert_eq!(last_id(), ("reads all".to_owned(), "918273".to_owned()));
    // Data that belong to no run are the code's.
    sync(&cluster, &[code("reads once", false)]);
    assert_eq!(last_id(), ("reads once".to_owned(), "0".to_owned()));
}

on_each_database!(a_definition_that_was_kept_out_is_stored_once_it_may_be);
/// The form was noted as if it were stored: then the job counted as changed by hand.
fn a_definition_that_was_kept_out_is_stored_once_it_may_be() {
    let cluster = Cluster::new(open());
    sync(&cluster, &[nightly(2)]);
    let hour = || {
        let next = cluster.store.catalogue().trigger(&own("nightly")).unwrap().unwrap().next_fire_time().unwrap();
        next.timestamp_millis() / (60 * MINUTE) % 24
    };
    for _ in 0..2 {
        assert_eq!(sync(&cluster, &[nightly(3).on_change(OnChange::Keep)]).left, left("nightly", WhyLeft::Kept));
    }
    assert_eq!(hour(), 2);
    assert_eq!(sync(&cluster, &[nightly(3)]).updated, [job_key("nightly")]);
    assert_eq!(hour(), 3);
}

on_each_database!(a_deleted_job_comes_back_and_a_trigger_that_has_ended_does_not);
fn a_deleted_job_comes_back_and_a_trigger_that_has_ended_does_not() {
    let cluster = Cluster::new(open());
    let node = cluster.node("A");
    let ends = JobDefinition::new(job("ends").build().unwrap()).trigger(once("ends", "ends", NOW).build().unwrap());
    let defined = [nightly(2), ends];
    sync(&cluster, &defined);
    node.complete(&node.fire_one());
    cluster.store.catalogue().delete_jobs(&[job_key("nightly")]).unwrap();
    let report = sync(&cluster, &defined);
    assert_eq!(report.inserted, [job_key("nightly")]);
    assert_eq!(report.left, left("ends", WhyLeft::ChangedByHand));
    assert!(cluster.has_job("ends") && node.acquire().fired.is_empty());
}

on_each_database!(a_one_shot_that_has_run_does_not_run_again_since_its_job_is_described_otherwise);
/// A declared migration of data ran twice: with the new description of its job, the trigger that
/// had ended was stored again.
fn a_one_shot_that_has_run_does_not_run_again_since_its_job_is_described_otherwise() {
    let cluster = Cluster::new(open());
    let node = cluster.node("A");
    let described = |text: &str| {
        let job = job("moves").description(text).build().unwrap();
        JobDefinition::new(job).trigger(once("moves", "moves", NOW).build().unwrap())
    };
    sync(&cluster, &[described("first")]);
    node.complete(&node.fire_one());
    assert_eq!(sync(&cluster, &[described("second")]).updated, [job_key("moves")]);
    let stored = cluster.store.catalogue().job(&job_key("moves")).unwrap().unwrap();
    assert_eq!(stored.description(), Some("second"));
    assert!(node.acquire().fired.is_empty(), "it has run");
    // Another time in the code is another trigger.
    let later = once("moves", "moves", NOW + SECOND).build().unwrap();
    let moved = JobDefinition::new(job("moves").description("second").build().unwrap()).trigger(later);
    assert_eq!(sync(&cluster, &[moved]).updated, [job_key("moves")]);
    cluster.advance(SECOND);
    node.fire_one();
}

on_each_database!(triggers_that_the_code_has_no_more_go_and_paused_ones_stay_paused);
fn triggers_that_the_code_has_no_more_go_and_paused_ones_stay_paused() {
    let cluster = Cluster::new(open());
    let two = || nightly(2).trigger(minutely("second", "nightly", NOW + MINUTE).build().unwrap());
    sync(&cluster, &[two()]);
    cluster.store.catalogue().pause_triggers(&[own("nightly")]).unwrap();
    // Somebody else's trigger of the same job is nobody's business here.
    cluster.store.catalogue().add_trigger(minutely("own", "nightly", NOW + MINUTE).build().unwrap(), false).unwrap();
    let report = sync(&cluster, &[nightly(5)]);
    assert_eq!(report.updated, [job_key("nightly")]);
    assert_eq!(cluster.state_of(&own("nightly")), "PAUSED");
    let left: Vec<_> = cluster.snapshot().triggers.into_iter().map(|row| row.key.name().to_owned()).collect();
    assert_eq!(left, ["nightly", "own"]);
}

on_each_database!(an_older_revision_does_not_undo_a_newer_one);
fn an_older_revision_does_not_undo_a_newer_one() {
    let cluster = Cluster::new(open());
    sync(&cluster, &[nightly(3).revision(2)]);
    let report = sync(&cluster, &[nightly(2).revision(1)]);
    assert_eq!(report.left, left("nightly", WhyLeft::NewerStored));
    assert!(cluster.store.catalogue().definitions().unwrap()[0].revision == 2);
    assert_eq!(sync(&cluster, &[nightly(4).revision(3)]).updated, [job_key("nightly")]);
}

on_each_database!(jobs_that_are_no_longer_defined_are_named_and_deleted_if_told_to);
fn jobs_that_are_no_longer_defined_are_named_and_deleted_if_told_to() {
    let cluster = Cluster::new(open());
    sync(&cluster, &[nightly(2), minutes("often", NOW + SECOND)]);
    let other = JobDefinition::new(job("other").build().unwrap());
    cluster.store.catalogue().sync_definitions("crm", &[other], |_| true, OrphanedDefinitions::Delete, false).unwrap();
    let report = sync(&cluster, &[nightly(2)]);
    assert_eq!((report.orphaned, report.deleted), (vec![job_key("often")], vec![]));
    assert!(cluster.has_job("often"));
    let report = cluster
        .store
        .catalogue()
        .sync_definitions(SOURCE, &[nightly(2)], |_| true, OrphanedDefinitions::Delete, false)
        .unwrap();
    assert_eq!(report.deleted, [job_key("often")]);
    assert!(!cluster.has_job("often") && cluster.has_job("other"), "what another program defines is not ours");
    assert_eq!(sync(&cluster, &[nightly(2)]).orphaned, []);
    // A job that somebody has deleted is forgotten.
    cluster.store.catalogue().delete_jobs(&[job_key("nightly")]).unwrap();
    assert_eq!(sync(&cluster, &[]).orphaned, []);
    assert_eq!(cluster.store.catalogue().definitions().unwrap().len(), 1);
}

on_each_database!(definitions_that_cannot_be_are_refused_whole);
fn definitions_that_cannot_be_are_refused_whole() {
    let cluster = Cluster::new(open());
    let rows = cluster.rows();
    let refused = |definitions: &[JobDefinition], word: &str| {
        let error = cluster
            .store
            .catalogue()
            .sync_definitions(SOURCE, definitions, |_| true, OrphanedDefinitions::Report, false)
            .unwrap_err();
        assert!(matches!(error, Error::Refused(_)) && error.to_string().contains(word), "{error}");
    };
    refused(&[nightly(2), nightly(3)], "job `jobs.nightly` is defined twice");
    let same = JobDefinition::new(job("b").build().unwrap()).trigger(minutely("t", "b", NOW).build().unwrap());
    let twice = JobDefinition::new(job("a").build().unwrap()).trigger(minutely("t", "a", NOW).build().unwrap());
    refused(&[same, twice], "is defined twice");
    assert_eq!(cluster.rows(), rows);

    cluster.schedule(job("c"), [minutely("t", "c", NOW + MINUTE)]);
    let taken = JobDefinition::new(job("a").build().unwrap()).trigger(minutely("t", "a", NOW).build().unwrap());
    refused(&[nightly(2), taken], "which is stored for job");
    assert!(!cluster.has_job("nightly"));
    sync(&cluster, &[nightly(2)]);
    let error = cluster
        .store
        .catalogue()
        .sync_definitions("crm", &[nightly(2)], |_| true, OrphanedDefinitions::Report, false)
        .unwrap_err();
    assert!(error.to_string().contains("is defined by `billing` already, and now by `crm`"), "{error}");

    let over = JobDefinition::new(job("over").build().unwrap()).cron("0 0 0 1 1 ? 2020").unwrap();
    let report = sync(&cluster, &[nightly(2), over]);
    assert!(report.remarks.len() == 1 && report.remarks[0].contains("no fire time"), "{report:?}");
}

on_each_database!(definitions_move_between_jobs_and_programs);
/// A trigger moves from one definition to another, in whichever order they stand; a definition that
/// is stored under another source is free when its job is gone, or when somebody forgets it. All of
/// these kept a node from starting once.
fn definitions_move_between_jobs_and_programs() {
    let cluster = Cluster::new(open());
    let with = |name: &str, trigger: Option<&str>| {
        let definition = JobDefinition::new(job(name).build().unwrap());
        match trigger {
            Some(trigger) => definition.trigger(minutely(trigger, name, NOW + MINUTE).build().unwrap()),
            None => definition,
        }
    };
    sync(&cluster, &[with("a", Some("t")), with("b", None)]);
    let report = sync(&cluster, &[with("b", Some("t")), with("a", None)]);
    assert_eq!(report.updated, [job_key("b"), job_key("a")]);
    assert_eq!(cluster.snapshot().triggers[0].job, job_key("b"));

    let error = cluster.store.catalogue().rename_job(&job_key("b"), &job_key("c"), false).unwrap_err();
    assert!(
        matches!(error, Error::Refused(_)) && error.to_string().contains("defined in the code of `billing`"),
        "{error}"
    );

    let crm = |definitions: &[JobDefinition]| {
        cluster.store.catalogue().sync_definitions("crm", definitions, |_| true, OrphanedDefinitions::Report, false)
    };
    assert!(crm(&[with("b", Some("t"))]).is_err());
    assert_eq!(cluster.store.catalogue().forget_definitions(&[job_key("b"), job_key("x")]).unwrap(), 1);
    assert_eq!(crm(&[with("b", Some("t"))]).unwrap().left, left("b", WhyLeft::Unchanged));
    cluster.store.catalogue().delete_jobs(&[job_key("a")]).unwrap();
    assert_eq!(crm(&[with("b", None), with("a", Some("t"))]).unwrap().inserted, [job_key("a")]);
    let noted = cluster.store.catalogue().definitions().unwrap();
    let sources: Vec<_> = noted.iter().map(|row| (row.job.name(), row.source.as_str(), row.triggers.len())).collect();
    assert_eq!(sources, [("a", "crm", 1), ("b", "crm", 0)]);
}

on_each_database!(a_trigger_is_not_lost_for_one_that_never_fires);
/// A new form of a trigger that would never fire leaves the old one alone.
fn a_trigger_is_not_lost_for_one_that_never_fires() {
    let cluster = Cluster::new(open());
    sync(&cluster, &[nightly(2)]);
    let over = JobDefinition::new(job("nightly").build().unwrap()).cron("0 0 0 1 1 ? 2020").unwrap();
    let report = sync(&cluster, &[over]);
    assert_eq!(report.remarks.len(), 1);
    assert_eq!(cluster.state_of(&own("nightly")), "WAITING");
}
