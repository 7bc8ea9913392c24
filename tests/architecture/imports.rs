//! The imports of a Rust file from its own crate, read from its text: `use` trees and inline paths,
//! through `crate::`, `self::`, `super::` or a module's own child, followed through re-exports to
//! the module that defines the name.

use std::collections::{HashMap, HashSet};

/// A module as its path below the crate: `["store", "sql"]`; the crate's root is empty.
pub type Module = Vec<String>;

/// One name taken from another module of the crate.
pub struct Import {
    pub line: usize,
    /// As written, with the root spelled out: `crate::store::TxMode`.
    pub path: String,
    /// The module that it comes from in the end.
    pub module: Module,
}

/// The modules of a crate, and where each name they re-export comes from.
pub struct Crate {
    modules: HashSet<Module>,
    exports: HashMap<(Module, String), Module>,
}

/// The module that a file below `src/` is: `store/sql/mod.rs` and `store/sql.rs` are `["store",
/// "sql"]`.
pub fn module_of(file: &str) -> Module {
    let stem = file.strip_suffix(".rs").unwrap_or(file);
    let mut module: Module = stem.split('/').map(str::to_owned).collect();
    if module.last().is_some_and(|last| last == "mod" || last == "lib") {
        module.pop();
    }
    module
}

impl Crate {
    /// From `(path below src/, text)` of every file.
    pub fn read(files: &[(String, String)]) -> Self {
        let modules = files.iter().map(|(file, _)| module_of(file)).collect();
        let mut exports = HashMap::new();
        for (file, text) in files {
            for found in paths(text, module_of(file)) {
                if let (Some(name), true) = (found.alias.or(found.path.last().cloned()), found.is_use) {
                    let root = found.path.first().map_or("", String::as_str);
                    let path = absolute(&modules, &found.module, &found.path);
                    if let Some(path) = path.filter(|path| root != name || path.len() > 1) {
                        exports.insert((found.module, name), path);
                    }
                }
            }
        }
        Self { modules, exports }
    }

    /// The imports of a file from elsewhere in the crate.
    pub fn imports(&self, file: &str, text: &str) -> Vec<Import> {
        let own = module_of(file);
        let found = paths(text, own.clone()).into_iter();
        found
            .filter_map(|found| {
                let path = absolute(&self.modules, &found.module, &found.path)?;
                let module = self.home(&path);
                (module != own).then(|| Import {
                    line: found.line,
                    path: format!("crate::{}", path.join("::")),
                    module,
                })
            })
            .collect()
    }

    /// The imports that a file needs to be compiled: a name that the file only passes on (`pub
    /// use`) is not needed, nor is a child that the file only declares (`mod`), nor what its tests
    /// import. Of a module that is imported as a whole the names count that are taken through it.
    pub fn needs(&self, file: &str, text: &str) -> Vec<Import> {
        let own = module_of(file);
        let all = tokens(text);
        let tokens = without_tests(&all);
        let found = paths_of(&tokens, own.clone());
        let named = named_outside_of_imports(&tokens);
        let aliases: HashMap<(Module, String), Module> = found
            .iter()
            .filter(|found| found.is_use)
            .filter_map(|found| {
                let name = found.alias.clone().or_else(|| found.path.last().cloned())?;
                let path = absolute(&self.modules, &found.module, &found.path)?;
                let is_alias = self.modules.contains(&path) && !matches!(name.as_str(), "super" | "self" | "crate");
                is_alias.then(|| ((found.module.clone(), name), path))
            })
            .collect();
        let through = |found: &Found| {
            let (first, rest) = found.path.split_first().filter(|(_, rest)| !found.is_use && !rest.is_empty())?;
            let module = aliases.get(&(found.module.clone(), first.clone()))?;
            Some(module.iter().chain(rest).cloned().collect::<Module>())
        };
        let used: HashSet<&str> =
            found.iter().filter(|one| through(one).is_some()).map(|one| one.path[0].as_str()).collect();
        let needed = found.iter().filter(|found| {
            let name = found.alias.as_ref().or(found.path.last()).map_or("", String::as_str);
            let is_passed_on = found.is_reexport && !named.contains(name);
            let is_module = aliases.contains_key(&(found.module.clone(), name.to_owned()));
            !(found.is_use && (is_passed_on || is_module && used.contains(name)))
        });
        let imports = needed.filter_map(|found| {
            let path = through(found).or_else(|| absolute(&self.modules, &found.module, &found.path))?;
            let module = self.home(&path);
            (module != own).then(|| Import { line: found.line, path: format!("crate::{}", path.join("::")), module })
        });
        imports.collect()
    }

