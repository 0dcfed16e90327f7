//! What a tester does to a petstore of their own. A service in production has none of it.

use std::time::Duration;

use petstore_domain::Timestamp;

use crate::StoreError;

/// A petstore that is its tester's plaything.
pub trait Sandbox: Send + Sync {
    /// An epoch that the store never had, for a beginning.
    fn new_epoch(&self) -> Result<u64, StoreError>;

    /// Takes the shop back to its beginning; accounts and keys stay. The store has this epoch from now on: entity tags and
    /// cursors of before mean nothing. Nobody else may use the store meanwhile. Blocks until it is done.
    ///
    /// # Errors
    /// After [`StoreErrorKind::Indeterminate`](crate::StoreErrorKind::Indeterminate) it may turn out to have happened, with
    /// this epoch. After any other nothing has changed.
    fn reset(&self, epoch: u64) -> Result<(), StoreError>;

    /// What the clock shows.
    fn clock(&self) -> ClockFace;

    /// Sets the clock. Where that turns it back, windows, strikes and bans begin anew. Nobody else may use the store
    /// meanwhile. Blocks until it is done.
    fn set_clock(&self, turn: ClockTurn) -> Result<ClockFace, StoreError>;
}

/// What a sandbox's clock shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockFace {
    /// The time.
    pub now: Timestamp,
    /// Whether it stands still.
    pub frozen: bool,
}

/// How a sandbox's clock is to be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockTurn {
    /// What it is to show; none: what it shows.
    pub hands: Option<Hands>,
    /// Whether it is to stand still from now on; none: as before.
    pub freeze: Option<bool>,
}

/// Where the hands of a clock are to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hands {
    /// To this time.
    Set(Timestamp),
    /// So much further, at most to the end of time.
    Advance(Duration),
    /// To the machine's time.
    Machine,
}
