//! The operations of a sandbox, over the ports.

use std::sync::Arc;

use petstore_ports::api::{ClockFace, ClockTurn, Sandbox};
use petstore_ports::{Entropy, Resettable, Row, StoreError};

use crate::clock::SandboxClock;

/// A store and a clock that only the tester uses.
pub struct TestBed {
    /// The store.
    pub store: Arc<dyn Resettable>,
    /// The clock that the service works with.
    pub clock: Arc<SandboxClock>,
    /// The source of a new epoch for each reset.
    pub entropy: Arc<dyn Entropy>,
    /// The content of the shop after a reset: categories, pets and orders, in this order.
    pub shop: Arc<[Row]>,
}

impl Sandbox for TestBed {
    fn new_epoch(&self) -> Result<u64, StoreError> {
        // Eight bytes are enough to avoid an earlier epoch.
        Ok(self.entropy.bits()?[..8].iter().fold(0, |epoch, byte| epoch << 8 | u64::from(*byte)))
    }

    fn reset(&self, epoch: u64) -> Result<(), StoreError> {
        self.store.reset(Arc::clone(&self.shop), epoch)
    }

    fn clock(&self) -> ClockFace {
        self.clock.face()
    }

    fn set_clock(&self, turn: ClockTurn) -> Result<ClockFace, StoreError> {
        let (face, back_from) = self.clock.turn(turn);
        if let Some(went) = back_from {
            // If the windows cannot be forgotten, the clock keeps its time: windows of a later time must not remain.
            self.store.forget_usage().inspect_err(|_| self.clock.turn_again(went))?;
        }
        Ok(face)
    }
}
