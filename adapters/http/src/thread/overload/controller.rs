//! The controller of load shedding: detects overload, and sets the share of requests that is served.

use std::time::Duration;

/// The time, and the number of samples, for which requests must have waited too long before the first request is
/// refused. The time is needed because a short burst is no overload. More than one sample is needed because the process
/// may have been suspended during a sample.
const OVERLOAD_TIME: Duration = Duration::from_millis(100);
const OVERLOAD_SAMPLES: u32 = 2;

/// Number of open connections and streams up to which no request is refused. With so few of them, requests wait only
/// because each request takes long or because other processes use the machine, and refusing requests would not help. An
/// overload also requires that the thread polled at least this number of connections while a request waited too long.
/// Otherwise the thread was not busy with requests.
pub(super) const CONCURRENCY_MIN: u32 = 100;

/// The refused share when an overload begins.
const REFUSED_FIRST: f32 = 0.5;

/// The fraction by which the served share shrinks with each sample in which requests wait too long.
const TIGHTEN: f32 = 0.2;

/// The fractions by which the refused share shrinks. `LOOSEN` applies when refusing costs too much or requests hardly
/// wait. `EASE` applies when requests wait longer, but not longer than the limit. This is the state that the controller
/// aims at.
const LOOSEN: f32 = 0.15;
const EASE: f32 = 0.03;

/// A wait shorter than this fraction of the limit counts as none.
const NO_WAIT_DIVISOR: u32 = 10;

/// A refused share below this counts as none.
const REFUSED_MIN: f32 = 0.02;

/// The largest refused share.
const REFUSED_MAX: f32 = 0.95;

/// The minimum goodput as a fraction of the capacity. Below this goodput the refused share shrinks, because refusing
/// costs too much.
const GOODPUT_MIN: f32 = 0.88;

/// The load, as a fraction of the capacity, below which the overload ends.
const LOAD_LOW: f32 = 0.8;

/// During an overload, one of this many samples is a probe: no request is refused in it, so that the capacity can be
/// measured.
const PROBE_EVERY: u32 = 200;

/// One measurement of a thread.
pub(super) struct Sample {
    /// The queueing delay at the end of the sample, and the number of polls of connections while the probe task waited.
    /// A connection may have been polled several times.
    pub(super) waited: Duration,
    pub(super) queued: u32,
    /// Open HTTP/1.1 connections and HTTP/2 streams.
    pub(super) open: u32,
    /// The number of all requests, and the number of refused requests among them.
    pub(super) requests: u32,
    pub(super) refused: u32,
    pub(super) elapsed: Duration,
}

/// Decides after each sample which share of requests is served next.
pub(super) struct Controller {
    wait_max: Duration,
    late_samples: u32,
    late: Duration,
    /// The refused share; `None` while there is no overload.
    refused: Option<f32>,
    /// Requests that the thread can serve in a second.
    capacity: f32,
    samples: u32,
}

impl Controller {
    pub(super) fn new(wait_max: Duration) -> Self {
        Self { wait_max, late_samples: 0, late: Duration::ZERO, refused: None, capacity: 0.0, samples: 0 }
    }

    /// Returns the share of requests that is served until the next sample; `None` to serve all requests without
    /// inspecting them.
    #[expect(clippy::cast_precision_loss, reason = "rates, not counts")]
    pub(super) fn judge(&mut self, sample: &Sample) -> Option<f32> {
        let Sample { waited, elapsed, .. } = *sample;
        if sample.open <= CONCURRENCY_MIN {
            (self.refused, self.late_samples, self.late) = (None, 0, Duration::ZERO);
            return None;
        }
        let a_second = |requests: u32| requests as f32 / elapsed.as_secs_f32().max(f32::EPSILON);
        let is_late = waited > self.wait_max;
        (self.late_samples, self.late) = if is_late {
            (self.late_samples.saturating_add(1), self.late + elapsed)
        } else {
            (0, Duration::ZERO)
        };
        let rate = a_second(sample.requests.saturating_sub(sample.refused));
        let Some(refused) = self.refused else {
            if self.late_samples >= OVERLOAD_SAMPLES
                && self.late >= OVERLOAD_TIME
                && sample.queued >= CONCURRENCY_MIN
            {
                (self.refused, self.capacity, self.samples) = (Some(REFUSED_FIRST), rate, 0);
                return Some(1.0 - REFUSED_FIRST);
            }
            return None;
        };
        if !is_late && a_second(sample.requests) < LOAD_LOW * self.capacity {
            self.refused = None;
            return None;
        }
        let was_probe = self.is_probe();
        self.samples = self.samples.wrapping_add(1);
        let next = if !is_late {
            refused * (1.0 - if waited * NO_WAIT_DIVISOR < self.wait_max { LOOSEN } else { EASE })
        } else if was_probe {
            // Another process may have disturbed the sample, so one sample lowers the capacity by a tenth at most.
            self.capacity = rate.max(self.capacity * 0.9);
            refused
        } else if rate >= GOODPUT_MIN * self.capacity {
            (refused + (1.0 - refused) * TIGHTEN).min(REFUSED_MAX)
        } else {
            (refused * (1.0 - LOOSEN)).max(REFUSED_MIN)
        };
        self.refused = (next >= REFUSED_MIN).then_some(next);
        let refused = self.refused?;
        Some(if self.is_probe() { 1.0 } else { 1.0 - refused })
    }

