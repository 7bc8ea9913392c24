//! The look of the output: plain for programs; with colours, folded lines and relative times where
//! a person looks.

use std::io::IsTerminal;
use std::sync::OnceLock;

/// The look of the output, the same for all that the process writes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Look {
    /// A terminal shows the output.
    pub is_person: bool,
    /// The columns of that terminal, if it says.
    pub width: Option<usize>,
    /// Words may have colours.
    pub has_colour: bool,
}

/// The look that standard output and the environment ask for.
pub fn look() -> Look {
    static LOOK: OnceLock<Look> = OnceLock::new();
    *LOOK.get_or_init(|| {
        let is_person = std::io::stdout().is_terminal();
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Look { is_person, width: width(), has_colour: is_person && !is_dumb && !is_set("NO_COLOR") }
    })
}

fn width() -> Option<usize> {
    window().map(|(columns, _)| columns)
}

/// The columns and rows of the terminal, as they are now, if it says.
pub fn window() -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    Some((usize::from(size.ws_col), usize::from(size.ws_row))).filter(|(columns, rows)| *columns > 0 && *rows > 0)
}
