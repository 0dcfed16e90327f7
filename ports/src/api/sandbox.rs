//! Testing aids: a clock that can be set, and resets. A service in production does not have them.

use std::time::Duration;

use petstore_domain::Timestamp;

use crate::StoreError;

/// A petstore for tests, which a tester may reset.
pub trait Sandbox: Send + Sync {
    /// A new epoch for a reset, one that the store has not had.
    fn new_epoch(&self) -> Result<u64, StoreError>;

    /// Resets the shop to its initial content. Accounts and keys stay. The store takes this epoch, so earlier entity tags and
    /// cursors become void. The caller must make sure that no other call uses the store meanwhile. Blocks until it is done.
    ///
    /// # Errors
    /// After [`StoreErrorKind::Indeterminate`](crate::StoreErrorKind::Indeterminate) the reset may or may not have happened,
    /// with this epoch. After any other error nothing has changed.
    fn reset(&self, epoch: u64) -> Result<(), StoreError>;

    /// The state of the clock.
    fn clock(&self) -> ClockState;

    /// Sets the clock. If it is set back, windows, strikes and bans are cleared. The caller must make sure that no other call
    /// uses the store meanwhile. Blocks until it is done.
    fn set_clock(&self, change: ClockChange) -> Result<ClockState, StoreError>;
}

/// The state of a sandbox's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockState {
    /// The time.
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
    /// This time.
    Set(Timestamp),
    /// The current time plus this span, at most the latest time.
    Advance(Duration),
    /// The time of the machine.
    Machine,
}
