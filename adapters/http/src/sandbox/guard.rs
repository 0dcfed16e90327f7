//! The guard of the sandbox: the origins and the hosts that may use it.
//!
//! The sandbox shows what clients have sent, and has no credentials of its own. So neither a page of another origin may read
//! it, nor a page whose host name leads to this machine (DNS rebinding), which a browser takes for the page's own origin.
//!
//! A page of another site may also send a GET whose answer it cannot read, and measure its time. Such a request has no
//! `Origin`; a browser marks it with `Sec-Fetch-Site`.

use hyper::http::request::Parts;

use crate::base::authority::{HostName, split_port};
use crate::thread::shared::App;
use crate::wire::error::{ApiError, Code};
use crate::wire::request_head::{Field, RequestHead};

/// Refuses a request of an origin or under a host that may not use the sandbox.
pub(super) fn check(app: &App, parts: &Parts, head: &RequestHead<'_>) -> Result<(), ApiError> {
    check_origin(app, parts, head)?;
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
pub(super) fn check_origin(app: &App, parts: &Parts, head: &RequestHead<'_>) -> Result<(), ApiError> {
    if !app.cors.may_act(head) {
        let message = "This Origin is not allowed to use the sandbox; add it to the cors setting.";
        return Err(ApiError::new(Code::InvalidHeader, message));
    }
    if head.origin == Field::Absent && is_of_other_site(parts) {
        let message = "A page of another site may use the sandbox only by a request with its Origin, which the cors setting \
                       must list.";
        return Err(ApiError::new(Code::InvalidHeader, message));
    }
    Ok(())
}

/// Refuses a request for a file of the console by a page of another site, unless a user follows a link to the console.
pub(crate) fn check_page(app: &App, parts: &Parts, head: &RequestHead<'_>) -> Result<(), ApiError> {
    let has = |name: &str, value: &str| {
        let mut values = parts.headers.get_all(name).iter();
        values.next().is_some_and(|first| first == value) && values.next().is_none()
    };
    let is_link = has("sec-fetch-mode", "navigate") && has("sec-fetch-dest", "document");
    if is_link || !is_of_other_site(parts) { Ok(()) } else { check_origin(app, parts, head) }
}

/// Returns whether a browser says that a page of another site has caused the request.
fn is_of_other_site(parts: &Parts) -> bool {
    let sites = parts.headers.get_all("sec-fetch-site");
    sites.iter().any(|site| !matches!(site.as_bytes(), b"same-origin" | b"same-site" | b"none"))
}

/// Returns whether a host is one of this machine, or is listed.
pub(super) fn is_permitted(app: &App, host: &str) -> bool {
    let listed = app.settings.hosts.as_deref().unwrap_or_default();
    HostName::parse(split_port(host).0)
        .is_some_and(|name| name.is_of_this_machine() || listed.contains(&name))
}
