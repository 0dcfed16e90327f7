//! Calls without a request, for a kind of calls that fails.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::calls::Calls;
use crate::events::EventLog;
use crate::queries::Pool;
use crate::writes::Trials;

/// The pause between two looks at the outcomes.
const INTERVAL: Duration = Duration::from_millis(250);

/// The parts of a store that are tried.
pub(crate) struct Trial {
    pub(crate) calls: Arc<Calls>,
    pub(crate) pages: Pool,
    pub(crate) events: Arc<EventLog>,
    pub(crate) writes: Trials,
}

impl Trial {
    /// Tries what fails until the task is dropped.
    pub(crate) async fn run(self: Arc<Self>) {
        loop {
            sleep(INTERVAL).await;
            let now = Instant::now();
            if self.calls.lookups.should_be_tried(now) || self.calls.pages.should_be_tried(now) {
                self.read_page().await;
            }
            if self.calls.events.should_be_tried(now) {
                // The log takes note of the outcome.
                let _: Result<_, _> = self.events.bounds().await;
            }
            if self.calls.writes.should_be_tried(now) {
                self.calls.writes.note(&self.writes.make().await);
            }
        }
    }

    /// Opens the connections that requests will need, as far as the server has enough of them.
    pub(crate) async fn warm_up(&self) {
        self.read_page().await;
        let _: Result<_, _> = self.events.bounds().await;
        let _: Result<(), _> = self.events.number().await;
    }

    /// Reads nothing on a connection for pages, which also serves look-ups whose own connection cannot be opened.
    async fn read_page(&self) {
        let read = self.pages.rows("select 1".to_owned(), Vec::new()).await;
        if read.is_ok() {
            self.calls.lookups.succeeded();
        }
    }
}
