//! The public surface: what documentation shows, read from the source and kept as a file, so that a
//! change of it is seen in review.
//!
//! An item is shown if it is `pub`, a path of public modules or `pub use` leads to it, and nothing
//! on that path is `#[doc(hidden)]`. Implementations of traits are not listed.

use super::{library, module_of, none};
use quote::ToTokens;
use std::collections::{BTreeMap, BTreeSet};
use syn::{Attribute, Fields, ImplItem, Item, TraitItem, UseTree, Visibility};

/// Most names in the root of the crate.
const MOST_NAMES: usize = 60;

const FILE: &str = "tests/architecture/public_surface.txt";

/// Set to rewrite the file.
const RENEW: &str = "CARNELIAN_RENEW_SURFACE";

type Path = Vec<String>;

#[test]
fn the_listed_surface_is_that_of_the_source() {
    let surface = Surface::read();
    let listing = format!(
        "# The documented items of the crate. `{RENEW}=1 cargo test --test architecture surface` renews this file.\n{}\n",
        surface.listing().join("\n")
    );
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE);
    if std::env::var_os(RENEW).is_some() {
        std::fs::write(&file, &listing).unwrap();
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    let (kept, found): (BTreeSet<&str>, BTreeSet<&str>) = (kept.lines().collect(), listing.lines().collect());
    let gone = kept.difference(&found).map(|line| format!("- {line}"));
    let new = found.difference(&kept).map(|line| format!("+ {line}"));
    let changes: Vec<String> = gone.chain(new).collect();
    none(&format!("{FILE} is not the surface: review the change and run this test with {RENEW}=1"), &changes);
}

#[test]
fn the_root_holds_few_names() {
    let surface = Surface::read();
    let names: Vec<&String> = surface.shown.values().flatten().filter(|path| path.len() == 1).flatten().collect();
    assert!(names.len() <= MOST_NAMES, "{} names, at most {MOST_NAMES}: {names:?}", names.len());
    assert!(names.iter().any(|name| *name == "Scheduler"), "{names:?}");
}

#[test]
fn what_is_shown_names_nothing_that_is_hidden() {
    let surface = Surface::read();
    let shown: BTreeSet<&String> = surface.shown.keys().filter_map(|home| home.last()).collect();
    let hidden: BTreeSet<&String> = surface.types.iter().filter(|name| !shown.contains(name)).collect();
    let mut found = Vec::new();
    for line in surface.listing() {
        let signature = [": ", "::fn ", "::const "].iter().filter_map(|sign| line.find(sign)).min();
        let words = line[signature.unwrap_or(0)..].split(|c: char| !c.is_alphanumeric() && c != '_');
        for word in words.filter(|word| hidden.contains(&(*word).to_owned())) {
            found.push(format!("{word} in: {line}"));
        }
    }
    none("types that no public module shows", &found);
}

#[test]
fn times_have_types() {
    let is_bare = |word: &str| word == "ms" || word.ends_with("_ms");
    let has_bare = |line: &String| line.split(|c: char| !c.is_alphanumeric() && c != '_').any(is_bare);
    let found: Vec<String> = Surface::read().listing().into_iter().filter(has_bare).collect();
    none("milliseconds as numbers: expected a `DateTime<Utc>` or a `Duration`", &found);
}

struct Surface {
    modules: BTreeMap<Path, Vec<Item>>,
    /// The place where an item is defined, and the paths under which it is shown.
    shown: BTreeMap<Path, Vec<Path>>,
    /// Names of all types and traits that are `pub` wherever they stand.
    types: BTreeSet<String>,
}

impl Surface {
    fn read() -> Self {
        let mut modules = BTreeMap::new();
        for (file, text) in library() {
            let parsed = syn::parse_file(&text).unwrap_or_else(|why| panic!("src/{file}: {why}"));
            add_module(&mut modules, module_of(&file), parsed.items);
        }
        let types = modules.values().flatten().filter_map(type_name).collect();
        let mut surface = Self { modules, shown: BTreeMap::new(), types };
        let mut shown = BTreeMap::new();
        surface.walk(&Path::new(), &Path::new(), &mut shown);
        surface.shown = shown;
        surface
    }

