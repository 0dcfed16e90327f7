//! The bounds of the readers of long lists in a sandbox: of the journal, its archive, and the requests of sinks.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// The maximum number of long lists that are written at a time. Each has one piece in memory.
const READERS_MAX: usize = 16;

/// The longest time for which a reader waits for the end of another one.
const ENTRY_WAIT: Duration = Duration::from_secs(10);

/// The unit of the bound of held bytes, because a permit has a number of 32 bits.
const UNIT: usize = 1024;

/// The readers of long lists.
pub(crate) struct Readers {
    places: Arc<Semaphore>,
    held: Arc<Semaphore>,
}

impl Readers {
    /// `held_max` is the number of bytes that lists may keep in memory for their readers after the journal or a sink has
    /// dropped them.
    pub(crate) fn new(held_max: usize) -> Self {
        let units = (held_max / UNIT).min(Semaphore::MAX_PERMITS);
        Self { places: Arc::new(Semaphore::new(READERS_MAX)), held: Arc::new(Semaphore::new(units)) }
    }

    /// Waits for a permit for one more reader; `None` if there is none for a long time.
    pub(crate) async fn enter(&self) -> Option<OwnedSemaphorePermit> {
        let place = Arc::clone(&self.places).acquire_owned();
        timeout(ENTRY_WAIT, place).await.ok().and_then(Result::ok)
    }

    /// Returns a permit to keep this number of bytes until a list is written; `None` if other readers keep too many.
    pub(crate) fn hold(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let units = u32::try_from(bytes.div_ceil(UNIT)).ok()?;
        Arc::clone(&self.held).try_acquire_many_owned(units).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_hold_no_more_than_the_bound_together() {
        let readers = Readers::new(10 * UNIT);
        let first = readers.hold(6 * UNIT).unwrap();
        assert!(readers.hold(5 * UNIT).is_none());
        let _second = readers.hold(4 * UNIT).unwrap();
        assert!(readers.hold(1).is_none());
        drop(first);
        assert!(readers.hold(6 * UNIT).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_waits_for_the_end_of_another_one() {
        let readers = Readers::new(0);
        let mut places = Vec::new();
        for _ in 0..READERS_MAX {
            places.push(readers.enter().await.unwrap());
        }
        assert!(readers.enter().await.is_none());
        drop(places.pop());
        assert!(readers.enter().await.is_some());
    }
}
