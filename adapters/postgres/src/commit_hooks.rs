//! The parts of a handle that hear of its commits, and the observer of a server's metrics.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use petstore_ports::Clock;

use crate::clock::DatabaseClock;
use crate::connection::continuity::Continuity;
use crate::events::EventLog;
use crate::keys::KeyCache;
use crate::writes::AfterCommit;

/// Observes the commits of a handle, for monitoring. The lane of writes calls it, so it must return soon.
pub trait CommitObserver: Send + Sync {
    /// A batch of this many operations was committed. `took` is the time from the start of the batch.
    fn committed(&self, operations: usize, took: Duration);

    /// An attempt to run a batch failed because of the connection or of the database.
    fn failed(&self);
}

/// The parts of a handle that hear of its commits.
pub(crate) struct CommitHooks {
    pub(crate) events: Arc<EventLog>,
    pub(crate) keys: Arc<KeyCache>,
    pub(crate) continuity: Arc<Continuity>,
    pub(crate) clock: Arc<DatabaseClock>,
    pub(crate) observer: Arc<OnceLock<Arc<dyn CommitObserver>>>,
}

impl AfterCommit for CommitHooks {
    fn events_committed(&self) {
        self.events.committed();
    }

    fn keys_changed(&self) {
        self.keys.forget();
    }

    fn committed(&self, token: [u8; 16]) {
        self.continuity.committed(token, self.clock.now());
    }

    fn batch_committed(&self, operations: usize, took: Duration) {
        if let Some(observer) = self.observer.get() {
            observer.committed(operations, took);
        }
    }

    fn batch_failed(&self) {
        if let Some(observer) = self.observer.get() {
            observer.failed();
        }
    }
}
