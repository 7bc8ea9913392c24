//! Parts: a server URL taken apart, and percent-encoding.

use super::DataSourceUrlError as Error;
use crate::settings::secret::Secret;

/// A server URL taken apart, everything decoded.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub user: Option<String>,
    pub password: Option<Secret>,
    /// At least one, if the URL names any.
    pub hosts: Vec<Host>,
    pub database: Option<String>,
    pub parameters: Vec<(String, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Host {
    /// An IPv6 address keeps its brackets.
    pub name: String,
    pub port: Option<u16>,
}

impl Parts {
    /// Splits what stands behind `scheme:`; a JDBC URL has `+` for a blank in its parameters.
    pub fn split(rest: &str, jdbc: bool) -> Result<Self, Error> {
        let (place, query) = match rest.split_once('?') {
            Some((place, query)) => (place, Some(query)),
            None => (rest, None),
        };
        let (authority, database) = match place.strip_prefix("//") {
            Some(place) => match place.split_once('/') {
                Some((authority, database)) => (authority, database),
                None => (place, ""),
            },
            // `jdbc:postgresql:jobs` is a database on this machine.
            None if jdbc => ("", place),
            None => return Err(Error::UnknownScheme),
        };
        if database.contains(['/', '@']) {
            return Err(Error::Path);
        }
        let mut parts = Self { database: Some(decode(database)?).filter(|name| !name.is_empty()), ..Self::default() };
        let hosts = match authority.rsplit_once('@') {
            Some((login, hosts)) => {
                let (user, password) = match login.split_once(':') {
                    Some((user, password)) => (user, Some(password)),
                    None => (login, None),
                };
                parts.user = Some(decode(user)?).filter(|user| !user.is_empty());
                parts.password = password.map(decode).transpose()?.map(Secret::new);
                hosts
            }
            None => authority,
        };
        if !hosts.is_empty() {
            parts.hosts = hosts.split(',').map(host).collect::<Result<_, _>>()?;
        }
        for pair in query.unwrap_or("").split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let plain = |text: &str| {
                if jdbc { decode(&text.replace('+', " ")) } else { decode(text) }
            };
            let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
            // A `?` inside a password lands here.
            if !name.chars().all(is_word) || (!jdbc && value.contains('@') && parts.user.is_none()) {
                return Err(Error::Path);
            }
            parts.parameters.push((name.to_owned(), plain(value)?));
        }
        if authority.contains('@') && parts.lacks_host() {
            return Err(Error::Host);
        }
        Ok(parts)
    }

    /// True if no place is named. Drivers would take this machine, which nobody means who writes a
    /// login.
    fn lacks_host(&self) -> bool {
        const PLACES: [&str; 6] = ["host", "hostaddr", "service", "unix_socket", "unix-socket", "localSocket"];
        self.hosts.iter().all(|host| host.name.is_empty())
            && !self.parameters.iter().any(|(name, _)| PLACES.contains(&name.as_str()))
    }

    /// Moves `user=` and `password=` into the login. The keys of the data source go before both.
    pub fn take_login(&mut self, user: Option<&str>, password: Option<&Secret>, warnings: &mut Vec<String>) {
        for (name, value) in std::mem::take(&mut self.parameters) {
            match name.as_str() {
                "user" => self.user = Some(value),
                "password" => self.password = Some(Secret::new(value)),
                _ => self.parameters.push((name, value)),
            }
        }
        if let Some(user) = user {
            if self.user.as_deref().is_some_and(|other| other != user) {
                warnings.push("the URL holds another user: the data source's key `user` goes before it".to_owned());
            }
            self.user = Some(user.to_owned());
        }
        if let Some(password) = password {
            if self.password.as_ref().is_some_and(|other| other != password) {
                warnings
                    .push("the URL holds another password: the data source's key `password` goes before it".to_owned());
            }
            self.password = Some(password.clone());
        }
    }

    /// `user:password@`, encoded.
    pub fn login(&self) -> String {
        let user = encode(self.user.as_deref().unwrap_or(""));
        match &self.password {
            Some(password) => format!("{user}:{}@", encode(password.reveal())),
            None if user.is_empty() => user,
            None => format!("{user}@"),
        }
    }
}

