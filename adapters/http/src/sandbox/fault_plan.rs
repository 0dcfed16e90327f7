//! Planned faults: the requests that get a fault, and the faults that they get.
//!
//! A plan is a list of rules. Each rule counts the calls that reach it. The first rule that acts on a call ends the
//! search. Random decisions are a function of the plan's seed, the rule's index and the call's number, so that the
//! same calls in the same order get the same faults on every machine.

use std::time::Duration;

use hyper::Method;
use parking_lot::Mutex;
use petstore_domain::WindowKind;

use crate::base::mix::mix;
use crate::wire::error::Code;

/// The maximum number of rules in a plan.
pub(crate) const RULES_MAX: usize = 100;

/// The longest latency of a rule, without its jitter.
pub(crate) const DELAY_MAX: Duration = Duration::from_mins(1);

/// A list of faults to inject.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FaultPlan {
    /// The seed of the random decisions.
    pub(crate) seed: u64,
    pub(crate) rules: Vec<FaultRule>,
}

/// One rule of a plan: the calls that get a fault, and the fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FaultRule {
    /// The method of the calls; `None` for any method.
    pub(crate) method: Option<Method>,
    /// A route template of the contract; `None` for any route.
    pub(crate) route: Option<&'static str>,
    pub(crate) when: Trigger,
    pub(crate) latency: Duration,
    /// The maximum of a random time that is added to the latency.
    pub(crate) jitter: Duration,
    pub(crate) moment: Moment,
    pub(crate) end: Outcome,
    /// The number of calls that reached the rule.
    pub(crate) calls: u64,
    /// The number of calls on which the rule acted.
    pub(crate) acted: u64,
}

/// The calls on which a rule acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trigger {
    Always,
    /// This number of calls, counted from the first one.
    First(u64),
    /// A random share of the calls, in percent.
    Percent(u64),
}

/// The moment at which a rule acts on a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Before the call is served. If the rule ends the call, nothing is changed.
    Before,
    /// After the call was served and its change was made.
    After,
}

/// The way in which a call ends if a rule acts on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The call is served normally, after the delay.
    Served,
    /// The call is answered with this error.
    Answered {
        code: Code,
        /// The value of `Retry-After`, in seconds.
        retry_after: Option<u64>,
    },
    /// The connection of the call is closed without an answer.
    Dropped,
    /// The call is served, and the body of its answer is changed.
    Changed(BodyFault),
    /// A window of the account is used up before the call, so that the gate refuses it.
    Exhausted(WindowKind),
}

/// The change of an answer's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyFault {
    /// The connection closes after half of the body.
    Truncated,
    /// The body is not valid JSON.
    Malformed,
    /// The body is sent at this speed.
    Slow { bytes_per_second: u32 },
    /// Each object of the body has a further member, and an error has an unknown code.
    Grown,
}

/// The fault that a call gets.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct InjectedFault {
    pub(crate) delay: Duration,
    pub(crate) moment: Moment,
    pub(crate) end: Outcome,
    /// A random number, for a fault that has several forms.
    pub(crate) draw: u64,
}

impl InjectedFault {
    /// The fault of a call on which no rule acts.
    pub(crate) const NONE: Self =
        Self { delay: Duration::ZERO, moment: Moment::Before, end: Outcome::Served, draw: 0 };
}

impl std::fmt::Display for InjectedFault {
    /// The fault in a few words, as the journal shows it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.delay.is_zero() {
            write!(f, "delay {} ms", self.delay.as_millis())?;
            f.write_str(if self.end == Outcome::Served { "" } else { ", " })?;
        }
        match self.end {
            Outcome::Served if self.delay.is_zero() => f.write_str("no effect")?,
            Outcome::Served => {}
            Outcome::Answered { code, .. } => write!(f, "{} {}", code.status().as_u16(), code.as_str())?,
            Outcome::Dropped => f.write_str("drop")?,
            Outcome::Changed(BodyFault::Truncated) => f.write_str("truncate")?,
            Outcome::Changed(BodyFault::Malformed) => f.write_str("malformed")?,
            Outcome::Changed(BodyFault::Slow { bytes_per_second }) => {
                write!(f, "slow, {bytes_per_second} bytes per second")?;
            }
            Outcome::Changed(BodyFault::Grown) => f.write_str("grow")?,
            Outcome::Exhausted(WindowKind::Minute) => f.write_str("exhaust minute")?,
            Outcome::Exhausted(WindowKind::Day) => f.write_str("exhaust day")?,
        }
        f.write_str(if self.moment == Moment::After { ", after" } else { "" })
    }
}

/// The plan in force, shared by all threads.
#[derive(Default)]
pub(crate) struct PlannedFaults(Mutex<FaultPlan>);

impl PlannedFaults {
    /// Replaces the plan.
    pub(crate) fn set(&self, plan: FaultPlan) {
        *self.0.lock() = plan;
    }

    /// The plan with its counts.
    pub(crate) fn plan(&self) -> FaultPlan {
        self.0.lock().clone()
    }

