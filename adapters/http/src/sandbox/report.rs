//! `GET /sandbox/report`: the client report about the requests of the journal.

use hyper::StatusCode;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue, VARY};
use hyper::http::request::Parts;
use petstore_client_report::{ATTEMPTS_MAX, Report};

use super::query::client_report;
use super::recorder::RequestRecorder;
use crate::response::answer::{Answer, Content};
use crate::wire;

/// The worst verdict of a report, for programs that read the table.
const VERDICT: HeaderName = HeaderName::from_static("x-verdict");

const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// Returns the report as JSON, or as a table for a client that prefers plain text.
pub(super) async fn report(recorder: &RequestRecorder, parts: &Parts) -> Result<Answer, Answer> {
    let query = client_report(parts.uri.query())?;
    let is_text = wire::prefers_text(&parts.headers);
    let mut records = recorder.page().records;
    if let Some((name, value)) = &query.header {
        records.retain(|record| record.has_header(name, value));
    }
    // A journal with a high limit takes long to judge.
    let judged = tokio::task::spawn_blocking(move || {
        let report = Report::new(&records, query.attempts.unwrap_or(ATTEMPTS_MAX));
        let report = match &query.key {
            Some(key) => report.of_key(key),
            None => report,
        };
        let body = if is_text { report.to_string() } else { report.json() };
        (report.summary(), body)
    });
    let (verdict, body) = judged.await.map_err(|_| Answer::failed("the client report panicked"))?;
    let answer = Answer::json(StatusCode::OK, body);
    let answer = if is_text {
        Answer { content: Content::Custom, ..answer }.with_header(CONTENT_TYPE, TEXT)
    } else {
        answer
    };
    Ok(answer
        .with_header(VERDICT, HeaderValue::from_static(verdict))
        .with_header(VARY, const { HeaderValue::from_static("Accept") }))
}
