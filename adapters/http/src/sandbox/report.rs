//! `GET /sandbox/report`: the client report about the requests of the journal.

use hyper::StatusCode;
use hyper::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, VARY};
use hyper::http::request::Parts;
use petstore_client_report::{ATTEMPTS_MAX, PagePart, Report, ReportPage};
use petstore_request_journal::RequestRecord;

use super::query::client_report;
use super::recorder::RequestRecorder;
use crate::response::answer::{Answer, Content};
use crate::wire;

/// The worst verdict of a report, for programs that read the table.
const VERDICT: HeaderName = HeaderName::from_static("x-verdict");

const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");

/// The content security policy of the page, which has no script and loads nothing.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

/// The name of the page.
const TITLE: &str = "Client report";

/// The form of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReportForm {
    Json,
    /// A table for a terminal.
    Text,
    /// A page for a browser.
    Page,
}

impl ReportForm {
    fn of(headers: &HeaderMap) -> Self {
        if wire::prefers_html(headers) {
            Self::Page
        } else if wire::prefers_text(headers) {
            Self::Text
        } else {
            Self::Json
        }
    }

    fn body(self, report: &Report<'_>, records: &[RequestRecord]) -> String {
        match self {
            Self::Json => report.json(),
            Self::Text => report.to_string(),
            Self::Page => {
                ReportPage { title: TITLE, parts: &[PagePart::of_report(report, records)] }.to_string()
            }
        }
    }
}

/// Returns the report as JSON, as a table for a client that prefers plain text, or as a page for one that prefers HTML.
pub(super) async fn report(recorder: &RequestRecorder, parts: &Parts) -> Result<Answer, Answer> {
    let query = client_report(parts.uri.query())?;
    let form = ReportForm::of(&parts.headers);
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
        (report.summary(), form.body(&report, &records))
    });
    let (verdict, body) = judged.await.map_err(|_| Answer::failed("the client report panicked"))?;
    let answer = Answer::json(StatusCode::OK, body);
    let custom = |answer: Answer, media_type| {
        Answer { content: Content::Custom, ..answer }.with_header(CONTENT_TYPE, media_type)
    };
    let answer = match form {
        ReportForm::Json => answer,
        ReportForm::Text => custom(answer, TEXT),
        ReportForm::Page => custom(answer, HTML).with_header(CONTENT_SECURITY_POLICY, POLICY),
    };
    Ok(answer
        .with_header(VERDICT, HeaderValue::from_static(verdict))
        .with_header(VARY, const { HeaderValue::from_static("Accept") }))
}
