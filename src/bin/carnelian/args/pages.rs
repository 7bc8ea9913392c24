//! The commands that README and pages show are commands of this grammar.

use super::Cli;
use clap::{Command, CommandFactory};
use std::path::Path;

fn pages() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let docs = std::fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let paths = docs.filter(|path| path.extension().is_some_and(|end| end == "md")).chain([root.join("README.md")]);
    paths.map(|path| (path.display().to_string(), std::fs::read_to_string(path).unwrap())).collect()
}

/// The lines of the blocks that show a shell, with continued lines as one.
fn shell_lines(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for language in ["console", "sh"] {
        let begin = format!("```{language}\n");
        let blocks = text.split(&begin).skip(1).filter_map(|rest| rest.split("\n```").next());
        lines.extend(blocks.flat_map(|block| {
            let block = block.replace("\\\n", " ");
            block.lines().map(|line| line.trim_start_matches("$ ").to_owned()).collect::<Vec<_>>()
        }));
    }
    lines
}

/// The texts between backticks outside of blocks.
fn spans(text: &str) -> Vec<String> {
    let prose: String = text.split("```").step_by(2).collect();
    prose.split('`').skip(1).step_by(2).map(|span| span.replace("\\|", "|")).collect()
}

/// The words of a command as a shell makes them: quotes keep words together, `#`, `&` and `|` end
/// the command.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for c in line.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            None if c == '\'' || c == '"' => quote = Some(c),
            None if c == ' ' => words.push(String::new()),
            None if "#&|".contains(c) && words.last().is_some_and(String::is_empty) => break,
            _ => words.last_mut().unwrap().push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The first word that is no command and no option. The rest of a command may be missing.
fn unknown(root: &Command, shown: &str) -> Option<String> {
    let mut command = root;
    let mut after_option = false;
    for word in shown.split_whitespace().skip(1).map(|word| word.trim_matches(['[', ']', '…', ','])) {
        let was_after = std::mem::replace(&mut after_option, word.starts_with("--"));
        let option = word.strip_prefix("--").map(|word| word.split(['=', ']']).next().unwrap_or_default());
        if let Some(option) = option {
            let mut known = command.get_arguments().chain(root.get_arguments()).filter_map(|arg| arg.get_long());
            if !known.any(|long| long == option) {
                return Some(format!("`{shown}`: `{}` has no option --{option}", command.get_name()));
            }
        } else if let Some(below) = command.find_subcommand(word) {
            command = below;
        } else if !was_after && command.has_subcommands() && word.starts_with(|c: char| c.is_ascii_lowercase()) {
            return Some(format!("`{shown}`: `{}` has no command {word}", command.get_name()));
        }
    }
    None
}

/// All long options, with those of the commands below.
fn options(command: &Command) -> Vec<String> {
    let own = command.get_arguments().filter_map(|arg| arg.get_long().map(str::to_owned));
    own.chain(command.get_subcommands().flat_map(options)).collect()
}

#[test]
fn the_commands_that_pages_show_are_accepted() {
    let root = Cli::command();
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for (page, text) in pages() {
        for line in shell_lines(&text).iter().filter(|line| line.starts_with("carnelian ")) {
            seen += 1;
            let partial = line.contains('…') || line.contains('[');
            let mistake = if partial {
                unknown(&root, line)
            } else {
                root.clone().try_get_matches_from(words(line)).err().map(|error| format!("`{line}`: {error}"))
            };
            wrong.extend(mistake.map(|mistake| format!("{page}: {mistake}")));
        }
    }
    assert!(seen > 20, "{seen} commands");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Pages for contributors show options of other programs too.
const OTHER_OPTIONS: [&str; 2] = ["docs/testing.md", "docs/performance.md"];

#[test]
fn the_commands_and_options_in_sentences_exist() {
    let root = Cli::command();
    let options = options(&root);
    let mut wrong = Vec::new();
    for (page, text) in pages() {
        for span in spans(&text) {
            let mistake = if span.starts_with("carnelian ") { unknown(&root, &span) } else { None };
            let option = span.strip_prefix("--").and_then(|span| span.split([' ', '=']).next());
            let is_of_carnelian = !OTHER_OPTIONS.iter().any(|name| page.ends_with(name));
            let unknown = option.filter(|option| is_of_carnelian && !options.iter().any(|known| known == option));
            wrong.extend(mistake.or(unknown.map(|option| format!("--{option}"))).map(|what| format!("{page}: {what}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
