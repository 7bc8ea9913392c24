//! Warned: a person sees the warnings of a properties file once, and again when they change.

use crate::output::complain;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// Shows the warnings of `file`; at a terminal, unless `always`, only if they are others than the
/// last that were shown.
pub fn show(file: &Path, warnings: &[String], always: bool) {
    let shown = (std::io::stderr().is_terminal()).then(|| last_shown(file)).flatten();
    let text = warnings.join("\n");
    let before = shown.as_ref().and_then(|shown| std::fs::read_to_string(shown).ok()).unwrap_or_default();
    if text == before && shown.is_some() && !always {
        return;
    }
    for warning in warnings {
        complain(&format!("warning: {warning}"));
    }
    if let Some(shown) = shown {
        // Without the folder the warnings are shown again.
        let _ = shown.parent().map(std::fs::create_dir_all);
        let _ = std::fs::write(shown, text);
    }
}

/// The file with the warnings of `file` that were shown last, in the user's folder for such state.
fn last_shown(file: &Path) -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = folder("XDG_STATE_HOME").or_else(|| Some(folder("HOME")?.join(".local/state")))?;
    let name = std::path::absolute(file).ok()?.to_string_lossy().replace('/', "%");
    Some(state.join("carnelian/warned").join(name))
}
