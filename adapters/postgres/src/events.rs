//! The event log: batches of events that the writers of all nodes insert, and their positions.
//!
//! A writer inserts the events of a commit as one row of `event_batches`, with a number from a sequence (`seq`) that it draws
//! while it holds the locks of all records that it changes. Sequence numbers become visible out of order, so a reader must not
//! continue after them. The sequencer (`sequencer`) gives positions afterwards: one transaction at a time in the database
//! numbers all visible batches without a position, in the order of `seq`.
//!
//! This keeps the order that the port promises. Let commit A take a lock that commit B held, or be sent after B was
//! answered. Then B was visible before A drew its `seq`. So each run of the sequencer that sees A also sees B, and the
//! `seq` of B is lower: B gets its position in the same run or an earlier one. A batch that becomes visible late gets a
//! late position, so nothing is inserted before a position that was read.
//!
//! A page (`page`) reads positions only. Its statement also looks for batches without a position, and if it finds one, the
//! sequencer runs before the page is read. Thus a page has every change that was answered before.

mod backlog;
mod batches;
mod columns;
mod feed;
mod fetch;
mod page;
mod poll;
mod reconnecting;
mod retention;
mod sequencer;
mod statements;
mod transactions;

use std::sync::Arc;

use parking_lot::Mutex;
use petstore_domain::{EventFilter, Timestamp};
use petstore_ports::{EventBounds, EventFeed, EventQuery, EventRead, EventReader, LogEnd, Reply, StoreError};
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use crate::PostgresStore;
use crate::calls::Calls;
use crate::connection::Connector;
use crate::connection::continuity::Continuity;

use feed::{Compared, Ends};
use fetch::{Fetcher, Shared};
use reconnecting::{Reconnecting, Use};
pub(crate) use sequencer::RunCounts;
use sequencer::Sequencer;
pub(crate) use statements::HAS_TIME;

pub use retention::EventRetention;

/// The maximum number of steps of one call that drops old events. Between two steps the sequencer can give positions.
const PRUNES_MAX: usize = 10;

/// The event log as one handle of the store uses it.
pub(crate) struct EventLog {
    fetcher: Fetcher,
    sequencer: Sequencer,
    ends: Arc<Ends>,
    continuity: Arc<Continuity>,
    retention: Mutex<EventRetention>,
}

impl EventLog {
    /// Starts the tasks of the log on this runtime.
    pub(crate) fn start(runtime: &Handle, connector: &Arc<Connector>, calls: &Arc<Calls>) -> Arc<Self> {
        let ends = Arc::new(Ends::new());
        let (runs, requests) = mpsc::channel(sequencer::REQUESTS_MAX);
        let connections = Reconnecting::new(Arc::clone(connector), Use::Sequencer);
        let sequencer = Sequencer::new(runs);
        let counts = Arc::clone(sequencer.counts());
        runtime.spawn(sequencer::serve(connections, requests, Arc::clone(&ends), counts));

        let (sender, jobs) = mpsc::channel(fetch::JOBS_MAX);
        let fetcher = Fetcher::new(sender, Arc::clone(calls));
        let connections = Reconnecting::new(Arc::clone(connector), Use::Pages);
        let continuity = Arc::clone(connector.continuity());
        let shared = Shared {
            fetcher: fetcher.clone(),
            sequencer: sequencer.clone(),
            ends: Arc::clone(&ends),
            continuity: Arc::clone(&continuity),
        };
        runtime.spawn(fetch::serve(connections, jobs, shared));

        runtime.spawn(poll::poll(Arc::clone(&ends), fetcher.clone()));
        Arc::new(Self {
            fetcher,
            sequencer,
            ends,
            continuity,
            retention: Mutex::new(EventRetention::DEFAULT),
        })
    }

    /// The counts of the sequencer's runs.
    pub(crate) fn runs(&self) -> &RunCounts {
        self.sequencer.counts()
    }

    /// Tells the log that this handle has committed events, so that readers that wait here get them soon.
    pub(crate) fn committed(&self) {
        self.ends.nudge();
    }

    /// The extent of the log, with every change that was answered before the call.
    pub(crate) async fn bounds(&self) -> Result<EventBounds, StoreError> {
        self.fetcher.bounds().await
    }

    /// The end of the log that began with an import or a reset by this handle.
    pub(crate) fn restarted(&self, epoch_number: u64, end: LogEnd) {
        self.continuity.restarted(epoch_number, end);
        self.ends.learn(epoch_number, end);
    }

    /// The end of the log that a check has found.
    pub(crate) fn found(&self, epoch_number: u64, end: LogEnd) {
        self.ends.learn(epoch_number, end);
    }

    /// Sets the limits of the events that are kept.
    pub(crate) fn set_retention(&self, retention: EventRetention) {
        *self.retention.lock() = retention;
    }

    /// Drops old events, a bounded number of batches. Several nodes may do so at once.
    pub(crate) async fn prune(&self, now: Timestamp) -> Result<u64, StoreError> {
        let retention = *self.retention.lock();
        let mut events = 0;
        for _ in 0..PRUNES_MAX {
            let pruned = self.sequencer.prune(retention, now).await?;
            events += pruned.events;
            if !pruned.has_more {
                break;
            }
        }
        Ok(events)
    }

    /// Lets the sequencer run, which needs a connection of its own.
    pub(crate) async fn number(&self) -> Result<(), StoreError> {
        self.sequencer.run().await
    }

    /// Gives positions to the batches that have none. Otherwise a log without readers would collect many of them, and
    /// the next reader would wait for all.
    pub(crate) async fn keep_up(&self) -> Result<(), StoreError> {
        self.fetcher.bounds().await.map(drop)
    }
}

impl PostgresStore {
    /// Sets the limits of the events that this handle keeps when it drops old ones. All nodes should have the same
    /// limits: of different ones the lowest apply.
    pub fn set_event_retention(&self, retention: EventRetention) {
        self.events.set_retention(retention);
    }
}

impl EventReader for PostgresStore {
    fn bounds(&self) -> Reply<Result<EventBounds, StoreError>> {
        let log = Arc::clone(&self.events);
        Reply::later(async move { log.bounds().await })
    }

    fn read(&self, query: EventQuery) -> Reply<Result<EventRead, StoreError>> {
        let log = Arc::clone(&self.events);
        Reply::later(async move { page::read(&log.fetcher, &query).await })
    }
}

impl EventFeed for PostgresStore {
    fn end(&self) -> LogEnd {
        self.events.ends.end()
    }

    fn changed(&self, known: LogEnd, _filter: EventFilter) -> Reply<LogEnd> {
        let mut wait = self.events.ends.wait(known);
        if let Compared::Later(end) = wait.compare() {
            return Reply::now(end);
        }
        let log = Arc::clone(&self.events);
        Reply::later(async move {
            if wait.compare() == Compared::OtherEpoch {
                // The bounds are read so that this handle learns the current epoch. If the end has not changed after
                // all, the wait completes nevertheless, which the port allows.
                let _: Result<_, _> = log.bounds().await;
                return wait.end();
            }
            loop {
                match wait.compare() {
                    Compared::NotLater if wait.changed().await => {}
                    Compared::Later(end) => return end,
                    // A new epoch, or the end of the store.
                    Compared::OtherEpoch | Compared::NotLater => return wait.end(),
                }
            }
        })
    }
}

#[cfg(test)]
mod tests;
