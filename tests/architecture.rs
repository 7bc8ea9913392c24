//! The order of the house: who may import whom, who may name a database library, and what stands
//! nowhere in the tree.
#![warn(clippy::disallowed_methods)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

#[path = "architecture/book.rs"]
mod book;
#[path = "architecture/circles.rs"]
mod circles;
#[path = "architecture/comments.rs"]
mod comments;
#[path = "architecture/documentation.rs"]
mod documentation;
#[path = "architecture/imports.rs"]
mod imports;
#[path = "architecture/surface.rs"]
mod surface;
#[path = "architecture/toolchain.rs"]
mod toolchain;

use imports::{Crate, module_of, tokens};
use std::path::Path;
use std::process::Command;

/// The floors from the ground up. A module imports from its own floor and from those below. A
/// module belongs to its longest match; the name stands for what is in it.
const FLOORS: &[(&str, &[&str])] = &[
    ("streams", &["hash", "java_text", "java"]),
    ("times", &["cron", "epoch", "local", "span", "zone"]),
    ("error", &["debug_fields", "error", "from", "guarded", "meter", "random", "setters", "words"]),
    (
        "values",
        &[
            "key",
            "alarm",
            "matcher",
            "node",
            "data_map",
            "calendar",
            "trigger",
            "job",
            "job_file",
            "quartz_plugins::message_format",
            "store::row",
        ],
    ),
    ("settings", &["settings"]),
    ("rules", &["rules"]),
    ("ports", &["clock", "machine", "signal", "store::callers", "store::database"]),
    ("databases", &["store::memory", "store::sql", "store::faults"]),
    ("stores", &["store"]),
    ("listeners", &["listener", "quartz_plugins"]),
    ("engine", &["scheduler"]),
    (
        "surfaces",
        &[
            "backfill",
            "dashboard",
            "database",
            "definitions",
            "history",
            "listing",
            "monitoring",
            "placement",
            "recovery",
            "report",
            "testing",
        ],
    ),
];

/// Modules that alone may name a crate or a module (and that module itself). `bin` and `examples`
/// are no modules of the library: the compiler shows them its public API only.
const NAMED_ONLY_BY: &[(&str, &[&str])] = &[
    // A connection of the caller's is a diesel connection.
    ("diesel", &["store::sql", "store::callers", "examples"]),
    ("diesel_migrations", &["store::sql"]),
    ("libsqlite3_sys", &["store::sql"]),
    ("r2d2", &["store::sql", "examples"]),
    // The builder takes a pool of the caller's.
    ("crate::store::sql", &["store::sql", "store::open", "store=", "scheduler::api::builder", "database="]),
    ("crate::store::memory", &["store::memory", "store::open", "store=", "lib=", "testing="]),
    // Code behind a feature is reached at these places only.
    ("crate::java", &["java", "data_map::java", "calendar::java"]),
    ("crate::data_map::java", &["data_map::java", "data_map=", "data_map::codec", "data_map::foreign"]),
    ("crate::calendar::java", &["calendar::java", "calendar="]),
    (
        "crate::job_file",
        &[
            "job_file",
            "store::catalogue::import",
            "scheduler::services::job_file_watcher",
            "scheduler::api::scheduling",
            "scheduler::run::job",
        ],
    ),
    ("crate::quartz_plugins", &["quartz_plugins", "settings::plugin", "scheduler::api::builder"]),
    ("TimeUnitSpec", &["cron::shared_dialect"]),
];

/// The rooms of the store in which operations are, each with the other rooms that it may use. A
/// room uses another if it imports a name of it, or takes its handle from a store
/// (`store.firing()`). The rooms are in order: each uses rooms above it only, so that no circle of
/// calls hides behind the handles.
const STORE_ROOMS: &[(&str, &[&str])] = &[
    ("history", &[]),
    ("locks", &[]),
    ("placement", &[]),
    ("outages", &["placement"]),
    ("firing", &["history", "placement"]),
    ("upkeep", &["history", "locks", "placement", "outages", "firing"]),
    // A trigger that is resumed late is handled as a misfire.
    ("catalogue", &["firing", "upkeep"]),
    ("job_types", &["firing", "catalogue"]),
    ("diagnosis", &["history", "placement", "firing", "upkeep", "catalogue", "job_types"]),
];

