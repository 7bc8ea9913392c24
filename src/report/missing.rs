//! Missing keys: the words for a job or trigger that does not exist, with the way to write the one
//! that was meant.

use crate::error::Result;
use crate::key::{JobKey, TriggerKey};
use crate::store::JobStore;
use serde_json::json;

/// The most dots at which a key is split to find it.
const MOST_DOTS: usize = 20;

/// The words for something that does not exist. A key is split at its first dot: a job or trigger
/// that exists, split at a later dot, is named as it must be written.
pub fn missing(store: &JobStore, what: &str, key: &str) -> String {
    let is_there = |group: &str, name: &str| match what {
        "job" => store.catalogue().job_exists(&JobKey::new(group, name)),
        "trigger" => store.catalogue().trigger_exists(&TriggerKey::new(group, name)),
        _ => Ok(false),
    };
    // A database that does not answer costs the advice only.
    let advice = match stored_split(key, is_there) {
        Ok(Some((group, name))) => {
            let written = json!([group, name]);
            format!(": a key is split at its first dot, so write the {what} of group `{group}` as '{written}'")
        }
        _ => String::new(),
    };
    format!("{what} `{key}` does not exist{advice}")
}

/// The group and the name of a text `group.name`, split at the first dot where that `is_there`.
///
/// # Errors
/// The error of `is_there`.
pub fn stored_split(text: &str, is_there: impl Fn(&str, &str) -> Result<bool>) -> Result<Option<(&str, &str)>> {
    for (at, _) in text.match_indices('.').take(MOST_DOTS) {
        let (group, name) = (text.get(..at).unwrap_or_default(), text.get(at + 1..).unwrap_or_default());
        if !group.is_empty() && !name.is_empty() && is_there(group, name)? {
            return Ok(Some((group, name)));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_at_the_dot_where_it_was_split() {
        let is_there = |group: &str, name: &str| Ok((group, name) == ("com.acme", "t.1"));
        assert_eq!(stored_split("com.acme.t.1", is_there).unwrap(), Some(("com.acme", "t.1")));
        assert_eq!(stored_split("com.acme.t", is_there).unwrap(), None);
        assert_eq!(stored_split(".com.", |_, _| Ok(true)).unwrap(), None, "no part is empty");
    }
}
