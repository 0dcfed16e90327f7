//! The content of an event stream, written frame by frame from pages of the log.
//!
//! A stream holds a position and no queue. It reads its next page after the connection has taken the previous one.

use std::sync::Arc;

use bytes::Bytes;
use petstore_domain::{AccountId, EventId, EventKinds, KeyId, Position, Scope};
use petstore_ports::api::{EventInterest, EventListing};
use petstore_ports::{EventPage, EventRead, LogEnd, SortDirection};
use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until};

use super::super::events::KEY_CHECK_TIME;
use super::pace::Pace;
use crate::exchange::outlet::Outlet;
use crate::response::body::CHUNK_MAX;
use crate::thread::shared::App;
use crate::wire::event_frames::{
    BOOKMARK_BYTES, COMMENT, push_bookmark, push_end, push_event_frame, push_opening,
};

/// Number of events that are read in one page: about as many as fit into a chunk.
const PAGE_EVENTS: usize = 50;

/// If this many positions of the log contain no event for the client, the client gets a bookmark. A later stream that
/// begins at the bookmark need not read these positions again.
const BOOKMARK_POSITIONS: u64 = 1_000;

/// The reason for which a stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The client has the number of events that it asked for.
    Limit,
    /// The time that the client asked for is up.
    Wait,
    /// The stream was open for as long as the server permits.
    Lifetime,
    /// The server stops.
    Drain,
    /// A new log has begun.
    Reset,
    /// The key is no longer valid, is banned, or has lost the scope.
    Key,
    /// Events that the client has not read have been dropped from the log.
    Expired,
    /// The log cannot be read.
    Unavailable,
}

impl End {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Limit => "limit",
            Self::Wait => "wait",
            Self::Lifetime => "lifetime",
            Self::Drain => "drain",
            Self::Reset => "reset",
            Self::Key => "key",
            Self::Expired => "expired",
            Self::Unavailable => "unavailable",
        }
    }
}

/// The writer of one stream.
pub(super) struct Follower {
    pub(super) app: Arc<App>,
    pub(super) account: AccountId,
    pub(super) key: KeyId,
    pub(super) kinds: EventKinds,
    /// The position up to which the log was read.
    pub(super) read: EventId,
    /// The last position that the client was told.
    pub(super) told: Position,
    /// The number of events after which the stream ends; `None` if the client set none.
    pub(super) left: Option<usize>,
    /// The instant at which the client wants the stream to end.
    pub(super) wait_end: Option<Instant>,
    pub(super) lifetime_end: Instant,
    pub(super) key_check: Instant,
    /// The instant of the last frame.
    pub(super) sent: Instant,
    pub(super) pace: Pace,
}

impl Follower {
    /// Writes the stream to its end.
    pub(super) async fn write(mut self, outlet: Outlet) {
        let mut opening = Vec::new();
        push_opening(&mut opening, self.read);
        self.send(&outlet, opening).await;
        let end = self.follow(&outlet).await;
        let mut last = Vec::new();
        push_end(&mut last, end.as_str());
        self.send(&outlet, last).await;
    }

    async fn follow(&mut self, outlet: &Outlet) -> End {
        loop {
            if let Some(end) = self.due_end(outlet).await {
                return end;
            }
            let has_caught_up = match self.advance(outlet).await {
                Ok(has_caught_up) => has_caught_up,
                Err(end) => return end,
            };
            if self.left == Some(0) {
                return End::Limit;
            }
            if has_caught_up && let Some(end) = self.wait(outlet).await {
                return end;
            }
            // A client that reads quickly must not occupy the thread, so the thread's other connections run first.
            yield_now().await;
        }
    }

    /// Moves the position over events that the filter does not admit, or reads and sends the next page. Returns `true`
    /// at the end of the log.
    async fn advance(&mut self, outlet: &Outlet) -> Result<bool, End> {
        let quiet = self.app.api.log_quiet_until(self.known(), self.interest());
        let mut frames = Vec::new();
        let has_caught_up = if quiet > self.read.position {
            self.read.position = quiet;
            self.push_due_bookmark(&mut frames);
            true
        } else {
            // The page is dropped before the frames are sent, so that a slow client keeps only the frames in memory.
            let page = self.next_page().await?;
            self.push_frames(&mut frames, &page);
            self.read.position >= page.bounds.last
        };
        if has_caught_up {
            self.pace.count(Instant::now(), self.app.streams.open());
        }
        if !frames.is_empty() {
            self.send(outlet, frames).await;
        }
        Ok(has_caught_up)
    }

