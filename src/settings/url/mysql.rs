//! MySQL and MariaDB: the URL for diesel, which knows few parameters and silently drops all others.

use super::DataSourceUrlError as Error;
use super::parts::{Host, Parts, encode};
use crate::settings::redact::bounded;

/// Parameters that diesel takes over from the URL.
const DIESEL: &[&str] = &["ssl_mode", "ssl_ca", "ssl_cert", "ssl_key", "unix_socket"];

/// Takes off the `loadbalance:`, `replication:`, `sequential:` … of the Java drivers.
pub(super) fn without_balancing<'a>(rest: &'a str, warnings: &mut Vec<String>) -> &'a str {
    match rest.split_once(':') {
        Some((word, after)) if after.starts_with("//") && !word.is_empty() && !word.contains('/') => {
            warnings.push("connections are not balanced here: the first server that takes writes is used".to_owned());
            after
        }
        _ => rest,
    }
}

/// Builds the URL; parameters that diesel does not take over are left out with a warning. `jdbc` is
/// the scheme of a URL of JDBC.
pub(super) fn url(parts: Parts, jdbc: Option<&str>, warnings: &mut Vec<String>) -> Result<String, Error> {
    let flags_of = |scheme| Ok(TlsFlags::of(&parts.parameters)?.mode(scheme == "mariadb"));
    let jdbc_mode = jdbc.map(flags_of).transpose()?.flatten();
    let jdbc = jdbc.is_some();
    let mut query: Vec<(&str, String)> = jdbc_mode.map(|mode| ("ssl_mode", mode.to_owned())).into_iter().collect();
    for (name, value) in &parts.parameters {
        if jdbc && TlsFlags::NAMES.contains(&name.as_str()) {
            continue;
        }
        let known = if jdbc { from_jdbc(name, value)? } else { native(name, value)? };
        match known {
            Some((name, value)) => {
                // Of several the last counts, and `sslMode` before all flags.
                query.retain(|(other, _)| *other != name);
                query.push((name, value));
            }
            None => {
                let name = bounded(name);
                warnings.push(format!("parameter {name} has no effect: the MySQL driver here does not take it"));
            }
        }
    }
    let database = parts.database.as_deref().ok_or(Error::NoDatabase)?;
    if !database.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '$')) {
        return Err(Error::DatabaseName);
    }
    // JDBC always means TCP; the C client takes `localhost` for the local socket.
    let on_socket = query.iter().any(|(name, value)| *name == "unix_socket" || value == "verify_identity");
    let of_this_machine = if jdbc && !on_socket { "127.0.0.1" } else { "localhost" };
    let servers = parts.hosts.iter().map(|host| server(host, of_this_machine)).collect::<Result<Vec<_>, _>>()?;
    let place = match servers.as_slice() {
        [] if jdbc => "127.0.0.1".to_owned(),
        // diesel's URL parser wants a host before a user.
        [] => "localhost".to_owned(),
        servers => servers.join(","),
    };
    let pairs: Vec<String> = query.iter().map(|(name, value)| format!("{name}={}", encode(value))).collect();
    let query = if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) };
    Ok(format!("mysql://{}{place}/{database}{query}", parts.login()))
}

/// A server as the URL names it.
fn server(host: &Host, of_this_machine: &str) -> Result<String, Error> {
    if host.name.contains(['(', ')', '=']) {
        return Err(Error::ManyServers);
    }
    let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    if host.name.is_empty() || !(host.name.starts_with('[') || host.name.chars().all(is_letter)) {
        return Err(Error::Host);
    }
    let name = if host.name == "localhost" { of_this_machine } else { &host.name };
    Ok(host.port.map_or_else(|| name.to_owned(), |port| format!("{name}:{port}")))
}

/// The URLs of the servers that a URL of this module names, each with one server.
pub(super) fn of_each_server(url: &str) -> Vec<String> {
    let parts = || {
        let (scheme, rest) = url.split_once("://")?;
        let (authority, path) = rest.split_once('/')?;
        let (login, servers) = authority.rsplit_once('@').map_or(("", authority), |(login, servers)| (login, servers));
        let login = if login.is_empty() { String::new() } else { format!("{login}@") };
        Some(servers.split(',').map(|server| format!("{scheme}://{login}{server}/{path}")).collect())
    };
    parts().unwrap_or_else(|| vec![url.to_owned()])
}

