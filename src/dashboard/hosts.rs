//! Hosts: the names under which browsers may reach the page. A foreign name that leads to this
//! machine (DNS rebinding) is refused.

use super::request::Request;

/// The names of the machine itself.
const OWN: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// True if the request names a host that is allowed: one of these, or without any, every name if
/// there is a login and else the machine's own.
pub(super) fn is_allowed(request: &Request, hosts: &[String], has_login: bool) -> bool {
    let Some(host) = request.get("host").map(without_port) else { return false };
    match hosts {
        [] => has_login || is_own(host),
        hosts => hosts.iter().any(|allowed| allowed.eq_ignore_ascii_case(host)),
    }
}

/// The headers by which a proxy says for whom it asks.
const FORWARDED: [&str; 6] =
    ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via"];

/// True if the request names the machine itself and comes from it, for nobody else.
pub(super) fn is_of_this_machine(request: &Request) -> bool {
    request.get("host").map(without_port).is_some_and(is_own)
        && request.peer.is_some_and(|peer| peer.to_canonical().is_loopback())
        && !request.is_old
        && FORWARDED.iter().all(|header| request.get(header).is_none())
}

fn is_own(host: &str) -> bool {
    OWN.iter().any(|own| own.eq_ignore_ascii_case(host))
}

/// The port of the host that the request names.
pub(super) fn port(request: &Request) -> Option<&str> {
    let host = request.get("host")?;
    host.strip_prefix(without_port(host))?.strip_prefix(':')
}

/// True if the request comes from a page of this server, as far as the browser says where from.
pub(super) fn is_same_origin(request: &Request) -> bool {
    let origin = request.get("origin").map(|origin| origin.split_once("://").map_or("", |(_, host)| host));
    let site = request.get("sec-fetch-site");
    origin.is_none_or(|origin| request.get("host") == Some(origin))
        && site.is_none_or(|site| site == "same-origin" || site == "none")
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(host: &str) -> Request {
        Request::new("GET", "/").header("Host", host)
    }

    #[test]
    fn names_of_other_machines_are_refused_without_a_login() {
        for (host, own) in [
            ("localhost:8080", true),
            ("LOCALHOST", true),
            ("127.0.0.1:1", true),
            ("[::1]:8080", true),
            ("evil.example", false),
            ("localhost.evil.example:8080", false),
            ("127.0.0.1.evil.example", false),
            ("[::1].evil.example", false),
            ("", false),
        ] {
            assert_eq!(is_allowed(&request(host), &[], false), own, "{host}");
        }
        assert!(!is_allowed(&Request::new("GET", "/"), &[], false), "no host at all");
        assert!(is_allowed(&request("jobs.example:443"), &[], true));
        let hosts = ["jobs.example".to_owned()];
        assert!(is_allowed(&request("Jobs.example:443"), &hosts, false));
        assert!(!is_allowed(&request("localhost"), &hosts, true));
        assert_eq!(port(&request("[::1]:8080")), Some("8080"));
    }

    #[test]
    fn a_proxy_on_this_machine_asks_for_others() {
        let own = || request("localhost:8080").peer(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST));
        assert!(is_of_this_machine(&own()));
        assert!(!is_of_this_machine(&own().old(true)), "a proxy that says nothing of itself");
        for header in FORWARDED {
            assert!(!is_of_this_machine(&own().header(header, "203.0.113.7")), "{header}");
        }
    }

    #[test]
    fn requests_of_other_pages_are_told_apart() {
        let post = || request("localhost:8080");
        assert!(is_same_origin(&post()));
        assert!(is_same_origin(
            &post().header("Origin", "http://localhost:8080").header("Sec-Fetch-Site", "same-origin")
        ));
        assert!(!is_same_origin(&post().header("Origin", "http://evil.example")));
        assert!(!is_same_origin(&post().header("Origin", "null")));
        assert!(!is_same_origin(&post().header("Sec-Fetch-Site", "cross-site")));
    }
}