    /// Shows what is public in the module, which is seen under `path`.
    fn walk(&self, module: &Path, path: &Path, shown: &mut BTreeMap<Path, Vec<Path>>) {
        for item in self.modules.get(module).into_iter().flatten() {
            match item {
                Item::Mod(child) if is_shown(&child.vis, &child.attrs) => {
                    let name = child.ident.to_string();
                    self.walk(&below(module, &name), &below(path, &name), shown);
                }
                Item::Use(import) if is_shown(&import.vis, &import.attrs) => {
                    for (target, name) in leaves(&import.tree) {
                        match self.resolve(module, &target) {
                            Some(home) if self.modules.contains_key(&home) => {
                                self.walk(&home, &below(path, &name), shown)
                            }
                            Some(home) => shown.entry(home).or_default().push(below(path, &name)),
                            None => {} // of another crate
                        }
                    }
                }
                _ => {
                    let name = head(item).filter(|(vis, attrs, _)| is_shown(vis, attrs)).map(|(_, _, name)| name);
                    if let Some(name) = name {
                        shown.entry(below(module, &name)).or_default().push(below(path, &name));
                    }
                }
            }
        }
    }

    /// The definition that a path means in a module; none if the path is of another crate.
    fn resolve(&self, module: &Path, path: &[String]) -> Option<Path> {
        let (first, rest) = path.split_first()?;
        let base = match first.as_str() {
            "crate" => Path::new(),
            "self" => module.clone(),
            "super" => module.split_last()?.1.to_vec(),
            name => {
                let items = self.modules.get(module)?;
                if self.modules.contains_key(&below(module, name))
                    || items.iter().any(|item| defines(item, name) || is_made(item, name))
                {
                    below(module, name)
                } else {
                    let imports = items.iter().filter_map(|item| match item {
                        Item::Use(import) => Some(leaves(&import.tree)),
                        _ => None,
                    });
                    let (target, _) = imports
                        .flatten()
                        .find(|(target, alias)| alias == name && !(target.len() == 1 && target[0] == *name))?;
                    self.resolve(module, &target)?
                }
            }
        };
        match rest {
            [] => Some(base),
            _ if self.modules.contains_key(&base) => self.resolve(&base, rest),
            _ => None,
        }
    }

    /// One line for each item that is shown, for each further path to it, and for each of its
    /// parts.
    fn listing(&self) -> Vec<String> {
        let mut lines = BTreeSet::new();
        for (home, paths) in &self.shown {
            let mut paths: Vec<String> = paths.iter().map(|path| path.join("::")).collect();
            paths.sort_by_key(|path| (path.matches("::").count(), path.clone()));
            paths.dedup();
            let Some((first, others)) = paths.split_first() else { continue };
            lines.extend(others.iter().map(|other| format!("{other} = {first}")));
            let (name, module) = home.split_last().expect("a name");
            let items = self.modules.get(module).into_iter().flatten().filter(|item| defines(item, name));
            let mut parts = Vec::new();
            items.for_each(|item| describe(item, name, &mut parts));
            if parts.is_empty() {
                parts.push(": made by a macro".to_owned());
            }
            lines.extend(parts.iter().map(|part| format!("{first}{part}")));
        }
        for (home, function) in self.functions() {
            let paths = self.shown.get(&home).into_iter().flatten();
            let paths = paths.min_by_key(|path| (path.len(), path.join("::")));
            lines.extend(paths.map(|path| format!("{}::{function}", path.join("::"))));
        }
        lines.into_iter().collect()
    }

    /// The public functions and constants of the types of the crate, each with the type's home.
    fn functions(&self) -> Vec<(Path, String)> {
        let mut found = Vec::new();
        for (module, items) in &self.modules {
            for item in items {
                let Item::Impl(block) = item else { continue };
                let syn::Type::Path(of) = &*block.self_ty else { continue };
                let path: Path = of.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
                let Some(home) = self.resolve(module, &path).filter(|_| block.trait_.is_none()) else { continue };
                let setters = block.items.iter().filter_map(|part| match part {
                    ImplItem::Macro(call) if call.mac.path.is_ident("setters") => Some(setters(&call.mac)),
                    _ => None,
                });
                let setters: Vec<ImplItem> = setters.flatten().collect();
                let parts = block.items.iter().chain(&setters).filter_map(|part| match part {
                    ImplItem::Fn(part) if is_shown(&part.vis, &part.attrs) => Some(text(&part.sig)),
                    ImplItem::Const(part) if is_shown(&part.vis, &part.attrs) => {
                        Some(format!("const {}: {}", part.ident, text(&part.ty)))
                    }
                    _ => None,
                });
                found.extend(parts.map(|part| (home.clone(), part)));
            }
        }
        found
    }
}

fn add_module(modules: &mut BTreeMap<Path, Vec<Item>>, path: Path, items: Vec<Item>) {
    let mut items: Vec<Item> = expanded(items).into_iter().filter(|item| !is_for_tests(item)).collect();
    for item in &mut items {
        if let Item::Mod(child) = item
            && let Some((_, inner)) = child.content.take()
        {
            add_module(modules, below(&path, &child.ident.to_string()), inner);
        }
    }
    modules.entry(path).or_default().extend(items);
}

