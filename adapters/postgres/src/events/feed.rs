//! The readers of this handle that wait for more events, and the poll that serves them.

use std::sync::Arc;
use std::time::Duration;

use petstore_domain::Position;
use petstore_ports::{LogEnd, Reply};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::fetch::Fetcher;

/// The time between two polls while a reader waits: commits of other nodes are not announced.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The time between two polls at least, however often this handle commits.
const POLL_INTERVAL_MIN: Duration = Duration::from_millis(20);

/// The end of the log, and the number of its epoch. Compared as a pair of numbers, a later one is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct KnownEnd {
    epoch_number: u64,
    end: LogEnd,
}

/// The last end of the log that this handle has seen.
pub(super) struct Ends {
    known: watch::Sender<KnownEnd>,
    nudged: Notify,
}

impl Ends {
    pub(super) fn new() -> Self {
        let end = LogEnd { epoch: 0, last: Position::START };
        Self { known: watch::Sender::new(KnownEnd { epoch_number: 0, end }), nudged: Notify::new() }
    }

    /// Takes over an end that was read, unless a later one is known. Wakes the readers if it is another one.
    pub(super) fn learn(&self, epoch_number: u64, end: LogEnd) {
        self.known.send_if_modified(|known| {
            let is_later = (epoch_number, end.last) > (known.epoch_number, known.end.last);
            if is_later {
                *known = KnownEnd { epoch_number, end };
            }
            is_later
        });
    }

    /// The last end that is known.
    pub(super) fn end(&self) -> LogEnd {
        self.known.borrow().end
    }

    /// Completes with the end of the log once it is another one than this.
    pub(super) fn changed(&self, known: LogEnd) -> Reply<LogEnd> {
        let mut receiver = self.known.subscribe();
        let end = receiver.borrow_and_update().end;
        if end != known {
            return Reply::now(end);
        }
        self.nudged.notify_one();
        Reply::later(async move {
            loop {
                if receiver.changed().await.is_err() {
                    // The store is closed: there is nothing more to wait for.
                    return known;
                }
                let end = receiver.borrow_and_update().end;
                if end != known {
                    return end;
                }
            }
        })
    }

    /// Ends the pause of the poll, because there may be more events or a reader.
    pub(super) fn nudge(&self) {
        self.nudged.notify_one();
    }

    fn has_readers(&self) -> bool {
        self.known.receiver_count() > 0
    }
}

/// Reads the end of the log again and again while a reader waits.
pub(super) async fn poll(ends: Arc<Ends>, fetcher: Fetcher) {
    loop {
        while !ends.has_readers() {
            ends.nudged.notified().await;
        }
        let begun = Instant::now();
        // The fetch tells the end to the readers. After a failure the next poll follows as usual.
        let _: Result<_, _> = fetcher.bounds().await;
        sleep_until(begun + POLL_INTERVAL_MIN).await;
        let _: Result<(), _> = timeout_at(begun + POLL_INTERVAL, ends.nudged.notified()).await;
    }
}
