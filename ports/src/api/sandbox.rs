//! What a tester does to a petstore of their own. A service in production has none of it.

use std::time::Duration;

use petstore_domain::Timestamp;

use crate::StoreError;

/// A petstore that is its tester's plaything.
pub trait Sandbox: Send + Sync {
    /// Takes the shop back to its beginning; accounts and keys stay. Returns the store's new epoch: entity tags and cursors
    /// of before mean nothing from now on. Nobody else may use the store meanwhile. Blocks until it is done.
    fn reset(&self) -> Result<u64, StoreError>;

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
