//! A connection that is replaced after a failure.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A connection that is opened at its first use and replaced after a failure. One caller opens it, and the others wait.
#[derive(Debug)]
pub struct Replaceable<S> {
    current: Mutex<Option<Arc<S>>>,
    /// One permit: callers that find no usable connection wait for the one that opens it.
    turns: Arc<Semaphore>,
}

impl<S> Default for Replaceable<S> {
    fn default() -> Self {
        Self { current: Mutex::default(), turns: Arc::new(Semaphore::new(1)) }
    }
}

impl<S> Replaceable<S> {
    /// Returns the connection, if it is usable.
    pub fn usable(&self, is_usable: impl Fn(&S) -> bool) -> Option<Arc<S>> {
        self.current.lock().clone().filter(|current| is_usable(current))
    }

    /// Returns the connection if it is usable, or else a new one from `opening`.
    pub async fn get<E>(
        &self,
        is_usable: impl Fn(&S) -> bool,
        opening: impl Future<Output = Result<S, E>>,
    ) -> Result<Arc<S>, E> {
        if let Some(current) = self.usable(&is_usable) {
            return Ok(current);
        }
        // The semaphore is never closed.
        let _turn = self.turns.acquire().await;
        if let Some(current) = self.usable(&is_usable) {
            return Ok(current);
        }
        opening.await.map(|opened| self.put(opened))
    }

    /// Returns the turn to open the connection. None while another caller has it.
    pub fn turn(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.turns).try_acquire_owned().ok()
    }

    /// Puts a new connection in place of the current one.
    pub fn put(&self, opened: S) -> Arc<S> {
        let opened = Arc::new(opened);
        *self.current.lock() = Some(Arc::clone(&opened));
        opened
    }

    /// Forgets a connection that has failed, unless it was replaced meanwhile.
    pub fn discard(&self, failed: &Arc<S>) {
        let mut current = self.current.lock();
        if current.as_ref().is_some_and(|current| Arc::ptr_eq(current, failed)) {
            *current = None;
        }
    }

    /// Forgets the current connection.
    pub fn clear(&self) {
        self.current.lock().take();
    }
}
