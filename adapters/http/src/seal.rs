//! The headers that every answer carries.

use bytes::Bytes;
use http_body_util::Full;
use hyper::Response;
use hyper::header::{CONNECTION, HeaderValue, LOCATION};
use petstore_domain::ApiKey;

use crate::answer::Answer;
use crate::arena::visible;
use crate::forms::Values;
use crate::gate::QuotaNote;
use crate::head::{Field, Head};
use crate::route::Resource;
use crate::worker::Worker;
use crate::{cors, handlers, wire};

/// Characters of a request id that a client may choose.
const REQUEST_ID_MAX: usize = 64;

/// What an answer's common headers are made of.
pub(crate) struct Seal {
    pub(crate) quota: Option<QuotaNote>,
    pub(crate) id: RequestId,
    /// The origin that may read the answer.
    pub(crate) origin: Option<HeaderValue>,
    /// What was asked for, if that is deprecated.
    pub(crate) deprecated: Option<Resource>,
    /// Whether the connection ends with this answer.
    pub(crate) close: bool,
}

/// What a request is called.
pub(crate) enum RequestId {
    /// By the client.
    Given(HeaderValue),
    /// By us.
    Made([u8; wire::HEX_LEN]),
}

impl RequestId {
    /// The client's own id for its request, if it is one. A key is none: an id goes into logs, here and elsewhere.
    pub(crate) fn given(head: &Head<'_>) -> Option<Self> {
        let Field::Once(id) = head.request_id else { return None };
        let is_id = (1..=REQUEST_ID_MAX).contains(&id.len())
            && id.as_bytes().iter().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(b));
        (is_id && ApiKey::parse(id.as_bytes()).is_err()).then(|| Self::Given(id.clone()))
    }

    /// The id, for the log.
    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::Given(id) => id.to_str().unwrap_or("-"),
            Self::Made(id) => str::from_utf8(id).unwrap_or("-"),
        }
    }
}

/// Puts the common headers on an answer.
pub(crate) fn seal(worker: &Worker, mut answer: Answer, seal: Seal) -> Response<Full<Bytes>> {
    let settings = &worker.app.settings;
    let (mut id_end, mut remaining_end) = (0, 0);
    let mut text = worker.arena.cut(|out| {
        if let RequestId::Made(id) = &seal.id {
            out.extend_from_slice(id);
        }
        id_end = out.len();
        if let Some(quota) = &seal.quota {
            wire::push_number(out, quota.remaining);
        }
        remaining_end = out.len();
        if let Some(resource) = seal.deprecated {
            handlers::push_deprecated_links(out, resource, &settings.base_path);
        }
    });
    let link = text.split_off(remaining_end);
    let remaining = text.split_off(id_end);
    let values = Values {
        request_id: match seal.id {
            RequestId::Given(id) => id,
            RequestId::Made(_) => visible(text),
        },
        quota: seal.quota.map(|quota| (quota, visible(remaining))),
        tag: answer.tag,
        link: seal.deprecated.map(|_| visible(link)),
        location: answer.headers.pop_if(|(name, _)| *name == LOCATION).map(|(_, location)| location),
    };
    let may_be_kept = values.tag.is_some() && !answer.status.is_client_error();
    let mut headers = worker.forms.fill(may_be_kept, answer.content, answer.coding, values, &worker.app.cors);
    if !answer.headers.is_empty() {
        headers.extend(answer.headers);
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
