//! The operations of the sandbox, over the ports.

use std::sync::Arc;

use petstore_domain::Timestamp;
use petstore_ports::api::{Baseline, ClockChange, ClockState, Sandbox};
use petstore_ports::{Entropy, Resettable, StoreError};

use crate::baseline::ShopBaseline;
use crate::clock::SandboxClock;

/// A store and a clock that a tester controls.
pub struct StoreSandbox {
    /// The store.
    pub store: Arc<dyn Resettable>,
    /// The clock that the service uses.
    pub clock: Arc<SandboxClock>,
    /// The source of a new epoch for each reset.
    pub entropy: Arc<dyn Entropy>,
    /// The content of the store after a reset.
    pub baseline: ShopBaseline,
}

impl Sandbox for StoreSandbox {
    fn new_epoch(&self) -> Result<u64, StoreError> {
        // 64 random bits make a repeated epoch improbable.
        Ok(self.entropy.bits()?[..8].iter().fold(0, |epoch, byte| epoch << 8 | u64::from(*byte)))
    }

    fn baseline(&self) -> Option<&dyn Baseline> {
        Some(&self.baseline)
    }

    fn reset(&self, epoch: u64) -> Result<(), StoreError> {
        self.store.reset(self.baseline.rows(), epoch)
    }

    fn clock(&self) -> ClockState {
        self.clock.state()
    }

    fn machine_time(&self) -> Timestamp {
        self.clock.machine_time()
    }

    fn set_clock(&self, change: ClockChange) -> Result<ClockState, StoreError> {
        let (state, back_from) = self.clock.change(change);
        if let Some(went) = back_from {
            // Usage is counted in windows of the clock's time. After the clock went back, usage in windows of the
            // former time would count against new requests.
            self.store.forget_usage().inspect_err(|_| self.clock.restore(went))?;
        }
        Ok(state)
    }
}
