//! Testing aids: a clock that can be set, and resets. A service in production does not have them.

use std::time::Duration;

use petstore_domain::Timestamp;

use super::Baseline;
use crate::StoreError;

/// A petstore for tests, which a tester may reset.
pub trait Sandbox: Send + Sync {
    /// An epoch for a reset. The store has not had this epoch before.
    fn new_epoch(&self) -> Result<u64, StoreError>;

    /// The baseline, which a tester may change; none if the sandbox always restores the same shop.
    fn baseline(&self) -> Option<&dyn Baseline> {
        None
    }

    /// Resets the shop to the baseline. Accounts and keys stay. `epoch` becomes the epoch of the store, so that
    /// entity tags and cursors from before the reset are no longer valid. The caller must make sure that no other call
    /// uses the store during the reset. The call blocks until the reset is done.
    ///
    /// # Errors
    /// After [`StoreErrorKind::Indeterminate`](crate::StoreErrorKind::Indeterminate) the reset may or may not have happened,
    /// with this epoch. After any other error nothing has changed.
    fn reset(&self, epoch: u64) -> Result<(), StoreError>;

    /// The state of the clock.
    fn clock(&self) -> ClockState;

    /// The time of the machine, which the clock does not change.
    fn machine_time(&self) -> Timestamp;

    /// Sets the clock. If it is set back, windows, strikes and bans are cleared. The caller must make sure that no
    /// other call uses the store meanwhile, and the call blocks until the clock is set. A change without a time, which stops the clock or
    /// lets it run on, needs no such care, and does not block.
    fn set_clock(&self, change: ClockChange) -> Result<ClockState, StoreError>;
}

/// The state of a sandbox's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockState {
    /// The time that the sandbox shows, which may be far from that of the machine.
    pub now: Timestamp,
    /// `true` while the clock is stopped.
    pub frozen: bool,
}

/// A change of a sandbox's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockChange {
    /// The new time; none to keep the current one.
    pub time: Option<NewTime>,
    /// `true` to stop the clock, `false` to let it run; none to keep the current state.
    pub freeze: Option<bool>,
}

/// A new time of a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewTime {
    /// This point in time, before or after the current one.
    Set(Timestamp),
    /// The current time plus this span, at most the latest time.
    Advance(Duration),
    /// The time of the machine.
    Machine,
}
