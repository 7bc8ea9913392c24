//! The command at a terminal: questions, colours, relative times, folded lines.

use super::{Place, write_config};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::File;
use std::io::{Read, Write};
use std::process::Stdio;

/// A command at a terminal: its exit code, and everything that the terminal shows.
fn at_terminal(place: &Place, line: &str, answer: &str, environment: &[(&str, &str)]) -> (i32, String) {
    let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&controller).unwrap();
    unlockpt(&controller).unwrap();
    let name = ptsname(&controller, Vec::new()).unwrap().into_string().unwrap();
    let terminal = || Stdio::from(File::options().read(true).write(true).open(&name).unwrap());
    let mut command = place.command(&line.split_whitespace().collect::<Vec<_>>());
    command.env("TERM", "xterm").env_remove("NO_COLOR").envs(environment.iter().copied());
    let mut child = command.stdin(terminal()).stdout(terminal()).stderr(terminal()).spawn().unwrap();
    drop(command);
    let mut controller = File::from(controller);
    controller.write_all(answer.as_bytes()).unwrap();
    let mut shown = Vec::new();
    // The terminal is closed when the command has ended: reading it fails then.
    let _ = controller.read_to_end(&mut shown);
    let code = child.wait().unwrap().code().unwrap();
    (code, String::from_utf8(shown).unwrap())
}

#[test]
fn a_person_is_asked_before_much_is_touched_and_a_script_is_not() {
    let place = Place::new();
    place.fine("schedule --job g.j --type demo --trigger g.t --every 1h --start +1h");
    place.fine("schedule --job g.j --type demo --trigger g.u --every 1h --start +1h");
    let state = |place: &Place| super::text(&place.json("trigger show g.t"), "state").to_owned();

    let (code, shown) = at_terminal(&place, "all pause", "n\n", &[]);
    assert!(code == 1 && shown.contains("pause all 2 triggers, and those to come? [y/N]"), "{code} {shown}");
    assert!(shown.contains("nothing was changed") && state(&place) == "WAITING", "{shown}");
    let (code, shown) = at_terminal(&place, "all pause", "y\n", &[]);
    assert!(code == 0 && state(&place) == "PAUSED", "{code} {shown}");
    place.fine("all resume");

    for line in ["group pause g", "job delete g.j", "job delete --type demo"] {
        let (code, shown) = at_terminal(&place, line, "\n", &[]);
        assert!(code == 1 && shown.contains("[y/N]"), "{line}: {code} {shown}");
        assert_eq!(state(&place), "WAITING", "{line}");
    }
    let (code, shown) = at_terminal(&place, "job delete g.j --yes", "", &[]);
    assert!(code == 0 && !shown.contains("[y/N]"), "{code} {shown}");
    place.refused(1, "job show g.j");
}

#[test]
fn a_person_sees_colours_and_how_far_a_time_is() {
    let place = Place::new();
    place.fine("schedule --job g.j --type demo --trigger g.t --every 1h --start +90m");
    place.fine("trigger pause g.t");
    let (_, shown) = at_terminal(&place, "trigger list", "", &[]);
    assert!(shown.contains("\u{1b}[33mPAUSED\u{1b}[0m") && shown.contains("(in 1 h)"), "{shown}");
    let (_, shown) = at_terminal(&place, "trigger list", "", &[("NO_COLOR", "1")]);
    assert!(!shown.contains('\u{1b}') && shown.contains("(in 1 h)"), "{shown}");
    let piped = place.fine("trigger list");
    assert!(!piped.contains('\u{1b}') && !piped.contains("(in "), "{piped}");
}

/// The properties file has keys that mean nothing here, as that of a Java service.
#[test]
fn a_person_is_warned_of_a_file_once_and_again_when_its_warnings_change() {
    let place = Place::new();
    let properties = place.path("carnelian.properties");
    let class = "org.quartz.scheduler.classLoadHelper.class = com.acme.Loader\n";
    write_config(&properties, class);
    place.fine("migrate");
    let state = place.path("state").display().to_string();
    let shown = || at_terminal(&place, "cluster", "", &[("XDG_STATE_HOME", &state)]).1;
    assert!(shown().contains("com.acme.Loader"));
    assert!(!shown().contains("com.acme.Loader"));
    write_config(&properties, &format!("{class}org.quartz.scheduler.jmx.objectName = acme:type=jobs\n"));
    assert!(shown().contains("com.acme.Loader"));
    assert!(!shown().contains("com.acme.Loader"));
    let script = place.run(&["cluster"]);
    assert!(script.err.contains("com.acme.Loader"), "a script is warned each time: {}", script.err);
}

/// A line with a bar is shown while a long command works, and is gone before the answer comes.
#[test]
fn a_person_sees_how_far_a_long_command_has_come() {
    let place = Place::new();
    let green = "\u{1b}[32m";
    let (code, shown) = at_terminal(&place, "bench --triggers 300", "", &[]);
    assert!(code == 0 && shown.contains("storing triggers [") && shown.contains("/300"), "{code} {shown}");
    assert!(shown.contains("firing [") && shown.contains(green), "{shown}");
    let answer = shown.rfind("fires per second").unwrap();
    assert!(shown[..answer].rfind("\u{1b}[2K").is_some_and(|gone| Some(gone) > shown.rfind("firing [")), "{shown}");

    let (code, shown) = at_terminal(&place, "bench --triggers 30", "", &[("NO_COLOR", "1")]);
    assert!(code == 0 && shown.contains("storing triggers [") && !shown.contains(green), "{code} {shown}");
    for (line, environment) in [("bench --triggers 30 --quiet", [("NO_COLOR", "")]), ("migrate", [("TERM", "dumb")])] {
        let (code, shown) = at_terminal(&place, line, "", &environment);
        assert!(code == 0 && !shown.contains("storing triggers") && !shown.contains("migrating"), "{line}: {shown}");
    }
    let piped = place.run(&["bench", "--triggers", "30"]).with(0, "bench");
    assert_eq!(piped.err, "");

    assert!(at_terminal(&place, "migrate", "", &[]).1.contains("migrating the tables ("));
    place.fine("schedule --job g.j --type demo --trigger g.t --every 1h --start 2027-01-15T08:00:00Z");
    let job_file =
        "<job-scheduling-data xmlns=\"http://www.quartz-scheduler.org/xml/JobSchedulingData\" version=\"2.0\"/>";
    std::fs::write(place.path("jobs.xml"), job_file).unwrap();
    let (_, shown) = at_terminal(&place, "import jobs.xml", "", &[]);
    assert!(shown.contains("importing files [") && shown.contains("/1"), "{shown}");
    let line = "trigger backfill g.t --from 2020-01-15T08:00:00Z --to 2020-01-15T10:00:00Z --dry-run";
    let (_, shown) = at_terminal(&place, line, "", &[]);
    assert!(shown.contains("planning the fires ("), "{shown}");
}
