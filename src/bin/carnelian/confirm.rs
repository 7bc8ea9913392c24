//! Confirmation: a person is asked before much is touched; a script is not.

use crate::failure::{Failure, Outcome};
use clap::Args;
use std::io::{IsTerminal, Write};

// The consent of whoever calls; as a doc comment it would be the help of the command.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct Confirm {
    /// Does not ask first; without a terminal nothing is asked anyway
    #[arg(long, short = 'y')]
    pub yes: bool,
}

impl Confirm {
    /// True if a person is asked.
    pub fn is_asked(self) -> bool {
        !self.yes && std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
    }

    /// Asks whether something is to be done, where a person sits at a terminal; exit code 1 if it
    /// is not.
    pub fn ask(self, what: impl FnOnce() -> String) -> Outcome {
        if !self.is_asked() {
            return Ok(());
        }
        let mut out = std::io::stderr().lock();
        let _ = write!(out, "{}? [y/N] ", what());
        let _ = out.flush();
        drop(out);
        let mut answer = String::new();
        let _ = std::io::stdin().read_line(&mut answer);
        match answer.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => Ok(()),
            _ => Err(Failure::Refused("nothing was changed".to_owned())),
        }
    }
}
