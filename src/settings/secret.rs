//! Secret: a text that never shows itself in Debug, Display, logs or errors.

use crate::from::from;
use std::fmt;

/// A password, or a URL that holds one.
///
/// `Debug` and `Display` write `***`. Only [`Secret::reveal`] gives the text, so that a search for
/// that word finds every place that can leak a password.
///
/// ```
/// use carnelian::settings::Secret;
///
/// let password = Secret::new("open sesame");
/// assert_eq!(format!("{password} {password:?}"), "*** ***");
/// assert_eq!(password.reveal(), "open sesame");
/// ```
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Secret(String);

impl Secret {
    /// Hides `text`.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for the one call that needs it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Says if there is nothing to hide.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

from! {
    Secret {
        String => |text| Self(text),
        &str => |text| Self(text.to_owned()),
    }
}