const MOST_LINES: usize = 450;

/// The most methods of the traits that a session consists of. Each is written once for a kind of
/// database.
const MOST_METHODS: usize = 60;

#[test]
fn imports_go_down() {
    none("imports that go up", &upward_imports(&library()));
}

#[test]
fn databases_are_named_in_their_rooms_only() {
    let mut files = library();
    files.extend(read("src/bin/").into_iter().map(|(file, text)| (format!("bin/{file}"), text)));
    files.extend(read("examples/").into_iter().map(|(file, text)| (format!("examples/{file}"), text)));
    none("names outside of their rooms", &misplaced_names(&files));
}

#[test]
fn rooms_of_the_store_keep_their_walls() {
    none("passages through a wall of the store", &passages_through_walls(&library()));
}

#[test]
fn the_floors_and_rooms_exist_and_the_rooms_are_in_order() {
    let modules: Vec<String> = library().iter().map(|(file, _)| module_of(file).join("::")).collect();
    let floors = FLOORS.iter().flat_map(|(_, rooms)| rooms.iter().map(|room| (*room).to_owned()));
    let rooms = STORE_ROOMS.iter().map(|(room, _)| format!("store::{room}"));
    let missing: Vec<String> = floors.chain(rooms).filter(|room| !modules.contains(room)).collect();
    none("floors and rooms that no module is in", &missing);
    for (at, (room, others)) in STORE_ROOMS.iter().enumerate() {
        let is_above = |other: &&str| STORE_ROOMS[..at].iter().any(|(above, _)| above == other);
        assert!(others.iter().all(is_above), "{room} uses a room that is not above it");
    }
}

#[test]
fn sources_say_what_they_are() {
    let silent = read("src/").into_iter().filter(|(_, text)| !text.starts_with("//!"));
    none("files without `//!` in their first line", &silent.map(|(file, _)| format!("src/{file}")).collect::<Vec<_>>());
}

#[test]
fn no_source_is_long() {
    let files = ["src/", "examples/"].iter().flat_map(|top| read(top).into_iter().map(move |file| (top, file)));
    let long = files.filter_map(|(top, (file, text))| {
        let lines = text.lines().count();
        (lines > MOST_LINES).then(|| format!("{top}{file}: {lines} lines; is there a second concept in it?"))
    });
    none("files over 450 lines", &long.collect::<Vec<_>>());
}

#[test]
fn a_session_has_few_methods() {
    let text: String = read("src/store/database/").into_iter().map(|(_, text)| text).collect();
    let (traits, _) = text.split_once("pub trait Session:").unwrap().1.split_once('{').unwrap();
    let methods = |name: &str| {
        let (_, body) = text.split_once(&format!("pub trait {name}")).unwrap_or_else(|| panic!("no trait {name}"));
        body.split_once("\n}").unwrap().0.matches("\n    fn ").count()
    };
    let methods: usize = traits.split('+').map(str::trim).chain(["Session"]).map(methods).sum();
    assert!((40..=MOST_METHODS).contains(&methods), "{methods} methods of the traits of a session");
}

/// A purpose that nobody has any longer would leave its sign of life without a connection.
#[test]
fn signs_of_life_are_purposes_of_the_store() {
    let files = read("src/store/");
    let text = &files.iter().find(|(file, _)| file.ends_with("/own_pool.rs")).expect("the pool").1;
    let (_, list) = text.split_once("const SIGNS_OF_LIFE").expect("the list").1.split_once('=').unwrap();
    let signs: Vec<&str> = list.split_once("];").unwrap().0.split('"').skip(1).step_by(2).collect();
    assert!(signs.len() > 10, "{signs:?}");
    let others: String =
        files.iter().filter(|(file, _)| !file.ends_with("/own_pool.rs")).map(|(_, text)| text.as_str()).collect();
    let unknown = signs.iter().filter(|sign| !others.contains(&format!("\"{sign}\",")));
    none("signs of life that are no purposes", &unknown.map(ToString::to_string).collect::<Vec<_>>());
}

