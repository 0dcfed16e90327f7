//! The headers that every answer carries.

use std::rc::Rc;

use hyper::header::{CONNECTION, HeaderValue};
use hyper::{HeaderMap, Response};
use petstore_domain::ApiKey;

use crate::exchange::cors;
use crate::exchange::response_body::ResponseBody;
use crate::io::activity::Activity;
use crate::io::raw_headers::Lines;
use crate::response::answer::Answer;
use crate::response::header_templates::{Values, push_lines};
use crate::response::quota_headers::QuotaNote;
use crate::thread::thread_state::Worker;
use crate::wire;
use crate::wire::request_head::{Field, Head};
use crate::wire::route::Resource;

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
    /// The client's own id for its request, if it is one. None is a key, or has one in it: an id goes into logs, here and
    /// elsewhere.
    pub(crate) fn given(head: &Head<'_>) -> Option<Self> {
        let Field::Once(id) = head.request_id else { return None };
        let is_id = (1..=REQUEST_ID_MAX).contains(&id.len())
            && id.as_bytes().iter().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(b));
        let mut parts = id.as_bytes().windows(ApiKey::LEN);
        (is_id && parts.all(|part| ApiKey::parse(part).is_err())).then(|| Self::Given(id.clone()))
    }

    fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Given(id) => id.as_bytes(),
            Self::Made(id) => id,
        }
    }

    /// The id, for the log.
    pub(crate) fn as_str(&self) -> &str {
        str::from_utf8(self.as_bytes()).unwrap_or("-")
    }
}

/// Puts the common headers on an answer: as lines that go past hyper, if these may wait, with a map for the few that
/// hyper itself must see; else as a map.
pub(crate) fn seal(
    worker: &Worker,
    activity: &Rc<Activity>,
    mut answer: Answer,
    seal: Seal,
    bypass: Option<(&Lines, HeaderMap)>,
) -> Response<ResponseBody> {
    cors::put_on(&mut answer.headers, seal.origin);
    let values = Values {
        request_id: seal.id.as_bytes(),
        quota: seal.quota,
        tag: answer.tag,
        deprecated: seal.deprecated,
        location: answer.location,
        base_path: &worker.app.settings.base_path,
    };
    let may_be_kept = values.tag.is_some() && !answer.status.is_client_error();
    let form = values.form(may_be_kept, answer.content, answer.coding, worker.app.cors.is_on());
    let mut headers = if let Some((lines, empty)) = bypass {
        let mut text = worker.outbox.blank();
        worker.forms.push(form, &values, &mut text);
        push_lines(&mut text, &answer.headers);
        lines.wait(text);
        empty
    } else {
        let mut headers = worker.forms.map(form, &values, &worker.arena);
        if !answer.headers.is_empty() {
            headers.extend(answer.headers);
        }
        headers
    };
    if seal.close {
        headers.insert(CONNECTION, const { HeaderValue::from_static("close") });
    }
    let mut response = Response::new(ResponseBody::new(answer.body, activity));
    *response.status_mut() = answer.status;
    *response.headers_mut() = headers;
    response
}
