//! The machine's clock and randomness.

use petstore_domain::Timestamp;
use petstore_ports::{Clock, Entropy, StoreError};

/// The machine's clock.
pub(crate) struct MachineClock;

impl Clock for MachineClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    fn now(&self) -> Timestamp {
        use std::time::{SystemTime, UNIX_EPOCH};
        Timestamp::EPOCH.plus(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
    }
}

/// The operating system's randomness.
pub(crate) struct MachineEntropy;

impl MachineEntropy {
    /// A random number.
    pub(crate) fn number() -> Result<u64, StoreError> {
        getrandom::u64().map_err(unavailable)
    }
}

impl Entropy for MachineEntropy {
    fn bits(&self) -> Result<[u8; 32], StoreError> {
        let mut bits = [0; 32];
        getrandom::fill(&mut bits).map_err(unavailable)?;
        Ok(bits)
    }
}

fn unavailable(error: getrandom::Error) -> StoreError {
    StoreError::unavailable("the system's random number generator failed").with_source(error)
}
