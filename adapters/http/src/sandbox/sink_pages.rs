//! The requests of a sink as elements of a list.

use std::sync::{Arc, Weak};
use std::vec::IntoIter;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use petstore_request_journal::plain_json;
use tokio::sync::OwnedSemaphorePermit;

use super::pieces::Elements;
use super::readers::Readers;
use super::sink_store::{SinkPage, SinkRequest};
use crate::wire;

/// The requests of a list that are not rendered yet.
enum Rest {
    /// The requests themselves, so that the list has them also if the sink drops them meanwhile.
    Held(
        IntoIter<Arc<SinkRequest>>,
        #[expect(dead_code, reason = "held until it is dropped")] OwnedSemaphorePermit,
    ),
    /// The requests as far as the sink keeps them, if the readers hold as many bytes as they may.
    Kept(IntoIter<Weak<SinkRequest>>),
}

/// The requests of one list.
pub(super) struct SinkList {
    rest: Rest,
    bytes: usize,
    is_begun: bool,
}

impl SinkList {
    pub(super) fn new(readers: &Readers, page: SinkPage) -> Self {
        let bytes = page.requests.iter().map(|request| request.size()).sum();
        let rest = match readers.hold(bytes) {
            Some(permit) => Rest::Held(page.requests.into_iter(), permit),
            None => Rest::Kept(page.requests.iter().map(Arc::downgrade).collect::<Vec<_>>().into_iter()),
        };
        Self { rest, bytes, is_begun: false }
    }
}

impl Elements for SinkList {
    fn push_next(&mut self, out: &mut Vec<u8>) -> bool {
        let next = match &mut self.rest {
            Rest::Held(requests, _) => requests.next(),
            Rest::Kept(requests) => requests.find_map(|request| request.upgrade()),
        };
        let Some(request) = next else { return false };
        if std::mem::replace(&mut self.is_begun, true) {
            out.push(b',');
        }
        let start = out.len();
        push_request(out, &request);
        // The texts are those of clients, and testers read them in a terminal.
        if let Some(plain) = str::from_utf8(&out[start..]).ok().and_then(plain_json) {
            out.truncate(start);
            out.extend_from_slice(plain.as_bytes());
        }
        true
    }

    fn plain_bytes(&self) -> Option<usize> {
        Some(self.bytes)
    }
}

fn push_request(out: &mut Vec<u8>, request: &SinkRequest) {
    let start = format!("{{\"sequence\":{},\"at\":\"{}\",\"headers\":[", request.sequence, request.at);
    out.extend_from_slice(start.as_bytes());
    for (place, (name, value)) in request.headers.iter().enumerate() {
        out.extend_from_slice(if place == 0 { b"[" } else { b",[" });
        wire::push_string(out, name);
        out.push(b',');
        // The value of a header may have any bytes.
        wire::push_string(out, String::from_utf8_lossy(value).as_bytes());
        out.push(b']');
    }
    out.extend_from_slice(b"],\"body\":");
    if str::from_utf8(&request.body).is_ok() {
        wire::push_string(out, &request.body);
    } else {
        wire::push_string(out, STANDARD.encode(&request.body).as_bytes());
        out.extend_from_slice(b",\"bodyEncoding\":\"base64\"");
    }
    out.extend_from_slice(format!(",\"signature\":\"{}\"", request.verdict.word()).as_bytes());
    if let Some(reason) = request.verdict.reason() {
        out.extend_from_slice(b",\"why\":");
        wire::push_string(out, reason.as_bytes());
    }
    let status = request.status.map_or_else(|| "null".to_owned(), |status| status.as_u16().to_string());
    let end = format!(",\"duplicate\":{},\"status\":{status}}}", request.is_duplicate);
    out.extend_from_slice(end.as_bytes());
}
