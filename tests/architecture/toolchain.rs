//! The oldest toolchain that builds the project: one number in all places, and no dependency needs
//! a newer one.

use serde_json::Value;
use std::process::Command;

/// A version of Rust, `1.88` or `1.88.0`, as numbers.
fn numbers(version: &str) -> Vec<u32> {
    let mut numbers: Vec<u32> = version.split('.').map(|part| part.parse().expect("a number")).collect();
    numbers.resize(3, 0);
    numbers
}

fn metadata() -> Value {
    let mut cargo = Command::new(env!("CARGO"));
    let answer = cargo.args(["metadata", "--locked", "--offline", "--all-features", "--format-version", "1"]).output();
    let answer = answer.expect("cargo runs");
    assert!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stderr));
    serde_json::from_slice(&answer.stdout).expect("JSON")
}

/// Clippy finds names of the standard library that are newer, by the same number.
#[test]
fn no_dependency_needs_a_newer_toolchain() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().expect("packages");
    let name = |package: &Value| package["name"].as_str().unwrap_or_default().to_owned();
    let needs = |package: &Value| package["rust_version"].as_str().map(numbers);
    let own = packages.iter().find(|package| name(package) == env!("CARGO_PKG_NAME")).and_then(needs);
    let own = own.expect("Cargo.toml says rust-version");
    let newer: Vec<String> =
        packages.iter().filter(|package| needs(package).is_some_and(|needs| needs > own)).map(name).collect();
    assert!(newer.is_empty(), "these need a newer toolchain than rust-version says: {newer:?}");
}

#[test]
fn the_oldest_toolchain_is_the_same_in_all_places() {
    let version = env!("CARGO_PKG_RUST_VERSION");
    let places = [
        ("clippy.toml", include_str!("../../clippy.toml"), format!("msrv = \"{version}\"")),
        (".ci/run", include_str!("../../.ci/run"), format!("Rust {version} ")),
        ("README.md", include_str!("../../README.md"), format!("Rust {version} ")),
        ("docs/getting-started.md", include_str!("../../docs/getting-started.md"), format!("Rust {version} ")),
        ("tests/run", include_str!("../run"), format!("Rust {version} ")),
    ];
    for (place, text, expected) in places {
        assert!(text.contains(&expected), "{place} does not say {expected:?}");
    }
}
