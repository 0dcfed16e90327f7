//! The end of the log as this handle knows it, and the readers that wait for another one.

use petstore_domain::Position;
use petstore_ports::{LogEnd, Reply};
use tokio::sync::{Notify, watch};

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
        if goes_beyond(end, known) {
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
                if goes_beyond(end, known) {
                    return end;
                }
            }
        })
    }

    /// Ends the pause of the poll, because there may be more events or a reader.
    pub(super) fn nudge(&self) {
        self.nudged.notify_one();
    }

    /// Completes at the next nudge, or at once after one that no wait has seen.
    pub(super) async fn nudged(&self) {
        self.nudged.notified().await;
    }

    /// Returns true while a reader waits.
    pub(super) fn has_readers(&self) -> bool {
        self.known.receiver_count() > 0
    }
}

/// Returns whether a reader that knows one end has something to read. The end that this handle has seen may be older than one
/// that the reader was given on another handle.
fn goes_beyond(end: LogEnd, known: LogEnd) -> bool {
    end.epoch != known.epoch || end.last > known.last
}
