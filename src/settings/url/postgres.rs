//! PostgreSQL: the URL for libpq, which refuses parameters that it does not know.

use super::DataSourceUrlError as Error;
use super::parts::{Host, Parts, encode};
use crate::settings::redact::bounded;

/// Parameters that libpq knows and that may stand in a native URL, without those of login and
/// place.
const LIBPQ: &[&str] = &[
    "application_name",
    "channel_binding",
    "client_encoding",
    "connect_timeout",
    "fallback_application_name",
    "gssdelegation",
    "gssencmode",
    "gsslib",
    "host",
    "hostaddr",
    "keepalives",
    "keepalives_count",
    "keepalives_idle",
    "keepalives_interval",
    "krbsrvname",
    "load_balance_hosts",
    "options",
    "passfile",
    "port",
    "require_auth",
    "requirepeer",
    "service",
    "ssl_max_protocol_version",
    "ssl_min_protocol_version",
    "sslcert",
    "sslcertmode",
    "sslcompression",
    "sslcrl",
    "sslcrldir",
    "sslkey",
    "sslmode",
    "sslnegotiation",
    "sslpassword",
    "sslrootcert",
    "sslsni",
    "target_session_attrs",
    "tcp_user_timeout",
];

const SSL_MODES: &[&str] = &["disable", "allow", "prefer", "require", "verify-ca", "verify-full"];

/// Builds the URL; parameters that libpq has no word for are left out with a warning.
pub(super) fn url(mut parts: Parts, jdbc: bool, warnings: &mut Vec<String>) -> Result<String, Error> {
    // JDBC always means TCP; libpq without a host takes the local socket.
    if jdbc && parts.hosts.is_empty() {
        parts.hosts.push(Host { name: "localhost".to_owned(), port: None });
    }
    let hosts: Vec<String> = parts
        .hosts
        .iter()
        .map(|host| {
            let name = if host.name.starts_with('[') { host.name.clone() } else { encode(&host.name) };
            match host.port.or(jdbc.then_some(5432)) {
                Some(port) => format!("{name}:{port}"),
                None => name,
            }
        })
        .collect();
    let mut query = Query::default();
    for (name, value) in &parts.parameters {
        if jdbc {
            from_jdbc(name, value, &mut query, warnings)?;
        } else if LIBPQ.contains(&name.as_str()) {
            query.set(name, value);
        } else {
            warnings.push(unknown(name));
        }
    }
    query.check()?;
    let database = parts.database.as_deref().map(encode).unwrap_or_default();
    Ok(format!("postgres://{}{}/{database}{}", parts.login(), hosts.join(","), query.text()))
}

/// One parameter of the JDBC driver in the words of libpq.
fn from_jdbc(name: &str, value: &str, query: &mut Query, warnings: &mut Vec<String>) -> Result<(), Error> {
    match name {
        "sslmode" | "sslcert" | "sslrootcert" | "sslpassword" | "options" => query.set(name, value),
        "sslkey" => {
            if value.ends_with(".pk8") || value.ends_with(".der") {
                warnings.push("parameter sslkey: libpq needs a PEM file, a PK8 or DER file of Java is not read".to_owned());
            }
            query.set(name, value);
        }
        "ssl" => {
            if value.is_empty() || value.eq_ignore_ascii_case("true") {
                query.set_if_absent("sslmode", "verify-full");
            } else if !value.eq_ignore_ascii_case("false") {
                return Err(Error::Parameter { name: "ssl", expected: "true or false" });
            }
        }
        "sslfactory" if value == "org.postgresql.ssl.NonValidatingFactory" => query.set("sslmode", "require"),
        "connectTimeout" => {
            query.set("connect_timeout", seconds("connectTimeout", value)?);
        }
        "loginTimeout" => query.set_if_absent("connect_timeout", seconds("loginTimeout", value)?),
        "tcpKeepAlive" => match value.to_ascii_lowercase().as_str() {
            "true" => query.set("keepalives", "1"),
            "false" => query.set("keepalives", "0"),
            _ => return Err(Error::Parameter { name: "tcpKeepAlive", expected: "true or false" }),
        },
        "ApplicationName" => query.set("application_name", value),
        "currentSchema" => query.add_option(&format!("-csearch_path={}", option_text(value))),
        "gssEncMode" => query.set("gssencmode", value),
        "channelBinding" => query.set("channel_binding", value),
        "kerberosServerName" => query.set("krbsrvname", value),
        "targetServerType" => match value {
            "any" => {}
            "master" | "primary" => query.set("target_session_attrs", "read-write"),
            _ => {
                return Err(Error::Parameter {
                    name: "targetServerType",
                    expected: "any or primary: the scheduler writes",
                });
            }
        },
        "socketTimeout" => warnings.push(
            "parameter socketTimeout has no effect: libpq has none, use the server's statement_timeout and tcpKeepAlive"
                .to_owned(),
        ),
        _ => warnings.push(unknown(name)),
    }
    Ok(())
}

fn unknown(name: &str) -> String {
    format!("parameter {} has no effect: libpq does not know it", bounded(name))
}