/// The items, with those that a macro of the same file makes for a name, as `key!(JobKey, …)` does.
fn expanded(items: Vec<Item>) -> Vec<Item> {
    let macros = items.iter().filter_map(|item| match item {
        Item::Macro(item) => Some((item, item.mac.tokens.to_string())),
        _ => None,
    });
    let (rules, calls): (Vec<_>, Vec<_>) = macros.partition(|(item, _)| item.ident.is_some());
    let made = calls.iter().filter_map(|(call, arguments)| {
        let (_, rule) = rules.iter().find(|(rule, _)| call.mac.path.is_ident(rule.ident.as_ref().unwrap()))?;
        let body = rule.split_once("=> {")?.1.rsplit_once('}')?.0;
        let name = arguments.split(|c: char| !c.is_alphanumeric()).next()?;
        let mut pieces = body.split('$').map(str::trim_start);
        let mut filled = pieces.next()?.to_owned();
        for piece in pieces {
            let end = piece.find(|c: char| !c.is_alphanumeric() && c != '_')?;
            filled += if &piece[..end] == "name" { name } else { "\"text\"" };
            filled += &piece[end..];
        }
        Some(syn::parse_str::<syn::File>(&filled).ok()?.items)
    });
    let rows = calls.iter().filter_map(|(_, text)| row(text));
    let words = calls.iter().filter(|(call, _)| call.mac.path.is_ident("words")).filter_map(|(_, text)| words(text));
    let made: Vec<Item> = made.flatten().chain(rows).chain(words).collect();
    items.into_iter().chain(made).collect()
}

/// The functions that `src/words.rs` gives an enumeration.
fn words(arguments: &str) -> Option<Item> {
    let (head, values) = arguments.rsplit_once('{')?;
    let (name, count) = (head.split_whitespace().next_back()?, values.matches('=').count());
    let all = format!("pub const ALL: [Self; {count}] = [];");
    let (name_of, of_name) =
        ("pub fn name(self) -> &'static str {}", "pub fn from_name(name: &str) -> Option<Self> {}");
    syn::parse_str(&format!("impl {name} {{ {all} {name_of} {of_name} }}")).ok()
}

/// The methods that `src/setters.rs` makes, which stand there without `self` and their answer.
fn setters(call: &syn::Macro) -> Vec<ImplItem> {
    let block: syn::ItemImpl = syn::parse_str(&format!("impl Of {{ {} }}", call.tokens)).expect("setters");
    let whole = |part| match part {
        ImplItem::Fn(mut part) => {
            part.sig.inputs.insert(0, syn::parse_quote!(mut self));
            part.sig.output = syn::parse_quote!(-> Self);
            ImplItem::Fn(part)
        }
        part => part,
    };
    block.items.into_iter().map(whole).collect()
}

/// The struct of a row of a table, whose macro has the names of columns behind its fields.
fn row(arguments: &str) -> Option<Item> {
    let (attributes, rest) = arguments.split_once("pub struct")?;
    let (head, fields) = rest.split_once('{')?;
    let name = head.split_whitespace().next()?;
    let fields = fields.replace(" as ZeroIsNone", "").replace(" as NotStored", "");
    let mut pieces = fields.split(" = [");
    let mut filled = format!("{attributes} pub struct {name} {{ {}", pieces.next()?);
    for piece in pieces {
        filled += piece.split_once(']')?.1;
    }
    syn::parse_str(&filled).ok()
}

fn below(path: &[String], name: &str) -> Path {
    path.iter().cloned().chain([name.to_owned()]).collect()
}

fn is_shown(vis: &Visibility, attrs: &[Attribute]) -> bool {
    matches!(vis, Visibility::Public(_)) && !attrs.iter().any(|attr| text(attr) == "#[doc(hidden)]")
}

