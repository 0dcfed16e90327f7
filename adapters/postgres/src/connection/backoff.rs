//! The waits between failed attempts to connect.

use std::time::Duration;

use parking_lot::Mutex;
use petstore_remote_connection::{Backoff, Random, Waits};
use tokio::time::Instant;

/// The waits. With the attempts before and after the longest one, a node must write again within five seconds after its
/// database answers.
const WAITS: Waits = Waits {
    min: Duration::from_millis(50),
    first_max: Duration::from_millis(100),
    max: Duration::from_secs(2),
};

/// The waits of all connections of a store: the connections of one node do not return to a server at the same moment.
pub(super) struct SharedBackoff(Mutex<(Backoff, Option<Instant>)>);

impl SharedBackoff {
    /// A backoff without failures.
    pub(super) fn new(random: Random) -> Self {
        Self(Mutex::new((Backoff::new(WAITS, random), None)))
    }

    /// The time before which no attempt should be made; none if the last attempt succeeded, or there was none.
    pub(super) fn next(&self) -> Option<Instant> {
        self.0.lock().1
    }

    /// Records a successful attempt.
    pub(super) fn succeeded(&self) {
        let (backoff, next) = &mut *self.0.lock();
        backoff.succeeded();
        *next = None;
    }

    /// Records a failed attempt.
    pub(super) fn failed(&self, now: Instant) {
        let (backoff, next) = &mut *self.0.lock();
        *next = Some(now + backoff.failed());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_failure_begins_a_wait_and_a_success_ends_it() {
        let backoff = SharedBackoff::new(Random::of_handle(1));
        let now = Instant::now();
        backoff.failed(now);
        let wait = backoff.next().unwrap() - now;
        assert!((WAITS.min..=WAITS.first_max).contains(&wait), "{wait:?}");
        backoff.succeeded();
        assert_eq!(backoff.next(), None);
    }
}
