//! The simulated machine's clock and randomness.

use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};

use petstore_domain::Timestamp;
use petstore_ports::{Clock, Entropy, StoreError};
use petstore_tests::Random;
use tokio::time::Instant;

/// A wall clock that follows the simulated time. A test can also make it jump.
pub(crate) struct SimClock {
    start: Instant,
    /// The time that the clock showed at the start, plus all jumps since then.
    shift: AtomicI64,
}

impl SimClock {
    pub(crate) fn showing(millis: i64) -> Self {
        Self { start: Instant::now(), shift: AtomicI64::new(millis) }
    }

    /// Makes the clock jump by this many milliseconds, forward or back.
    pub(crate) fn step(&self, millis: i64) {
        self.shift.fetch_add(millis, Ordering::Relaxed);
    }

    pub(crate) fn millis(&self) -> i64 {
        let elapsed = self.start.elapsed().as_millis();
        self.shift.load(Ordering::Relaxed) + i64::try_from(elapsed).expect("a run takes some hours")
    }
}

impl Clock for SimClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.millis()).expect("a year of four digits")
    }
}

/// Random bits that follow from the seed.
pub(crate) struct SimEntropy(pub(crate) Mutex<Random>);

impl Entropy for SimEntropy {
    fn bits(&self) -> Result<[u8; 32], StoreError> {
        let mut random = self.0.lock().expect("no thread panics while it holds the lock");
        let mut bits = [0; 32];
        for word in bits.chunks_mut(8) {
            word.copy_from_slice(&random.bits().to_le_bytes());
        }
        Ok(bits)
    }
}