fn native(name: &str, value: &str) -> Result<Option<(&'static str, String)>, Error> {
    let name = name.replace('-', "_");
    Ok(match DIESEL.iter().find(|known| **known == name) {
        Some(&"ssl_mode") => Some(("ssl_mode", ssl_mode(value)?)),
        Some(known) => Some((known, value.to_owned())),
        None => None,
    })
}

/// One parameter of the JDBC drivers of MySQL and MariaDB in the words of diesel.
fn from_jdbc(name: &str, value: &str) -> Result<Option<(&'static str, String)>, Error> {
    Ok(match name {
        "sslMode" => Some(("ssl_mode", ssl_mode(value)?)),
        "serverSslCert" => Some(("ssl_ca", value.to_owned())),
        "localSocket" => Some(("unix_socket", value.to_owned())),
        _ => None,
    })
}

/// The flags by which the JDBC drivers asked for TLS before they had `sslMode`, which counts alone
/// where it is given.
#[derive(Default)]
struct TlsFlags {
    uses: Option<bool>,
    requires: Option<bool>,
    verifies: Option<bool>,
    trusts_all: Option<bool>,
    any_host: Option<bool>,
}

impl TlsFlags {
    const NAMES: [&str; 6] = [
        "useSSL",
        "useSsl",
        "requireSSL",
        "verifyServerCertificate",
        "trustServerCertificate",
        "disableSslHostnameVerification",
    ];

    fn of(parameters: &[(String, String)]) -> Result<Self, Error> {
        let mut flags = Self::default();
        for (name, value) in parameters {
            let Some(name) = Self::NAMES.into_iter().find(|known| known == name) else { continue };
            let flag = match value.to_ascii_lowercase().as_str() {
                "true" | "1" => true,
                "false" | "0" => false,
                _ => return Err(Error::Parameter { name, expected: "true or false" }),
            };
            *match name {
                "requireSSL" => &mut flags.requires,
                "verifyServerCertificate" => &mut flags.verifies,
                "trustServerCertificate" => &mut flags.trusts_all,
                "disableSslHostnameVerification" => &mut flags.any_host,
                _ => &mut flags.uses,
            } = Some(flag);
        }
        Ok(flags)
    }

    /// The mode that the flags mean together: `useSSL` alone is encryption if the server has it,
    /// with the driver of MySQL, and a verified name of the server with that of MariaDB.
    fn mode(&self, is_mariadb: bool) -> Option<&'static str> {
        let is_set = |flag: Option<bool>| flag == Some(true);
        if self.uses == Some(false) {
            return Some("disabled");
        }
        if is_mariadb && is_set(self.uses) && !is_set(self.trusts_all) {
            return Some(if is_set(self.any_host) { "verify_ca" } else { "verify_identity" });
        }
        if is_set(self.verifies) {
            return Some("verify_ca");
        }
        if is_set(self.requires) || is_mariadb && is_set(self.uses) {
            return Some("required");
        }
        self.uses.map(|_| "preferred")
    }
}

