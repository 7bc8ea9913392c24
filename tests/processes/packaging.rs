//! The files of `packaging`: what they name is there.

use crate::cli::Place;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

fn read(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

/// The values of a key of the unit.
fn values<'a>(unit: &'a str, key: &str) -> Vec<&'a str> {
    unit.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix('=')).collect()
}

/// The command line accepts these words, whatever they do.
fn is_accepted(words: &[&str]) {
    let words: Vec<&str> = words.iter().copied().chain(["--help"]).collect();
    Place::new().run(&words).with(0, &words.join(" "));
}

#[test]
fn the_systemd_unit_is_valid_and_leaves_the_node_its_time() {
    let unit = read("packaging/carnelian.service");
    for command in values(&unit, "ExecStartPre").into_iter().chain(values(&unit, "ExecStart")) {
        let words: Vec<&str> = command.split(' ').collect();
        assert_eq!(words[0], "/usr/local/bin/carnelian");
        is_accepted(&words[1..]);
    }
    let deadline = carnelian::settings::Settings::default().shutdown.deadline;
    let seconds: u64 = values(&unit, "TimeoutStopSec")[0].parse().unwrap();
    assert!(Duration::from_secs(seconds) > deadline, "{seconds} s, and a node takes {deadline:?}");
    let place = Place::new();
    let file = place.path("carnelian.service");
    std::fs::write(&file, unit.replace("/usr/local/bin/carnelian", env!("CARGO_BIN_EXE_carnelian"))).unwrap();
    // A machine without systemd has nothing that could say more.
    if let Ok(checked) = Command::new("systemd-analyze").arg("verify").arg(&file).output() {
        let told = String::from_utf8_lossy(&checked.stderr);
        let own: Vec<&str> = told.lines().filter(|line| line.contains("carnelian.service")).collect();
        assert_eq!(own, [""; 0], "{told}");
    }
}

#[test]
fn the_container_file_builds_what_there_is() {
    let file = read("packaging/Containerfile");
    let manifest = read("Cargo.toml");
    let (_, features) = manifest.split_once("\n[features]\n").unwrap();
    let features = features.lines().take_while(|line| !line.starts_with('['));
    let features: BTreeSet<&str> = features.filter_map(|line| Some(line.split_once(" = ")?.0)).collect();
    let lists = file.lines().filter_map(|line| line.split_once("FEATURES=")).map(|(_, list)| list);
    let named: BTreeSet<&str> =
        lists.flat_map(|list| list.split(',')).map(|name| name.trim_matches(['`', '.'])).collect();
    assert!(named.len() >= 4 && named.is_subset(&features), "{named:?}");
    let json = |key: &str| {
        let line = file.lines().find_map(|line| line.strip_prefix(key)).unwrap();
        serde_json::from_str::<Vec<String>>(line.trim()).unwrap()
    };
    assert_eq!(json("ENTRYPOINT"), ["carnelian"]);
    let words = json("CMD");
    is_accepted(&words.iter().map(String::as_str).collect::<Vec<_>>());
    let ignored = read(".dockerignore");
    assert!(ignored.lines().any(|line| line == "target"), "gigabytes would be sent to the builder");
    let of_build = file.find("FROM docker.io/library/rust:").unwrap();
    assert!(of_build < file.find("FROM docker.io/library/debian:").unwrap());
}
