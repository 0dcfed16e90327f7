//! The headers that every response has.

use std::rc::Rc;

use hyper::header::{CONNECTION, HeaderValue};
use hyper::{HeaderMap, Response};
use petstore_domain::ApiKey;

use crate::exchange::cors;
use crate::exchange::response_body::ResponseBody;
use crate::io::activity::Activity;
use crate::io::raw_headers::RawHeaders;
use crate::response::answer::Answer;
use crate::response::header_templates::{Values, push_lines};
use crate::response::quota_headers::QuotaNote;
use crate::thread::thread_state::ThreadState;
use crate::wire;
use crate::wire::request_head::{Field, RequestHead};
use crate::wire::route::Resource;

/// The maximum length of a request id that the client chooses.
const REQUEST_ID_MAX: usize = 64;

/// The values of a response's common headers.
pub(crate) struct CommonHeaders {
    pub(crate) quota: Option<QuotaNote>,
    pub(crate) id: RequestId,
    /// The origin that may read the response.
    pub(crate) origin: Option<HeaderValue>,
    /// The requested resource, if the operation is deprecated.
    pub(crate) deprecated: Option<Resource>,
    /// `true` if the connection closes after this response.
    pub(crate) close: bool,
}

/// The id of a request.
pub(crate) enum RequestId {
    /// The client chose it.
    Given(HeaderValue),
    /// The server made it.
    Made([u8; wire::HEX_LEN]),
}

impl RequestId {
    /// Returns the client's id if it is valid. An id that is or contains an API key is refused, because this server and
    /// others write ids into their logs.
    pub(crate) fn given(head: &RequestHead<'_>) -> Option<Self> {
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

    /// Returns the id for the log.
    pub(crate) fn as_str(&self) -> &str {
        str::from_utf8(self.as_bytes()).unwrap_or("-")
    }
}

/// Adds the common headers to a response. If raw headers can be sent, hyper gets only the few headers that it must
/// see. Otherwise it gets all headers as a map.
pub(crate) fn finish_response(
    thread: &ThreadState,
    activity: &Rc<Activity>,
    mut answer: Answer,
    common: CommonHeaders,
    bypass: Option<(&RawHeaders, HeaderMap)>,
) -> Response<ResponseBody> {
    cors::add_headers(&mut answer.headers, common.origin);
    let values = Values {
        request_id: common.id.as_bytes(),
        quota: common.quota,
        tag: answer.tag,
        deprecated: common.deprecated,
        location: answer.location,
        base_path: &thread.app.settings.base_path,
    };
    let may_be_kept = values.tag.is_some() && !answer.status.is_client_error();
    let key = values.template_key(may_be_kept, answer.content, answer.coding, thread.app.cors.is_on());
    let mut headers = if let Some((lines, empty)) = bypass {
        let mut text = thread.send_batch.take_buffer();
        thread.header_templates.push(key, &values, &mut text);
        push_lines(&mut text, &answer.headers);
        lines.wait(text);
        empty
    } else {
        let mut headers = thread.header_templates.map(key, &values, &thread.arena);
        if !answer.headers.is_empty() {
            headers.extend(answer.headers);
        }
        headers
    };
    if common.close {
        headers.insert(CONNECTION, const { HeaderValue::from_static("close") });
    }
    let mut response = Response::new(ResponseBody::new(answer.body, activity));
    *response.status_mut() = answer.status;
    *response.headers_mut() = headers;
    response
}
