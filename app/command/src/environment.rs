//! The one place that asks the machine for the time and for randomness.

use std::num::NonZero;
use std::time::Duration;

use petstore_domain::Timestamp;
use petstore_ports::{Clock, Entropy, StoreError};
use rustix::time::{ClockId, clock_gettime};

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

    pub(crate) fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// How long the processors are watched before a verdict: a shorter look would take one busy moment for many.
const WATCHED: Duration = Duration::from_millis(10);

/// The processors that this process may use.
pub(crate) struct Processors {
    count: u32,
    watched: Stopwatch,
    used: Duration,
    were_busy: bool,
}

impl Processors {
    pub(crate) fn new() -> Self {
        let count = std::thread::available_parallelism().map_or(1, NonZero::get);
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        Self { count, watched: Stopwatch::start(), used: used(), were_busy: false }
    }

    /// Whether this process has used nearly all of their time lately.
    pub(crate) fn were_busy(&mut self) -> bool {
        let since = self.watched.elapsed();
        if since >= WATCHED {
            let before = std::mem::replace(&mut self.used, used());
            self.watched = Stopwatch::start();
            self.were_busy = is_nearly_all(self.used.saturating_sub(before), since, self.count);
        }
        self.were_busy
    }
}

/// Whether less than a tenth of the time of so many processors was left.
fn is_nearly_all(used: Duration, since: Duration, count: u32) -> bool {
    used * 10 >= since * count * 9
}

/// The processors' time that this process has used.
fn used() -> Duration {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(used).unwrap_or_default()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_busy_when_less_than_a_tenth_of_their_time_is_left() {
        let ms = Duration::from_millis;
        assert!(is_nearly_all(ms(90), ms(100), 1) && is_nearly_all(ms(180), ms(100), 2));
        assert!(!is_nearly_all(ms(89), ms(100), 1) && !is_nearly_all(ms(179), ms(100), 2));
    }

    #[test]
    fn time_that_is_used_is_counted_for_this_process() {
        let before = used();
        let mut number = 1_u64;
        while used() == before {
            number = std::hint::black_box(number.wrapping_mul(3));
        }
        assert!(used() > before);
    }
}
