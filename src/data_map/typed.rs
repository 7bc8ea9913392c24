//! Typed values: what serde can write, kept in a map as JSON text.

use super::JobDataMap;
use crate::error::{Error, Result};
use serde::{Serialize, de::DeserializeOwned};

/// The key of a submission's payload.
pub(crate) const PAYLOAD: &str = "payload";

impl JobDataMap {
    /// Sets `key` to the value, written as JSON text, which nodes of any version and of Java can
    /// read.
    ///
    /// ```
    /// use carnelian::JobDataMap;
    ///
    /// let mut data = JobDataMap::new();
    /// data.put_typed("lines", &vec![("bolt", 12), ("nut", 12)])?;
    /// assert_eq!(data.text("lines"), Some(r#"[["bolt",12],["nut",12]]"#));
    /// assert_eq!(data.typed::<Vec<(String, u32)>>("lines")?.unwrap().len(), 2);
    /// # Ok::<(), carnelian::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] for a value that is no JSON, such as a map whose keys are no texts.
    pub fn put_typed<T: Serialize + ?Sized>(&mut self, key: impl Into<String>, value: &T) -> Result<()> {
        let json = serde_json::to_string(value)
            .map_err(|why| Error::invalid("job data", std::any::type_name::<T>(), format!("expected JSON: {why}")))?;
        self.put(key, json);
        Ok(())
    }

    /// The value that [`JobDataMap::put_typed`] stored under `key`; none if the key is not there.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the value is no text, or no JSON of a `T`, as after a change of the
    /// program.
    pub fn typed<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>> {
        if self.value(key).is_none() {
            return Ok(None);
        }
        let expected = |why: String| {
            let expected = format!("expected JSON of a {}: {why}", std::any::type_name::<T>());
            Error::invalid("job data", key, expected)
        };
        let text = self.text(key).ok_or_else(|| expected("it is no text".to_owned()))?;
        serde_json::from_str(text).map(Some).map_err(|why| expected(why.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_value_of_the_type_is_named() {
        let mut data = JobDataMap::new();
        data.put_typed("n", &7).unwrap();
        data.put("flag", true);
        assert_eq!((data.typed("n").unwrap(), data.typed::<u8>("none").unwrap()), (Some(7), None));
        for key in ["n", "flag"] {
            let error = data.typed::<Vec<String>>(key).unwrap_err().to_string();
            assert!(error.contains(&format!("`{key}`")) && error.contains("Vec<alloc::string::String>"), "{error}");
        }
        let keys = std::collections::BTreeMap::from([((1, 2), 3)]);
        assert!(data.put_typed("k", &keys).unwrap_err().to_string().contains("JSON"));
    }
}
