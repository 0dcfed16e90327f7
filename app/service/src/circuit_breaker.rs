//! A circuit breaker: a port that fails repeatedly is not called for a while, and then probed by one caller.
//!
//! The state machine is pure: time is an argument, as the time since some fixed moment.

use std::time::Duration;

/// Consecutive failures that open the circuit.
pub(crate) const FAILURES_MAX: u32 = 3;

/// Time for which the circuit stays open before a probe. It is short, because requests must be counted again within a
/// second of the store's return.
pub(crate) const PAUSE: Duration = Duration::from_millis(250);

/// The state of a circuit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Circuit {
    /// Every caller may call the port.
    Closed {
        /// Failures since the last success.
        failures: u32,
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
    pub(crate) const CALM: Self = Self::Closed { failures: 0 };

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
            (Self::Closed { failures }, _) if failures + 1 < FAILURES_MAX => {
                Self::Closed { failures: failures + 1 }
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

    #[test]
    fn permission_depends_on_the_state_and_the_time() {
        let open = Open { since: SINCE };
        let half_open = HalfOpen { since: SINCE };
        let cases = [
            (Closed { failures: 0 }, at(0), Closed { failures: 0 }, Call),
            (Closed { failures: 2 }, at(9_000), Closed { failures: 2 }, Call),
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
            (Closed { failures: 0 }, Call, Circuit::CALM, Closed { failures: 1 }),
            (Closed { failures: 1 }, Call, Circuit::CALM, Closed { failures: 2 }),
            (Closed { failures: 2 }, Call, Circuit::CALM, Open { since: now }),
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
}