#[test]
fn no_sql_is_made_from_texts() {
    none("SQL beside `Statement`", &lines_with(&read("src/"), &["sql_query("]));
}

#[test]
fn the_tree_names_no_machine_and_no_registry() {
    // In two parts, so that this file does not find itself.
    let words = [
        concat!("/wo", "rk/"),
        concat!("/ro", "ot/"),
        concat!("crates", ".io"),
        concat!("npmjs", ".org"),
        concat!("pypi", ".org"),
        concat!("repo.maven", ".apache.org"),
        concat!("proxy.golang", ".org"),
    ];
    let mut files = read("");
    files.retain(|(file, _)| !file.ends_with("Cargo.lock")); // written by Cargo, which names the registry
    none("paths of a machine or hosts of a registry", &lines_with(&files, &words));
}

#[test]
fn what_stands_for_names_of_quartz_exists() {
    let page = read("").into_iter().find(|(file, _)| file == "docs/coming-from-quartz.md").expect("the page").1;
    let (_, names) = page.split_once("## Name by name").expect("the tables");
    let rows = names.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" | "));
    let ours: Vec<&str> = rows.flat_map(|(_, ours)| ours.split('`').skip(1).step_by(2)).collect();
    assert!(ours.len() >= 200, "{}", ours.len());
    let sources: String = library().into_iter().map(|(_, text)| text).collect();
    let defines = |name: &str| match name.chars().next() {
        Some('a'..='z') => {
            [format!("fn {name}("), format!("fn {name}<"), format!("pub {name}: "), format!("=> \"{name}\"")].to_vec()
        }
        Some('A'..='Z') => {
            ["struct ", "enum ", "trait ", "    ", "!("].map(|before| format!("{before}{name}")).to_vec()
        }
        _ => Vec::new(),
    };
    let words = ours.iter().flat_map(|code| code.split(|c: char| !c.is_alphanumeric() && c != '_'));
    let is_known = |word: &str| {
        // Of the language, of `chrono`, of the tables; a variable.
        let others = ["self", "ctx", "chrono", "DateTime", "NaiveTime"];
        word.is_empty() || others.contains(&word) || word.bytes().all(|b| b == b'_' || b.is_ascii_uppercase())
    };
    let unknown = words.filter(|word| !is_known(word) && !defines(word).iter().any(|text| sources.contains(text)));
    none("names in docs/coming-from-quartz.md that do not exist", &unknown.map(str::to_owned).collect::<Vec<_>>());
}

// --- the checks ----------------------------------------------------------------------------------

/// `(path, text)` of files, the path below `src/` for modules of the library.
type Files = [(String, String)];

fn upward_imports(files: &Files) -> Vec<String> {
    let library = Crate::read(files);
    let mut found = Vec::new();
    for (file, text) in files.iter().filter(|(file, _)| file != "lib.rs") {
        let Some(floor) = floor_of(&module_of(file)) else {
            found.push(format!("src/{file}:1: has no floor: give its module a place in FLOORS"));
            continue;
        };
        for import in library.imports(file, text) {
            let problem = match floor_of(&import.module) {
                Some(other) if other <= floor => continue,
                Some(other) => format!("is of {}; {} import from below only", FLOORS[other].0, FLOORS[floor].0),
                None => "is in no module that has a floor: import it from the module that defines it".to_owned(),
            };
            found.push(format!("src/{file}:{}: {} {problem}", import.line, import.path));
        }
    }
    found
}