    /// Counts a call, and returns the fault that it gets.
    pub(crate) fn next(&self, method: &Method, route: &str) -> Option<InjectedFault> {
        let plan = &mut *self.0.lock();
        let seed = plan.seed;
        let matching = plan.rules.iter_mut().enumerate().filter(|(_, rule)| rule.is_for(method, route));
        for (place, rule) in matching {
            rule.calls += 1;
            let draw = Draw { seed, place: place as u64, call: rule.calls };
            if rule.acts(&draw) {
                rule.acted += 1;
                let delay = rule.latency + draw.jitter(rule.jitter);
                let (moment, end, draw) = (rule.moment, rule.end, draw.below(2, u64::MAX));
                return Some(InjectedFault { delay, moment, end, draw });
            }
        }
        None
    }
}

impl FaultRule {
    fn is_for(&self, method: &Method, route: &str) -> bool {
        self.method.as_ref().is_none_or(|one| one == method) && self.route.is_none_or(|one| one == route)
    }

    fn acts(&self, draw: &Draw) -> bool {
        match self.when {
            Trigger::Always => true,
            Trigger::First(calls) => draw.call <= calls,
            Trigger::Percent(percent) => draw.below(0, 100) < percent,
        }
    }
}

/// The random decisions for one call of one rule.
struct Draw {
    seed: u64,
    place: u64,
    call: u64,
}

impl Draw {
    /// A random number below `bound`, independent for each `purpose`.
    fn below(&self, purpose: u64, bound: u64) -> u64 {
        let words = [self.place, self.call, purpose];
        let number = words.iter().fold(mix(self.seed), |drawn, word| {
            // The increment of splitmix64.
            mix(drawn.wrapping_add(word.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15)))
        });
        number % bound
    }

    fn jitter(&self, most: Duration) -> Duration {
        let most = u64::try_from(most.as_millis()).unwrap_or(0);
        Duration::from_millis(self.below(1, most + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(when: Trigger, end: Outcome) -> FaultRule {
        let (latency, jitter) = (Duration::ZERO, Duration::ZERO);
        let moment = Moment::Before;
        FaultRule { method: None, route: None, when, latency, jitter, moment, end, calls: 0, acted: 0 }
    }

    fn failing(code: Code) -> Outcome {
        Outcome::Answered { code, retry_after: None }
    }

    fn ends(faults: &PlannedFaults, calls: usize) -> Vec<Option<Outcome>> {
        (0..calls).map(|_| faults.next(&Method::GET, "/pets").map(|injected| injected.end)).collect()
    }

    #[test]
    fn only_the_first_rule_that_acts_counts_the_call() {
        let (one, two) = (failing(Code::Unavailable), failing(Code::RateLimitExceeded));
        let faults = PlannedFaults::default();
        let rules = vec![rule(Trigger::First(2), one), rule(Trigger::First(1), two)];
        faults.set(FaultPlan { seed: 0, rules });
        assert_eq!(ends(&faults, 5), [Some(one), Some(one), Some(two), None, None]);
        let counted: Vec<_> = faults.plan().rules.iter().map(|rule| (rule.calls, rule.acted)).collect();
        assert_eq!(counted, [(5, 2), (3, 1)]);
    }

    #[test]
    fn a_rule_applies_to_its_method_and_route_alone() {
        let faults = PlannedFaults::default();
        let one = FaultRule {
            method: Some(Method::POST),
            route: Some("/pets"),
            ..rule(Trigger::Always, Outcome::Dropped)
        };
        faults.set(FaultPlan { seed: 0, rules: vec![one] });
        assert_eq!(faults.next(&Method::GET, "/pets"), None);
        assert_eq!(faults.next(&Method::POST, "/categories"), None);
        assert_eq!(faults.next(&Method::POST, "/pets").map(|injected| injected.end), Some(Outcome::Dropped));
    }

    #[test]
    fn random_decisions_follow_the_seed_and_the_percentage() {
        let drawn = |seed| {
            let faults = PlannedFaults::default();
            faults.set(FaultPlan { seed, rules: vec![rule(Trigger::Percent(30), Outcome::Dropped)] });
            ends(&faults, 1_000)
        };
        assert_eq!(drawn(7), drawn(7));
        assert_ne!(drawn(7), drawn(8));
        let acted = drawn(7).iter().flatten().count();
        assert!((250..350).contains(&acted), "{acted}");
        // The numbers are the same on every machine.
        let places: Vec<_> = drawn(42)[..20].iter().map(Option::is_some).collect();
        let first: Vec<_> =
            places.iter().enumerate().filter(|(_, acts)| **acts).map(|(n, _)| n + 1).collect();
        assert_eq!(first, [1, 3, 4, 7, 13, 14]);
    }

    #[test]
    fn jitter_varies_within_its_bound() {
        let faults = PlannedFaults::default();
        let (latency, jitter) = (Duration::from_millis(100), Duration::from_millis(50));
        let rules = vec![FaultRule { latency, jitter, ..rule(Trigger::Always, Outcome::Served) }];
        faults.set(FaultPlan { seed: 1, rules });
        let delays: Vec<_> = (0..500)
            .filter_map(|_| faults.next(&Method::GET, "/pets"))
            .map(|injected| injected.delay)
            .collect();
        assert!(delays.iter().all(|delay| (latency..=latency + jitter).contains(delay)));
        assert!(delays.contains(&latency) && delays.contains(&(latency + jitter)));
    }
}