    /// The module that defines what an absolute path names.
    fn home(&self, path: &[String]) -> Module {
        let mut path = path.to_vec();
        for _ in 0..8 {
            let depth = (0..=path.len()).rev().find(|&depth| self.modules.contains(&path[..depth])).unwrap_or(0);
            let module = path[..depth].to_vec();
            let Some(name) = path.get(depth) else { return module };
            match self.exports.get(&(module.clone(), name.clone())) {
                Some(target) if *target != path => {
                    path = target.iter().chain(&path[depth + 1..]).cloned().collect();
                }
                _ => return module,
            }
        }
        path
    }
}

/// A path as written, and the (possibly inline) module it is written in.
struct Found {
    line: usize,
    module: Module,
    path: Vec<String>,
    alias: Option<String>,
    is_use: bool,
    /// `pub use`, with whatever visibility.
    is_reexport: bool,
}

/// The path from the crate's root, or none if it leads out of the crate.
fn absolute(modules: &HashSet<Module>, module: &[String], path: &[String]) -> Option<Module> {
    let (first, rest) = path.split_first()?;
    let mut base = module.to_vec();
    match first.as_str() {
        "crate" => return Some(rest.to_vec()),
        "self" => {}
        "super" => {
            base.pop();
            if rest.first().is_some_and(|next| next == "super") {
                return absolute(modules, &base, rest);
            }
        }
        _ => {
            base.push(first.clone());
            if !modules.contains(&base) {
                return None;
            }
        }
    }
    base.extend_from_slice(rest);
    Some(base)
}

fn paths(text: &str, file_module: Module) -> Vec<Found> {
    paths_of(&tokens(text), file_module)
}

fn paths_of(tokens: &[(usize, &str)], file_module: Module) -> Vec<Found> {
    let token = |at: usize| tokens.get(at).map_or("", |&(_, token)| token);
    let (mut found, mut inline, mut depth, mut at) = (Vec::new(), Vec::new(), 0, 0);
    let mut module = file_module;
    while at < tokens.len() {
        let before = if at == 0 { "" } else { token(at - 1) };
        match token(at) {
            "{" => depth += 1,
            "}" => {
                depth -= 1;
                if inline.last() == Some(&depth) {
                    inline.pop();
                    module.pop();
                }
            }
            "mod" if token(at + 2) == "{" => {
                inline.push(depth);
                module.push(token(at + 1).to_owned());
            }
            "use" if before != "<" && token(at + 1) != "<" => {
                let is_reexport = is_public(&tokens[..at]);
                at = tree(tokens, at + 1, &[], &mut |line, path, alias| {
                    found.push(Found { line, module: module.clone(), path, alias, is_use: true, is_reexport });
                });
                continue;
            }
            "in" if before == "(" => at += 1, // pub(in crate::store): says who may import, imports nothing
            name if is_name(name) && token(at + 1) == "::" && before != "::" => {
                at = tree(tokens, at, &[], &mut |line, path, _| {
                    let module = module.clone();
                    found.push(Found { line, module, path, alias: None, is_use: false, is_reexport: false });
                });
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// True if the tokens before an item end with `pub` or `pub(…)`.
fn is_public(before: &[(usize, &str)]) -> bool {
    let mut rest = before;
    if let Some((_, ")")) = rest.last() {
        let open = rest.iter().rposition(|(_, token)| *token == "(").unwrap_or(0);
        rest = &rest[..open];
    }
    matches!(rest.last(), Some((_, "pub")))
}

/// The tokens without the modules that are compiled for tests only.
fn without_tests<'t>(tokens: &[(usize, &'t str)]) -> Vec<(usize, &'t str)> {
    let token = |at: usize| tokens.get(at).map_or("", |&(_, token)| token);
    let close = |mut at: usize, open: &str, close: &str| {
        let mut depth = 0;
        while at < tokens.len() {
            depth += i32::from(token(at) == open) - i32::from(token(at) == close);
            at += 1;
            if depth == 0 {
                break;
            }
        }
        at
    };
    let (mut kept, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        let mut end = at;
        let mut is_test = false;
        while token(end) == "#" && token(end + 1) == "[" {
            let next = close(end + 1, "[", "]");
            let attribute: Vec<&str> = (end..next).map(token).collect();
            is_test |= attribute.contains(&"cfg") && attribute.contains(&"test") && !attribute.contains(&"not");
            end = next;
        }
        if is_test && token(end) == "mod" && token(end + 2) == "{" {
            at = close(end + 2, "{", "}");
            continue;
        }
        let end = end.max(at + 1);
        kept.extend_from_slice(&tokens[at..end.min(tokens.len())]);
        at = end;
    }
    kept
}

/// The names in the tokens, without those of `use …;` and `mod …;`.
fn named_outside_of_imports<'t>(tokens: &[(usize, &'t str)]) -> HashSet<&'t str> {
    let token = |at: usize| tokens.get(at).map_or("", |&(_, token)| token);
    let (mut named, mut at) = (HashSet::new(), 0);
    while at < tokens.len() {
        let is_import = token(at) == "use" && !matches!(token(at + 1), "<") && (at == 0 || token(at - 1) != "<");
        if is_import || token(at) == "mod" && token(at + 2) == ";" {
            while at < tokens.len() && token(at) != ";" {
                at += 1;
            }
        } else {
            named.insert(token(at));
        }
        at += 1;
    }
    named
}