    /// Returns `true` if the sample with the number `samples` is a probe, in which no request is refused.
    fn is_probe(&self) -> bool {
        self.samples > 0 && self.samples.is_multiple_of(PROBE_EVERY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT_MAX: Duration = Duration::from_millis(20);
    const TICK: Duration = Duration::from_millis(20);

    /// A model of a thread. Requests arrive at a constant rate. Each request takes the same time, and a refusal takes a
    /// fraction of that time.
    struct Thread {
        controller: Controller,
        /// Requests a millisecond.
        arrivals: f32,
        /// Milliseconds for one request.
        cost: f32,
        /// The cost of a refusal as a fraction of the cost of a request.
        refusal: f32,
        /// The maximum number of requests that can wait: one for each connection.
        connections: f32,
        queued: f32,
        part: f32,
    }

    impl Thread {
        fn new(load: f32, refusal: f32, connections: f32) -> Self {
            let cost = 0.1;
            let controller = Controller::new(WAIT_MAX);
            Self { controller, arrivals: load / cost, cost, refusal, connections, queued: 0.0, part: 1.0 }
        }

        /// Simulates one tick. Returns the goodput as a fraction of the capacity, and the queueing delay.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a model")]
        fn tick(&mut self) -> (f32, Duration) {
            let each = self.part * self.cost + (1.0 - self.part) * self.cost * self.refusal;
            let waited = self.queued * each;
            let elapsed = 20.0 + waited;
            self.queued = (self.queued + self.arrivals * elapsed).min(self.connections);
            let handled = (elapsed / each).min(self.queued);
            self.queued -= handled;
            let served = handled * self.part;
            let waited = Duration::from_secs_f32(waited / 1_000.0);
            let elapsed_time = Duration::from_secs_f32(elapsed / 1_000.0);
            let sample = Sample {
                waited,
                requests: handled as u32,
                refused: (handled - served) as u32,
                queued: (waited.as_secs_f32() * 1_000.0 / each) as u32,
                open: self.connections as u32,
                elapsed: elapsed_time,
            };
            self.part = self.controller.judge(&sample).unwrap_or(1.0);
            (served * self.cost / elapsed, waited)
        }

        /// The mean goodput and delay in the steady state.
        fn settled(&mut self) -> (f32, Duration) {
            for _ in 0..200 {
                self.tick();
            }
            let samples: Vec<_> = (0..500_u16).map(|_| self.tick()).collect();
            let goodput = samples.iter().map(|(goodput, _)| goodput).sum::<f32>() / 500.0;
            (goodput, samples.iter().map(|(_, waited)| *waited).sum::<Duration>() / 500)
        }
    }

    #[test]
    fn a_short_burst_refuses_no_request() {
        let mut controller = Controller::new(WAIT_MAX);
        let mut judge = |waited, requests, elapsed| {
            controller.judge(&Sample {
                waited,
                queued: requests,
                open: 10_000,
                requests,
                refused: 0,
                elapsed,
            })
        };
        let second = Duration::from_secs(1);
        for _ in 0..100 {
            assert_eq!(judge(second, 1_000, second), None, "the process was suspended");
            assert_eq!(judge(Duration::from_millis(1), 1_000, TICK), None);
            for _ in 0..4 {
                assert_eq!(judge(Duration::from_millis(21), 1_000, TICK), None);
            }
            assert_eq!(judge(Duration::from_millis(1), 1_000, TICK), None);
        }
        for _ in 0..100 {
            assert_eq!(judge(second, 99, second), None, "few long requests");
        }
    }

    #[test]
    fn a_small_closed_loop_is_never_refused_however_long_it_waits() {
        let second = Duration::from_secs(1);
        let tick = |open, queued| Sample {
            waited: second,
            queued,
            open,
            requests: 5_000,
            refused: 0,
            elapsed: TICK * 10,
        };
        for queued in [CONCURRENCY_MIN, 5_000, u32::MAX] {
            let mut controller = Controller::new(WAIT_MAX);
            for _ in 0..1_000 {
                assert_eq!(
                    controller.judge(&tick(CONCURRENCY_MIN, queued)),
                    None,
                    "{queued} polls of few connections"
                );
            }
            // With one more open connection the late samples count, but one late sample is no overload yet.
            assert_eq!(controller.judge(&tick(CONCURRENCY_MIN + 1, queued)), None);
            assert_eq!(controller.judge(&tick(CONCURRENCY_MIN + 1, queued)), Some(1.0 - REFUSED_FIRST));
            // The overload ends at once when the number of connections is no longer too high.
            assert_eq!(controller.judge(&tick(CONCURRENCY_MIN, queued)), None);
            assert_eq!(controller.judge(&tick(CONCURRENCY_MIN + 1, queued)), None, "and must last again");
        }
    }

    #[test]
    fn at_three_times_the_load_the_delay_is_short_if_a_refusal_is_cheap() {
        let (goodput, waited) = Thread::new(3.0, 0.05, 10_000.0).settled();
        assert!(goodput >= 0.8, "{goodput}");
        assert!(waited <= Duration::from_millis(50), "{waited:?}");
    }

    #[test]
    fn most_requests_are_served_if_a_refusal_costs_as_much_as_an_answer() {
        for refusal in [0.3, 0.6, 0.9] {
            let (goodput, _) = Thread::new(3.0, refusal, 1_000.0).settled();
            assert!(goodput >= 0.8, "{goodput} with {refusal}");
        }
    }

    #[test]
    fn shedding_ends_with_the_overload() {
        let mut thread = Thread::new(3.0, 0.05, 10_000.0);
        thread.settled();
        thread.arrivals /= 6.0;
        for _ in 0..100 {
            thread.tick();
        }
        assert_eq!(thread.controller.refused, None);
    }
}