fn floor_of(module: &[String]) -> Option<usize> {
    let path = module.join("::");
    let matches = FLOORS.iter().enumerate().flat_map(|(floor, (_, rooms))| rooms.iter().map(move |room| (floor, room)));
    matches.filter(|(_, room)| is_within(&path, room)).max_by_key(|(_, room)| room.len()).map(|(floor, _)| floor)
}

/// True if a module is `room` or in it; `room=` is that module itself only.
fn is_within(module: &str, room: &str) -> bool {
    match room.strip_suffix('=') {
        Some(room) => module == room,
        None => module.strip_prefix(room).is_some_and(|rest| rest.is_empty() || rest.starts_with("::")),
    }
}

fn misplaced_names(files: &Files) -> Vec<String> {
    let library = Crate::read(files);
    let mut found = Vec::new();
    for (file, text) in files {
        let module = if file == "lib.rs" { "lib".to_owned() } else { module_of(file).join("::") };
        let is_outside = module.starts_with("bin::") || module.starts_with("examples::");
        let imports = if is_outside { Vec::new() } else { library.imports(file, text) };
        for (name, rooms) in NAMED_ONLY_BY {
            if rooms.iter().any(|room| is_within(&module, room)) {
                continue;
            }
            let lines: Vec<usize> = match name.strip_prefix("crate::") {
                Some(room) => {
                    let named = imports.iter().filter(|import| is_within(&import.module.join("::"), room));
                    named.map(|import| import.line).collect()
                }
                None => tokens(text).iter().filter(|(_, token)| token == name).map(|&(line, _)| line).collect(),
            };
            let folder = if is_outside && module.starts_with("examples") { "" } else { "src/" };
            let message = |line| format!("{folder}{file}:{line}: names {name}, which is for {} only", rooms.join(", "));
            found.extend(lines.into_iter().map(message));
        }
    }
    found
}

fn passages_through_walls(files: &Files) -> Vec<String> {
    let library = Crate::read(files);
    let room_of = |module: &str| STORE_ROOMS.iter().find(|(room, _)| is_within(module, &format!("store::{room}")));
    let mut found = Vec::new();
    for (file, text) in files {
        let Some((room, others)) = room_of(&module_of(file).join("::")) else { continue };
        let is_shut = |other: &str| other != *room && !others.contains(&other);
        for import in library.imports(file, text) {
            let Some((other, _)) = room_of(&import.module.join("::")).filter(|(other, _)| is_shut(other)) else {
                continue;
            };
            found.push(format!("src/{file}:{}: {} is of {other}", import.line, import.path));
        }
        for call in tokens(text).windows(5) {
            let [(line, store), (_, dot), (_, handle), (_, open), (_, close)] = *call else { continue };
            let is_handle = (store, dot, open, close) == ("store", ".", "(", ")");
            if is_handle && STORE_ROOMS.iter().any(|(other, _)| *other == handle && is_shut(other)) {
                found.push(format!("src/{file}:{line}: store.{handle}() is of {handle}"));
            }
        }
    }
    found
}

fn lines_with(files: &Files, words: &[&str]) -> Vec<String> {
    let lines = files.iter().flat_map(|(file, text)| text.lines().enumerate().map(move |(at, line)| (file, at, line)));
    let found = lines.filter_map(|(file, at, line)| {
        let word = words.iter().find(|word| line.contains(**word))?;
        Some(format!("{file}:{}: {word}", at + 1))
    });
    found.collect()
}

fn none(what: &str, found: &[String]) {
    assert!(found.is_empty(), "{what} ({}):\n{}", found.len(), found.join("\n"));
}

// --- reading -------------------------------------------------------------------------------------

/// The library's own files: `src/` without `src/bin/`.
fn library() -> Vec<(String, String)> {
    let mut files = read("src/");
    files.retain(|(file, _)| !file.starts_with("bin/"));
    files
}

