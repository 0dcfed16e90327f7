//! Whether a thread is overloaded, and what part of its requests it then serves.

use std::time::Duration;

/// How long requests have waited for too long, before any is refused: what passes by itself is no overload. One tick is
/// not enough, however late: the process may have been stopped in it.
const STANDING: Duration = Duration::from_millis(100);
const STANDING_TICKS: u32 = 2;

/// Requests that may be made at once on a thread, up to which none is refused: a closed loop of so few clients waits because
/// requests take long, or because the machine does something else, and each of them has one answer to wait for. So many
/// turns of connections must also have come before a request that waited too long: where there were fewer, the thread was
/// not busy with requests.
pub(super) const CONCURRENCY_MIN: u32 = 100;

/// The share that is refused first.
const FIRST: f32 = 0.5;

/// By which part of itself the share of the served is made smaller, when requests wait for too long.
const TIGHTEN: f32 = 0.2;

/// By which part of itself the share of the refused is made smaller: when refusing costs too much, or nobody waits; and
/// when requests just wait no longer than they may, which is to stay so.
const LOOSEN: f32 = 0.15;
const EASE: f32 = 0.03;

/// What part of the longest wait is none.
const NO_WAIT: u32 = 10;

/// The share of the refused that is none.
const REFUSED_MIN: f32 = 0.02;

/// The largest share of the refused.
const REFUSED_MAX: f32 = 0.95;

/// What is served, of what the thread can serve: below it no more are refused, since refusing costs too much.
const GOODPUT_MIN: f32 = 0.88;

/// What is asked, of what the thread can serve, below which nobody need be refused any more.
const CALM: f32 = 0.8;

/// Ticks of an overload after which one passes in which nobody is refused, to see what the thread can serve.
const PROBE_EVERY: u32 = 200;

/// What was seen between two looks.
pub(super) struct Sample {
    /// How long a request waited at the end, and how many turns of connections came before it. One connection may have had
    /// several of them.
    pub(super) waited: Duration,
    pub(super) queued: u32,
    /// Requests that can be made at once: HTTP/1.1 connections and HTTP/2 streams that are open.
    pub(super) open: u32,
    /// Requests that had their turn, and those of them that were refused.
    pub(super) asked: u32,
    pub(super) refused: u32,
    pub(super) elapsed: Duration,
}

/// Judges tick by tick.
pub(super) struct Controller {
    wait_max: Duration,
    late_ticks: u32,
    late: Duration,
    /// The share that is refused; none while there is no overload.
    refused: Option<f32>,
    /// Requests a second that the thread can serve.
    capacity: f32,
    ticks: u32,
}

impl Controller {
    pub(super) fn new(wait_max: Duration) -> Self {
        Self { wait_max, late_ticks: 0, late: Duration::ZERO, refused: None, capacity: 0.0, ticks: 0 }
    }

