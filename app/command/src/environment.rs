//! The machine: its name, measured durations, and the load of a server's threads.

use std::time::Duration;

pub(crate) use petstore_environment::{SystemClock, SystemEntropy};
use petstore_http::IdleTime;
pub(crate) use petstore_platform::host_name;

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

/// The minimum time over which the load of the threads is observed. In a shorter time, one busy moment would look like
/// saturation.
const WATCHED: Duration = Duration::from_millis(10);

/// Measures the saturation of a server's threads.
pub(crate) struct Pressure {
    idle: IdleTime,
    watched: Stopwatch,
    rested: Duration,
    is_high: bool,
}

impl Pressure {
    pub(crate) fn on(idle: IdleTime) -> Self {
        Self { watched: Stopwatch::start(), rested: idle.time(), idle, is_high: false }
    }

    /// Returns whether the threads have been nearly always busy in the last observation.
    pub(crate) fn is_high(&mut self) -> bool {
        let since = self.watched.elapsed();
        if since >= WATCHED {
            let before = std::mem::replace(&mut self.rested, self.idle.time());
            self.watched = Stopwatch::start();
            self.is_high = is_hardly_any(self.rested.saturating_sub(before), since, self.idle.threads());
        }
        self.is_high
    }
}

/// Returns whether threads were idle for less than a tenth of the time.
fn is_hardly_any(rested: Duration, since: Duration, threads: usize) -> bool {
    rested.as_nanos() * 10 < since.as_nanos() * threads as u128
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_saturated_when_they_are_idle_for_less_than_a_tenth_of_their_time() {
        let ms = Duration::from_millis;
        assert!(is_hardly_any(ms(9), ms(100), 1) && is_hardly_any(ms(19), ms(100), 2));
        assert!(!is_hardly_any(ms(10), ms(100), 1) && !is_hardly_any(ms(20), ms(100), 2));
        assert!(!is_hardly_any(ms(0), ms(100), 0), "without threads there is no pressure");
    }
}