/// The text files below `top`, by their path below it: Rust files if `top` is given, else all that
/// are tracked.
fn read(top: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut names = tracked(root).unwrap_or_else(|| {
        let mut names = Vec::new();
        walk(root, "", &mut names); // a packed crate has no repository
        names
    });
    names.sort();
    assert!(names.iter().any(|name| name == "src/lib.rs"), "the tree is not where it was built: {}", root.display());
    let names = names.iter().filter_map(|name| Some((name, name.strip_prefix(top)?)));
    let names = names.filter(|(_, below)| top.is_empty() || below.ends_with(".rs"));
    names.filter_map(|(name, below)| Some((below.to_owned(), std::fs::read_to_string(root.join(name)).ok()?))).collect()
}

/// Files that git knows of, and new ones that are not ignored: a file obeys before it is committed.
fn tracked(root: &Path) -> Option<Vec<String>> {
    let mut git = Command::new("git");
    git.arg("-C").arg(root).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let output = git.output().ok().filter(|output| output.status.success())?;
    let names: Vec<String> = String::from_utf8(output.stdout).ok()?.split_terminator('\0').map(str::to_owned).collect();
    names.iter().any(|name| name == "src/lib.rs").then_some(names)
}

fn walk(root: &Path, below: &str, names: &mut Vec<String>) {
    for entry in std::fs::read_dir(root.join(below)).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{below}{}", entry.file_name().to_string_lossy());
        match name.as_str() {
            "target" | ".git" => {}
            _ if entry.file_type().unwrap().is_dir() => walk(root, &format!("{name}/"), names),
            _ => names.push(name),
        }
    }
}

// --- the checks fail when they should ------------------------------------------------------------

#[cfg(test)]
mod on_made_up_trees {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> Vec<(String, String)> {
        let root = [("lib.rs", "pub use key::JobKey;"), ("key.rs", "//! k"), ("clock.rs", ""), ("error.rs", "")];
        let store = [
            ("store/mod.rs", "pub use database::{TxMode, Lock as Guard};\npub use sql::SqlDatabase;"),
            ("store/database.rs", ""),
            ("store/sql/mod.rs", ""),
            ("scheduler/mod.rs", ""),
        ];
        let given = |path: &str| files.iter().any(|(file, _)| *file == path);
        let usual = root.iter().chain(&store).filter(|(path, _)| !given(path));
        usual.chain(files).map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
    }

    fn upward(file: &str, text: &str) -> Vec<String> {
        upward_imports(&tree(&[(file, text)]))
    }

    #[test]
    fn what_goes_down_is_fine() {
        let texts = [
            "use crate::{error::Error, key::{JobKey, TriggerKey}};\nuse std::clock::Instant;",
            "/// See [`crate::scheduler::Scheduler`].\n// use crate::scheduler;\n/* /* */ crate::scheduler::x */",
            r##"const A: &str = "use crate::scheduler::\"x"; const B: &str = r#"crate::scheduler::x""#; let c = '"';"##,
            "fn f<'a>(x: &'a str) { let c = '\\''; crate::key::make::<crate::error::Error>(x) }",
            "pub(in crate::scheduler) fn f() {}",
            "mod tests { use super::*; use super::super::super::key::JobKey; use crate::JobKey as Key; }",
            "use ::scheduler::x; use scheduler::y;",
        ];
        for text in texts {
            none(text, &upward("rules/misfire.rs", text));
        }
        none("a re-export counts where it is defined", &upward("store/sql/x.rs", "use crate::store::{TxMode, Guard};"));
        none("its own floor", &upward("key.rs", "use crate::key::JobKey;"));
    }

