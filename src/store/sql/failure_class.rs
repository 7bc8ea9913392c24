//! The class of a failure: each database says in other words what has happened.

use super::backend::Backend;
use super::failure::Failure;
use super::pooler_advice::pooler_advice;
use super::translations::TRANSLATED;
use crate::error::FailureClass;
use crate::settings::DataSourceUrl;
use diesel::result::{DatabaseErrorKind, Error};

/// PostgreSQL's words for a statement that it has prepared for columns of other types.
pub(super) const OUTDATED_PLAN: &str = "cached plan must not change result type";

/// Tells failures apart, by kind where diesel knows it and else by the server's words.
pub(super) fn classify(backend: Backend, error: &Error) -> Failure {
    use FailureClass::*;
    let message = error.to_string();
    let class = match error {
        Error::DatabaseError(DatabaseErrorKind::UniqueViolation, _) => UniqueViolation,
        Error::DatabaseError(DatabaseErrorKind::CheckViolation, _) => InvalidData,
        Error::DatabaseError(DatabaseErrorKind::SerializationFailure, _) if backend == Backend::Mysql => Deadlock,
        Error::DatabaseError(DatabaseErrorKind::SerializationFailure, _) => Serialization,
        Error::DatabaseError(DatabaseErrorKind::ClosedConnection | DatabaseErrorKind::UnableToSendCommand, _) => {
            ConnectionLost
        }
        Error::DatabaseError(DatabaseErrorKind::ReadOnlyTransaction, _) => Unavailable,
        Error::BrokenTransactionManager => ConnectionLost,
        // No rollback either: the session is gone, in whatever words, and the commit is in doubt.
        Error::RollbackErrorOnCommit { commit_error, .. } => {
            let failure = classify(backend, commit_error);
            let is_known = failure.class != Permanent;
            return if is_known { failure } else { Failure { class: ConnectionLost, ..failure } };
        }
        _ => by_words(backend, &message),
    };
    let advice = if backend == Backend::Postgres { pooler_advice(&message) } else { None };
    Failure { class, message: advice.map_or(message.clone(), |advice| format!("{message}: {advice}")) }
}

