//! `--watch`: shows the same again and again, until Ctrl-C.

use crate::failure::Outcome;
use crate::look::look;
use crate::output::{Output, time, write};
use crate::value::{self, epoch_ms};
use carnelian::clock::{Clock, SystemClock};
use clap::Args;
use std::time::Duration;

// The repetition; as a doc comment it would be the help of the command.
#[derive(Args, Clone, Copy, Debug)]
pub struct Watch {
    /// Shows it again and again after this time, 200ms at least, until Ctrl-C [default: 2s]
    #[arg(long, short = 'w', value_name = "DUR", num_args = 0..=1, default_missing_value = "2s", require_equals = true, value_parser = value::duration)]
    pub watch: Option<Duration>,
}

impl Watch {
    /// Shows it once, or again and again. A terminal is cleared each time; a file gets the time
    /// before it and an empty line after it, a program a document each time.
    pub fn run(self, output: Output, mut show: impl FnMut() -> Outcome) -> Outcome {
        let Some(interval) = self.watch else { return show() };
        loop {
            if look().is_person {
                write("\u{1b}[2J\u{1b}[H")?;
            } else if !output.is_json() {
                write(&format!("{}\n", time(Some(epoch_ms(SystemClock::default().wall_time())))))?;
            }
            show()?;
            if !look().is_person && !output.is_json() {
                write("\n")?;
            }
            pause(interval.max(FOLLOWED));
        }
    }
}

/// Waits between two looks of a command that follows something.
#[expect(clippy::disallowed_methods, reason = "nothing has to be woken, and Ctrl-C ends the process")]
pub fn pause(interval: Duration) {
    std::thread::sleep(interval.max(Duration::from_millis(50)));
}

/// The interval at which a command follows something.
pub const FOLLOWED: Duration = Duration::from_millis(200);
