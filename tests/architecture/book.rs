//! The pages are a book: the summary has them all, links and anchors lead somewhere, names exist,
//! and programs are compiled.

use super::{none, read};
use std::collections::{BTreeMap, BTreeSet};

const PARTS: [&str; 5] = ["Start", "Guide", "Operate", "Quartz", "Inside"];
const SUMMARY: &str = "docs/SUMMARY.md";
/// More pages than a reader keeps apart.
const MOST_PAGES: usize = 18;
/// As many as a reader looks through.
const MOST_EXAMPLES: usize = 18;

type Files = BTreeMap<String, String>;

fn files() -> Files {
    read("").into_iter().collect()
}

fn pages(files: &Files) -> impl Iterator<Item = (&str, &str)> {
    let pages = files.iter().filter(|(file, _)| file.starts_with("docs/") && file.ends_with(".md"));
    pages.filter(|(file, _)| *file != SUMMARY).map(|(file, text)| (file.as_str(), text.as_str()))
}

/// The lines outside of code blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut in_block = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        in_block ^= fence;
        !in_block && !fence
    })
}

fn links(text: &str) -> Vec<&str> {
    prose(text).flat_map(|line| line.split("](").skip(1).filter_map(|rest| rest.split(')').next())).collect()
}

/// The names that a heading has in an address, as mdBook and GitHub make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for line in prose(text).filter(|line| line.starts_with('#')) {
        let heading = line.trim_start_matches('#').trim().to_lowercase();
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        let slug: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        let repeated = (1..).map(|n| format!("{slug}-{n}"));
        let free = std::iter::once(slug.clone()).chain(repeated).find(|name| !anchors.contains(name));
        anchors.extend(free);
    }
    anchors
}

/// A path without `..`: the target of a link that stands in `file`.
fn target(file: &str, link: &str) -> String {
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut path: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in link.trim_end_matches('/').split('/') {
        if part == ".." {
            path.pop();
        } else {
            path.push(part);
        }
    }
    path.join("/")
}

/// Why a link leads nowhere.
fn broken(files: &Files, file: &str, link: &str) -> Option<String> {
    if link.contains("://") {
        return None;
    }
    let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    let path = if path.is_empty() { file.to_owned() } else { target(file, path) };
    let below = format!("{path}/");
    let Some(text) = files.get(&path) else {
        let is_folder = anchor.is_none() && files.keys().any(|name| name.starts_with(&below));
        let is_picture = (path.ends_with(".png") || path.ends_with(".svg"))
            && std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(&path).is_file();
        return (!is_folder && !is_picture).then(|| format!("{file}: {link}: there is no {path}"));
    };
    let missing = anchor.filter(|anchor| !anchors(text).contains(*anchor));
    missing.map(|anchor| format!("{file}: {link}: {path} has no heading {anchor}"))
}

#[test]
fn the_summary_has_every_page_once_in_five_parts() {
    let files = files();
    let summary = &files[SUMMARY];
    let mut listed: Vec<String> = links(summary).into_iter().map(|link| target(SUMMARY, link)).collect();
    listed.sort();
    let there: Vec<String> = pages(&files).map(|(file, _)| file.to_owned()).collect();
    assert_eq!(listed, there, "left: {SUMMARY}, right: the folder");
    assert!(there.len() <= MOST_PAGES, "{} pages: join two of them", there.len());
    let parts: Vec<&str> = summary.lines().filter_map(|line| line.strip_prefix("# ")).skip(1).collect();
    assert_eq!(parts, PARTS);
}

#[test]
fn links_lead_to_pages_and_headings_that_exist() {
    let files = files();
    let texts = files.iter().filter(|(file, _)| file.ends_with(".md"));
    let found = texts.flat_map(|(file, text)| links(text).into_iter().filter_map(|link| broken(&files, file, link)));
    none("links that lead nowhere", &found.collect::<Vec<_>>());
    let page = "# A `b::c`, d\n```sh\n# no heading\n```\n## e\n## e\n";
    assert_eq!(anchors(page), ["a-bc-d", "e", "e-1"].map(str::to_owned).into());
    assert_eq!(target("docs/a/b.md", "../../README.md"), "README.md");
}

/// A book has its own pages only: mdBook copies nothing from outside of its folder.
#[test]
fn links_of_pages_stay_in_the_book() {
    let files = files();
    let outside = pages(&files).flat_map(|(file, text)| {
        let links = links(text).into_iter().filter(|link| link.starts_with("../"));
        links.map(move |link| format!("{file}: {link}")).collect::<Vec<_>>()
    });
    none("links that leave the book", &outside.collect::<Vec<_>>());
}

