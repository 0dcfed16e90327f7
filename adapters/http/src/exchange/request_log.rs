//! The report of a finished exchange to the observer, and of forwarding values that were ignored.

use std::net::IpAddr;
use std::time::Duration;

use hyper::http::request::Parts;
use petstore_domain::{AccountId, KeyPrefix};

use crate::base::observe::{Exchange, Observer};
use crate::counts::counters;
use crate::counts::route_label::RouteLabel;
use crate::exchange::credentials::presented;
use crate::exchange::forwarded::ForwardedOrigin;
use crate::response::answer::Answer;
use crate::thread::request_id::RequestId;
use crate::thread::shared::App;
use crate::wire::request_head::RequestHead;

/// Counts the forwarding values that were ignored, and warns once about a proxy that does not forward the scheme. Only
/// requests under the base path lead to the warning, because the health probes of a load balancer have no forwarding
/// headers.
pub(super) fn report_ignored_values(app: &App, proxy: IpAddr, origin: &ForwardedOrigin, under_base: bool) {
    if origin.ignored > 0 {
        app.count_ignored_values(origin.ignored);
    }
    if origin.lacks_scheme && under_base {
        app.advise_scheme_lacks(proxy);
    }
}

/// The facts of a request that may be logged.
pub(super) struct LoggedRequest<'r> {
    pub(super) parts: &'r Parts,
    pub(super) head: &'r RequestHead<'r>,
    pub(super) client: IpAddr,
    pub(super) account: Option<AccountId>,
    pub(super) route: RouteLabel,
    pub(super) duration: Duration,
}

/// Reports a request and its response to the observer, which writes the log.
pub(super) fn observe(observer: &dyn Observer, request: &LoggedRequest<'_>, answer: &Answer, id: &RequestId) {
    // The prefix of a key is logged only if the key is valid, because any other text in its place may be a secret.
    let key = request.account.and_then(|_| presented(request.head, &request.parts.headers).ok());
    let key = key.and_then(|key| str::from_utf8(key.get(..KeyPrefix::LEN)?).ok());
    observer.answered(&Exchange {
        method: counters::method_name(&request.parts.method),
        route: request.route.template(),
        status: answer.status.as_u16(),
        request_id: id.as_str(),
        traceparent: request.parts.headers.get("traceparent").and_then(|value| value.to_str().ok()),
        client: request.client.to_canonical(),
        account: request.account,
        key,
        duration: request.duration,
        fault: answer.fault.as_deref(),
    });
}