fn is_for_tests(item: &Item) -> bool {
    let attrs = match item {
        Item::Mod(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        _ => return false,
    };
    attrs.iter().any(|attr| text(attr) == "#[cfg(test)]")
}

/// The leaves of a `use` tree: the path, and the name that it has here.
fn leaves(tree: &UseTree) -> Vec<(Path, String)> {
    match tree {
        UseTree::Path(path) => {
            let first = path.ident.to_string();
            let inner = leaves(&path.tree).into_iter();
            inner
                .map(|(rest, name)| match rest[..] {
                    [ref only] if only == "self" => (vec![first.clone()], first.clone()),
                    _ => ([first.clone()].into_iter().chain(rest).collect(), name),
                })
                .collect()
        }
        UseTree::Name(name) => vec![(vec![name.ident.to_string()], name.ident.to_string())],
        UseTree::Rename(name) => vec![(vec![name.ident.to_string()], name.rename.to_string())],
        UseTree::Group(group) => group.items.iter().flat_map(leaves).collect(),
        UseTree::Glob(_) => Vec::new(),
    }
}

fn head(item: &Item) -> Option<(&Visibility, &[Attribute], String)> {
    match item {
        Item::Struct(item) => Some((&item.vis, &item.attrs, item.ident.to_string())),
        Item::Enum(item) => Some((&item.vis, &item.attrs, item.ident.to_string())),
        Item::Trait(item) => Some((&item.vis, &item.attrs, item.ident.to_string())),
        Item::Type(item) => Some((&item.vis, &item.attrs, item.ident.to_string())),
        Item::Const(item) => Some((&item.vis, &item.attrs, item.ident.to_string())),
        Item::Static(item) => Some((&item.vis, &item.attrs, item.ident.to_string())),
        Item::Fn(item) => Some((&item.vis, &item.attrs, item.sig.ident.to_string())),
        _ => None,
    }
}

fn defines(item: &Item, name: &str) -> bool {
    head(item).is_some_and(|(_, _, own)| own == name)
}

/// True if a macro is called with the name.
fn is_made(item: &Item, name: &str) -> bool {
    match item {
        Item::Macro(call) => call.mac.tokens.to_string().split_whitespace().any(|word| word == name),
        _ => false,
    }
}

fn type_name(item: &Item) -> Option<String> {
    let is_type = matches!(item, Item::Struct(_) | Item::Enum(_) | Item::Trait(_) | Item::Type(_));
    head(item).filter(|(vis, _, _)| is_type && matches!(vis, Visibility::Public(_))).map(|(_, _, name)| name)
}

/// The item and its parts, each as what follows the item's path.
fn describe(item: &Item, name: &str, parts: &mut Vec<String>) {
    let may_grow = |attrs: &[Attribute]| match attrs.iter().any(|attr| text(attr) == "#[non_exhaustive]") {
        true => " #[non_exhaustive]",
        false => "",
    };
    match item {
        Item::Struct(item) => {
            parts.push(format!(": struct{}{}", text(&item.generics), may_grow(&item.attrs)));
            parts.extend(fields(&item.fields, true));
        }
        Item::Enum(item) => {
            parts.push(format!(": enum{}{}", text(&item.generics), may_grow(&item.attrs)));
            for variant in &item.variants {
                parts.push(format!("::{}: variant{}", variant.ident, may_grow(&variant.attrs)));
                let inner = fields(&variant.fields, false).into_iter();
                parts.extend(inner.map(|field| format!("::{}{field}", variant.ident)));
            }
        }
        Item::Trait(item) => {
            parts.push(format!(": trait {name}{}", text(&item.generics)));
            let functions = item.items.iter().filter_map(|part| match part {
                TraitItem::Fn(part) => Some(format!("::{}", text(&part.sig))),
                _ => None,
            });
            parts.extend(functions);
        }
        Item::Type(item) => parts.push(format!(": type = {}", text(&item.ty))),
        Item::Const(item) => parts.push(format!(": const {}", text(&item.ty))),
        Item::Static(item) => parts.push(format!(": static {}", text(&item.ty))),
        Item::Fn(item) => parts.push(format!(": {}", text(&item.sig))),
        _ => {}
    }
}

fn fields(fields: &Fields, only_public: bool) -> Vec<String> {
    let shown = fields.iter().enumerate().filter(|(_, field)| !only_public || is_shown(&field.vis, &field.attrs));
    let name = |at: usize, field: &syn::Field| field.ident.as_ref().map_or(at.to_string(), ToString::to_string);
    shown.map(|(at, field)| format!("::{}: field {}", name(at, field), text(&field.ty))).collect()
}

/// Tokens as people write them.
fn text(tokens: &impl ToTokens) -> String {
    let raw = tokens.to_token_stream().to_string();
    let mut out = String::new();
    let mut before = "";
    for token in raw.split_whitespace() {
        let opens = |token: &str| token.ends_with(['(', '[', '<', '&', '!', '#']) || token.ends_with("::");
        let closes = [",", ";", ":", ")", "]", ">", "?", ".", "(", "["].iter().any(|sign| token.starts_with(sign));
        let is_value = token.starts_with(['(', '[']) && (before == "->" || before.ends_with([',', ':', '=', '+']));
        let is_tight = opens(before) || token.starts_with('<') || closes && !is_value;
        if !out.is_empty() && !is_tight {
            out.push(' ');
        }
        out.push_str(token);
        before = token;
    }
    out.replace(",)", ")")
}
