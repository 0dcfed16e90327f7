//! The journal of requests: `/sandbox/requests` and the paths under it.

use std::sync::Arc;

use hyper::header::{CONTENT_DISPOSITION, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};
use petstore_request_journal::{HAR_END, Hints, JournalPage, RequestRecord, push_curl, push_har_start};
use tokio::time::{Duration, Instant, sleep_until, timeout};

use super::journal_lists::{JournalList, ListForm};
use super::pieces::Frame;
use super::query::{RecordForm, RecordQuery, sandbox_request, sandbox_requests, stream_header};
use super::recorder::RequestRecorder;
use super::request_stream::RequestStream;
use super::state::SandboxState;
use super::{guard, pieces};
use crate::base::authority::split_port;
use crate::counts::route_label::RouteLabel;
use crate::exchange::outlet::WrittenSource;
use crate::response::answer::{Answer, Content};
use crate::response::body::{Body, Framing, StreamBody, StreamPermit};
use crate::thread::shared::Serves;
use crate::thread::thread_state::ThreadState;
use crate::wire;
use crate::wire::error::{ApiError, Code};
use crate::wire::request_head::{Field, RequestHead};
use crate::wire::route::decode;

/// The prefix of the path of one record.
pub(super) const PREFIX: &str = "/sandbox/requests/";

/// The header that tells how many records the journal no longer keeps.
const X_DROPPED: HeaderName = HeaderName::from_static("x-dropped");

/// The shortest time between two reads of the journal for one waiting client, so that a client does not slow down the
/// server while many requests arrive.
const READ_INTERVAL: Duration = Duration::from_millis(5);

/// Returns the records that match a query, after the wait that it asks for.
pub(super) async fn list(
    thread: &ThreadState,
    sandbox: &SandboxState,
    recorder: &Arc<RequestRecorder>,
    parts: &Parts,
) -> Result<Answer, Answer> {
    let query = sandbox_requests(parts.uri.query(), RouteLabel::OF_CONTRACT)?;
    wait(thread, recorder, parts, &query).await;
    let page = recorder.page();
    let hints = recorder.hints(&page).await;
    let dropped = HeaderValue::from(page.dropped);
    let page = matching(page, &query, &hints);
    let list = JournalList::new(recorder, sandbox.readers(), page, hints, ListForm::Json);
    let answer = pieces::answer(sandbox.readers(), parts, Frame::array(), list).await?;
    Ok(answer.with_header(X_DROPPED, dropped))
}

/// Returns the records that match a query as an HTTP archive.
pub(super) async fn archive(
    thread: &ThreadState,
    sandbox: &SandboxState,
    recorder: &Arc<RequestRecorder>,
    parts: &Parts,
) -> Result<Answer, Answer> {
    const FILE: HeaderValue = HeaderValue::from_static("attachment; filename=\"petstore.har\"");
    let query = sandbox_requests(parts.uri.query(), RouteLabel::OF_CONTRACT)?;
    wait(thread, recorder, parts, &query).await;
    let page = recorder.page();
    let hints = hints_for(recorder, &page, &query).await;
    let dropped = HeaderValue::from(page.dropped);
    let page = matching(page, &query, &hints);
    let list = JournalList::new(recorder, sandbox.readers(), page, hints, ListForm::Archive);
    let mut start = Vec::new();
    push_har_start(&mut start);
    let answer = pieces::answer(sandbox.readers(), parts, Frame { start, end: HAR_END }, list).await?;
    Ok(answer.with_header(CONTENT_DISPOSITION, FILE).with_header(X_DROPPED, dropped))
}

/// Returns one record, which the path names by its id, or by a tilde and its number. If several records have the same id,
/// returns the latest one, or the one that the query names.
///
/// Clients choose ids, also such as `..`, which no URL can have as a segment. A tilde is in none of them.
pub(super) async fn one(
    thread: &ThreadState,
    sandbox: &SandboxState,
    recorder: &Arc<RequestRecorder>,
    parts: &Parts,
    head: &RequestHead<'_>,
) -> Result<Answer, Answer> {
    const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
    let (form, sequence) = sandbox_request(parts.uri.query())?;
    let id = parts.uri.path().strip_prefix(PREFIX).and_then(decode).unwrap_or_default();
    let number = id.strip_prefix('~').and_then(|number| number.parse::<u64>().ok());
    let mut page = recorder.page();
    let is_it = |record: &&RequestRecord| {
        let is_named = number.map_or_else(|| *record.request.id == *id, |number| record.sequence == number);
        is_named && sequence.is_none_or(|sequence| record.sequence == sequence)
    };
    let record = page.records.iter().rev().find(is_it).ok_or_else(|| {
        let message = "The journal has no request with this id; it keeps the latest requests only.";
        ApiError::new(Code::NotFound, message)
    })?;
    let record = record.clone();
    if form == RecordForm::Json {
        let hints = recorder.hints(&page).await;
        page.records = vec![record];
        let list = JournalList::new(recorder, sandbox.readers(), page, hints, ListForm::Json);
        return pieces::answer(sandbox.readers(), parts, Frame::NONE, list).await;
    }
    let mut out = Vec::new();
    push_curl(&mut out, &record, &authority(thread, &record, head));
    let answer = Answer { body: out.into(), content: Content::Custom, ..Answer::empty(StatusCode::OK) };
    Ok(answer.with_header(CONTENT_TYPE, TEXT))
}

