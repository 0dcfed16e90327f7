//! What a tester does, done to the ports.

use std::sync::Arc;

use petstore_ports::api::{ClockFace, ClockTurn, Sandbox};
use petstore_ports::{Entropy, Resettable, Row, StoreError};

use super::clock::SandboxClock;

/// A store and a clock that a tester has to themselves.
pub(crate) struct StoreSandbox {
    /// The store.
    pub(crate) store: Arc<dyn Resettable>,
    /// The clock that the service works with.
    pub(crate) clock: Arc<SandboxClock>,
    /// For a new epoch at each beginning.
    pub(crate) entropy: Arc<dyn Entropy>,
    /// What the shop begins with: categories, pets and orders, in this order.
    pub(crate) shop: Arc<[Row]>,
}

impl Sandbox for StoreSandbox {
    fn new_epoch(&self) -> Result<u64, StoreError> {
        // Eight of the bytes are enough not to meet an epoch of before.
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
            // A clock that is back while windows of later are counted would be neither before nor after.
            self.store.forget_usage().inspect_err(|_| self.clock.turn_again(went))?;
        }
        Ok(face)
    }
}