fn by_words(backend: Backend, message: &str) -> FailureClass {
    use FailureClass::*;
    let words: &[(&str, FailureClass)] = match backend {
        Backend::Sqlite => {
            &[
                ("database is locked", Busy),
                ("database table is locked", Busy),
                ("database schema is locked", Busy),
                ("database or disk is full", InsufficientResources),
                ("out of memory", InsufficientResources),
                // The process has no file descriptors left, or the folder is away.
                ("unable to open database file", Unavailable),
                // At a commit it is not known what has reached the disk.
                ("disk I/O error", ConnectionLost),
                ("string or blob too big", InvalidData),
            ]
        }
        Backend::Postgres => &[
            ("deadlock detected", Deadlock),
            ("could not serialize access", Serialization),
            ("due to lock timeout", LockWait),
            ("due to statement timeout", LockWait),
            ("the database system is", Unavailable),
            ("too many clients", Unavailable),
            ("terminating connection", ConnectionLost),
            ("server closed the connection", ConnectionLost),
            ("connection to server", ConnectionLost),
            ("no connection to the server", ConnectionLost),
            ("could not receive data", ConnectionLost),
            ("could not send data", ConnectionLost),
            ("SSL connection has been closed", ConnectionLost),
            ("SSL SYSCALL error", ConnectionLost),
            ("SSL error", ConnectionLost),
            // Once the primary, now a standby: elsewhere there is a server that takes writes.
            ("in a read-only transaction", Unavailable),
            ("during recovery", Unavailable),
            ("recovery is in progress", Unavailable),
            ("No space left on device", InsufficientResources),
            ("Disk quota exceeded", InsufficientResources),
            ("could not extend file", InsufficientResources),
            ("out of memory", InsufficientResources),
            ("out of shared memory", InsufficientResources),
            // The transaction ids are used up.
            ("is not accepting commands", InsufficientResources),
            // A column has another type since this connection has prepared the statement.
            (OUTDATED_PLAN, ConnectionLost),
            ("no equivalent in encoding", InvalidData),
            ("value too long", InvalidData),
            // By an operator, who calls `pg_cancel_backend`.
            ("due to user request", ConnectionLost),
            // Words of PgBouncer.
            ("query_wait_timeout", Unavailable),
            ("cannot connect to server", Unavailable),
            ("server login has been failing", Unavailable),
            ("server login failed", Unavailable),
            ("server conn crashed", ConnectionLost),
            ("client_idle_timeout", ConnectionLost),
            ("idle transaction timeout", ConnectionLost),
        ],
        Backend::Mysql => &[
            ("Deadlock found", Deadlock),
            ("WSREP detected deadlock", Deadlock),
            ("Lock wait timeout exceeded", LockWait),
            ("Record has changed since last read", Serialization),
            ("server has gone away", ConnectionLost),
            ("Lost connection", ConnectionLost),
            ("Connection was killed", ConnectionLost),
            // Words of MaxScale.
            ("Connection killed", ConnectionLost),
            // MySQL from 8.0.24 on, instead of `has gone away`.
            ("disconnected by the server because of inactivity", ConnectionLost),
            ("Server shutdown in progress", ConnectionLost),
            // Limits of the server's, before the interruption by an operator.
            ("max_statement_time exceeded", LockWait),
            ("maximum statement execution time exceeded", LockWait),
            ("Query execution was interrupted", ConnectionLost),
            // MariaDB's client library, of a server that is gone between request and answer.
            ("TLS/SSL error", ConnectionLost),
            ("SSL connection error", ConnectionLost),
            // The member of a cluster lost the others while it committed.
            ("during COMMIT", ConnectionLost),
            // Group Replication: of two transactions another was first, or the member lost the
            // others at the commit, of which nobody knows.
            ("Plugin instructed the server to rollback", Deadlock),
            ("Error on observer while running replication hook", ConnectionLost),
            // A member that has lost the others, or has not caught up: others take writes.
            ("WSREP has not yet prepared node", Unavailable),
            ("read-only option", Unavailable),
            ("Running in read-only mode", Unavailable),
            ("in a READ ONLY transaction", Unavailable),
            ("in offline mode", Unavailable),
            // Words of ProxySQL, which has no server that takes writes.
            ("Max connect timeout reached", Unavailable),
            ("Too many connections", Unavailable),
            ("Can't connect", Unavailable),
            ("' is full", InsufficientResources),
            ("Disk full", InsufficientResources),
            ("No space left on device", InsufficientResources),
            ("Out of memory", InsufficientResources),
            ("number of locks exceeds the lock table size", InsufficientResources),
            ("max_prepared_stmt_count", InsufficientResources),
            ("has exceeded the '", InsufficientResources),
            ("needs to be re-prepared", ConnectionLost),
            ("Unknown prepared statement handler", ConnectionLost),
            ("communication packets", ConnectionLost),
            ("Commands out of sync", ConnectionLost),
            ("Table definition has changed", Serialization),
            ("Data too long", InvalidData),
            ("` failed for `", InvalidData),
            ("Incorrect string value", InvalidData),
            ("max_allowed_packet", InvalidData),
        ],
    };
    // Client libraries spell the same words differently: libmysqlclient `server has gone away`,
    // libmariadb `Server …`.
    let message = message.to_lowercase();
    let translated = if backend == Backend::Postgres { TRANSLATED } else { &[] };
    let mut known = words.iter().chain(translated);
    known.find(|(text, _)| message.contains(&text.to_lowercase())).map_or(Permanent, |(_, class)| *class)
}

/// Tells apart why there is no connection: what another try will not mend is permanent.
pub(super) fn classify_connect(url: &DataSourceUrl, message: &str) -> Failure {
    let refusals: &[&str] = match url {
        DataSourceUrl::Sqlite { path } => return unopened(path, message),
        DataSourceUrl::Postgres { .. } => &[
            "authentication failed",
            "no password supplied",
            "no pg_hba.conf entry",
            "does not exist",
            "is not permitted to log in",
            "permission denied for database",
            "server does not support SSL",
            "certificate",
            "unsupported startup parameter",
        ],
        DataSourceUrl::MySql { .. } => {
            &["Access denied", "Unknown database", "is not allowed to connect", "certificate", "SSL is required"]
        }
    };
    let is_refused = refusals.iter().any(|words| message.contains(words));
    let class = if is_refused { FailureClass::Permanent } else { FailureClass::Unavailable };
    let advice = pooler_advice(message).map(|advice| format!(": {advice}")).unwrap_or_default();
    Failure { class, message: format!("cannot connect: {message}{advice}") }
}

/// SQLite says neither which file cannot be opened nor why.
fn unopened(path: &str, message: &str) -> Failure {
    let path = std::path::Path::new(path);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let reason = match folder {
        Some(folder) if !folder.is_dir() => {
            format!("its folder `{}` does not exist: make the folder", folder.display())
        }
        _ if path.is_dir() => "it is a folder: name a file".to_owned(),
        _ => format!("{message}: this user needs the right to write the file and its folder"),
    };
    Failure { class: FailureClass::Permanent, message: format!("file `{}` cannot be opened: {reason}", path.display()) }
}

