//! Where a request is addressed to.

use hyper::header::{HOST, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Uri, Version};

use crate::base::authority::{HostName, default_port, is_valid, split_port};
use crate::thread::thread_state::ThreadState;
use crate::wire::request_head::{Field, RequestHead};

/// What stands for the name of a server that is asked without one.
static NO_NAME: HeaderValue = HeaderValue::from_static("");

/// The authority that a request is addressed to: exactly one Host, valid by RFC 9110 section 7.2, the same as the
/// target's where that has one, and unless any name will do among those that are served.
pub(crate) fn authority<'r>(
    parts: &Parts,
    head: &RequestHead<'r>,
    thread: &ThreadState,
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
    } else if !thread.knows_host(host) {
        judge(host, thread.app.settings.hosts.as_deref())?;
        thread.remember_host(host);
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

#[cfg(test)]
mod fuzz;
