//! A cursor over one element of a cron field that knows its column.

use super::error::Complaint;

/// The rest of an element, and its place in the whole expression.
#[derive(Clone, Debug)]
pub(super) struct Scan<'a> {
    pub(super) rest: &'a str,
    pub(super) column: usize,
}

impl<'a> Scan<'a> {
    pub(super) fn new(text: &'a str, column: usize) -> Self {
        Scan { rest: text, column }
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    pub(super) fn complain(&self, reason: impl Into<String>) -> Complaint {
        Complaint::new(self.column, reason)
    }

    /// Steps over `wanted` if it comes next.
    pub(super) fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.skip(1);
        }
        found
    }

    /// Steps over `count` characters, or to the end.
    pub(super) fn skip(&mut self, count: usize) {
        let mut chars = self.rest.chars();
        self.column += chars.by_ref().take(count).count();
        self.rest = chars.as_str();
    }

    /// The next `count` characters, if there are that many.
    pub(super) fn first_chars(&self, count: usize) -> Option<&'a str> {
        let end = self.rest.char_indices().map(|(at, _)| at).chain([self.rest.len()]).nth(count)?;
        self.rest.get(..end)
    }

    /// The number of digits that come next.
    pub(super) fn digits(&self) -> usize {
        self.rest.chars().take_while(char::is_ascii_digit).count()
    }

    /// Steps over a number, which must come next.
    pub(super) fn number(&mut self) -> Result<i32, Complaint> {
        let digits = self.digits();
        let text = self.rest.get(..digits).unwrap_or_default();
        let value = self.integer(text)?;
        self.skip(digits);
        Ok(value)
    }

    /// All that is left as one number, with a sign if it likes.
    pub(super) fn signed_to_end(&mut self) -> Result<i32, Complaint> {
        self.integer(self.rest)
    }

    fn integer(&self, text: &str) -> Result<i32, Complaint> {
        text.parse().map_err(|_| match self.rest {
            "" => self.complain("expected a number, found the end of the field"),
            rest => self.complain(format!("expected a number, found `{rest}`")),
        })
    }
}