/// Reads `a::b::{c, d as e}` and gives each leaf; returns the place behind it.
fn tree(
    tokens: &[(usize, &str)],
    mut at: usize,
    prefix: &[String],
    leaf: &mut impl FnMut(usize, Vec<String>, Option<String>),
) -> usize {
    let token = |at: usize| tokens.get(at).map_or("", |&(_, token)| token);
    let mut path = prefix.to_vec();
    let line = tokens.get(at).map_or(0, |&(line, _)| line);
    if token(at) == "::" {
        at += 1;
        path.push(String::new()); // `::name` leads out of the crate
    }
    loop {
        match token(at) {
            "{" => {
                at += 1;
                while !matches!(token(at), "}" | "") {
                    at = tree(tokens, at, &path, leaf);
                    if token(at) == "," {
                        at += 1;
                    } else if token(at) != "}" {
                        return at; // a block of code, not a group
                    }
                }
                return at + 1;
            }
            "*" => at += 1,
            "self" if !path.is_empty() => at += 1,
            name if is_name(name) => {
                path.push(name.to_owned());
                at += 1;
                if token(at) == "::" {
                    at += 1;
                    continue;
                }
            }
            _ => {}
        }
        break;
    }
    let mut alias = None;
    if token(at) == "as" && is_name(token(at + 1)) {
        alias = Some(token(at + 1).to_owned());
        at += 2;
    }
    leaf(line, path, alias);
    at.max(1)
}

fn is_name(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// Every name, `::` and sign with its line; without comments, texts and characters.
pub fn tokens(text: &str) -> Vec<(usize, &str)> {
    let (mut tokens, mut rest, mut line) = (Vec::new(), text, 1);
    while let Some(first) = rest.chars().next() {
        let word = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            comment(rest)
        } else if first == '"' {
            quoted(rest)
        } else if first == '\'' {
            character(rest)
        } else if matches!(&rest[..word], "r" | "br" | "cr") && rest[word..].starts_with(['"', '#']) {
            let marks = rest[word..].len() - rest[word..].trim_start_matches('#').len();
            match rest[word + marks..].strip_prefix('"') {
                Some(body) => {
                    let end = format!("\"{}", "#".repeat(marks));
                    word + marks + 1 + body.find(&end).map_or(body.len(), |at| at + end.len())
                }
                None => word + marks, // r#name
            }
        } else if word > 0 {
            tokens.push((line, &rest[..word]));
            word
        } else {
            let length = if rest.starts_with("::") { 2 } else { first.len_utf8() };
            if !first.is_whitespace() {
                tokens.push((line, &rest[..length]));
            }
            length
        };
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    tokens
}

fn comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        match rest {
            [b'/', b'*', ..] => depth += 1,
            [b'*', b'/', ..] => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            break;
        }
    }
    at
}

fn quoted(text: &str) -> usize {
    let mut escaped = true; // steps over the opening quote
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// A character, or the mark of a lifetime.
fn character(text: &str) -> usize {
    let mut inside = text[1..].char_indices();
    match (inside.next(), inside.next()) {
        (Some((_, '\\')), Some((at, escaped))) => {
            let behind = 1 + at + escaped.len_utf8();
            behind + text[behind..].find('\'').map_or(0, |end| end + 1)
        }
        (Some(_), Some((at, '\''))) => 1 + at + 1,
        _ => 1,
    }
}
