//! `DataFormat`: which of the two stored forms a scheduler uses, and the limits of both.

use super::{JobDataMap, java, properties};
use crate::error::{Error, Result};
use crate::java_text::{MAX_STREAM_BYTES, is_stream};

/// The largest value of MySQL's `BLOB`. Other databases take more, but a scheduler must be able to
/// move.
pub(crate) const MAX_STORED_BYTES: usize = 65_535;

/// The form in which job data is stored: the setting `useProperties`. All nodes of a cluster must
/// agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DataFormat {
    /// The text of a `java.util.Properties`: every value a text.
    Properties,
    /// A serialised `org.quartz.JobDataMap`.
    Java,
}

impl DataFormat {
    /// Bytes that a job stores, also for an empty map.
    pub(crate) fn encode_job(self, data: &JobDataMap) -> Result<Vec<u8>> {
        let bytes = match self {
            Self::Properties => properties::encode(data),
            Self::Java if data.is_empty() => Ok(EMPTY_STREAM.to_vec()),
            Self::Java => java::encode(data),
        };
        let count = |entries| format!("{entries} entries");
        let bytes = bytes.map_err(|reason| Error::invalid("job data", count(data.len()), reason))?;
        if bytes.len() > MAX_STORED_BYTES {
            let expected = format!(
                "{} bytes are more than the {MAX_STORED_BYTES} that can be stored: keep references instead of what they \
                 refer to",
                bytes.len()
            );
            return Err(Error::invalid("job data", count(data.len()), expected));
        }
        Ok(bytes)
    }

    /// Bytes that a trigger stores: none for an empty map.
    pub(crate) fn encode_trigger(self, data: &JobDataMap) -> Result<Vec<u8>> {
        if data.is_empty() { Ok(Vec::new()) } else { self.encode_job(data) }
    }

    /// Reads what either stores. An error says, for people, why the bytes cannot be read.
    pub(crate) fn decode(self, bytes: Option<&[u8]>) -> Result<JobDataMap, String> {
        match (self, bytes) {
            (_, None | Some([])) => Ok(JobDataMap::new()),
            (_, Some(bytes)) if bytes.len() > MAX_STREAM_BYTES => {
                Err(format!("{} bytes of job data are more than the {} that are read", bytes.len(), MAX_STREAM_BYTES))
            }
            (Self::Properties, Some(bytes)) if is_stream(bytes) => {
                Err("it is a Java object stream: useProperties was not set when this was stored".to_owned())
            }
            (Self::Properties, Some(bytes)) => properties::decode(bytes),
            (Self::Java, Some(bytes)) if bytes == EMPTY_STREAM => Ok(JobDataMap::new()),
            (Self::Java, Some(bytes)) => java::decode(bytes),
        }
    }
}

/// The stream of a job without data. Most jobs have none, and each of their fires reads it.
const EMPTY_STREAM: &[u8] = include_bytes!("empty_map.ser");

/// The stored forms, for programs that move data between Quartz and Carnelian.
impl JobDataMap {
    /// Reads `JOB_DATA` as Quartz stores it without `useProperties`: a serialised `JobDataMap` or
    /// another common map of Java. No bytes are an empty map.
    ///
    /// Values of other than the common types become
    /// [`DataValue::Foreign`](super::DataValue::Foreign).
    pub fn from_java_bytes(bytes: &[u8]) -> Result<Self> {
        DataFormat::Java.public_decode(bytes)
    }

    /// The bytes that Quartz would store where `useProperties` is not set.
    pub fn to_java_bytes(&self) -> Result<Vec<u8>> {
        DataFormat::Java.encode_job(self)
    }

    /// Reads `JOB_DATA` as Quartz stores it with `useProperties`: the text of a
    /// `java.util.Properties`. All values are texts.
    pub fn from_properties_text(bytes: &[u8]) -> Result<Self> {
        DataFormat::Properties.public_decode(bytes)
    }

    /// The text that Quartz can read with `useProperties`, by name and without a date.
    ///
    /// Numbers and truth values become their text, which Quartz refuses, and `Null` becomes the
    /// empty text. Foreign values have no text and are refused.
    ///
    /// ```
    /// let data: carnelian::JobDataMap = [("to", "ops@example.org"), ("subject", "a=b")].into_iter().collect();
    /// assert_eq!(data.to_properties_text()?, b"#\nsubject=a\\=b\nto=ops@example.org\n");
    /// # Ok::<(), carnelian::Error>(())
    /// ```
    pub fn to_properties_text(&self) -> Result<Vec<u8>> {
        DataFormat::Properties.encode_job(self)
    }
}

