//! A circuit breaker: a port that fails repeatedly is not called for a while, and then probed by one caller.
//!
//! The state machine is pure: time is an argument, as the time since some fixed moment.

use std::time::Duration;

/// Consecutive failures that open the circuit. Those within [`ONE_FAILURE`] count as one.
pub(crate) const FAILURES_MAX: u32 = 3;

/// The time from a counted failure within which further failures are not counted. When a connection is lost, all calls in
/// progress over it fail together, although the next call succeeds over a new connection.
pub(crate) const ONE_FAILURE: Duration = Duration::from_millis(50);

/// Time for which the circuit stays open before a probe. It is short, because requests must be counted again within a
/// second of the store's return.
pub(crate) const PAUSE: Duration = Duration::from_millis(250);

/// The state of a circuit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Circuit {
    /// Every caller may call the port.
    Closed {
        /// Counted failures since the last success.
        failures: u32,
        /// The time of the last counted failure.
        last: Duration,
    },
    /// No caller may call the port.
    Open {
        /// The time of the last failure.
        since: Duration,
    },
    /// One caller probes the port; no other caller may call the port.
    HalfOpen {
        /// The time of the last failure.
        since: Duration,
    },
}

/// The circuit's permission for one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passage {
    /// This caller and other callers may call the port.
    Call,
    /// Only this caller may call the port.
    Probe,
    /// The caller may not call the port.
    Refused,
}

impl Circuit {
    /// The state in which no call has failed.
    pub(crate) const CALM: Self = Self::Closed { failures: 0, last: Duration::ZERO };

    /// Decides on a call, and returns the next state.
    pub(crate) fn ask(self, now: Duration) -> (Self, Passage) {
        match self {
            Self::Closed { .. } => (self, Passage::Call),
            Self::Open { since } if now.saturating_sub(since) >= PAUSE => {
                (Self::HalfOpen { since }, Passage::Probe)
            }
            Self::Open { .. } | Self::HalfOpen { .. } => (self, Passage::Refused),
        }
    }

    /// The state after a successful call. While the circuit is not closed, only the success of the probe counts,
    /// because every other call began before the circuit opened.
    #[must_use]
    pub(crate) fn succeeded(self, passage: Passage) -> Self {
        match (self, passage) {
            (Self::Closed { .. }, _) | (Self::HalfOpen { .. }, Passage::Probe) => Self::CALM,
            (Self::Open { .. } | Self::HalfOpen { .. }, _) => self,
        }
    }

    /// The state after a call that failed.
    #[must_use]
    pub(crate) fn failed(self, passage: Passage, now: Duration) -> Self {
        match (self, passage) {
            (Self::Closed { failures: 1.., last }, _) if now.saturating_sub(last) < ONE_FAILURE => self,
            (Self::Closed { failures, .. }, _) if failures + 1 < FAILURES_MAX => {
                Self::Closed { failures: failures + 1, last: now }
            }
            (Self::Closed { .. }, _) | (Self::HalfOpen { .. }, Passage::Probe) => Self::Open { since: now },
            (Self::Open { .. } | Self::HalfOpen { .. }, _) => self,
        }
    }

    /// The state after the caller of a probe was dropped. In this state the next caller probes.
    #[must_use]
    pub(crate) fn abandoned(self) -> Self {
        match self {
            Self::HalfOpen { since } => Self::Open { since },
            Self::Closed { .. } | Self::Open { .. } => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Circuit::{Closed, HalfOpen, Open};
    use super::Passage::{Call, Probe, Refused};
    use super::*;

    const fn at(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    const SINCE: Duration = at(5_000);

    const fn closed(failures: u32, last: Duration) -> Circuit {
        Closed { failures, last }
    }

    #[test]
    fn permission_depends_on_the_state_and_the_time() {
        let open = Open { since: SINCE };
        let half_open = HalfOpen { since: SINCE };
        let cases = [
            (Circuit::CALM, at(0), Circuit::CALM, Call),
            (closed(2, at(8_000)), at(9_000), closed(2, at(8_000)), Call),
            (open, at(5_000), open, Refused),
            (open, at(5_249), open, Refused),
            (open, at(5_250), half_open, Probe),
            (half_open, at(6_000), half_open, Refused),
            (half_open, at(99_000), half_open, Refused),
        ];
        for (before, now, after, passage) in cases {
            assert_eq!(before.ask(now), (after, passage), "{before:?} at {now:?}");
        }
    }

    #[test]
    fn each_outcome_in_each_state_leads_to_one_state() {
        let (open, half_open, now) = (Open { since: SINCE }, HalfOpen { since: SINCE }, at(7_000));
        // Each case has the state, the passage of the caller, the state after a success, and the state after a failure.
        let cases = [
            (Circuit::CALM, Call, Circuit::CALM, closed(1, now)),
            (closed(1, SINCE), Call, Circuit::CALM, closed(2, now)),
            (closed(2, SINCE), Call, Circuit::CALM, Open { since: now }),
            (open, Call, open, open),
            (half_open, Call, half_open, half_open),
            (half_open, Probe, Circuit::CALM, Open { since: now }),
        ];
        for (before, passage, succeeded, failed) in cases {
            assert_eq!(before.succeeded(passage), succeeded, "{before:?} after a success by {passage:?}");
            assert_eq!(before.failed(passage, now), failed, "{before:?} after a failure by {passage:?}");
        }
        assert_eq!(half_open.abandoned(), open);
        for state in [Circuit::CALM, open] {
            assert_eq!(state.abandoned(), state);
        }
    }
    #[test]
    fn calls_that_fail_together_count_as_one_failure() {
        let fail = |circuit: Circuit, millis| circuit.failed(Call, at(millis));
        let mut circuit = fail(Circuit::CALM, 0);
        for millis in [0, 0, 1, 20, 49] {
            circuit = fail(circuit, millis);
        }
        assert_eq!(circuit, closed(1, at(0)));
        // Failures that go on are counted, however many calls fail meanwhile.
        for millis in 50..100 {
            circuit = fail(circuit, millis);
        }
        assert_eq!(circuit, closed(2, at(50)));
        assert_eq!(fail(circuit, 100), Open { since: at(100) });
        // After a success the next failure is the first one.
        assert_eq!(fail(circuit.succeeded(Call), 60), closed(1, at(60)));
    }
}
