//! Where a request is addressed to, and where it comes from.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use hyper::header::{HOST, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Uri, Version};

use crate::base::settings::{HttpSettings, Network};
use crate::thread::thread_state::Worker;
use crate::wire::request_head::{Field, Head};

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// What stands for the name of a server that is asked without one.
static NO_NAME: HeaderValue = HeaderValue::from_static("");

/// The authority that a request is addressed to: exactly one Host, valid by RFC 9110 section 7.2, the same as the
/// target's where that has one, and unless any name will do among those that are served.
pub(crate) fn authority<'r>(
    parts: &Parts,
    head: &Head<'r>,
    worker: &Worker,
    any_name: bool,
) -> Result<&'r HeaderValue, &'static str> {
    let host = match head.host {
        Field::Once(host) => host,
        // HTTP/1.0 demands none (RFC 9112, section 3.2), and balancers probe by it.
        Field::Absent if any_name && parts.version == Version::HTTP_10 => return Ok(&NO_NAME),
        Field::Absent => return Err("The request has no Host."),
        Field::Twice => return Err("The request has more than one Host."),
    };
    if !is_of_target(host, &parts.uri) {
        return Err("The Host is not the one of the target.");
    }
    if any_name {
        judge(host, None)?;
    } else if !worker.knows_host(host) {
        judge(host, worker.app.settings.hosts.as_deref())?;
        worker.remember_host(host);
    }
    Ok(host)
}

/// Whether a Host is the one of the target, if that has one. Either may tell the port that is the scheme's own, or leave it
/// out (RFC 9110, section 4.2.3).
fn is_of_target(host: &HeaderValue, uri: &Uri) -> bool {
    let Some(target) = uri.authority() else { return true };
    let Ok(host) = host.to_str() else { return false };
    let own_port = match uri.scheme_str() {
        Some("http") => "80",
        Some("https") => "443",
        _ => "",
    };
    let parts = |authority| {
        let (name, port): (&str, Option<&str>) = split_port(authority);
        (name, port.filter(|port| !port.is_empty() && *port != own_port))
    };
    let ((name, port), (target, target_port)) = (parts(host), parts(target.as_str()));
    name.eq_ignore_ascii_case(target) && port == target_port
}

/// HTTP/2 names the host in the target, as `:authority` (RFC 9113, section 8.3.1): unless there is a Host too, it is one.
pub(crate) fn name_authority(parts: &mut Parts) {
    if parts.headers.contains_key(HOST) {
        return;
    }
    let authority = parts.uri.authority().map(|authority| HeaderValue::from_str(authority.as_str()));
    if let Some(Ok(authority)) = authority {
        parts.headers.insert(HOST, authority);
    }
}

fn judge(host: &HeaderValue, served: Option<&[String]>) -> Result<(), &'static str> {
    let host = host.to_str().ok().filter(|host| is_valid(host)).ok_or("The Host is not valid.")?;
    let name = without_port(host);
    if served.is_some_and(|served| !served.iter().any(|one| one.eq_ignore_ascii_case(name))) {
        return Err("This host is not served here.");
    }
    Ok(())
}

/// `uri-host [ ":" port ]` of RFC 3986 section 3.2.2, not empty.
fn is_valid(host: &str) -> bool {
    let (name, port) = split_port(host);
    let valid_port = port.is_none_or(|port| {
        port.is_empty() || (port.bytes().all(|b| b.is_ascii_digit()) && port.parse::<u16>().is_ok())
    });
    valid_port && is_valid_name(name)
}

fn is_valid_name(name: &str) -> bool {
    if let Some(literal) = name.strip_prefix('[') {
        return literal.strip_suffix(']').is_some_and(|address| address.parse::<Ipv6Addr>().is_ok());
    }
    let mut bytes = name.bytes();
    while let Some(byte) = bytes.next() {
        let valid = match byte {
            b'%' => {
                matches!((bytes.next(), bytes.next()), (Some(a), Some(b)) if a.is_ascii_hexdigit() && b.is_ascii_hexdigit())
            }
            _ => byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=".contains(&byte),
        };
        if !valid {
            return false;
        }
    }
    !name.is_empty()
}

fn without_port(host: &str) -> &str {
    split_port(host).0
}

fn split_port(host: &str) -> (&str, Option<&str>) {
    // The colons of an IPv6 literal are inside its brackets.
    match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, Some(port)),
        _ => (host, None),
    }
}

/// The address that a request is counted against: the peer's, or behind trusted proxies the last one in
/// `X-Forwarded-For` that is not one of theirs. Whatever stands before that one, a client may have invented.
pub(crate) fn client_address(peer: IpAddr, headers: &HeaderMap, settings: &HttpSettings) -> IpAddr {
    client_among(&settings.trusted_proxies, peer, headers)
}

fn client_among(proxies: &[Network], peer: IpAddr, headers: &HeaderMap) -> IpAddr {
    let trusted = |address: IpAddr| proxies.iter().any(|network| network.contains(address));
    let mut client = peer;
    if proxies.is_empty() || !trusted(peer) {
        return client;
    }
    let values: Vec<_> = headers.get_all(FORWARDED_FOR).iter().collect();
    // A line that cannot be read ends the walk: what stands before it may be the client's own.
    let entries = values.iter().rev().flat_map(|value| value.to_str().unwrap_or("?").rsplit(','));
    for entry in entries {
        let entry = entry.trim();
        // An element of a list may be empty (RFC 9110, section 5.6.1.2).
        if entry.is_empty() {
            continue;
        }
        let Some(address) = parse_entry(entry) else { break };
        client = address;
        if !trusted(address) {
            break;
        }
    }
    client
}

/// An address, which some proxies write with the port, or in the brackets that a port needs.
fn parse_entry(entry: &str) -> Option<IpAddr> {
    let bracketed = || entry.strip_prefix('[')?.strip_suffix(']')?.parse().map(IpAddr::V6).ok();
    let with_port = || entry.parse::<SocketAddr>().ok().map(|address| address.ip());
    entry.parse().ok().or_else(with_port).or_else(bracketed)
}

#[cfg(test)]
mod fuzz;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_name_or_an_address_with_or_without_a_port() {
        for host in [
            "localhost",
            "127.0.0.1:8080",
            "[::1]:80",
            "[2001:db8::1]",
            "pets.example:",
            "a%20b",
            "x_y.example",
        ] {
            assert!(is_valid(host), "{host}");
        }
        for host in [
            "",
            ":80",
            "a b",
            "a/b",
            "user@host",
            "[::1",
            "::1",
            "host:80a",
            "host:65536",
            "a%2",
            "[::g]",
            "a\"b",
            "h:1:2",
        ] {
            assert!(!is_valid(host), "{host}");
        }
    }
}