/// Comments, error texts, tests and scripts name a page by its path from the root, so that an
/// editor can open it.
#[test]
fn pages_that_code_and_scripts_name_exist() {
    let files = files();
    let is_of_path = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let texts = files.iter().filter(|(file, _)| !file.ends_with(".md") && !file.starts_with("tests/architecture/"));
    let missing = texts.flat_map(|(file, text)| {
        let words = text.split(|c: char| !is_of_path(c)).map(|word| word.trim_start_matches(['.', '/']));
        let names = words.filter(|word| word.len() > 3 && word.ends_with(".md") && !files.contains_key(*word));
        names.map(move |name| format!("{file}: {name}")).collect::<Vec<_>>()
    });
    none("pages named in code that do not exist", &missing.collect::<Vec<_>>());
}

#[test]
fn every_program_of_a_page_is_compiled() {
    let files = files();
    let lib = &files["src/lib.rs"];
    let with_programs: Vec<_> = pages(&files).filter(|(_, text)| text.contains("```rust")).collect();
    let left_out = with_programs.iter().filter(|(file, _)| !lib.contains(&format!("include_str!(\"../{file}\")")));
    none(
        "pages whose programs `src/lib.rs` does not include",
        &left_out.map(|(file, _)| (*file).to_owned()).collect::<Vec<_>>(),
    );
    let ignored = with_programs.iter().filter(|(_, text)| text.contains("```rust,ignore"));
    none("pages with programs that nobody compiles", &ignored.map(|(file, _)| (*file).to_owned()).collect::<Vec<_>>());
}

/// The texts between backticks outside of code blocks.
fn spans(text: &str) -> Vec<String> {
    let prose: Vec<&str> = prose(text).collect();
    prose.join("\n").split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c != '_' && !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// The names that a span takes from the crate: of `Type::name` both, of `ctx.name` the second.
fn names_of_the_crate(span: &str) -> Vec<&str> {
    let is_of_path = |c: char| c == '_' || c == ':' || c == '.' || c.is_alphanumeric();
    let paths = span.split(|c| !is_of_path(c)).filter(|path| {
        path.starts_with("ctx.") || (path.contains("::") && path.starts_with(|c: char| c.is_ascii_uppercase()))
    });
    paths.flat_map(|path| identifiers(path).filter(|name| *name != "ctx")).collect()
}

#[test]
fn names_of_the_crate_in_pages_exist() {
    let files = files();
    let sources: Vec<&str> =
        files.iter().filter(|(file, _)| file.starts_with("src/")).map(|(_, text)| &**text).collect();
    let known: BTreeSet<&str> = sources.iter().flat_map(|text| identifiers(text)).collect();
    let unknown = pages(&files).flat_map(|(file, text)| {
        let spans = spans(text);
        let names = spans.iter().flat_map(|span| names_of_the_crate(span)).filter(|name| !known.contains(name));
        names.map(|name| format!("{file}: {name}")).collect::<Vec<_>>()
    });
    none("names in pages that the source does not know", &unknown.collect::<Vec<_>>());
    assert_eq!(names_of_the_crate("ctx.log(a, A::B) c.d"), ["log", "A", "B"]);
}

/// `docs/configuration.md` is made of the keys that the loader knows; a test of the settings holds
/// it.
#[test]
fn keys_that_pages_name_exist() {
    let files = files();
    let known = &files["docs/configuration.md"];
    let unknown = pages(&files).flat_map(|(file, text)| {
        let spans = spans(text);
        let keys = spans.iter().filter_map(|span| span.split([' ', '=', '…']).next());
        let keys =
            keys.filter(|key| key.starts_with("carnelian.") && !key.ends_with(".md") && key.matches('.').count() > 1);
        let unknown = keys.map(|key| key.trim_end_matches('.')).filter(|key| !known.contains(*key));
        unknown.map(|key| format!("{file}: {key}")).collect::<Vec<_>>()
    });
    none("keys in pages that `docs/configuration.md` does not have", &unknown.collect::<Vec<_>>());
}

/// An example shows what a program may use: hidden modules and lints of this project are not of it.
#[test]
fn examples_are_few_and_use_public_names_only() {
    let files = files();
    let examples: Vec<_> = files.iter().filter(|(file, _)| file.starts_with("examples/")).collect();
    let names: Vec<_> =
        examples.iter().filter_map(|(file, _)| file.strip_prefix("examples/")?.strip_suffix(".rs")).collect();
    let names: Vec<_> = names.into_iter().filter(|name| !name.contains('/')).collect();
    assert!(names.len() <= MOST_EXAMPLES, "{} examples: join two of them", names.len());
    let readme = &files["README.md"];
    let unnamed = names.iter().filter(|name| !readme.contains(&format!("`{name}`")));
    none("examples that README does not name", &unnamed.map(|name| (*name).to_owned()).collect::<Vec<_>>());
    let hidden = examples.iter().filter(|(_, text)| text.contains("carnelian::store") || text.contains("#![allow"));
    none("examples with hidden names or lints", &hidden.map(|(file, _)| (*file).clone()).collect::<Vec<_>>());
}
