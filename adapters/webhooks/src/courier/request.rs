//! The request that a receiver gets.

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use hyper::header::{CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use petstore_domain::{Target, TargetHost};
use petstore_ports::WebhookRequest;

/// A request, which can be sent again on another connection.
pub(super) struct Outgoing {
    path: String,
    headers: HeaderMap,
    body: Bytes,
}

impl Outgoing {
    pub(super) fn new(target: &Target, request: WebhookRequest, user_agent: &str) -> Self {
        let seconds = request.sent_at.as_millis().div_euclid(1_000);
        let mut headers = HeaderMap::new();
        let mut add = |name: HeaderName, value: &str| {
            // The values of the petstore are visible ASCII. A value of an embedder that is not is left out.
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(name, value);
            }
        };
        add(HOST, &host(target));
        add(USER_AGENT, user_agent);
        add(CONTENT_TYPE, "application/json");
        add(HeaderName::from_static("webhook-id"), &request.event_id);
        add(HeaderName::from_static("webhook-timestamp"), &seconds.to_string());
        add(HeaderName::from_static("webhook-signature"), &request.signature);
        add(HeaderName::from_static("petstore-event"), &request.event_type);
        add(HeaderName::from_static("petstore-attempt"), &request.attempt.to_string());
        if let Some(webhook) = request.webhook {
            add(HeaderName::from_static("petstore-webhook"), &webhook.to_string());
        }
        Self { path: target.path().into_owned(), headers, body: request.body.into() }
    }

    /// The request, with the path alone as its target.
    pub(super) fn request(&self) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(self.body.clone()));
        *request.method_mut() = hyper::Method::POST;
        *request.uri_mut() = self.path.parse().unwrap_or_default();
        self.headers.clone_into(request.headers_mut());
        request
    }
}

/// Returns the host, with the port unless it is the scheme's own.
fn host(target: &Target) -> String {
    let host = match target.host() {
        TargetHost::Name(name) => name.clone(),
        TargetHost::Address(std::net::IpAddr::V6(address)) => format!("[{address}]"),
        TargetHost::Address(address) => address.to_string(),
    };
    let own_port = if target.is_secure() { 443 } else { 80 };
    if target.port() == own_port { host } else { format!("{host}:{}", target.port()) }
}
