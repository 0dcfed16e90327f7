//! The one place that asks the machine for the time and for randomness.

use petstore_domain::Timestamp;
use petstore_ports::{Clock, Entropy, StoreError};

/// The machine's clock.
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    fn now(&self) -> Timestamp {
        use std::time::{SystemTime, UNIX_EPOCH};
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::EPOCH.plus(since)
    }
}

/// Measures how long something takes.
pub(crate) struct Stopwatch(std::time::Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub(crate) fn start() -> Self {
        Self(std::time::Instant::now())
    }

    pub(crate) fn elapsed(&self) -> std::time::Duration {
        self.0.elapsed()
    }
}

/// The operating system's randomness.
pub(crate) struct SystemEntropy;

impl SystemEntropy {
    /// A random number.
    pub(crate) fn number() -> Result<u64, StoreError> {
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
    StoreError::Unavailable(format!("the system gives no randomness: {error}"))
}
