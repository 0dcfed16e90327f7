//! The headers that every response has.

use std::rc::Rc;
use std::sync::Arc;

use hyper::header::{CONNECTION, HeaderValue};
use hyper::{HeaderMap, Response};

use crate::exchange::cors;
use crate::exchange::response_body::ResponseBody;
use crate::io::activity::Activity;
use crate::io::raw_headers::RawHeaders;
use crate::response::answer::Answer;
use crate::response::header_templates::{Values, push_lines};
use crate::response::quota_headers::{DEFAULT_SHAPE, QuotaNote, QuotaShape};
use crate::thread::AnswerRecord;
use crate::thread::request_id::RequestId;
use crate::thread::thread_state::ThreadState;
use crate::wire::route::Resource;

/// The values of a response's common headers.
pub(crate) struct CommonHeaders {
    pub(crate) quota: Option<QuotaNote>,
    /// The form of the quota headers; `None` for the default one.
    pub(crate) quota_shape: Option<Arc<QuotaShape>>,
    pub(crate) id: RequestId,
    /// The origin that may read the response.
    pub(crate) origin: Option<HeaderValue>,
    /// The requested resource, if the operation is deprecated.
    pub(crate) deprecated: Option<Resource>,
    /// `true` if the connection closes after this response.
    pub(crate) close: bool,
}

/// Adds the common headers to a response. If raw headers can be sent, hyper gets only the few headers that it must
/// see. Otherwise it gets all headers as a map.
pub(crate) fn finish_response(
    thread: &ThreadState,
    activity: &Rc<Activity>,
    mut answer: Answer,
    mut common: CommonHeaders,
    bypass: Option<(&RawHeaders, HeaderMap)>,
) -> Response<ResponseBody> {
    cors::add_headers(&mut answer.headers, common.origin.take());
    let values = values(thread, &answer, &common);
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

/// Returns the values of the headers of an answer.
#[expect(clippy::inline_always, reason = "each response calls it")]
#[inline(always)]
fn values<'v>(thread: &'v ThreadState, answer: &Answer, common: &'v CommonHeaders) -> Values<'v> {
    Values {
        request_id: common.id.as_bytes(),
        quota: common.quota,
        quota_shape: common.quota_shape.as_deref().unwrap_or(&DEFAULT_SHAPE),
        tag: answer.tag,
        deprecated: common.deprecated,
        location: answer.location,
        base_path: &thread.app.settings.base_path,
    }
}

/// Returns all headers of an answer that is not sent by itself, but inside of another one.
pub(crate) fn headers_of(thread: &ThreadState, answer: &mut Answer, common: &CommonHeaders) -> HeaderMap {
    let values = values(thread, answer, common);
    let key = values.template_key(false, answer.content, answer.coding, false);
    let mut headers = thread.header_templates.map(key, &values, &thread.arena);
    headers.extend(std::mem::take(&mut answer.headers));
    headers
}

/// Finishes a response and records it; its body is recorded while hyper sends it. It is a function apart from
/// [`finish_response`], so that the latter has no step for a record.
#[inline(never)]
pub(super) fn finish_and_record(
    mut record: Box<dyn AnswerRecord>,
    thread: &ThreadState,
    activity: &Rc<Activity>,
    answer: Answer,
    common: CommonHeaders,
    bypass: Option<(&RawHeaders, HeaderMap)>,
) -> Response<ResponseBody> {
    let raw = bypass.as_ref().map(|(lines, _)| *lines);
    let mut response = finish_response(thread, activity, answer, common, bypass);
    record.made(response.status(), raw, response.headers());
    response.body_mut().record(record, activity);
    response
}
