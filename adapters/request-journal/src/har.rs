//! Records as an HTTP archive (HAR 1.2), which the tools of browsers and many API clients open.

use std::borrow::Cow;

use serde::Serialize;

use crate::body::RecordedBody;
use crate::header_lines::HeaderLines;
use crate::json::{millis, push};
use crate::record::{RecordedAnswer, RequestRecord};
use crate::text::header_text;

/// The media type of a body whose type is not known.
const UNKNOWN_TYPE: &str = "x-unknown";

/// The end of an archive, after its entries.
pub const HAR_END: &[u8] = b"]}}";

/// One request and its answer. Members with an underscore are not of the standard, as it provides.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'r> {
    started_date_time: String,
    time: f64,
    request: Request<'r>,
    response: Response<'r>,
    cache: Empty,
    timings: Timings,
    connection: String,
    #[serde(rename = "_sequence")]
    sequence: u64,
    #[serde(rename = "_outcome")]
    outcome: Option<&'static str>,
}

#[derive(Serialize)]
struct Empty {}

#[derive(Serialize)]
struct Timings {
    send: f64,
    wait: f64,
    receive: f64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Request<'r> {
    method: &'r str,
    url: String,
    http_version: &'static str,
    cookies: [Field; 0],
    headers: Vec<Field>,
    query_string: Vec<Field>,
    #[serde(skip_serializing_if = "Option::is_none")]
    post_data: Option<PostData<'r>>,
    headers_size: i64,
    body_size: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Response<'r> {
    status: u16,
    status_text: &'static str,
    http_version: &'static str,
    cookies: [Field; 0],
    headers: Vec<Field>,
    content: Content<'r>,
    #[serde(rename = "redirectURL")]
    redirect_url: String,
    headers_size: i64,
    body_size: i64,
}

#[derive(Serialize)]
struct Field {
    name: String,
    value: String,
}

/// The body of a request. The standard has no encoding for it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PostData<'r> {
    mime_type: String,
    params: [Field; 0],
    text: Cow<'r, str>,
    #[serde(rename = "_encoding", skip_serializing_if = "Option::is_none")]
    encoding: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Content<'r> {
    size: u64,
    mime_type: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Cow<'r, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding: Option<&'static str>,
}

/// Adds the beginning of an archive. Entries follow, separated by commas, and then [`HAR_END`].
pub fn push_har_start(out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"log":{"version":"1.2","creator":{"name":"petstore","version":""#);
    out.extend_from_slice(env!("CARGO_PKG_VERSION").as_bytes());
    out.extend_from_slice(br#""},"entries":["#);
}

/// Adds the entry of a record.
pub fn push_har_entry(out: &mut Vec<u8>, record: &RequestRecord) {
    push(out, &entry(record));
}

fn entry(record: &RequestRecord) -> Entry<'_> {
    let request = &*record.request;
    let answer = record.answer.as_deref();
    let time = answer.map_or(0.0, |answer| millis(answer.duration));
    Entry {
        started_date_time: request.at.to_string(),
        time,
        request: Request {
            method: &request.method,
            url: url(record),
            http_version: request.protocol.as_str(),
            cookies: [],
            headers: fields(&request.headers),
            query_string: query(&request.target),
            post_data: answer.and_then(|answer| post_data(record, &answer.request_body)),
            headers_size: -1,
            body_size: answer.map_or(0, |answer| answer.request_body.bytes()),
        },
        response: response(record, answer),
        cache: Empty {},
        timings: Timings { send: 0.0, wait: time, receive: 0.0 },
        connection: request.connection.to_string(),
        sequence: record.sequence,
        outcome: answer.map(|answer| answer.outcome.as_str()),
    }
}

/// A request without an answer has the status 0, as in the archives of browsers.
fn response<'r>(record: &'r RequestRecord, answer: Option<&'r RecordedAnswer>) -> Response<'r> {
    Response {
        status: record.status().unwrap_or(0),
        status_text: "",
        http_version: record.request.protocol.as_str(),
        cookies: [],
        headers: answer.map(|answer| fields(&answer.headers)).unwrap_or_default(),
        redirect_url: record.answer_header("location").unwrap_or_default().to_owned(),
        headers_size: -1,
        body_size: answer.and_then(|answer| i64::try_from(answer.body.bytes()).ok()).unwrap_or(-1),
        content: content(answer.filter(|answer| answer.body.bytes() > 0)),
    }
}

fn content(answer: Option<&RecordedAnswer>) -> Content<'_> {
    let Some(answer) = answer else {
        return Content { size: 0, mime_type: UNKNOWN_TYPE, text: None, encoding: None };
    };
    let mime_type = answer.headers.text("content-type").unwrap_or(UNKNOWN_TYPE);
    let bytes = answer.body.bytes();
    if let Some(text) = answer.body.text(answer.is_gzip()) {
        let size = if answer.is_gzip() { text.len() as u64 } else { bytes };
        Content { size, mime_type, text: Some(text), encoding: None }
    } else {
        let text = Some(answer.body.base64().into());
        Content { size: bytes, mime_type, text, encoding: Some("base64") }
    }
}

fn post_data<'r>(record: &RequestRecord, body: &'r RecordedBody) -> Option<PostData<'r>> {
    if body.bytes() == 0 {
        return None;
    }
    let (text, encoding) = match body.text(false) {
        Some(text) => (text, None),
        None => (body.base64().into(), Some("base64")),
    };
    let mime_type = record.header("content-type").unwrap_or("application/octet-stream").to_owned();
    Some(PostData { mime_type, params: [], text, encoding })
}

fn url(record: &RequestRecord) -> String {
    let request = &*record.request;
    if !request.target.starts_with('/') {
        return request.target.to_string();
    }
    let scheme = if request.is_secure { "https://" } else { "http://" };
    [scheme, record.header("host").unwrap_or("localhost"), &request.target].concat()
}

fn fields(headers: &HeaderLines) -> Vec<Field> {
    let field = |(name, value)| Field { name: header_text(name), value: header_text(value) };
    headers.iter().map(field).collect()
}

/// Returns the parameters of a target, as they were encoded.
fn query(target: &str) -> Vec<Field> {
    let query = target.split_once('?').map(|(_, query)| query).unwrap_or_default();
    let pieces = query.split('&').filter(|piece| !piece.is_empty());
    let field = |piece: &str| {
        let (name, value) = piece.split_once('=').unwrap_or((piece, ""));
        Field { name: name.to_owned(), value: value.to_owned() }
    };
    pieces.map(field).collect()
}
