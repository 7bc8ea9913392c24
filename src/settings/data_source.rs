//! Data source settings: which database the job store uses, and its pool of connections.

use std::time::Duration;

use super::choices::{POOLER, Pooler, SYNCHRONOUS, Synchronous};
use super::job_store::{ClockSource, JobStoreSettings, StoreKind};
use super::keys::QUARTZ_PREFIX;
use super::reader::{Reader, is_class};
use super::secret::Secret;
use super::thread_pool::misnamed;
use super::url::{Backend, DataSourceUrl};

/// The number of threads that may want a connection at the same time: acquisition, completion,
/// misfires, cluster, callers.
const THREADS: u32 = 5;

const STD_DELEGATE: &str = "org.quartz.impl.jdbcjobstore.StdJDBCDelegate";
const POSTGRES_DELEGATE: &str = "org.quartz.impl.jdbcjobstore.PostgreSQLDelegate";

/// JDBC drivers, and the database each is for.
const DRIVERS: &[(&str, Backend)] = &[
    ("org.postgresql.Driver", Backend::Postgres),
    ("com.mysql.cj.jdbc.Driver", Backend::Mysql),
    ("com.mysql.jdbc.Driver", Backend::Mysql),
    ("org.mariadb.jdbc.Driver", Backend::Mysql),
    ("org.sqlite.JDBC", Backend::Sqlite),
];

/// The database that `jobStore.dataSource` names, and its pool (`org.quartz.dataSource.NAME.*`).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DataSourceSettings {
    /// The name it has in the file.
    pub name: String,
    /// The database, with user and password.
    /// Properties `dataSource.NAME.URL`, `.user` and `.password`. User and password of their own
    /// replace those in the URL.
    pub url: DataSourceUrl,
    /// The largest number of connections of the pool; 10. Jobs hold none: five connections serve
    /// acquisition, completion, misfires, the cluster and one caller.
    /// Property `dataSource.NAME.maxConnections`.
    pub max_connections: u32,
    /// A switch: the pool tries a connection each time before the connection is used; no.
    /// Property `dataSource.NAME.validateOnCheckout`.
    pub validate_on_checkout: bool,
    /// The time after which an unused connection is closed; 10 minutes.
    /// Properties `dataSource.NAME.maxIdleTime` and `.discardIdleConnectionsSeconds` (both in
    /// seconds, 0 is never).
    pub idle_timeout: Option<Duration>,
    /// The time after which a connection is closed, in use or not, once it is given back; never.
    /// Properties `dataSource.NAME.maxConnectionAge` (seconds, 0 is never) and `.maxLifetime`
    /// (milliseconds, 0 is never).
    pub max_age: Option<Duration>,
    /// A statement for each new connection.
    /// Property `dataSource.NAME.connectionInitSql`.
    pub init_sql: Option<String>,
    /// Time for which a thread waits for a connection; 30 s.
    /// Property `carnelian.dataSource.connectionTimeout` (ms, or a text such as `30s`).
    pub connection_timeout: Duration,
    /// Level to which SQLite writes a commit before its end; the disk.
    /// Property `carnelian.dataSource.synchronous`.
    pub synchronous: Synchronous,
    /// The pooler before PostgreSQL; the store looks by itself.
    /// Property `carnelian.dataSource.pooler`.
    pub pooler: Pooler,
    /// The PostgreSQL itself, on which nodes listen for notifications where a pooler that lends
    /// sessions by the transaction stands before it; nowhere, so that nodes poll. User and password
    /// of their own replace those in the URL, as in the URL of the data source.
    /// Property `carnelian.dataSource.listenUrl`.
    pub listen_url: Option<DataSourceUrl>,
}

impl DataSourceSettings {
    /// A data source with defaults for everything but its name and URL.
    pub fn new(name: impl Into<String>, url: DataSourceUrl) -> Self {
        let reader = Reader::default();
        Self { name: name.into(), url, ..Self::rest(&reader, "NAME") }
    }

    /// Reads the data source that the store names; nothing for a store in memory.
    ///
    /// On SQLite the store's clock becomes the node's, for SQLite has no other.
    pub(crate) fn read(reader: &mut Reader, store: &mut JobStoreSettings) -> Option<Self> {
        let names = reader.names("dataSource.");
        let used = match store.kind {
            StoreKind::Sql => store.data_source.clone(),
            StoreKind::Memory => None,
        };
        for name in names.iter().filter(|name| used.as_ref() != Some(*name)) {
            if used.is_some() || store.kind == StoreKind::Memory {
                let instead = match &used {
                    Some(used) => format!("not used: jobStore.dataSource is {used}"),
                    None => "not used: the store is in memory".to_owned(),
                };
                reader.warn_group("dataSource.", name, &instead);
            }
        }
        if store.kind == StoreKind::Memory {
            if reader.stands("jobStore.dataSource") {
                reader.warn("jobStore.dataSource", "not used: the store is in memory");
            }
            return None;
        }
        let Some(name) = used else {
            Self::report_unnamed(reader, &names);
            return None;
        };
        if !names.contains(&name) {
            let similar = super::nearest::nearest(&name, names.iter().cloned());
            let write = format!(
                "no such data source: write {QUARTZ_PREFIX}dataSource.{name}.URL = jdbc:postgresql://host:5432/database or the like"
            );
            reader.refuse("jobStore.dataSource", write, similar);
            return None;
        }
        let url = Self::url(reader, &name)?;
        let database = Backend::of(&url);
        Self::check_java_classes(reader, &name, database);
        if database == Backend::Sqlite {
            if reader.given("carnelian.jobStore.clock").is_some() && store.clock == ClockSource::Database {
                reader
                    .warn("carnelian.jobStore.clock", "no effect: SQLite has no clock of its own, the node's is used");
            }
            store.clock = ClockSource::Node;
        }
        if url.is_in_memory() && store.clustered {
            reader.warn("jobStore.isClustered", "no other node can see a database in memory");
        }
        let listen_url = Self::listen_url(reader, &name, database);
        let settings = Self { name: name.clone(), url, listen_url, ..Self::rest(reader, &name) };
        if settings.max_connections < THREADS && reader.given(&format!("dataSource.{name}.maxConnections")).is_some() {
            let few = format!(
                "fewer than {THREADS}: acquisition, completion, misfires, the cluster and callers wait for each other"
            );
            reader.warn(&format!("dataSource.{name}.maxConnections"), few);
        }
        Some(settings)
    }