fn seconds<'a>(name: &'static str, value: &'a str) -> Result<&'a str, Error> {
    match value.parse::<u32>() {
        Ok(_) => Ok(value),
        Err(_) => Err(Error::Parameter { name, expected: "a whole number of seconds" }),
    }
}

/// Blanks and backslashes are escaped inside `options`.
fn option_text(value: &str) -> String {
    value.replace('\\', "\\\\").replace(' ', "\\ ")
}

#[derive(Default)]
struct Query(Vec<(String, String)>);

impl Query {
    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    fn set(&mut self, name: &str, value: &str) {
        self.0.retain(|(other, _)| other != name);
        self.0.push((name.to_owned(), value.to_owned()));
    }

    fn set_if_absent(&mut self, name: &str, value: &str) {
        if self.get(name).is_none() {
            self.set(name, value);
        }
    }

    fn add_option(&mut self, option: &str) {
        let options = match self.get("options") {
            Some(before) => format!("{before} {option}"),
            None => option.to_owned(),
        };
        self.set("options", &options);
    }

    fn check(&self) -> Result<(), Error> {
        if self.get("sslmode").is_some_and(|mode| !SSL_MODES.contains(&mode)) {
            return Err(Error::Parameter {
                name: "sslmode",
                expected: "disable, allow, prefer, require, verify-ca or verify-full",
            });
        }
        if self.get("connect_timeout").is_some_and(|value| value.parse::<u32>().is_err()) {
            return Err(Error::Parameter { name: "connect_timeout", expected: "a whole number of seconds" });
        }
        Ok(())
    }

    fn text(&self) -> String {
        let pairs: Vec<String> = self.0.iter().map(|(name, value)| format!("{name}={}", encode(value))).collect();
        if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{DataSourceUrl, DataSourceUrlError as Error};

    fn parse(text: &str) -> (String, Vec<String>) {
        let (url, warnings) = DataSourceUrl::parse(text, None, None).unwrap();
        (url.reveal().to_owned(), warnings)
    }

    #[test]
    fn jdbc_urls_become_native() {
        for (text, url) in [
            ("jdbc:postgresql://db:5433/jobs", "postgres://db:5433/jobs"),
            ("jdbc:postgresql://db/jobs?user=a&password=b+c", "postgres://a:b%20c@db:5432/jobs"),
            ("jdbc:postgresql:jobs", "postgres://localhost:5432/jobs"),
            ("jdbc:postgresql:///jobs", "postgres://localhost:5432/jobs"),
            ("jdbc:postgresql://a,b:9/jobs", "postgres://a:5432,b:9/jobs"),
            ("jdbc:postgresql://[::1]/jobs", "postgres://[::1]:5432/jobs"),
            ("jdbc:postgresql://h/j?sslmode=require&ssl=true", "postgres://h:5432/j?sslmode=require"),
            ("jdbc:postgresql://h/j?ssl=true", "postgres://h:5432/j?sslmode=verify-full"),
            ("jdbc:postgresql://h/j?connectTimeout=5&loginTimeout=9", "postgres://h:5432/j?connect_timeout=5"),
            ("jdbc:postgresql://h/j?currentSchema=a,b", "postgres://h:5432/j?options=-csearch_path%3Da%2Cb"),
            (
                "jdbc:postgresql://h/j?ApplicationName=x&tcpKeepAlive=true",
                "postgres://h:5432/j?application_name=x&keepalives=1",
            ),
            ("jdbc:postgresql://h/j?targetServerType=primary", "postgres://h:5432/j?target_session_attrs=read-write"),
        ] {
            assert_eq!(parse(text), (url.to_owned(), vec![]), "{text}");
        }
    }

    #[test]
    fn native_urls_stay_as_they_are() {
        for url in [
            "postgres://me:pw@db:5433/jobs?sslmode=verify-full&connect_timeout=3",
            "postgres:///jobs?host=%2Frun%2Fpostgresql",
            "postgres://%2Frun%2Fpostgresql/jobs",
            "postgres://db/",
        ] {
            assert_eq!(parse(url), (url.to_owned(), vec![]), "{url}");
        }
        assert_eq!(parse("postgresql://db/jobs").0, "postgres://db/jobs");
    }

    #[test]
    fn what_libpq_does_not_know_is_left_out_with_a_warning() {
        let (url, warnings) =
            parse("jdbc:postgresql://h/j?socketTimeout=5&reWriteBatchedInserts=true&prepareThreshold=3");
        assert_eq!(url, "postgres://h:5432/j");
        assert_eq!(warnings.len(), 3, "{warnings:?}");
        let (url, warnings) = parse("postgres://h/j?colour=red");
        assert_eq!((url.as_str(), warnings.len()), ("postgres://h/j", 1));
    }

    #[test]
    fn bad_parameters_are_errors() {
        for text in [
            "jdbc:postgresql://h/j?sslmode=on",
            "jdbc:postgresql://h/j?ssl=maybe",
            "jdbc:postgresql://h/j?connectTimeout=5s",
            "jdbc:postgresql://h/j?targetServerType=secondary",
            "postgres://h/j?connect_timeout=soon",
        ] {
            let error = DataSourceUrl::parse(text, None, None).unwrap_err();
            assert!(matches!(error, Error::Parameter { .. }), "{text}: {error}");
        }
    }
}