    /// What part of the requests is served in the next tick; none: all, and without a look at them.
    #[expect(clippy::cast_precision_loss, reason = "rates, not counts")]
    pub(super) fn judge(&mut self, sample: &Sample) -> Option<f32> {
        let Sample { waited, elapsed, .. } = *sample;
        if sample.open <= CONCURRENCY_MIN {
            (self.refused, self.late_ticks, self.late) = (None, 0, Duration::ZERO);
            return None;
        }
        let a_second = |requests: u32| requests as f32 / elapsed.as_secs_f32().max(f32::EPSILON);
        let is_late = waited > self.wait_max;
        (self.late_ticks, self.late) = if is_late {
            (self.late_ticks.saturating_add(1), self.late + elapsed)
        } else {
            (0, Duration::ZERO)
        };
        let rate = a_second(sample.asked.saturating_sub(sample.refused));
        let Some(refused) = self.refused else {
            if self.late_ticks >= STANDING_TICKS && self.late >= STANDING && sample.queued >= CONCURRENCY_MIN
            {
                (self.refused, self.capacity, self.ticks) = (Some(FIRST), rate, 0);
                return Some(1.0 - FIRST);
            }
            return None;
        };
        if !is_late && a_second(sample.asked) < CALM * self.capacity {
            self.refused = None;
            return None;
        }
        let was_probe = self.is_probe();
        self.ticks = self.ticks.wrapping_add(1);
        let next = if !is_late {
            refused * (1.0 - if waited * NO_WAIT < self.wait_max { LOOSEN } else { EASE })
        } else if was_probe {
            // One tick may have been disturbed by another process: what a thread can do does not fall that fast.
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

    /// Whether nobody is refused in this tick.
    fn is_probe(&self) -> bool {
        self.ticks > 0 && self.ticks.is_multiple_of(PROBE_EVERY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT_MAX: Duration = Duration::from_millis(20);
    const TICK: Duration = Duration::from_millis(20);

    /// A thread, simulated: requests come at a rate, each costs some time, a refusal a part of that.
    struct Thread {
        controller: Controller,
        /// Requests a millisecond.
        arrivals: f32,
        /// Milliseconds that one takes.
        cost: f32,
        /// What a refusal costs of that.
        refusal: f32,
        /// Requests that wait at most: a connection has one.
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

        /// One tick. Says what part of its capacity was served, and how long requests waited.
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
                asked: handled as u32,
                refused: (handled - served) as u32,
                queued: (waited.as_secs_f32() * 1_000.0 / each) as u32,
                open: self.connections as u32,
                elapsed: elapsed_time,
            };
            self.part = self.controller.judge(&sample).unwrap_or(1.0);
            (served * self.cost / elapsed, waited)
        }

        /// The mean of what was served and of the wait, once it has settled.
        fn settled(&mut self) -> (f32, Duration) {
            for _ in 0..200 {
                self.tick();
            }
            let ticks: Vec<_> = (0..500_u16).map(|_| self.tick()).collect();
            let goodput = ticks.iter().map(|(goodput, _)| goodput).sum::<f32>() / 500.0;
            (goodput, ticks.iter().map(|(_, waited)| *waited).sum::<Duration>() / 500)
        }
    }

    #[test]
    fn what_passes_by_itself_refuses_nobody() {
        let mut controller = Controller::new(WAIT_MAX);
        let mut judge = |waited, asked, elapsed| {
            controller.judge(&Sample { waited, queued: asked, open: 10_000, asked, refused: 0, elapsed })
        };
        let second = Duration::from_secs(1);
        for _ in 0..100 {
            assert_eq!(judge(second, 1_000, second), None, "the process was stopped");
            assert_eq!(judge(Duration::from_millis(1), 1_000, TICK), None);
            for _ in 0..4 {
                assert_eq!(judge(Duration::from_millis(21), 1_000, TICK), None);
            }
            assert_eq!(judge(Duration::from_millis(1), 1_000, TICK), None);
        }
        for _ in 0..100 {
            assert_eq!(judge(second, 99, second), None, "few requests that take long");
        }
    }

    #[test]
    fn a_small_closed_loop_is_never_refused_however_long_it_waits() {
        let second = Duration::from_secs(1);
        let tick = |open, queued| Sample {
            waited: second,
            queued,
            open,
            asked: 5_000,
            refused: 0,
            elapsed: TICK * 10,
        };
        for queued in [CONCURRENCY_MIN, 5_000, u32::MAX] {
            let mut controller = Controller::new(WAIT_MAX);
            for _ in 0..1_000 {
                assert_eq!(
                    controller.judge(&tick(CONCURRENCY_MIN, queued)),
                    None,
                    "{queued} turns of few connections"
                );
            }
            // One more, and it is an overload, once it has stood.
            assert_eq!(controller.judge(&tick(CONCURRENCY_MIN + 1, queued)), None);
            assert_eq!(controller.judge(&tick(CONCURRENCY_MIN + 1, queued)), Some(1.0 - FIRST));
            // It ends at once when so few are left.
            assert_eq!(controller.judge(&tick(CONCURRENCY_MIN, queued)), None);
            assert_eq!(controller.judge(&tick(CONCURRENCY_MIN + 1, queued)), None, "and has to stand again");
        }
    }

    #[test]
    fn at_three_times_the_load_the_line_is_short_where_a_refusal_is_cheap() {
        let (goodput, waited) = Thread::new(3.0, 0.05, 10_000.0).settled();
        assert!(goodput >= 0.8, "{goodput}");
        assert!(waited <= Duration::from_millis(50), "{waited:?}");
    }

    #[test]
    fn where_a_refusal_costs_as_much_as_an_answer_most_are_answered() {
        for refusal in [0.3, 0.6, 0.9] {
            let (goodput, _) = Thread::new(3.0, refusal, 1_000.0).settled();
            assert!(goodput >= 0.8, "{goodput} with {refusal}");
        }
    }

    #[test]
    fn it_ends_with_the_load() {
        let mut thread = Thread::new(3.0, 0.05, 10_000.0);
        thread.settled();
        thread.arrivals /= 6.0;
        for _ in 0..100 {
            thread.tick();
        }
        assert_eq!(thread.controller.refused, None);
    }
}