    /// Everything but name and URL.
    fn rest(reader: &Reader, name: &str) -> Self {
        let key = |key: &str| format!("dataSource.{name}.{key}");
        let names = ["discardIdleConnectionsSeconds", "maxIdleTime"].map(key);
        let given = names.iter().find(|name| reader.given(name).is_some());
        let idle = reader.seconds(given.unwrap_or(&names[1]));
        let age = match reader.given(&key("maxLifetime")).is_some() {
            true => reader.duration(&key("maxLifetime")),
            false => reader.seconds(&key("maxConnectionAge")),
        };
        Self {
            name: String::new(),
            url: DataSourceUrl::Sqlite { path: ":memory:".to_owned() },
            max_connections: reader.count(&key("maxConnections")),
            validate_on_checkout: reader.flag(&key("validateOnCheckout")),
            idle_timeout: Some(idle).filter(|time| !time.is_zero()),
            max_age: Some(age).filter(|time| !time.is_zero()),
            init_sql: reader.text(&key("connectionInitSql")),
            connection_timeout: reader.duration("carnelian.dataSource.connectionTimeout"),
            synchronous: reader.choice(SYNCHRONOUS, Synchronous::ALL, Synchronous::name),
            pooler: reader.choice(POOLER, Pooler::ALL, Pooler::name),
            listen_url: None,
        }
    }

    fn report_unnamed(reader: &mut Reader, names: &[String]) {
        if reader.failed("jobStore.dataSource") {
            return;
        }
        let write = match names {
            [] => format!(
                "a database store needs a data source: write {QUARTZ_PREFIX}jobStore.dataSource = jobs and {QUARTZ_PREFIX}dataSource.jobs.URL = jdbc:postgresql://host:5432/database or the like"
            ),
            names => format!(
                "a database store needs a data source: write {QUARTZ_PREFIX}jobStore.dataSource = {}",
                names.join(" or ")
            ),
        };
        reader.missing("jobStore.dataSource", write);
    }

    fn url(reader: &mut Reader, name: &str) -> Option<DataSourceUrl> {
        let key = |key: &str| format!("dataSource.{name}.{key}");
        let url_key = key("URL");
        let Some(text) = reader.text(&url_key) else {
            if !reader.failed(&url_key) {
                reader.missing(
                    &url_key,
                    format!("the data source has no URL: write {QUARTZ_PREFIX}{url_key} = jdbc:postgresql://host:5432/database or the like"),
                );
            }
            return None;
        };
        Self::parsed(reader, name, &url_key, &text)
    }

    /// The URL on which nodes listen.
    fn listen_url(reader: &mut Reader, name: &str, database: Backend) -> Option<DataSourceUrl> {
        let key = "carnelian.dataSource.listenUrl";
        let text = reader.text(key)?;
        if database != Backend::Postgres {
            reader.warn(key, "no effect: nodes listen on PostgreSQL only");
            return None;
        }
        let url = Self::parsed(reader, name, key, &text)?;
        if Backend::of(&url) != Backend::Postgres {
            reader.refuse(key, "expected the URL of the data source's PostgreSQL".to_owned(), None);
            return None;
        }
        Some(url)
    }

    /// The URL that this key has, with user and password of the data source.
    fn parsed(reader: &mut Reader, name: &str, url_key: &str, text: &str) -> Option<DataSourceUrl> {
        let key = |key: &str| format!("dataSource.{name}.{key}");
        let user = reader.text(&key("user"));
        let password = reader.text(&key("password")).map(Secret::new);
        match DataSourceUrl::parse(text, user.as_deref(), password.as_ref()) {
            Ok((url, warnings)) => {
                for warning in warnings {
                    reader.warn(url_key, warning);
                }
                Some(url)
            }
            Err(error) => {
                reader.refuse(url_key, error.to_string(), None);
                None
            }
        }
    }

    /// Driver and delegate have no effect, but must not speak of another database than the URL.
    fn check_java_classes(reader: &mut Reader, name: &str, database: Backend) {
        let key = format!("dataSource.{name}.driver");
        if let Some(class) = reader.given(&key).map(str::to_owned) {
            match DRIVERS.iter().find(|(driver, _)| *driver == class) {
                Some((_, other)) if *other == database => {}
                Some(_) => reader.warn(&key, format!("the URL is one of {}, which is what counts", database.family())),
                None => reader.warn(&key, "JDBC drivers are not loaded here: the URL says which database it is"),
            }
        }
        let key = "jobStore.driverDelegateClass";
        if let Some(class) = reader.given(key).map(str::to_owned)
            && !is_class(&class, STD_DELEGATE)
            && !(is_class(&class, POSTGRES_DELEGATE) && database == Backend::Postgres)
        {
            let instead = format!("the URL is one of {}, whose statements are used", database.family());
            if is_class(&class, POSTGRES_DELEGATE) {
                reader.warn(key, instead);
            } else {
                misnamed(reader, key, &class, &[STD_DELEGATE, POSTGRES_DELEGATE], &instead);
            }
        }
    }
}
