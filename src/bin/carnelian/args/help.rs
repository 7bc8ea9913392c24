//! Help in groups, completions for shells, and man pages: made from the grammar.

use super::Cli;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, write};
use clap::{Command, CommandFactory, FromArgMatches};
use serde_json::json;
use std::path::Path;

/// The commands in the order of the help, in groups.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Work", &["schedule", "import", "job", "trigger", "calendar", "group", "all", "submission", "definitions"]),
    ("Runs", &["running", "history", "retry", "cancel", "fail", "parked"]),
    ("Cluster", &["top", "cluster", "drain", "undrain", "blacklist", "limit", "lock", "outages", "recovery"]),
    ("Diagnosis", &["doctor", "explain", "check", "orphans", "actions"]),
    ("Set up", &["migrate", "node", "dashboard", "cron", "completions", "man"]),
    ("Before production", &["bench", "drill"]),
];

/// The grammar, with its commands in groups where the help lists them.
pub fn command() -> Command {
    let command = Cli::command();
    let width = command.get_subcommands().map(|one| one.get_name().len()).max().unwrap_or(0);
    let mut groups = String::new();
    for (title, names) in GROUPS {
        groups.push_str(&format!("{title}:\n"));
        for one in names.iter().filter_map(|name| command.find_subcommand(name)) {
            let about = one.get_about().map(ToString::to_string).unwrap_or_default();
            groups.push_str(&format!("  {:<width$}  {about}\n", one.get_name()));
        }
        groups.push('\n');
    }
    let template = format!("{{about}}\n\n{{usage-heading}} {{usage}}\n\n{groups}Options:\n{{options}}{{after-help}}");
    command.help_template(template)
}

/// The arguments of this process; ends it with a message if they are wrong.
pub fn parse() -> Cli {
    let matches = command().get_matches();
    Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

/// Writes the completions for a shell.
pub fn completions(shell: clap_complete::Shell) -> Outcome {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "carnelian", &mut text);
    write(&String::from_utf8_lossy(&text))
}

/// Writes a man page for the command and for each command below.
pub fn man(output: Output, folder: &Path) -> Outcome {
    let cannot = |what: &'static str| {
        move |error: std::io::Error| Failure::Usage(format!("{what} `{}`: {error}", folder.display()))
    };
    std::fs::create_dir_all(folder).map_err(cannot("this folder for the man pages cannot be made:"))?;
    clap_mangen::generate_to(Cli::command(), folder).map_err(cannot("the man pages cannot be written to"))?;
    let folder = folder.display().to_string();
    output.done(json!({"folder": folder}), &format!("wrote man pages to {folder}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let command = Cli::command();
        let mut named: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        named.retain(|name| cfg!(feature = "dashboard") || *name != "dashboard");
        named.sort_unstable();
        let mut all: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        all.sort_unstable();
        assert_eq!(named, all);
        let help = super::command().render_help().to_string();
        assert!(help.contains("Diagnosis:\n  doctor ") && !help.contains("Commands:"), "{help}");
    }
}