/// Tells whether a failure says that a table does not exist.
pub(super) fn is_missing_table(failure: &Failure) -> bool {
    ["no such table", "does not exist", "doesn't exist"].iter().any(|words| failure.message.contains(words))
}

/// Tells whether a failure says that a column does not exist.
pub(super) fn is_missing_column(failure: &Failure) -> bool {
    let says = |words: &str| failure.message.contains(words);
    says("no such column") || says("Unknown column") || says("column ") && says(" does not exist")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_without_room_is_tried_again() {
        for (backend, message) in [
            (Backend::Sqlite, "database or disk is full"),
            (Backend::Postgres, "could not extend file \"base/5/2619\": No space left on device"),
            (Backend::Postgres, "could not extend file \"base/5/2619\": wrote only 4096 of 8192 bytes at block 7"),
            (Backend::Postgres, "out of shared memory"),
            (
                Backend::Postgres,
                "database is not accepting commands to avoid wraparound data loss in database \"jobs\"",
            ),
            (Backend::Mysql, "The table 'QRTZ_CN_HISTORY' is full"),
            (Backend::Mysql, "User 'app' has exceeded the 'max_updates_per_hour' resource (current value: 9000)"),
            (Backend::Mysql, "Error writing file '/var/lib/mysql/x' (Errcode: 28 \"No space left on device\")"),
            (Backend::Mysql, "Can't create more than max_prepared_stmt_count statements (current value: 16382)"),
        ] {
            assert_eq!(by_words(backend, message), FailureClass::InsufficientResources, "{message}");
        }
    }

    #[test]
    fn a_server_that_takes_no_writes_is_one_that_cannot_be_reached() {
        for (backend, message) in [
            (Backend::Postgres, "cannot execute SELECT FOR NO KEY UPDATE in a read-only transaction"),
            (Backend::Postgres, "cannot execute INSERT in a read-only transaction"),
            (
                Backend::Postgres,
                "cannot acquire lock mode RowExclusiveLock on database objects while recovery is in progress",
            ),
            (
                Backend::Mysql,
                "The MariaDB server is running with the --read-only option so it cannot execute this statement",
            ),
            (
                Backend::Mysql,
                "The MySQL server is running with the --super-read-only option so it cannot execute this statement",
            ),
            (Backend::Mysql, "WSREP has not yet prepared node for application use"),
            (Backend::Mysql, "Cannot execute statement in a READ ONLY transaction."),
            (Backend::Mysql, "Running in read-only mode"),
            (Backend::Mysql, "The server is currently in offline mode"),
            (Backend::Mysql, "Max connect timeout reached while reaching hostgroup 10 after 10001ms"),
        ] {
            assert_eq!(by_words(backend, message), FailureClass::Unavailable, "{message}");
        }
    }

    /// The words of PostgreSQL for this are those of a language, its code is not.
    #[test]
    fn a_server_that_takes_no_writes_is_known_in_every_language() {
        let words = "INSERT kann nicht in einer Read-Only-Transaktion ausgeführt werden".to_owned();
        let error = Error::DatabaseError(DatabaseErrorKind::ReadOnlyTransaction, Box::new(words));
        assert_eq!(classify(Backend::Postgres, &error).class, FailureClass::Unavailable);
    }

    #[test]
    fn words_of_proxies_and_of_group_replication_are_known() {
        use FailureClass::{ConnectionLost, Deadlock};
        for (message, class) in [
            ("Plugin instructed the server to rollback the current transaction.", Deadlock),
            ("Error on observer while running replication hook 'before_commit'.", ConnectionLost),
            (
                "The client was disconnected by the server because of inactivity. See wait_timeout and \
                 interactive_timeout for configuring this behavior.",
                ConnectionLost,
            ),
            ("Connection killed by MaxScale: Router could not recover from connection errors", ConnectionLost),
        ] {
            assert_eq!(by_words(Backend::Mysql, message), class, "{message}");
        }
    }

    /// Debian's client library keeps what its TLS has said. The end of a run whose commit had no
    /// answer was taken for refused, and fires that were just taken for forgotten.
    #[test]
    fn an_answer_that_is_lost_within_tls_is_a_lost_connection() {
        for message in ["TLS/SSL error: unexpected eof while reading", "TLS/SSL error: Connection reset by peer (104)"]
        {
            assert_eq!(by_words(Backend::Mysql, message), FailureClass::ConnectionLost, "{message}");
        }
    }

    /// Words that nobody knows, and no rollback either: the commit may have happened.
    #[test]
    fn a_commit_that_cannot_be_rolled_back_is_in_doubt() {
        let failed = |words: &str| {
            let failure = |words: &str| Error::DatabaseError(DatabaseErrorKind::Unknown, Box::new(words.to_owned()));
            let (commit_error, rollback_error) = (Box::new(failure(words)), Box::new(failure("no session")));
            classify(Backend::Mysql, &Error::RollbackErrorOnCommit { commit_error, rollback_error }).class
        };
        assert_eq!(failed("the wire is cut"), FailureClass::ConnectionLost);
        assert_eq!(failed("Deadlock found when trying to get lock"), FailureClass::Deadlock);
    }

    /// A limit of the server's: the session goes on.
    #[test]
    fn a_statement_that_takes_longer_than_the_server_allows_costs_no_connection() {
        for message in [
            "Query execution was interrupted (max_statement_time exceeded)",
            "Query execution was interrupted, maximum statement execution time exceeded",
        ] {
            assert_eq!(by_words(Backend::Mysql, message), FailureClass::LockWait, "{message}");
        }
        assert_eq!(by_words(Backend::Mysql, "Query execution was interrupted"), FailureClass::ConnectionLost);
    }

    #[test]
    fn a_value_that_is_refused_is_told_from_a_database_that_is_away() {
        for (backend, message) in [
            (
                Backend::Postgres,
                "character with byte sequence 0xe2 0x80 0xa6 in encoding \"UTF8\" has no equivalent in encoding \"LATIN1\"",
            ),
            (Backend::Postgres, "value too long for type character varying(95)"),
            (Backend::Mysql, "Data too long for column 'ENTRY_ID' at row 1"),
            (Backend::Mysql, "Incorrect string value: '\\xF0\\x9F' for column `db`.`t`.`c` at row 1"),
            (Backend::Mysql, "CONSTRAINT `owner` failed for `db`.`CN_HISTORY`"),
            (Backend::Mysql, "Got a packet bigger than 'max_allowed_packet' bytes"),
            (Backend::Sqlite, "string or blob too big"),
        ] {
            assert_eq!(by_words(backend, message), FailureClass::InvalidData, "{message}");
        }
    }

    /// Messages as PostgreSQL's catalogues have them.
    #[test]
    fn failures_that_pass_are_known_in_other_languages() {
        use FailureClass::{ConnectionLost, Deadlock, InsufficientResources, LockWait};
        for (message, class) in [
            ("Verklemmung (Deadlock) entdeckt", Deadlock),
            ("storniere Anfrage wegen Zeitüberschreitung einer Sperre", LockWait),
            ("storniere Anfrage wegen Zeitüberschreitung der Anfrage", LockWait),
            ("konnte Datei »base/5/2619« nicht erweitern: Auf dem Gerät ist kein Platz mehr", InsufficientResources),
            ("se ha detectado un deadlock", Deadlock),
            ("cancelando la sentencia debido a que se agotó el tiempo de espera de candados (locks)", LockWait),
            ("interblocage (deadlock) détecté", Deadlock),
            ("annulation de la requête à cause du délai écoulé pour l'obtention des verrous", LockWait),
            ("rilevato deadlock", Deadlock),
            ("annullamento dell'istruzione a causa di timeout di lock", LockWait),
            ("デッドロックを検出しました", Deadlock),
            ("ロックのタイムアウトのためステートメントをキャンセルしています", LockWait),
            ("ნაპოვნია ურთიერთბლოკირება", Deadlock),
            ("გამოსახულება გაუქმდება ბლოკის მოლოდინის ვადის ამოწურვის გამო", LockWait),
            ("deadlock 발생했음", Deadlock),
            ("잠금 대기 시간 초과로 작업을 취소합니다.", LockWait),
            ("обнаружена взаимоблокировка", Deadlock),
            ("выполнение оператора отменено из-за тайм-аута блокировки", LockWait),
            ("в кешированном плане не должен изменяться тип результата", ConnectionLost),
            ("deadlock upptäckt", Deadlock),
            ("avbryter sats på grund av lås-timeout", LockWait),
            ("виявлено взаємне блокування", Deadlock),
            ("виконання оператора скасовано через тайм-аут блокування", LockWait),
            ("检测到死锁", Deadlock),
            ("由于锁超时，取消语句操作", LockWait),
        ] {
            assert_eq!(by_words(Backend::Postgres, message), class, "{message}");
        }
    }
}