fn host(text: &str) -> Result<Host, Error> {
    let (name, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (address, after) = rest.split_once(']').ok_or(Error::Host)?;
            if address.parse::<std::net::Ipv6Addr>().is_err() {
                return Err(Error::Host);
            }
            let port = match after.strip_prefix(':') {
                None if !after.is_empty() => return Err(Error::Host),
                port => port,
            };
            (format!("[{address}]"), port)
        }
        None => match text.split_once(':') {
            Some((name, port)) => (decode(name)?, Some(port)),
            None => (decode(text)?, None),
        },
    };
    let port = match port {
        Some(port) => Some(port.parse().ok().filter(|&port| port > 0).ok_or(Error::Port)?),
        None => None,
    };
    Ok(Host { name, port })
}

/// Encodes everything but letters, digits and `- . _ ~`.
pub(super) fn encode(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

fn decode(text: &str) -> Result<String, Error> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16));
        let (Some(high), Some(low)) = (digit(), digit()) else {
            return Err(Error::Escape);
        };
        bytes.push(u8::try_from(high * 16 + low).map_err(|_| Error::Escape)?);
    }
    let text = String::from_utf8(bytes).map_err(|_| Error::Escape)?;
    // No driver takes a NUL, and the others have no place in a name.
    if text.chars().any(char::is_control) { Err(Error::TooLong) } else { Ok(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_found() {
        let parts = Parts::split("//m%20e:p%40s%3As@a:1,[::1]:2,c/j%C3%A4?x=1&y=a%26b&z", false).unwrap();
        assert_eq!(parts.user.as_deref(), Some("m e"));
        assert_eq!(parts.password.as_ref().map(Secret::reveal), Some("p@s:s"));
        let host = |name: &str, port| Host { name: name.to_owned(), port };
        assert_eq!(parts.hosts, [host("a", Some(1)), host("[::1]", Some(2)), host("c", None)]);
        assert_eq!(parts.database.as_deref(), Some("jä"));
        let names: Vec<_> = parts.parameters.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        assert_eq!(names, [("x", "1"), ("y", "a&b"), ("z", "")]);
        assert_eq!(parts.login(), "m%20e:p%40s%3As@");
    }

    #[test]
    fn a_raw_at_sign_or_colon_in_a_password_is_understood() {
        let parts = Parts::split("//me:p@s:s@h/db", false).unwrap();
        assert_eq!(parts.password.as_ref().map(Secret::reveal), Some("p@s:s"));
    }

    #[test]
    fn raw_delimiters_in_a_password_are_refused_rather_than_misread() {
        for (rest, error) in [
            ("//me:p/w@h/db", Error::Path),
            ("//me:p/w", Error::Port),
            ("//me:12/w@h/db", Error::Path),
            ("//me:12?w@h/db", Error::Path),
            ("//me:12?w=@h/db", Error::Path),
            ("//h:0/db", Error::Port),
            ("//h:99999/db", Error::Port),
            ("//[::1/db", Error::Host),
            ("//[::1]5/db", Error::Host),
            ("//[nine]/db", Error::Host),
            ("//h/d%b", Error::Escape),
            ("//me:%ff@h/db", Error::Escape),
            ("//me:%00@h/db", Error::TooLong),
            ("//h/a/b", Error::Path),
            ("h/db", Error::UnknownScheme),
            ("//me:secret@", Error::Host),
            ("//me:secret@/db", Error::Host),
            ("//me@:5432/db", Error::Host),
        ] {
            assert_eq!(Parts::split(rest, false).unwrap_err(), error, "{rest}");
        }
        // A socket is a place too.
        assert!(Parts::split("//me:secret@/db?host=/run/postgresql", false).is_ok());
    }

    #[test]
    fn encoding_and_decoding_are_inverse() {
        let text = "a-Z_9.~ä€😀 %/?#[]@!$&'()*+,;=:";
        assert_eq!(decode(&encode(text)).as_deref(), Ok(text));
        assert_eq!(encode("a/ä"), "a%2F%C3%A4");
    }
}