impl DataFormat {
    fn public_decode(self, bytes: &[u8]) -> Result<JobDataMap> {
        self.decode(Some(bytes)).map_err(|reason| Error::invalid("job data", format!("{} bytes", bytes.len()), reason))
    }
}

#[cfg(test)]
mod tests {
    use super::super::DataValue;
    use super::*;

    const BOTH: [DataFormat; 2] = [DataFormat::Properties, DataFormat::Java];

    #[test]
    fn an_empty_map_is_something_for_a_job_and_nothing_for_a_trigger() {
        let empty = JobDataMap::new();
        assert_eq!(DataFormat::Properties.encode_job(&empty).expect("text"), b"#\n");
        assert_eq!(DataFormat::Java.encode_job(&empty).expect("a stream").len(), 273);
        for format in BOTH {
            assert_eq!(format.encode_trigger(&empty).expect("nothing"), b"");
            assert_eq!(format.decode(None), Ok(JobDataMap::new()));
            assert_eq!(format.decode(Some(b"")), Ok(JobDataMap::new()));
            assert_eq!(format.decode(Some(&format.encode_job(&empty).expect("bytes"))), Ok(JobDataMap::new()));
        }
    }

    #[cfg(feature = "java-streams")]
    #[test]
    fn the_stream_of_an_empty_map_is_what_is_written_of_one() {
        assert_eq!(java::encode(&JobDataMap::new()).as_deref(), Ok(EMPTY_STREAM));
        assert_eq!(java::decode(EMPTY_STREAM), Ok(JobDataMap::new()));
    }

    #[cfg(not(feature = "java-streams"))]
    #[test]
    fn without_the_feature_streams_are_refused_by_its_name() {
        let map: JobDataMap = [("k", "v")].into_iter().collect();
        assert!(DataFormat::Java.encode_job(&map).expect_err("a stream").to_string().contains("`java-streams`"));
        let mut stream = EMPTY_STREAM.to_vec();
        stream.push(0);
        assert!(DataFormat::Java.decode(Some(&stream)).expect_err("a stream").contains("`java-streams`"));
    }

    #[cfg(feature = "java-streams")]
    #[test]
    fn one_short_text_pair_is_281_bytes() {
        let map: JobDataMap = [("k", "v")].into_iter().collect();
        assert_eq!(DataFormat::Java.encode_trigger(&map).expect("a stream").len(), 281);
    }

    #[cfg(feature = "java-streams")]
    #[test]
    fn too_much_data_is_refused_with_size_and_limit() {
        for format in BOTH {
            let map = |length| [("k", "x".repeat(length))].into_iter().collect();
            let small = format.encode_job(&map(65_000)).expect("fits");
            let fits = 65_000 + MAX_STORED_BYTES - small.len();
            let bytes = format.encode_job(&map(fits)).expect("fits exactly");
            assert_eq!(bytes.len(), MAX_STORED_BYTES);
            assert_eq!(format.decode(Some(&bytes)), Ok(map(fits)));
            let error = format.encode_trigger(&map(fits + 1)).expect_err("too long").to_string();
            assert!(error.contains("65536 bytes are more than the 65535"), "{error}");
        }
    }

    #[cfg(feature = "java-streams")]
    #[test]
    fn the_other_form_is_recognised() {
        let map: JobDataMap = [("k", "v")].into_iter().collect();
        let text = DataFormat::Properties.encode_job(&map).expect("text");
        assert!(DataFormat::Java.decode(Some(&text)).expect_err("text").contains("useProperties"));
        let stream = DataFormat::Java.encode_job(&map).expect("a stream");
        assert!(DataFormat::Properties.decode(Some(&stream)).expect_err("a stream").contains("useProperties"));
    }

    #[test]
    fn numbers_become_text_with_properties() {
        let mut map = JobDataMap::new();
        map.put("i", 7);
        map.put("d", 1e300);
        map.put("b", true);
        map.put("c", "False");
        map.put("y", "yes");
        map.put("n", DataValue::Null);
        let bytes = DataFormat::Properties.encode_job(&map).expect("text");
        let read = DataFormat::Properties.decode(Some(&bytes)).expect("a map");
        assert_eq!((read.integer("i"), read.number("d"), read.flag("b")), (Some(7), Some(1e300), Some(true)));
        assert_eq!((read.flag("c"), read.flag("y")), (Some(false), None), "capitals count as small letters");
        assert_eq!((read.text("n"), read.text("d")), (Some(""), Some("1e300")));
    }
}
