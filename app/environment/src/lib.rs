//! The machine's clock and randomness, as ports.
//!
//! No other crate reads either of them: time and randomness are arguments, which tests choose.
//!
//! ```
//! use petstore_environment::{SystemClock, SystemEntropy};
//! use petstore_ports::{Clock, Entropy};
//!
//! assert!(SystemClock.now().as_millis() > 0);
//! assert_ne!(SystemEntropy.bits(), SystemEntropy.bits());
//! ```

use std::time::{SystemTime, UNIX_EPOCH};

use petstore_domain::Timestamp;
use petstore_ports::{Clock, Entropy, StoreError};

/// The machine's clock.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::EPOCH.plus(since)
    }
}

/// The operating system's randomness.
#[derive(Debug, Clone, Copy)]
pub struct SystemEntropy;

impl SystemEntropy {
    /// Returns a random number.
    ///
    /// # Errors
    /// The operating system's generator has failed.
    pub fn number() -> Result<u64, StoreError> {
        getrandom::u64().map_err(unavailable)
    }
}

impl Entropy for SystemEntropy {
    fn bits(&self) -> Result<[u8; 32], StoreError> {
        let mut bits = [0; 32];
        getrandom::fill(&mut bits).map_err(unavailable)?;
        Ok(bits)
    }
}

fn unavailable(error: getrandom::Error) -> StoreError {
    StoreError::unavailable("the system's random number generator failed").with_source(error)
}
