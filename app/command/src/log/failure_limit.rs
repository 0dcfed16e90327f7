//! The limit of log lines about failed requests: while a store is down every request fails, and for the same reason.

use parking_lot::Mutex;
use petstore_domain::Timestamp;

/// The number of failed requests that are logged within a second.
const LOGGED_MAX: u32 = 50;

/// Counts the failed requests of the present second.
#[derive(Default)]
pub(super) struct FailureLimit(Mutex<Second>);

#[derive(Default)]
struct Second {
    number: u64,
    logged: u32,
    left_out: u64,
}

impl FailureLimit {
    /// Returns `true` if a request that failed at this time is to be logged.
    pub(super) fn admits(&self, now: Timestamp) -> bool {
        let mut second = self.0.lock();
        if second.number != now.as_secs() {
            (second.number, second.logged) = (now.as_secs(), 0);
        }
        if second.logged < LOGGED_MAX {
            second.logged += 1;
            return true;
        }
        second.left_out += 1;
        false
    }

    /// The number of failed requests since the last call that were not logged.
    pub(super) fn take_left_out(&self) -> u64 {
        std::mem::take(&mut self.0.lock().left_out)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn in_each_second_some_failures_are_logged_and_the_others_are_counted() {
        let limit = FailureLimit::default();
        let at = |millis| Timestamp::EPOCH.plus(Duration::from_millis(millis));
        for second in 0..3 {
            let logged = (0..200).filter(|number| limit.admits(at(second * 1_000 + number))).count();
            assert_eq!(logged, LOGGED_MAX as usize);
        }
        assert_eq!((limit.take_left_out(), limit.take_left_out()), (3 * 150, 0));
    }
}
