//! Loader: a settings file read with more prefixes for applications, or another environment.

use crate::debug_fields::debug_fields;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::Settings;
use super::problem::{Place, SettingsError, SettingsErrorKind, SettingsErrors};
use super::reader::Reader;

/// Largest file that is read, in bytes.
const FILE_LIMIT: u64 = 4 * 1024 * 1024;

type Environment<'a> = Box<dyn Fn(&str) -> Option<String> + 'a>;

/// Reads settings where [`Settings::from_file`] is not enough.
///
/// ```
/// use carnelian::settings::SettingsLoader;
///
/// let settings = SettingsLoader::new()
///     .free_prefix("billing.")
///     .environment(|_| None)
///     .text("app.properties", "billing.currency = EUR")?;
/// assert_eq!(settings.extra["billing.currency"], "EUR");
/// # Ok::<(), carnelian::settings::SettingsErrors>(())
/// ```
pub struct SettingsLoader<'a> {
    free: Vec<String>,
    environment: Environment<'a>,
}

impl Settings {
    /// Reads a properties file; `${env:NAME}` looks into the environment of the process.
    ///
    /// # Errors
    /// All problems of the file at once, or that it cannot be read.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, SettingsErrors> {
        SettingsLoader::new().file(path)
    }

    /// Reads a text in the format of `java.util.Properties`. `name` is the name of the file in
    /// messages. `environment` answers `${env:NAME}`.
    ///
    /// ```
    /// use carnelian::settings::{InstanceIdSetting, Settings};
    ///
    /// let text = "
    ///     org.quartz.scheduler.instanceName = billing
    ///     org.quartz.scheduler.instanceId = ${env:POD_NAME:AUTO}
    ///     org.quartz.threadPool.threadCount = 5
    ///     org.quartz.jobStore.class = org.quartz.impl.jdbcjobstore.JobStoreTX
    ///     org.quartz.jobStore.isClustered = true
    ///     org.quartz.jobStore.dataSource = db
    ///     org.quartz.dataSource.db.URL = jdbc:postgresql://db.example.org/jobs
    ///     org.quartz.dataSource.db.user = me
    ///     org.quartz.dataSource.db.password = ${env:DB_PASSWORD}
    /// ";
    /// let environment = |name: &str| (name == "DB_PASSWORD").then(|| "open sesame".to_owned());
    /// let settings = Settings::from_text("quartz.properties", text, environment)?;
    /// assert_eq!(settings.scheduler.instance_id, InstanceIdSetting::Auto);
    /// assert_eq!(settings.thread_pool.thread_count, 5);
    /// assert!(!format!("{settings:?}").contains("sesame"));
    ///
    /// let errors = Settings::from_text("x.properties", "threadPool.threadCount = ten", |_| None).unwrap_err();
    /// assert_eq!(
    ///     errors.to_string(),
    ///     r#"x.properties:1: threadPool.threadCount = "ten": expected a whole number from 1 to 1000"#
    /// );
    /// # Ok::<(), carnelian::settings::SettingsErrors>(())
    /// ```
    ///
    /// # Errors
    /// All problems of the text at once.
    pub fn from_text(
        name: &str,
        text: &str,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, SettingsErrors> {
        SettingsLoader::new().environment(environment).text(name, text)
    }
}

impl<'a> SettingsLoader<'a> {
    /// Reads the environment of the process, and leaves `demo.` to applications.
    pub fn new() -> Self {
        Self { free: vec!["demo.".to_owned()], environment: Box::new(|name| std::env::var(name).ok()) }
    }

    /// Leaves all unknown keys that begin with `prefix` to the application, in [`Settings::extra`].
    ///
    /// Keys that begin with `org.quartz.` are never free.
    #[must_use]
    pub fn free_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.free.push(prefix.into());
        self
    }

    /// Answers `${env:NAME}` by `environment` instead of the environment of the process.
    #[must_use]
    pub fn environment(mut self, environment: impl Fn(&str) -> Option<String> + 'a) -> Self {
        self.environment = Box::new(environment);
        self
    }

    /// Reads a file of at most 4 MiB.
    ///
    /// # Errors
    /// All problems of the file at once, or that it cannot be read.
    pub fn file(&self, path: impl AsRef<Path>) -> Result<Settings, SettingsErrors> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let mut bytes = Vec::new();
        let read = File::open(path).and_then(|file| file.take(FILE_LIMIT + 1).read_to_end(&mut bytes));
        match read {
            Ok(_) => self.bytes(&name, &bytes),
            Err(error) => Err(unreadable(&name, format!("cannot be read: {error}"))),
        }
    }

    /// Reads a text; `name` stands for the file in messages.
    ///
    /// # Errors
    /// All problems of the text at once.
    pub fn text(&self, name: &str, text: &str) -> Result<Settings, SettingsErrors> {
        self.bytes(name, text.as_bytes())
    }

    fn bytes(&self, name: &str, bytes: &[u8]) -> Result<Settings, SettingsErrors> {
        if bytes.len() as u64 > FILE_LIMIT {
            return Err(unreadable(name, format!("larger than {FILE_LIMIT} bytes")));
        }
        let mut reader = Reader::new(name, bytes, &self.free, &*self.environment);
        let mut settings = Settings::read(&mut reader);
        let (errors, warnings) = reader.finish();
        if errors.is_empty() {
            settings.warnings = warnings;
            Ok(settings)
        } else {
            Err(SettingsErrors::new(errors, warnings))
        }
    }
}

impl Default for SettingsLoader<'_> {
    fn default() -> Self {
        Self::new()
    }
}

debug_fields! { SettingsLoader<'_> { free } finish_non_exhaustive |me| }

fn unreadable(name: &str, message: String) -> SettingsErrors {
    let place = Place { file: name.to_owned(), line: None, key: None, value: None, became: None };
    let error = SettingsError { place, kind: SettingsErrorKind::Unreadable, message, suggestion: None };
    SettingsErrors::new(vec![error], Vec::new())
}
