//! The guard of the sandbox: the origins and the hosts that may use it.
//!
//! The sandbox shows what clients have sent, and has no credentials of its own. So neither a page of another origin may read
//! it, nor a page whose host name leads to this machine (DNS rebinding), which a browser takes for the page's own origin.

use hyper::http::request::Parts;

use crate::base::authority::{HostName, split_port};
use crate::thread::shared::App;
use crate::wire::error::{ApiError, Code};
use crate::wire::request_head::{Field, RequestHead};

/// Refuses a request of an origin or under a host that may not use the sandbox.
pub(super) fn check(app: &App, parts: &Parts, head: &RequestHead<'_>) -> Result<(), ApiError> {
    check_origin(app, head)?;
    let is_permitted = match head.host {
        Field::Once(host) => host.to_str().is_ok_and(|host| is_permitted(app, host)),
        // HTTP/1.0 has no Host, and no browser sends it.
        Field::Absent => parts.version == hyper::Version::HTTP_10,
        Field::Twice => false,
    };
    if is_permitted {
        return Ok(());
    }
    let message = "The sandbox is not served under this Host; use localhost or a loopback address, or add the host to the \
                   hosts setting.";
    Err(ApiError::new(Code::InvalidHost, message))
}

/// Refuses a request of a page whose origin may not use the sandbox.
pub(super) fn check_origin(app: &App, head: &RequestHead<'_>) -> Result<(), ApiError> {
    if app.cors.may_act(head) {
        return Ok(());
    }
    let message = "This Origin is not allowed to use the sandbox; add it to the cors setting.";
    Err(ApiError::new(Code::InvalidHeader, message))
}

/// Returns whether a host is one of this machine, or is listed.
pub(super) fn is_permitted(app: &App, host: &str) -> bool {
    let listed = app.settings.hosts.as_deref().unwrap_or_default();
    HostName::parse(split_port(host).0)
        .is_some_and(|name| name.is_of_this_machine() || listed.contains(&name))
}
