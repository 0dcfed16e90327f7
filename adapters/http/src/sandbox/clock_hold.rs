//! The hold of a frozen clock: it stands still until a client has to wait.
//!
//! A test of a quota that is almost used up sets the clock shortly before the end of the window. The client would meet another window
//! if the machine were so busy that it sent its first requests too late. With a hold, the clock runs from the answer on that asks the
//! client to wait, so that this answer is true, and that only the client decides what it meets.

use std::sync::atomic::{AtomicBool, Ordering};

use hyper::HeaderMap;
use hyper::header::RETRY_AFTER;
use parking_lot::Mutex;

use crate::exchange::credentials::presented;
use crate::response::answer::Answer;
use crate::response::quota_headers::QuotaNote;
use crate::wire::request_head::RequestHead;

/// The key for whose client the clock is held.
#[derive(Default)]
pub(crate) struct ClockHold {
    /// `true` while the clock is held. Only then a request takes the lock.
    is_set: AtomicBool,
    key: Mutex<Option<Box<str>>>,
}

/// A change of the hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HoldChange {
    /// It stays as it is.
    Keep,
    /// It ends, and the clock does what the tester has chosen.
    End,
    /// The clock is held for this key, or for the keys that begin so.
    Begin(Box<str>),
}

impl ClockHold {
    /// Sets the clock, and changes the hold if that has succeeded. Returns also the key of the hold that is then in force.
    pub(super) fn change<T, E>(
        &self,
        change: HoldChange,
        set_clock: impl FnOnce() -> Result<T, E>,
    ) -> Result<(T, Option<Box<str>>), E> {
        let mut key = self.key.lock();
        let done = set_clock()?;
        match change {
            HoldChange::Keep => {}
            HoldChange::End => *key = None,
            HoldChange::Begin(of) => *key = Some(of),
        }
        self.is_set.store(key.is_some(), Ordering::Relaxed);
        Ok((done, key.clone()))
    }

    /// The key of the hold that is in force.
    pub(super) fn key(&self) -> Option<Box<str>> {
        self.key.lock().clone()
    }

    /// Returns whether the clock is held for the client that has sent a request.
    pub(super) fn is_for(&self, head: &RequestHead<'_>, headers: &HeaderMap) -> bool {
        self.is_set.load(Ordering::Relaxed)
            && self.key.lock().as_deref().is_some_and(|key| {
                presented(head, headers).is_ok_and(|presented| presented.starts_with(key.as_bytes()))
            })
    }

    /// Ends the hold. Lets the clock run on, unless the hold has ended already.
    pub(super) fn release(&self, run_on: impl FnOnce()) {
        let mut key = self.key.lock();
        if key.take().is_some() {
            self.is_set.store(false, Ordering::Relaxed);
            run_on();
        }
    }
}

/// Returns whether an answer asks its client to wait, or leaves it to choose a pause: no request is left, `Retry-After`, an error of
/// the server, or a planned failure.
pub(super) fn asks_to_wait(answer: &Answer, quota: Option<&QuotaNote>, has_failed: bool) -> bool {
    has_failed
        || answer.status.is_server_error()
        || quota.is_some_and(|quota| quota.window().remaining == 0)
        || answer.headers.iter().any(|(name, _)| *name == RETRY_AFTER)
}