    /// The position up to which the log was read, as the end of the log that this stream knows.
    const fn known(&self) -> LogEnd {
        LogEnd { epoch: self.read.epoch, last: self.read.position }
    }

    const fn interest(&self) -> EventInterest {
        EventInterest { account: self.account, kinds: self.kinds }
    }

    /// Returns the reason to end the stream now; `None` to go on.
    async fn due_end(&mut self, outlet: &Outlet) -> Option<End> {
        let now = Instant::now();
        if outlet.is_stopping() {
            return Some(End::Drain);
        }
        if self.wait_end.is_some_and(|end| end <= now) {
            return Some(End::Wait);
        }
        if self.lifetime_end <= now {
            return Some(End::Lifetime);
        }
        if self.key_check <= now {
            self.key_check = now + KEY_CHECK_TIME;
            let api = &self.app.api;
            // An error here does not end the stream. If the store fails, reading the next page fails, too, and ends the
            // stream.
            if api.is_valid(self.key, Scope::Read, api.now()).await == Ok(false) {
                return Some(End::Key);
            }
        }
        None
    }

    async fn next_page(&self) -> Result<EventPage, End> {
        let listing = EventListing {
            account: Some(self.account),
            kinds: self.kinds,
            epoch: Some(self.read.epoch),
            order: SortDirection::Ascending,
            after: Some(self.read.position),
            limit: self.left.map_or(PAGE_EVENTS, |left| left.min(PAGE_EVENTS)),
        };
        match self.app.api.list_events(listing).await {
            Ok(EventRead::Page(page)) => Ok(page),
            Ok(EventRead::Expired(bounds)) if bounds.epoch == self.read.epoch => Err(End::Expired),
            Ok(EventRead::Expired(_)) => Err(End::Reset),
            Err(_) => Err(End::Unavailable),
        }
    }

    /// Adds the frames of a page, as many as fit into a chunk, and moves the position after the last of them.
    fn push_frames(&mut self, frames: &mut Vec<u8>, page: &EventPage) {
        for event in &page.events {
            let len = frames.len();
            push_event_frame(frames, event);
            if frames.len() > CHUNK_MAX && len > 0 {
                // The next page begins with this event.
                frames.truncate(len);
                return;
            }
            (self.read, self.told) = (event.id, event.id.position);
            self.left = self.left.map(|left| left - 1);
        }
        self.read.position = page.reached;
        self.push_due_bookmark(frames);
    }

    /// Adds a bookmark if many positions were read since the last position that the client was told.
    fn push_due_bookmark(&mut self, frames: &mut Vec<u8>) {
        let is_far = self.read.position.get().saturating_sub(self.told.get()) >= BOOKMARK_POSITIONS;
        if is_far && frames.len() + BOOKMARK_BYTES <= CHUNK_MAX {
            push_bookmark(frames, self.read);
            self.told = self.read.position;
        }
    }

    /// Waits for an event, for the next check, or until a comment is due. Returns the reason to end the stream; `None`
    /// to go on.
    async fn wait(&mut self, outlet: &Outlet) -> Option<End> {
        let silence_end = self.sent + self.app.settings.deadlines.stream_silence;
        let next = silence_end.min(self.key_check).min(self.lifetime_end);
        let next = self.wait_end.map_or(next, |end| end.min(next));
        let (app, known) = (Arc::clone(&self.app), self.known());
        let may_read_at = self.pace.wait_until(Instant::now());
        let log_changed = async {
            match may_read_at {
                // The caller reads the log after this pause, so events that have been added meanwhile are found without
                // waiting for `log_changed`.
                Some(instant) => {
                    sleep_until(instant).await;
                    known
                }
                None => app.api.log_changed(known, self.interest()).await,
            }
        };
        tokio::select! {
            biased;
            () = outlet.stop() => {}
            end = log_changed => {
                if end.epoch != known.epoch {
                    return Some(End::Reset);
                }
            }
            () = sleep_until(next) => {}
        }
        if silence_end <= Instant::now() {
            // Events that the filter does not admit do not wake the stream. So the position is moved beyond such events
            // here.
            self.read.position = self.app.api.log_quiet_until(self.known(), self.interest());
            let mut frame = COMMENT.to_vec();
            if self.told < self.read.position {
                frame.clear();
                push_bookmark(&mut frame, self.read);
                self.told = self.read.position;
            }
            self.send(outlet, frame).await;
        }
        None
    }

    async fn send(&mut self, outlet: &Outlet, frames: Vec<u8>) {
        outlet.send(Bytes::from(frames)).await;
        self.sent = Instant::now();
    }
}
