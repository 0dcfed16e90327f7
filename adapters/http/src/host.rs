//! Where a request is addressed to, and where it comes from.

use std::net::{IpAddr, SocketAddr};

use hyper::header::{HOST, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Uri, Version};

use crate::authority::{HostName, is_valid, own_port, split_port};
use crate::head::{Field, Head};
use crate::settings::{HttpSettings, Network};
use crate::worker::Worker;

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
    // Over HTTP/2 the one is made of the other.
    if host.as_bytes() == target.as_str().as_bytes() {
        return true;
    }
    let Ok(host) = host.to_str() else { return false };
    let own_port = uri.scheme_str().and_then(own_port);
    let parts = |authority| {
        let (name, port): (&str, Option<&str>) = split_port(authority);
        let port = match port.filter(|port| !port.is_empty()) {
            Some(port) => Some(port.parse::<u16>().ok()?),
            None => None,
        };
        Some((HostName::parse(name)?, port.filter(|port| Some(*port) != own_port)))
    };
    let host = parts(host);
    host.is_some() && host == parts(target.as_str())
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

fn judge(host: &HeaderValue, served: Option<&[HostName]>) -> Result<(), &'static str> {
    let host = host.to_str().ok().filter(|host| is_valid(host)).ok_or("The Host is not valid.")?;
    if !is_served(host, served) {
        return Err("This host is not served here.");
    }
    Ok(())
}

/// Whether a valid host is among those that are served, if these are listed.
pub(crate) fn is_served(host: &str, served: Option<&[HostName]>) -> bool {
    let name = || HostName::parse(split_port(host).0);
    served.is_none_or(|served| name().is_some_and(|name| served.contains(&name)))
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
