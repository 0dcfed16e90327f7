//! The headers that every answer carries.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_TYPE, ETAG, HeaderName, HeaderValue, LINK, VARY,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::{HeaderMap, Response};

use crate::answer::{Answer, Content};
use crate::cors;
use crate::gate::QuotaNote;
use crate::head::{Field, Head};
use crate::worker::Worker;

const RATE_LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const RATE_REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RATE_RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
const RATE_RESOURCE: HeaderName = HeaderName::from_static("x-ratelimit-resource");
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const DEPRECATION: HeaderName = HeaderName::from_static("deprecation");
const SUNSET: HeaderName = HeaderName::from_static("sunset");

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const YAML: HeaderValue = HeaderValue::from_static("application/yaml");
const REVALIDATE: HeaderValue = HeaderValue::from_static("private, no-cache");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// When getPet was deprecated: 2025-07-09, as RFC 9745 writes it.
const DEPRECATED_AT: HeaderValue = HeaderValue::from_static("@1752019200");

/// The date in the contract, as RFC 8594 writes it.
const SUNSET_AT: HeaderValue = HeaderValue::from_static("Thu, 05 Dec 2030 00:00:00 GMT");

/// Characters of a request id that a client may choose.
const REQUEST_ID_MAX: usize = 64;

/// What an answer's common headers are made of.
pub(crate) struct Seal {
    pub(crate) quota: Option<QuotaNote>,
    pub(crate) id: HeaderValue,
    /// The origin that may read the answer.
    pub(crate) origin: Option<HeaderValue>,
    /// The links of a deprecated operation.
    pub(crate) deprecated: Option<HeaderValue>,
    /// Whether the connection ends with this answer.
    pub(crate) close: bool,
}

/// The client's own id for its request, if it is one.
pub(crate) fn request_id(head: &Head<'_>) -> Option<HeaderValue> {
    let Field::Once(id) = head.request_id else { return None };
    let is_id = (1..=REQUEST_ID_MAX).contains(&id.len())
        && id.as_bytes().iter().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(b));
    is_id.then(|| id.clone())
}

/// Puts the common headers on an answer. `headers` is empty.
pub(crate) fn seal(
    worker: &Worker,
    answer: Answer,
    seal: Seal,
    mut headers: HeaderMap,
) -> Response<Full<Bytes>> {
    let may_be_kept = answer.tag.is_some() && !answer.status.is_client_error();
    headers.insert(CACHE_CONTROL, if may_be_kept { REVALIDATE } else { NO_STORE });
    headers.insert(X_CONTENT_TYPE_OPTIONS, const { HeaderValue::from_static("nosniff") });
    headers.insert(REQUEST_ID, seal.id);
    match answer.content {
        Content::Nothing | Content::Told => {}
        Content::Json => drop(headers.insert(CONTENT_TYPE, JSON)),
        Content::Yaml => drop(headers.insert(CONTENT_TYPE, YAML)),
    }
    if let Some(tag) = answer.tag {
        headers.insert(ETAG, tag);
    }
    if let Some(vary) = worker.app.cors.vary(seal.quota.is_some()) {
        headers.insert(VARY, vary);
    }
    if let Some(quota) = seal.quota {
        headers.insert(RATE_LIMIT, worker.limit_value(quota.limit));
        headers.insert(RATE_REMAINING, worker.number(quota.remaining));
        headers.insert(RATE_RESET, worker.reset_value(quota.reset_secs));
        headers.insert(RATE_RESOURCE, quota.resource);
    }
    if let Some(link) = seal.deprecated {
        headers.insert(DEPRECATION, DEPRECATED_AT);
        headers.insert(SUNSET, SUNSET_AT);
        headers.insert(LINK, link);
    }
    for (name, value) in answer.headers {
        headers.append(name, value);
    }
    if seal.close {
        headers.insert(CONNECTION, const { HeaderValue::from_static("close") });
    }
    cors::put_on(&mut headers, seal.origin);
    let mut response = Response::new(Full::new(answer.body));
    *response.status_mut() = answer.status;
    *response.headers_mut() = headers;
    response
}
