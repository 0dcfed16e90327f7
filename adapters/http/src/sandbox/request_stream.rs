//! The journal of requests as server-sent events.
//!
//! A stream holds a position and no queue. It reads the changes of the journal after the connection has taken the previous
//! ones, and not more often than a reader can see and a page can draw. So neither a slow reader nor many requests cost memory.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use petstore_request_journal::{JournalPage, RequestRecord, push_summary};
use tokio::time::{Instant, sleep_until};

use super::recorder::RequestRecorder;
use crate::exchange::outlet::Outlet;
use crate::response::body::CHUNK_MAX;

/// The shortest time between two reads of the journal.
const READ_INTERVAL: Duration = Duration::from_millis(25);

/// The shortest time between two reads for each record that the first read has sent, so that a page with other work to
/// do can take 2,000 records a second. Further records are reported as dropped if the journal does not keep them
/// meanwhile.
const RECORD_TIME: Duration = Duration::from_micros(500);

/// The longest pause between two reads, also if the journal is long.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// The longest time in which nothing is sent. After this time a comment is sent, so that a client that has left is
/// noticed.
const SILENCE_MAX: Duration = Duration::from_secs(15);

/// The maximum number of bytes of a method and of a target in a frame. Both may be as long as a head.
const TEXT_MAX: usize = 256;

/// The number of bytes of a chunk up to which another frame is added. A frame has less than 4 KiB: the target, a
/// method, an id and a code, each with a bound.
const CHUNK_FULL: usize = CHUNK_MAX - 4 * 1024;

/// The writer of one stream.
pub(super) struct RequestStream {
    recorder: Arc<RequestRecorder>,
    /// The name and the value of a header of the requests that are sent; `None` for all requests.
    header: Option<(String, String)>,
    /// The number of the last change that was sent.
    revision: u64,
    /// The number of times that the journal had been cleared.
    clears: u64,
    /// The number of the latest record that was sent or reported as dropped.
    told: u64,
}

impl RequestStream {
    pub(super) fn new(recorder: Arc<RequestRecorder>, header: Option<(String, String)>) -> Self {
        let clears = recorder.page().clears;
        Self { recorder, header, revision: 0, clears, told: 0 }
    }

    /// Writes the stream until the server stops or the client leaves.
    pub(super) async fn write(mut self, outlet: Outlet) {
        outlet.send(Bytes::from_static(b"retry: 1000\n")).await;
        let recorder = Arc::clone(&self.recorder);
        while !outlet.is_stopping() {
            // The future is created before the read, so that a change after the read is not missed.
            let changed = recorder.changed();
            let looked = Instant::now();
            let (has_sent, records) = self.send_changes(&outlet).await;
            let pause = READ_INTERVAL.max(RECORD_TIME.saturating_mul(records)).min(PAUSE_MAX);
            tokio::select! {
                () = outlet.stop() => break,
                () = changed => {}
                () = sleep_until(looked + SILENCE_MAX) => {
                    if !has_sent {
                        // No empty line follows, because it would end a frame without data.
                        outlet.send(Bytes::from_static(b":\n")).await;
                    }
                }
            }
            tokio::select! {
                () = outlet.stop() => break,
                () = sleep_until(looked + pause) => {}
            }
        }
    }

    /// Sends the changes since the last call. Returns whether there were any, and the number of records among them.
    ///
    /// The records are read one by one when the connection has room for them, so that a slow reader keeps none of them in
    /// memory.
    async fn send_changes(&mut self, outlet: &Outlet) -> (bool, u32) {
        let page = self.recorder.journal().changes(self.revision);
        let mut frames = Vec::new();
        self.push_losses(&mut frames, &page);
        let is_any = page.revision != self.revision;
        self.revision = page.revision;
        let hints = if page.records.is_empty() { Arc::default() } else { self.recorder.hints(&page).await };
        let clears = page.clears;
        let is_sent = |record: &&RequestRecord| {
            self.header.as_ref().is_none_or(|(name, value)| record.has_header(name, value))
        };
        let numbers: Vec<u64> = page.records.iter().filter(is_sent).map(|record| record.sequence).collect();
        drop(page);
        let mut dropped = 0_u64;
        for sequence in &numbers {
            let is_new = *sequence > self.told;
            self.told = self.told.max(*sequence);
            match self.recorder.journal().record(clears, *sequence) {
                Some(record) => {
                    push_frame(&mut frames, "request", |out| push_summary(out, &record, &hints, TEXT_MAX));
                }
                None => dropped += u64::from(is_new),
            }
            if frames.len() > CHUNK_FULL {
                outlet.send_all(Bytes::from(std::mem::take(&mut frames))).await;
            }
        }
        if dropped > 0 {
            push_gap(&mut frames, dropped);
        }
        if !frames.is_empty() {
            outlet.send_all(Bytes::from(frames)).await;
        }
        (is_any, u32::try_from(numbers.len()).unwrap_or(u32::MAX))
    }

    /// Adds frames that report a clearing of the journal, and records that were dropped before they could be sent.
    fn push_losses(&mut self, frames: &mut Vec<u8>, page: &JournalPage) {
        if page.clears != self.clears {
            (self.clears, self.told) = (page.clears, 0);
            push_frame(frames, "cleared", |out| out.extend_from_slice(b"{}"));
        }
        if page.dropped > self.told {
            let dropped = page.dropped - self.told;
            self.told = page.dropped;
            push_gap(frames, dropped);
        }
    }
}

fn push_gap(frames: &mut Vec<u8>, dropped: u64) {
    push_frame(frames, "gap", |out| {
        out.extend_from_slice(format!("{{\"dropped\":{dropped}}}").as_bytes());
    });
}

fn push_frame(out: &mut Vec<u8>, event: &str, push: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(b"event: ");
    out.extend_from_slice(event.as_bytes());
    out.extend_from_slice(b"\ndata: ");
    push(out);
    out.extend_from_slice(b"\n\n");
}
