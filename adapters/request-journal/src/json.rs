//! The JSON forms of a record: whole, and as a summary for lists that are updated live.

use std::borrow::Cow;

use serde::Serialize;

use crate::body::RecordedBody;
use crate::header_lines::HeaderLines;
use crate::record::{Hints, RecordedAnswer, RequestRecord, ToolCall};
use crate::text::{PlainFormatter, header_text};

/// A record in its JSON form.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordView<'r> {
    id: &'r str,
    sequence: u64,
    at: String,
    uptime_ms: f64,
    duration_ms: Option<f64>,
    client: String,
    connection: u64,
    protocol: &'static str,
    account: Option<u64>,
    key_prefix: Option<&'r str>,
    method: &'r str,
    target: &'r str,
    route: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mcp: Option<ToolCallView<'r>>,
    headers: Vec<[String; 2]>,
    #[serde(flatten)]
    body: BodyView<'r>,
    answer: Option<AnswerView<'r>>,
    quota: Option<QuotaView>,
    fault: Option<&'r str>,
    hints: &'r [&'static str],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AnswerView<'r> {
    at: String,
    outcome: &'static str,
    status: Option<u16>,
    code: Option<&'r str>,
    headers: Vec<[String; 2]>,
    #[serde(flatten)]
    body: BodyView<'r>,
}

#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
struct BodyView<'r> {
    body: Option<Cow<'r, str>>,
    body_encoding: Option<&'static str>,
    body_bytes: u64,
}

#[derive(Serialize)]
struct ToolCallView<'r> {
    tool: &'r str,
    id: &'r str,
    client: Option<&'r str>,
}

#[derive(Serialize)]
struct QuotaView {
    limit: u32,
    remaining: u32,
    reset: u64,
    resource: &'static str,
}

/// The members of a record that a list shows. It has no text of unbounded length.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SummaryView<'r> {
    id: &'r str,
    sequence: u64,
    at: String,
    duration_ms: Option<f64>,
    method: &'r str,
    target: &'r str,
    route: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mcp: Option<ToolCallView<'r>>,
    key_prefix: Option<&'r str>,
    status: Option<u16>,
    code: Option<&'r str>,
    outcome: Option<&'static str>,
    fault: Option<&'r str>,
    hints: &'r [&'static str],
}

impl<'r> RecordView<'r> {
    /// Returns the JSON form of a record.
    pub fn new(record: &'r RequestRecord, hints: &'r Hints) -> Self {
        let request = &*record.request;
        let answer = record.answer.as_deref();
        Self {
            id: &request.id,
            sequence: record.sequence,
            at: request.at.to_string(),
            uptime_ms: millis(request.uptime),
            duration_ms: answer.map(|answer| millis(answer.duration)),
            client: request.client.to_canonical().to_string(),
            connection: request.connection,
            protocol: request.protocol.as_str(),
            account: answer.and_then(|answer| answer.account).map(petstore_domain::AccountId::get),
            key_prefix: request.key_prefix.as_ref().map(petstore_domain::KeyPrefix::as_str),
            method: &request.method,
            target: &request.target,
            route: request.route,
            mcp: request.tool_call.as_deref().map(ToolCallView::of),
            headers: pairs(&request.headers),
            body: answer.map(|answer| BodyView::of(&answer.request_body, false)).unwrap_or_default(),
            answer: answer.map(AnswerView::of),
            quota: answer.and_then(|answer| answer.quota).map(|quota| QuotaView {
                limit: quota.limit,
                remaining: quota.remaining,
                reset: quota.reset,
                resource: quota.resource,
            }),
            fault: answer.and_then(|answer| answer.fault.as_deref()),
            hints: hints.of(record.sequence),
        }
    }
}

impl<'r> ToolCallView<'r> {
    fn of(call: &'r ToolCall) -> Self {
        Self { tool: &call.tool, id: &call.id, client: call.client.as_deref() }
    }
}

impl<'r> AnswerView<'r> {
    fn of(answer: &'r RecordedAnswer) -> Self {
        Self {
            at: answer.at.to_string(),
            outcome: answer.outcome.as_str(),
            status: answer.status,
            code: answer.code(),
            headers: pairs(&answer.headers),
            body: BodyView::of(&answer.body, answer.is_gzip()),
        }
    }
}

impl<'r> BodyView<'r> {
    fn of(body: &'r RecordedBody, is_gzip: bool) -> Self {
        let body_bytes = body.bytes();
        if body.bytes() == 0 {
            return Self::default();
        }
        match body.text(is_gzip) {
            Some(text) => Self { body: Some(text), body_encoding: None, body_bytes },
            None => Self { body: Some(body.base64().into()), body_encoding: Some("base64"), body_bytes },
        }
    }
}

/// Adds the JSON form of a record.
pub fn push_record(out: &mut Vec<u8>, record: &RequestRecord, hints: &Hints) {
    push(out, &RecordView::new(record, hints));
}

/// Adds the summary of a record: the members that a list shows, with `status`, `code` and `outcome` of the answer, and
/// at most `text_max` bytes of the method and of the target.
pub fn push_summary(out: &mut Vec<u8>, record: &RequestRecord, hints: &Hints, text_max: usize) {
    let request = &*record.request;
    let answer = record.answer.as_deref();
    let method = &request.method[..request.method.floor_char_boundary(text_max)];
    let target = &request.target[..request.target.floor_char_boundary(text_max)];
    push(
        out,
        &SummaryView {
            id: &request.id,
            sequence: record.sequence,
            at: request.at.to_string(),
            duration_ms: answer.map(|answer| millis(answer.duration)),
            method,
            target,
            route: request.route,
            mcp: request.tool_call.as_deref().map(ToolCallView::of),
            key_prefix: request.key_prefix.as_ref().map(petstore_domain::KeyPrefix::as_str),
            status: record.status(),
            code: answer.and_then(RecordedAnswer::code),
            outcome: answer.map(|answer| answer.outcome.as_str()),
            fault: answer.and_then(|answer| answer.fault.as_deref()),
            hints: hints.of(record.sequence),
        },
    );
}

/// Adds the JSON form of a value.
pub(crate) fn push(out: &mut Vec<u8>, value: &impl Serialize) {
    let len = out.len();
    let mut serializer = serde_json::Serializer::with_formatter(&mut *out, PlainFormatter);
    // Writing to a vector does not fail, and the forms have only text as names of members.
    if value.serialize(&mut serializer).is_err() {
        out.truncate(len);
        out.extend_from_slice(b"null");
    }
}

/// Returns a time in milliseconds, to the microsecond.
pub(crate) fn millis(time: std::time::Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

pub(crate) fn pairs(headers: &HeaderLines) -> Vec<[String; 2]> {
    headers.iter().map(|(name, value)| [header_text(name), header_text(value)]).collect()
}