/// Opens a stream of the journal. A HEAD request gets the headers, but opens no stream.
pub(super) fn stream(recorder: &Arc<RequestRecorder>, parts: &Parts) -> Result<Answer, Answer> {
    let header = stream_header(parts.uri.query())?;
    let body = if parts.method == Method::HEAD {
        Body::EMPTY
    } else {
        let permit = recorder.stream_permit().ok_or_else(Answer::overloaded)?;
        let stream = RequestStream::new(Arc::clone(recorder), header);
        let source = Box::new(WrittenSource::new(|outlet| stream.write(outlet)));
        let permit = StreamPermit::OfSandbox(permit);
        Body::Stream(Box::new(StreamBody { source, framing: Framing::ByHyper, permit }))
    };
    Ok(Answer { content: Content::EventStream, body, ..Answer::empty(StatusCode::OK) })
}

/// Deletes all records.
pub(super) fn clear(recorder: &RequestRecorder, parts: &Parts) -> Result<Answer, Answer> {
    wire::no_parameters(parts.uri.query())?;
    recorder.clear();
    Ok(Answer::empty(StatusCode::NO_CONTENT))
}

/// Waits as long as a query asks for, or until the server stops.
async fn wait(thread: &ThreadState, recorder: &RequestRecorder, parts: &Parts, query: &RecordQuery) {
    if query.wait.is_zero() || parts.method != Method::GET {
        return;
    }
    let enough = async {
        tokio::select! {
            () = enough(recorder, query) => {}
            () = thread.app.drain_begins() => {}
        }
    };
    let _ = timeout(query.wait, enough).await;
}

/// Completes once as many records have been answered and match as the query asks for.
async fn enough(recorder: &RequestRecorder, query: &RecordQuery) {
    loop {
        // The future is created before the read, so that a change after the read is not missed.
        let changed = recorder.changed();
        let looked = Instant::now();
        if count(recorder, query).await >= query.count {
            return;
        }
        changed.await;
        sleep_until(looked + READ_INTERVAL).await;
    }
}

async fn count(recorder: &RequestRecorder, query: &RecordQuery) -> usize {
    let page = recorder.page();
    let hints = hints_for(recorder, &page, query).await;
    let is_counted = |record: &&RequestRecord| record.answer.is_some() && query.filter.admits(record, &hints);
    page.records.iter().filter(is_counted).count()
}

/// Returns the hints, if the query filters by one.
async fn hints_for(recorder: &RequestRecorder, page: &JournalPage, query: &RecordQuery) -> Arc<Hints> {
    if query.filter.hint.is_some() { recorder.hints(page).await } else { Arc::default() }
}

/// Returns the page with the matching records only, the oldest first. With `after` they are the first ones after it, else
/// the latest ones.
fn matching(mut page: JournalPage, query: &RecordQuery, hints: &Hints) -> JournalPage {
    let records = &mut page.records;
    records.retain(|record| query.filter.admits(record, hints));
    if query.filter.after.is_some() {
        records.truncate(query.limit);
    } else {
        records.drain(..records.len().saturating_sub(query.limit));
    }
    page
}

/// Returns the authority to which a request is sent again: its own Host if this is a host of this machine or a listed
/// one, else the Host under which the sandbox is read. Otherwise the command line would send the key to any server that
/// a client has named.
///
/// A client may leave out the port of its Host although it has connected to another one than the default. So a Host without
/// a port gets the port at which the API is reached.
fn authority(thread: &ThreadState, record: &RequestRecord, head: &RequestHead<'_>) -> String {
    let reader = match head.host {
        Field::Once(host) => host.to_str().ok(),
        Field::Absent | Field::Twice => None,
    };
    let reader = reader.map(split_port);
    let is_permitted = |host: &&str| guard::is_permitted(&thread.app, host);
    let own = record.header("host").filter(is_permitted).map(split_port);
    let port = own.and_then(given_port).or_else(|| match thread.serves {
        // The reader has reached this listener under the port, which another one may be mapped to.
        Serves::Everything | Serves::Contract => reader.and_then(given_port),
        Serves::Ops => thread.app.api_port().map(|port| port.to_string()),
    });
    let (name, _) = own.or(reader).unwrap_or(("localhost", None));
    match port {
        Some(port) => format!("{name}:{port}"),
        None => name.to_owned(),
    }
}

/// Returns the port of an authority that has one.
fn given_port((_, port): (&str, Option<&str>)) -> Option<String> {
    port.filter(|port| !port.is_empty()).map(str::to_owned)
}
