//! Side rows that stand for nothing any longer: what they belong to is gone, or was replaced by a
//! program that knows nothing of them.

/// The row to which a side row belongs: its table, the columns of both that are equal, and a
/// further condition on that row, `x`.
struct Belongs(&'static str, &'static [(&'static str, &'static str)], &'static str);

const INSTANCE: Belongs = Belongs("SCHEDULER_STATE", &[("instance_name", "instance_name")], "");
const FIRE: Belongs = Belongs("FIRED_TRIGGERS", &[("entry_id", "entry_id")], "");
const FIRE_OF_INSTANCE: Belongs = Belongs("FIRED_TRIGGERS", &[("instance_name", "instance_name")], "");
const TRIGGER: [(&str, &str); 2] = [("trigger_name", "trigger_name"), ("trigger_group", "trigger_group")];
const JOB: Belongs =
    Belongs("JOB_DETAILS", &[("job_name", "job_name"), ("job_group", "job_group"), ("job_class_name", "job_type")], "");

/// The side tables, each with what its rows belong to: one of these at least must be there.
const SIDE_ROWS: &[(&str, &[Belongs])] = &[
    ("CN_AHEAD", &[INSTANCE, FIRE_OF_INSTANCE]),
    ("CN_BEGUN", &[INSTANCE, FIRE_OF_INSTANCE]),
    ("CN_BEATS", &[FIRE]),
    ("CN_CANCELS", &[FIRE]),
    (
        "CN_CHECKPOINTS",
        &[
            Belongs("FIRED_TRIGGERS", &[("entry_id", "root_fire_id")], ""),
            Belongs("CN_RECOVERIES", &[("root_fire_id", "root_fire_id")], ""),
        ],
    ),
    ("CN_JOB_POLICIES", &[JOB]),
    ("CN_JOB_MARKS", &[JOB]),
    // The marks of a job that was replaced are not those of the job.
    (
        "CN_TAGS",
        &[Belongs(
            "CN_JOB_MARKS",
            &[("job_name", "job_name"), ("job_group", "job_group")],
            " AND EXISTS (SELECT 1 FROM {p}JOB_DETAILS j WHERE j.sched_name = x.sched_name AND j.job_name = x.job_name \
             AND j.job_group = x.job_group AND j.job_class_name = x.job_type)",
        )],
    ),
    ("CN_INSTANCES", &[INSTANCE]),
    (
        "CN_PROCESSES",
        &[Belongs(
            "CN_INSTANCES",
            &[("instance_name", "instance_name"), ("incarnation", "incarnation")],
            " AND EXISTS (SELECT 1 FROM {p}SCHEDULER_STATE s WHERE s.sched_name = x.sched_name \
             AND s.instance_name = x.instance_name)",
        )],
    ),
    ("CN_RECOVERIES", &[Belongs("TRIGGERS", &TRIGGER, "")]),
    (
        "CN_CONTINUATIONS",
        &[Belongs(
            "JOB_DETAILS",
            &[("job_name", "parent_name"), ("job_group", "parent_group"), ("job_class_name", "parent_type")],
            " AND EXISTS (SELECT 1 FROM {p}JOB_DETAILS k WHERE k.sched_name = {p}CN_CONTINUATIONS.sched_name \
             AND k.job_name = {p}CN_CONTINUATIONS.child_name AND k.job_group = {p}CN_CONTINUATIONS.child_group)",
        )],
    ),
    (
        "CN_TRIGGER_OPTIONS",
        &[Belongs(
            "TRIGGERS",
            &[
                ("trigger_name", "trigger_name"),
                ("trigger_group", "trigger_group"),
                ("trigger_type", "trigger_type"),
                ("start_time", "start_time"),
            ],
            "",
        )],
    ),
    // Somebody who does not know of parked work may have taken its trigger out of `ERROR`.
    ("CN_PARKED", &[Belongs("TRIGGERS", &TRIGGER, " AND x.trigger_state = 'ERROR'")]),
    ("CN_RECURRENCES", &[Belongs("TRIGGERS", &TRIGGER, " AND x.trigger_type IN ('RRULE', 'RRULE_IG')")]),
    ("CN_NODES", &[INSTANCE]),
    ("CN_JOB_TYPES", &[INSTANCE]),
    ("CN_JOB_VERSIONS", &[JOB]),
    ("CN_ORPHANS", &[JOB]),
    ("CN_LAST_RUNS", &[Belongs("JOB_DETAILS", &[("job_name", "job_name"), ("job_group", "job_group")], "")]),
];

/// Each side table, and its stray rows to be selected or deleted; the value is the name of the
/// scheduler.
pub(super) fn stray_rows() -> impl Iterator<Item = (&'static str, String)> {
    SIDE_ROWS.iter().map(|(table, belongs)| {
        let gone = |Belongs(of, columns, further): &Belongs| {
            let same = |(theirs, ours): &(&str, &str)| format!(" AND x.{theirs} = {{p}}{table}.{ours}");
            let same: String = columns.iter().map(same).collect();
            format!(
                " AND NOT EXISTS (SELECT 1 FROM {{p}}{of} x WHERE x.sched_name = {{p}}{table}.sched_name{same}{further})"
            )
        };
        (*table, format!("{{p}}{table} WHERE sched_name = ?{}", belongs.iter().map(gone).collect::<String>()))
    })
}
