//! The end of the log as this handle knows it, and the readers that wait for another one.

use petstore_domain::Position;
use petstore_ports::LogEnd;
use tokio::sync::{Notify, watch};

/// The end of the log, and the number of its epoch. Ends are compared by the number of the epoch, and then by the
/// position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KnownEnd {
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

    /// Takes over an end that was read, unless a later one is known. Wakes the waiting readers if the known end has
    /// changed.
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

    /// Begins to wait for an end of the log other than this one.
    pub(super) fn wait(&self, known: LogEnd) -> Wait {
        let receiver = self.known.subscribe();
        self.nudged.notify_one();
        Wait { receiver, known }
    }

    /// Ends the pause of the poll, because there may be more events or a reader.
    pub(super) fn nudge(&self) {
        self.nudged.notify_one();
    }

    /// Completes at the next nudge. A nudge while no call waits is kept, and the next call completes at once.
    pub(super) async fn nudged(&self) {
        self.nudged.notified().await;
    }

    /// Returns `true` if at least one reader waits, and `false` if none does.
    pub(super) fn has_readers(&self) -> bool {
        self.known.receiver_count() > 0
    }
}

/// A reader that waits for an end of the log other than the one that it knows.
pub(super) struct Wait {
    receiver: watch::Receiver<KnownEnd>,
    known: LogEnd,
}

impl Wait {
    /// Compares the last end that this handle has seen with the one that the reader knows.
    pub(super) fn compare(&self) -> Compared {
        let end = self.receiver.borrow().end;
        if end.epoch != self.known.epoch {
            return Compared::OtherEpoch;
        }
        // The reader may have learned its end from another handle, and this handle may not have seen that end yet.
        if end.last > self.known.last { Compared::Later(end) } else { Compared::NotLater }
    }

    /// The last end that this handle has seen.
    pub(super) fn end(&self) -> LogEnd {
        self.receiver.borrow().end
    }

    /// Completes with `true` when this handle sees another end, and with `false` once the store is closed.
    pub(super) async fn changed(&mut self) -> bool {
        self.receiver.changed().await.is_ok()
    }
}

/// The end that this handle has seen, compared with the one that a reader knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compared {
    /// It is later.
    Later(LogEnd),
    /// It is the same, or this handle lags behind.
    NotLater,
    /// It belongs to another epoch. It is not known which of the two epochs is the current one.
    OtherEpoch,
}
