//! The settings that the pages show are read without a complaint, and their SQL runs on every
//! database.

use carnelian::settings::Settings;
use std::path::{Path, PathBuf};

/// The README and the pages, with their texts.
fn pages() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let docs = std::fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = docs.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    paths.push(root.join("README.md"));
    paths.sort();
    assert!(paths.len() > 10, "{paths:?}");
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    paths.iter().map(|path| (name(path), std::fs::read_to_string(path).unwrap())).collect()
}

/// The code blocks of a language, each with the name of its page.
fn blocks(language: &str) -> Vec<(String, String)> {
    let begin = format!("```{language}\n");
    let mut found = Vec::new();
    for (page, text) in pages() {
        let ends = text.split(&begin).skip(1).filter_map(|rest| rest.split("```").next());
        found.extend(ends.map(|block| (page.clone(), block.to_owned())));
    }
    found
}

#[test]
fn the_settings_of_the_pages_are_read_without_a_complaint() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "a password\n").unwrap();
    let shown = blocks("properties");
    assert!(shown.len() >= 5, "{shown:?}");
    for (page, text) in shown {
        let text = text.replace("/run/secrets/db-password", &secret.display().to_string());
        let settings = Settings::from_text(&page, &text, |name| Some(format!("value-of-{name}")));
        let settings = settings.unwrap_or_else(|errors| panic!("{errors}"));
        assert!(settings.warnings().is_empty(), "{page}: {:?}", settings.warnings());
    }
}

#[cfg(all(feature = "sqlite", feature = "postgres", feature = "mysql"))]
mod sql {
    use super::blocks;
    use crate::support;
    use carnelian::settings::{DataSourceUrl, Settings};
    use carnelian::{JobDetail, JobKey, Scheduler, Trigger, TriggerKey};
    use diesel::connection::{Connection, SimpleConnection};
    use diesel::{MysqlConnection, PgConnection, SqliteConnection};

    /// Runs statements as a person does with the client of the database.
    fn run(url: &str, text: &str) -> diesel::QueryResult<()> {
        let (url, _) = DataSourceUrl::parse(url, None, None).unwrap();
        let url = url.reveal();
        if url.starts_with("postgres") {
            PgConnection::establish(url).unwrap().batch_execute(text)
        } else if url.starts_with("mysql") {
            MysqlConnection::establish(url).unwrap().batch_execute(text)
        } else {
            SqliteConnection::establish(url).unwrap().batch_execute(text)
        }
    }

    #[test]
    fn the_sql_of_the_pages_runs_on_every_database() {
        let folder = tempfile::tempdir().unwrap();
        let sqlite = format!("sqlite:{}", folder.path().join("jobs.db").display());
        let shown = blocks("sql");
        assert!(shown.len() >= 4, "{shown:?}");
        for url in [sqlite, support::postgres_url(), support::mysql_url()] {
            let name = support::fresh_name("pages");
            let settings = Settings::in_database(&name, url.parse().unwrap());
            let scheduler = Scheduler::builder().settings(settings).build().unwrap();
            scheduler.migrate().unwrap();
            let job = JobDetail::builder(JobKey::named("old"), "com.example.Old").build().unwrap();
            let trigger = Trigger::builder(TriggerKey::named("old"), job.key().clone());
            let later = chrono::DateTime::from_timestamp(4_000_000_000, 0).unwrap();
            scheduler.schedule_job(job, trigger.start_at(later).build().unwrap()).unwrap();
            let of_mysql = if url.starts_with("mysql") { blocks("mysql") } else { Vec::new() };
            for (page, text) in shown.iter().chain(&of_mysql) {
                let text = text.replace(":now", "1800000000000").replace("'billing'", &format!("'{name}'"));
                run(&url, &text).unwrap_or_else(|error| panic!("{page} on {}: {error}", &url[..6]));
            }
        }
    }
}
