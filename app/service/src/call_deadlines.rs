//! Deadlines of the calls to driven ports, so that a port that hangs does not keep its callers waiting.

use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use petstore_ports::{Reply, ScopedReply, StoreError, Timer};

/// Bounds how long callers wait for a port.
///
/// A reply that is ready is passed on unchanged. A future is polled once before its timer is created, so a result that
/// is ready at the first poll needs no timer.
///
/// A request calls the store twice: it looks up its key, then it runs. The two share the time of a request, so that a
/// store that hangs keeps a request no longer than that.
#[derive(Clone)]
pub(crate) struct CallDeadlines {
    timer: Arc<dyn Timer>,
    /// The time for a key look-up.
    key: Duration,
    /// The time for any other call of the store.
    store: Duration,
    quota: Duration,
}

/// The part of a request's time that the look-up of its key may take: one of so many equal parts.
const KEY_LOOKUP_PART: u32 = 4;

impl CallDeadlines {
    /// Deadlines for requests that may wait for the store for the time `request`, and for the quota store for `quota`.
    pub(crate) fn new(timer: Arc<dyn Timer>, request: Duration, quota: Duration) -> Self {
        let key = request / KEY_LOOKUP_PART;
        Self { timer, key, store: request.saturating_sub(key), quota }
    }

    /// The time since some fixed moment.
    pub(crate) fn elapsed(&self) -> Duration {
        self.timer.elapsed()
    }

    /// Bounds a key look-up.
    pub(crate) fn key_reply<'a, T: Send + 'a>(
        &self,
        reply: ScopedReply<'a, Result<T, StoreError>>,
    ) -> ScopedReply<'a, Result<T, StoreError>> {
        self.bound(reply, self.key, store_is_late)
    }

    /// Bounds a read of the store.
    pub(crate) fn reply<'a, T: Send + 'a>(
        &self,
        reply: ScopedReply<'a, Result<T, StoreError>>,
    ) -> ScopedReply<'a, Result<T, StoreError>> {
        self.bound(reply, self.store, store_is_late)
    }

    /// Bounds a call of the quota store.
    pub(crate) fn quota_reply<'a, T: Send + 'a>(
        &self,
        reply: ScopedReply<'a, Result<T, StoreError>>,
    ) -> ScopedReply<'a, Result<T, StoreError>> {
        self.bound(reply, self.quota, quota_store_is_late)
    }

    /// Bounds a read of the store that is an ordinary future. The caller has pinned the future, because an async
    /// function that takes a future and pins it itself needs room for two copies.
    pub(crate) async fn read<T>(
        &self,
        call: impl Future<Output = Result<T, StoreError>> + Unpin,
    ) -> Result<T, StoreError> {
        within(&*self.timer, self.store, call).await.unwrap_or_else(|| Err(store_is_late()))
    }

    /// Bounds a write. When the deadline passes, the store may still commit the change.
    pub(crate) async fn write<T>(
        &self,
        call: impl Future<Output = Result<T, StoreError>> + Unpin,
    ) -> Result<T, StoreError> {
        let unanswered = || StoreError::indeterminate(LATE);
        within(&*self.timer, self.store, call).await.unwrap_or_else(|| Err(unanswered()))
    }

    fn bound<'a, T: Send + 'a>(
        &self,
        reply: ScopedReply<'a, Result<T, StoreError>>,
        limit: Duration,
        late: fn() -> StoreError,
    ) -> ScopedReply<'a, Result<T, StoreError>> {
        reply.or_later(|future| {
            let timer = Arc::clone(&self.timer);
            ScopedReply::later(
                async move { within(&*timer, limit, future).await.unwrap_or_else(|| Err(late())) },
            )
        })
    }
}

const LATE: &str = "the store did not answer in time";

fn store_is_late() -> StoreError {
    StoreError::unavailable(LATE)
}

fn quota_store_is_late() -> StoreError {
    StoreError::unavailable("the quota store did not answer in time")
}

/// The output of a future; none if the future takes longer than the limit.
async fn within<F: Future + Unpin>(timer: &dyn Timer, limit: Duration, mut future: F) -> Option<F::Output> {
    let mut sleep: Option<Reply<()>> = None;
    std::future::poll_fn(move |context| {
        if let Poll::Ready(output) = Pin::new(&mut future).poll(context) {
            return Poll::Ready(Some(output));
        }
        let sleep = sleep.get_or_insert_with(|| timer.sleep(limit));
        Pin::new(sleep).poll(context).map(|()| None)
    })
    .await
}
