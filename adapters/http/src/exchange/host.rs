//! The host to which a request is addressed.

use hyper::header::{HOST, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Uri, Version};

use crate::base::authority::{HostName, default_port, is_valid, split_port};
use crate::thread::thread_state::ThreadState;
use crate::wire::request_head::{Field, RequestHead};

/// The value that is used as the Host of a request that has no Host.
static NO_NAME: HeaderValue = HeaderValue::from_static("");

/// Returns the authority of a request. The request must have exactly one Host (RFC 9110, section 7.2). If the request
/// target has an authority, the Host must be equal to it. The host must be one that is served, unless `any_name` is
/// set.
pub(crate) fn authority<'r>(
    parts: &Parts,
    head: &RequestHead<'r>,
    thread: &ThreadState,
    any_name: bool,
) -> Result<&'r HeaderValue, &'static str> {
    let host = match head.host {
        Field::Once(host) => host,
        // HTTP/1.0 does not require a Host (RFC 9112, section 3.2), and load balancers use it for probes.
        Field::Absent if any_name && parts.version == Version::HTTP_10 => return Ok(&NO_NAME),
        Field::Absent => return Err("The request has no Host header."),
        Field::Twice => return Err("The request has more than one Host header."),
    };
    if !is_of_target(host, &parts.uri) {
        return Err("The Host header does not match the host in the request target.");
    }
    if any_name {
        judge(host, None)?;
    } else if !thread.knows_host(host) {
        judge(host, thread.app.settings.hosts.as_deref())?;
        thread.remember_host(host);
    }
    Ok(host)
}

/// Returns `true` if a Host equals the authority of the target, or if the target has no authority. Host and authority
/// may each include or omit the default port of the scheme (RFC 9110, section 4.2.3).
fn is_of_target(host: &HeaderValue, uri: &Uri) -> bool {
    let Some(target) = uri.authority() else { return true };
    // This is the common case over HTTP/2, where the Host was made from the authority.
    if host.as_bytes() == target.as_str().as_bytes() {
        return true;
    }
    let Ok(host) = host.to_str() else { return false };
    let default_port = uri.scheme_str().and_then(default_port);
    let parts = |authority| {
        let (name, port): (&str, Option<&str>) = split_port(authority);
        let port = match port.filter(|port| !port.is_empty()) {
            Some(port) => Some(port.parse::<u16>().ok()?),
            None => None,
        };
        Some((HostName::parse(name)?, port.filter(|port| Some(*port) != default_port)))
    };
    let host = parts(host);
    host.is_some() && host == parts(target.as_str())
}

/// Adds a Host from `:authority`, unless the request has a Host. HTTP/2 sends the authority in the target (RFC 9113,
/// section 8.3.1).
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
    let host = host.to_str().ok().filter(|host| is_valid(host)).ok_or("The Host header is not valid.")?;
    if !is_served(host, served) {
        return Err("This server does not serve the host in the Host header.");
    }
    Ok(())
}

/// Returns whether a valid host is served: it is in the list, or no list is set.
pub(crate) fn is_served(host: &str, served: Option<&[HostName]>) -> bool {
    let name = || HostName::parse(split_port(host).0);
    served.is_none_or(|served| name().is_some_and(|name| served.contains(&name)))
}

#[cfg(test)]
mod fuzz;
