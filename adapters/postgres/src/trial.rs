//! Calls without a request, for a kind of calls that fails.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::calls::Calls;
use crate::events::EventLog;
use crate::health::Pulse;
use crate::queries::Pool;
use crate::writes::Trials;

/// The pause between two looks at the outcomes.
const INTERVAL: Duration = Duration::from_millis(250);

/// The time after whose end a database that does not answer the regular check is asked for a commit, too: what the check reads may
/// be locked.
const SILENCE: Duration = Duration::from_secs(1);

/// Reads nothing from the tables that requests read, so that it waits like them for a table that another session holds.
const READ: &str = "select 1 where false and (exists (select from accounts) or exists (select from categories)
    or exists (select from keys) or exists (select from orders) or exists (select from pets) or exists (select from webhooks))";

/// The parts of a store that are tried.
pub(crate) struct Trial {
    pub(crate) calls: Arc<Calls>,
    pub(crate) pulse: Arc<Pulse>,
    /// The connections for pages. They do not take note of the outcomes.
    pub(crate) pages: Pool,
    pub(crate) events: Arc<EventLog>,
    pub(crate) writes: Trials,
}

impl Trial {
    /// Tries what fails until the task is dropped. No kind of calls waits for another one.
    pub(crate) async fn run(self: Arc<Self>) {
        tokio::join!(self.try_reads(), self.try_events(), self.try_writes());
    }

    async fn try_reads(&self) {
        loop {
            sleep(INTERVAL).await;
            let now = Instant::now();
            if self.calls.lookups.should_be_tried(now) || self.calls.pages.should_be_tried(now) {
                let read = self.pages.rows(READ.to_owned(), Vec::new()).await;
                self.calls.lookups.tried(&read);
                self.calls.pages.tried(&read);
            }
        }
    }

    async fn try_events(&self) {
        loop {
            sleep(INTERVAL).await;
            if self.calls.events.should_be_tried(Instant::now()) {
                // The log takes note of the outcome.
                let _: Result<_, _> = self.events.bounds().await;
            }
        }
    }

    async fn try_writes(&self) {
        loop {
            sleep(INTERVAL).await;
            let now = Instant::now();
            let is_silent =
                self.pulse.is_silent(SILENCE, now) && !self.calls.has_committed_within(INTERVAL, now);
            if is_silent || self.calls.writes.should_be_tried(now) {
                let made = self.writes.make().await;
                self.calls.writes.tried(&made);
                if made.is_ok() {
                    self.calls.committed();
                }
            }
        }
    }

    /// Opens the connections that requests will need, as far as the server has enough of them.
    pub(crate) async fn warm_up(&self) {
        let _: Result<_, _> = self.pages.rows("select 1".to_owned(), Vec::new()).await;
        let _: Result<_, _> = self.events.bounds().await;
        let _: Result<(), _> = self.events.number().await;
    }
}
