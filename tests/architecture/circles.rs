//! No circle of imports: whoever reads a file finds what it needs without coming back to it.
//!
//! A file needs another if it takes a name that the other defines, followed through re-exports. A
//! parent module counts like any file: a child that takes a name which its parent defines, while
//! the parent takes one of the child's, is a circle of two. Declaring a child (`mod`), passing a
//! name on (`pub use`) and what tests import count for nothing.

use super::imports::{Crate, module_of};
use super::{Files, library, none};
use std::collections::{BTreeMap, BTreeSet};

/// The files that each file needs.
type Needs = BTreeMap<String, BTreeSet<String>>;

#[test]
fn imports_make_no_circle() {
    let circles: Vec<String> = circles(&library()).iter().map(|circle| circle.join(" ")).collect();
    none("circles of imports", &circles);
}

/// The circles among the files: sets of files each of which needs, directly or not, every other.
fn circles(files: &Files) -> Vec<Vec<String>> {
    let needs = needs(files);
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        needs.keys().map(|file| (file.as_str(), reachable(&needs, file))).collect();
    let mut circles: BTreeSet<Vec<String>> = BTreeSet::new();
    for (file, reached_from) in &reached {
        if reached_from.contains(file) {
            let others =
                reached_from.iter().filter(|other| reached.get(*other).is_some_and(|back| back.contains(file)));
            circles.insert(others.map(|other| (*other).to_owned()).collect());
        }
    }
    circles.into_iter().collect()
}

fn needs(files: &Files) -> Needs {
    let library = Crate::read(files);
    let of_module: BTreeMap<_, &str> = files.iter().map(|(file, _)| (module_of(file), file.as_str())).collect();
    let needed = |file: &str, text: &str| {
        let imports = library.needs(file, text).into_iter();
        imports.filter_map(|import| of_module.get(&import.module).map(|file| (*file).to_owned())).collect()
    };
    files.iter().map(|(file, text)| (file.clone(), needed(file, text))).collect()
}

fn reachable<'n>(needs: &'n Needs, from: &str) -> BTreeSet<&'n str> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&str> = needs.get(from).into_iter().flatten().map(String::as_str).collect();
    while let Some(file) = next.pop() {
        if reached.insert(file) {
            next.extend(needs.get(file).into_iter().flatten().map(String::as_str));
        }
    }
    reached
}

#[cfg(test)]
mod on_made_up_trees {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let root = [("lib.rs", "mod a;\nmod b;\nmod c;\npub use a::A;")];
        let files: Vec<_> =
            root.iter().chain(files).map(|(file, text)| ((*file).to_owned(), (*text).to_owned())).collect();
        circles(&files).into_iter().map(|circle| circle.join(" ")).collect()
    }

    #[test]
    fn imports_that_go_one_way_are_fine() {
        let trees: [&[(&str, &str)]; 6] = [
            &[("a.rs", "use crate::b::B;\nuse crate::c::C;"), ("b.rs", "use crate::c::C;"), ("c.rs", "")],
            &[("a/mod.rs", "mod x;\npub use x::X;\npub struct A;"), ("a/x.rs", "use super::A;\npub struct X;")],
            &[("a/mod.rs", "mod x;\nuse x::X;\nstruct A(X);"), ("a/x.rs", "pub struct X;")],
            &[("a.rs", "use crate::b::B;"), ("b.rs", "#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}")],
            &[("a.rs", "use crate::b;\nfn f() { b::c() }"), ("b/mod.rs", "mod x;\npub use x::c;"), ("b/x.rs", "")],
            &[("a.rs", "/// See [`crate::b::B`].\npub struct A;"), ("b.rs", "use crate::A;")],
        ];
        for tree in trees {
            none(&format!("{tree:?}"), &found(tree));
        }
    }

    #[test]
    fn circles_are_found() {
        let trees: [(&[(&str, &str)], &str); 7] = [
            (&[("a.rs", "use crate::b::B;"), ("b.rs", "fn f() { crate::a::g() }")], "a.rs b.rs"),
            (
                &[("a.rs", "use crate::b::B;"), ("b.rs", "use crate::c::C;"), ("c.rs", "use super::a::A;")],
                "a.rs b.rs c.rs",
            ),
            (&[("a.rs", "mod x;\nuse x::X;\npub struct A(X);"), ("a/x.rs", "use super::A;")], "a.rs a/x.rs"),
            (&[("a.rs", "mod x;\npub use x::X;\npub struct A(X);"), ("a/x.rs", "use super::A;")], "a.rs a/x.rs"),
            (&[("a.rs", "use crate::b::B;\npub struct A;"), ("b.rs", "use crate::A;")], "a.rs b.rs"),
            (
                &[("a.rs", "use crate::b;\nfn f() { b::x::c() }"), ("b/mod.rs", ""), ("b/x.rs", "use crate::A as B;")],
                "a.rs b/x.rs",
            ),
            (&[("a.rs", "use crate::b::*;"), ("b.rs", "#[cfg(not(test))]\nuse crate::a::A;")], "a.rs b.rs"),
        ];
        for (tree, circle) in trees {
            assert_eq!(found(tree), [circle], "{tree:?}");
        }
    }
}
