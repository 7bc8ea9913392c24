//! Dashboard settings: where the web page listens, and who may see and do what on it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::reader::Reader;
use super::secret::Secret;

const USER: &str = "carnelian.dashboard.user.";

/// The beginning of every hash of a password.
const HASH: &str = "$argon2id$";

/// The web page for operators (`carnelian.dashboard.*`).
///
/// ```
/// use carnelian::settings::Settings;
///
/// let dashboard = Settings::default().dashboard;
/// assert!(dashboard.listen.ip().is_loopback() && !dashboard.has_login());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DashboardSettings {
    /// The address on which `carnelian dashboard` listens; 127.0.0.1:8080.
    /// Property `carnelian.dashboard.listen`.
    pub listen: SocketAddr,
    /// The people who may log in with a password; nobody.
    /// Properties `carnelian.dashboard.user.NAME.password`, `carnelian.dashboard.user.NAME.role`.
    pub users: Vec<DashboardUser>,
    /// The header in which a proxy that does the login names the person; none.
    /// Property `carnelian.dashboard.proxyUserHeader`.
    pub proxy_user_header: Option<String>,
    /// The addresses of the proxies whose header is believed; 127.0.0.1 and ::1.
    /// Property `carnelian.dashboard.proxyAddresses`.
    pub proxy_addresses: Vec<IpAddr>,
    /// The people named by a proxy who are operators, `*` for everybody; nobody.
    /// Property `carnelian.dashboard.proxyOperators`.
    pub proxy_operators: Vec<String>,
    /// The names under which browsers reach the page; none: any name if there is a login, else
    /// those of the machine itself. Property `carnelian.dashboard.hosts`.
    pub hosts: Vec<String>,
    /// The time for which a login lasts; 8 h.
    /// Property `carnelian.dashboard.sessionLength` (ms, or a text such as `8h`).
    pub session_length: Duration,
}

/// A person who may log in to the dashboard.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DashboardUser {
    /// The name of the login.
    pub name: String,
    /// The hash of the password, `$argon2id$…`.
    pub password: Secret,
    /// The role of the login; viewer.
    pub role: DashboardRole,
}

/// The rights of a person on the dashboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum DashboardRole {
    /// Looks at everything but the data of jobs.
    Viewer,
    /// Looks at everything and changes it.
    Operator,
}

impl DashboardSettings {
    /// True if somebody can log in, by a password or through a proxy.
    pub fn has_login(&self) -> bool {
        !self.users.is_empty() || self.proxy_user_header.is_some()
    }

    pub(crate) fn read(reader: &mut Reader) -> Self {
        let users = reader.names(USER).into_iter().filter_map(|name| DashboardUser::read(reader, name)).collect();
        let addresses = words(reader, "carnelian.dashboard.proxyAddresses");
        let proxy_addresses = addresses.iter().filter_map(|text| match text.parse() {
            Ok(address) => Some(address),
            Err(_) => {
                let expected = format!("expected IP addresses such as 127.0.0.1, ::1: `{text}` is none");
                reader.refuse("carnelian.dashboard.proxyAddresses", expected, None);
                None
            }
        });
        Self {
            proxy_addresses: proxy_addresses.collect(),
            listen: reader
                .address("carnelian.dashboard.listen")
                .unwrap_or_else(|| SocketAddr::from((Ipv4Addr::LOCALHOST, 8080))),
            users,
            proxy_user_header: reader.text("carnelian.dashboard.proxyUserHeader"),
            proxy_operators: words(reader, "carnelian.dashboard.proxyOperators"),
            hosts: words(reader, "carnelian.dashboard.hosts"),
            session_length: reader.duration("carnelian.dashboard.sessionLength"),
        }
    }
}

impl DashboardUser {
    fn read(reader: &mut Reader, name: String) -> Option<Self> {
        let (key, role) = (format!("{USER}{name}.password"), format!("{USER}{name}.role"));
        let how = "write the hash of a password, as `carnelian dashboard --hash-password` prints it";
        let Some(password) = reader.text(&key) else {
            reader.missing(&role, format!("the login `{name}` has no {key}: {how}"));
            return None;
        };
        if !password.starts_with(HASH) {
            reader.refuse(&key, format!("no hash of a password: {how}"), None);
        }
        let is_operator = reader.chose(&role, "operator");
        let role = if is_operator { DashboardRole::Operator } else { DashboardRole::Viewer };
        Some(Self { name, password: Secret::new(password), role })
    }
}

/// The words of a list that is separated by commas.
fn words(reader: &Reader, key: &str) -> Vec<String> {
    let text = reader.text(key).unwrap_or_default();
    text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}
