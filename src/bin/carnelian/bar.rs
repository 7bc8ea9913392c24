//! `Bar`: a line at the terminal that shows how far a long command has come.

use crate::output::Output;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Duration;

/// The interval at which the line is drawn again.
const REDRAW: Duration = Duration::from_millis(100);

/// The line, which is gone with this value. A terminal shows it that standard error goes to, unless
/// the command is to be quiet; with `NO_COLOR` the line has no colour.
pub struct Bar(ProgressBar);

impl Bar {
    /// A line that is not shown yet: [`Bar::begin`] shows it.
    pub fn new(output: Output) -> Self {
        let target = if output.is_quiet() { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(None, target);
        if !bar.is_hidden() {
            bar.enable_steady_tick(REDRAW);
        }
        Self(bar)
    }

    /// Begins a step of so many parts; one whose parts nobody can count shows how long it takes.
    pub fn begin(&self, what: &'static str, parts: Option<u64>) {
        let template = match parts {
            Some(_) => "{msg} [{bar:30.green}] {human_pos}/{human_len}",
            None => "{spinner:.green} {msg} ({elapsed})",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.0.set_style(style.progress_chars("=> "));
        }
        match parts {
            Some(parts) => self.0.set_length(parts),
            None => self.0.unset_length(),
        }
        self.0.set_position(0);
        self.0.reset_elapsed();
        self.0.set_message(what);
    }

    /// Shows how many parts of the step are done.
    pub fn set(&self, done: usize) {
        self.0.set_position(done as u64);
    }

    /// Shows that one more part of the step is done.
    pub fn add_one(&self) {
        self.0.inc(1);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
