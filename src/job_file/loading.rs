//! Loading: from a file or its text to a `JobFile`.

use super::document;
use super::reader::Reader;
use super::{JobFile, JobFileError, JobFileErrors, LOADER_GROUP};
use crate::zone;
use chrono_tz::Tz;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::Path;

impl JobFile {
    /// Reads a file of at most 16 MiB, with the time zone of this machine.
    ///
    /// # Errors
    /// All problems of the file at once, or that it cannot be read.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, JobFileErrors> {
        Self::read_in_zone(path, zone::of_machine())
    }

    /// Reads a file of at most 16 MiB; times without an offset are those of `zone`.
    ///
    /// # Errors
    /// As [`JobFile::read`].
    pub fn read_in_zone(path: impl AsRef<Path>, zone: Tz) -> Result<Self, JobFileErrors> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let mut bytes = Vec::new();
        let limit = u64::try_from(document::FILE_LIMIT).unwrap_or(u64::MAX).saturating_add(1);
        match File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes)) {
            Ok(_) => Self::parse(&name, &bytes, zone),
            Err(error) => Err(JobFileError::of_file(&name, format!("cannot be read: {error}")).into()),
        }
    }

    /// Reads the contents of a file. `name` is the file's name in messages, `zone` the machine's
    /// time zone.
    ///
    /// # Errors
    /// All problems of the file at once.
    pub fn parse(name: &str, bytes: &[u8], zone: Tz) -> Result<Self, JobFileErrors> {
        let root = document::read(name, bytes)?;
        let mut reader = Reader { file: name, zone, problems: Vec::new() };
        let contents = reader.contents(&root);
        if !reader.problems.is_empty() {
            return Err(JobFileErrors::new(reader.problems));
        }
        let protected = BTreeSet::from([LOADER_GROUP.to_owned()]);
        Ok(Self {
            name: name.to_owned(),
            commands: contents.commands,
            directives: contents.directives,
            jobs: contents.jobs,
            triggers: contents.triggers,
            protected_job_groups: protected.clone(),
            protected_trigger_groups: protected,
            keeps_unchanged: false,
        })
    }
}