/// The modes of MySQL, and those of MariaDB's driver.
fn ssl_mode(value: &str) -> Result<String, Error> {
    Ok(match value.to_ascii_lowercase().replace('-', "_").as_str() {
        "disabled" | "disable" | "false" | "0" => "disabled",
        "preferred" => "preferred",
        "required" | "trust" => "required",
        "verify_ca" => "verify_ca",
        "verify_identity" | "verify_full" | "true" | "1" => "verify_identity",
        _ => {
            return Err(Error::Parameter {
                name: "sslMode",
                expected: "DISABLED, PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY",
            });
        }
    }
    .to_owned())
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
            ("jdbc:mysql://db:3307/jobs", "mysql://db:3307/jobs"),
            ("jdbc:mariadb://db/jobs?user=a&password=b%26c", "mysql://a:b%26c@db/jobs"),
            ("jdbc:mysql://localhost:3306/jobs", "mysql://127.0.0.1:3306/jobs"),
            ("jdbc:mysql:///jobs", "mysql://127.0.0.1/jobs"),
            ("jdbc:mysql://a:b@[::1]:1/jobs", "mysql://a:b@[::1]:1/jobs"),
            ("jdbc:mysql://h/j?useSSL=false", "mysql://h/j?ssl_mode=disabled"),
            (
                "jdbc:mariadb://h/j?sslMode=verify-full&serverSslCert=/ca.pem",
                "mysql://h/j?ssl_mode=verify_identity&ssl_ca=%2Fca.pem",
            ),
            ("jdbc:mariadb://localhost/j?localSocket=/run/my.sock", "mysql://localhost/j?unix_socket=%2Frun%2Fmy.sock"),
            ("mysql://a@localhost/j?ssl-mode=REQUIRED", "mysql://a@localhost/j?ssl_mode=required"),
            ("mariadb://h/j", "mysql://h/j"),
            ("jdbc:mysql://localhost:1,[::1],c:2/j?user=a", "mysql://a@127.0.0.1:1,[::1],c:2/j"),
        ] {
            assert_eq!(parse(text), (url.to_owned(), vec![]), "{text}");
        }
    }

    /// Parameters are read together, in any order: a server that a driver of Java verifies is
    /// verified here.
    #[test]
    fn flags_of_java_drivers_ask_for_the_tls_that_they_give_there() {
        for (parameters, mode) in [
            ("useSSL=true", "preferred"),
            ("useSSL=false&requireSSL=true", "disabled"),
            ("useSSL=true&requireSSL=true", "required"),
            ("requireSSL=true", "required"),
            ("useSSL=true&verifyServerCertificate=true&requireSSL=true", "verify_ca"),
            ("useSSL=true&sslMode=VERIFY_IDENTITY", "verify_identity"),
        ] {
            let backwards = parameters.split('&').rev().collect::<Vec<_>>().join("&");
            for given in [parameters, &backwards] {
                let url = format!("jdbc:mysql://h/j?{given}");
                assert_eq!(parse(&url), (format!("mysql://h/j?ssl_mode={mode}"), vec![]), "{url}");
            }
        }
        for (parameters, mode) in [
            ("useSsl=true", "verify_identity"),
            ("sslMode=true", "verify_identity"),
            ("useSSL=1&disableSslHostnameVerification=true", "verify_ca"),
            ("useSSL=true&trustServerCertificate=true", "required"),
            ("sslMode=trust&useSSL=true", "required"),
            ("useSSL=false", "disabled"),
        ] {
            let url = format!("jdbc:mariadb://h/j?{parameters}");
            assert_eq!(parse(&url), (format!("mysql://h/j?ssl_mode={mode}"), vec![]), "{url}");
        }
    }

    #[test]
    fn several_servers_are_taken_apart() {
        let of_each = |text: &str| super::of_each_server(&parse(text).0);
        assert_eq!(
            of_each("mysql://a:b%40@h:1,[::1]:2,c/j?ssl_ca=x"),
            ["mysql://a:b%40@h:1/j?ssl_ca=x", "mysql://a:b%40@[::1]:2/j?ssl_ca=x", "mysql://a:b%40@c/j?ssl_ca=x"]
        );
        assert_eq!(of_each("mysql://h/j"), ["mysql://h/j"]);
        let refused = DataSourceUrl::parse("mysql://a,/j", None, None);
        assert_eq!(refused.unwrap_err(), Error::Host);
    }

    #[test]
    fn what_has_no_effect_is_said() {
        for (text, count) in [
            ("jdbc:mysql://h/j?serverTimezone=UTC&useUnicode=true&characterEncoding=utf8", 3),
            ("jdbc:mysql://a:1,b:2/j", 0),
            ("jdbc:mysql:loadbalance://a/j", 1),
            ("jdbc:mariadb:sequential://a,b/j?requireSSL=false", 1),
            ("mysql://h/j?charset=utf8", 1),
        ] {
            let (_, warnings) = parse(text);
            assert_eq!(warnings.len(), count, "{text}: {warnings:?}");
        }
    }

    #[test]
    fn what_cannot_be_said_to_the_driver_is_an_error() {
        for (text, error) in [
            ("mysql://h", Error::NoDatabase),
            ("jdbc:mysql://h/", Error::NoDatabase),
            ("mysql://h/a%2Fb", Error::DatabaseName),
            ("mysql://h/jöbs", Error::DatabaseName),
            ("mysql://h x/j", Error::Host),
            ("jdbc:mysql://(host=a)/j", Error::ManyServers),
        ] {
            assert_eq!(DataSourceUrl::parse(text, None, None).unwrap_err(), error, "{text}");
        }
        for text in ["mysql://h/j?ssl_mode=on", "jdbc:mysql://h/j?useSSL=perhaps"] {
            let error = DataSourceUrl::parse(text, None, None).unwrap_err();
            assert!(matches!(error, Error::Parameter { .. }), "{text}");
        }
    }
}