    #[test]
    fn what_goes_up_is_found() {
        let texts = [
            "use crate::scheduler::Scheduler;",
            "pub use crate::{key::JobKey, clock::{self}};",
            "use crate::store;",
            "fn f() { crate::store::open(x) }",
            "let x = '\"'; crate::scheduler::f();",
            "fn f<'a>() { crate::clock::f::<'a>() }",
            "use super::super::super::clock::Clock;",
            "mod tests { use super::super::super::super::clock::Clock; }",
            "use crate::Unknown;",
            "fn f() { match x { crate::clock::X { a } => crate::key::y } }",
            "#[cfg(test)]\nmod t {}\nuse super::super::super::clock;",
        ];
        for text in texts {
            assert_eq!(upward("rules/deep/misfire.rs", text).len(), 1, "{text}");
        }
        assert_eq!(
            upward("key.rs", "//! k\nuse crate::{\n    error::Error,\n    clock::Clock,\n};"),
            ["src/key.rs:4: crate::clock::Clock is of ports; values import from below only"]
        );
        assert_eq!(upward("store/sql/x.rs", "use crate::store::JobStore;").len(), 1, "the stories of the store");
        assert_eq!(upward("settings/x.rs", "use crate::clock::Clock;").len(), 1, "a side lane");
        assert_eq!(upward("store/database.rs", "use super::SqlDatabase;").len(), 1, "through a re-export");
        assert_eq!(upward("attic.rs", ""), ["src/attic.rs:1: has no floor: give its module a place in FLOORS"]);
    }

    #[test]
    fn names_outside_of_their_rooms_are_found() {
        let misplaced = |file: &str, text: &str| misplaced_names(&tree(&[(file, text)]));
        for file in ["store/sql/table/jobs.rs", "examples/own_transaction.rs"] {
            none(file, &misplaced(file, "use diesel::prelude::*;"));
        }
        none("open chooses", &misplaced("store/open.rs", "use super::SqlDatabase; use crate::store::sql;"));
        none("a comment", &misplaced("key.rs", "// diesel\nconst A: &str = \"diesel\"; fn diesels() {}"));
        assert_eq!(
            misplaced("store/memory/mod.rs", "\nuse diesel::prelude::*;"),
            ["src/store/memory/mod.rs:2: names diesel, which is for store::sql, store::callers, examples only"]
        );
        for (file, text) in [
            ("bin/carnelian/main.rs", "fn f() { ::diesel::x() }"),
            ("scheduler/x.rs", "#[diesel(table)] struct A;"),
            ("scheduler/x.rs", "use crate::store::SqlDatabase;"),
            ("store/firing/x.rs", "use crate::store::sql::SqlDatabase;"),
            ("lib.rs", "use diesel;"),
        ] {
            assert_eq!(misplaced(file, text).len(), 1, "{file}: {text}");
        }
    }

    #[test]
    fn passages_through_walls_of_the_store_are_found() {
        let through = |file: &str, text: &str| {
            let rooms = [("store/upkeep/mod.rs", ""), ("store/catalogue/mod.rs", ""), ("store/history.rs", "")];
            let rooms = rooms.iter().filter(|(path, _)| *path != file);
            passages_through_walls(&tree(&rooms.copied().chain([(file, text)]).collect::<Vec<_>>()))
        };
        none("a door", &through("store/catalogue/x.rs", "use crate::store::upkeep::MisfirePass;"));
        none("the door of a handle", &through("store/upkeep/x.rs", "fn f() { self.store.history().find(&query) }"));
        none(
            "its own room",
            &through("store/catalogue/x.rs", "use super::Catalogue; fn f() { store.catalogue().g() }"),
        );
        none("a session", &through("store/firing/x.rs", "fn f() { s.job_types() }"));
        assert_eq!(
            through("store/history.rs", "\nuse super::catalogue::Catalogue;"),
            ["src/store/history.rs:2: crate::store::catalogue::Catalogue is of catalogue"]
        );
        assert_eq!(
            through("store/firing/x.rs", "fn f() {\n    self.store\n        .upkeep()\n        .g()\n}"),
            ["src/store/firing/x.rs:2: store.upkeep() is of upkeep"]
        );
    }

    #[test]
    fn words_are_found_by_line() {
        let files = tree(&[("x.rs", "a\nb /home/x/ c")]);
        assert_eq!(lines_with(&files, &["/home/"]), ["x.rs:2: /home/"]);
    }
}
