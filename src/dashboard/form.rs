//! `Fields`: the fields of a query or of a form, decoded.

/// Fields in the order in which they were given.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields(Vec<(String, String)>);

impl Fields {
    /// Reads `a=1&b=2`. No text that is stored has the character 0, which not every database
    /// compares with.
    pub(super) fn read(text: &[u8]) -> Self {
        let fields = form_urlencoded::parse(text);
        Self(fields.map(|(name, value)| (name.into_owned(), value.replace('\0', ""))).collect())
    }

    /// The value of a field, if the field is given and not empty; of several the first.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(given, value)| given == name && !value.is_empty());
        found.map(|(_, value)| value.as_str())
    }

    /// The names of the fields that have a value.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|(_, value)| !value.is_empty()).map(|(name, _)| name.as_str())
    }

    /// The values of a field that may be given several times.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(given, _)| given == name).map(|(_, value)| value.as_str())
    }

    /// The fields other than one, as a query that another value of that field can follow.
    pub(super) fn without(&self, name: &str) -> String {
        let others = self.0.iter().filter(|(given, value)| given != name && !value.is_empty());
        form_urlencoded::Serializer::new(String::new()).extend_pairs(others).finish()
    }
}

/// A page of the dashboard with a query: `trigger?group=a&name=b`.
pub(super) fn link<'a>(page: &str, fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    if query.is_empty() { page.to_owned() } else { format!("{page}?{query}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_decoded_and_encoded() {
        let fields = Fields::read(b"a=x%20y%26&key=1&key=2&empty=&a=z");
        assert_eq!(fields.get("a"), Some("x y&"));
        assert_eq!(fields.all("key").collect::<Vec<_>>(), ["1", "2"]);
        assert_eq!(fields.get("empty"), None);
        assert_eq!(fields.without("key"), "a=x+y%26&a=z");
        assert_eq!(link("trigger", [("group", "a/b"), ("name", "<&>")]), "trigger?group=a%2Fb&name=%3C%26%3E");
        assert_eq!(Fields::read(b"%ff&=&&x").get("x"), None);
        assert_eq!(Fields::read(b"x=%00a").get("x"), Some("a"));
    }
}
