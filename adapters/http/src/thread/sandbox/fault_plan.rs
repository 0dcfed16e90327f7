//! Planned failures: which request meets which, and when.
//!
//! A plan is a list of rules. Each counts the calls that reach it, and the first rule that acts on a call keeps it from
//! those after it. Chance is a function of the plan's seed, the rule's place and the call's number: the same calls in the
//! same order meet the same failures on every machine.

use std::time::Duration;

use hyper::Method;
use parking_lot::Mutex;

use crate::base::mix::mix;
use crate::wire::error::Code;

/// Rules of a plan.
pub(crate) const RULES_MAX: usize = 100;

/// The longest that a rule delays an answer, its jitter aside.
pub(crate) const DELAY_MAX: Duration = Duration::from_mins(1);

/// What is to fail.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FaultPlan {
    /// Where chance begins.
    pub(crate) seed: u64,
    pub(crate) rules: Vec<FaultRule>,
}

/// Which calls fail, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FaultRule {
    /// None: any.
    pub(crate) method: Option<Method>,
    /// A template of the contract; none: any.
    pub(crate) route: Option<&'static str>,
    pub(crate) when: Trigger,
    pub(crate) latency: Duration,
    /// At most so much is added to the latency.
    pub(crate) jitter: Duration,
    pub(crate) end: Outcome,
    /// Calls that have come to it.
    pub(crate) calls: u64,
    /// Calls that it has acted on.
    pub(crate) acted: u64,
}

/// On which of its calls a rule acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trigger {
    Always,
    /// On so many, from the first one.
    First(u64),
    /// On so many of a hundred, by chance.
    Percent(u64),
}

/// How a call ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// As it would have anyhow.
    Served,
    /// With this error.
    Answered {
        code: Code,
        /// In seconds.
        retry_after: Option<u64>,
    },
    /// Without an answer.
    Dropped,
}

/// What a call has met.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct InjectedFault {
    pub(crate) delay: Duration,
    pub(crate) end: Outcome,
}

/// The plan in force.
#[derive(Default)]
pub(crate) struct PlannedFaults(Mutex<FaultPlan>);

impl PlannedFaults {
    /// From now on this plan is in force, and nothing has been called yet.
    pub(crate) fn set(&self, plan: FaultPlan) {
        *self.0.lock() = plan;
    }

    /// The plan, with what has come of it.
    pub(crate) fn plan(&self) -> FaultPlan {
        self.0.lock().clone()
    }

    /// What this call meets.
    pub(crate) fn next(&self, method: &Method, route: &str) -> Option<InjectedFault> {
        let plan = &mut *self.0.lock();
        let seed = plan.seed;
        let matching = plan.rules.iter_mut().enumerate().filter(|(_, rule)| rule.is_for(method, route));
        for (place, rule) in matching {
            rule.calls += 1;
            let draw = Draw { seed, place: place as u64, call: rule.calls };
            if rule.acts(&draw) {
                rule.acted += 1;
                return Some(InjectedFault { delay: rule.latency + draw.jitter(rule.jitter), end: rule.end });
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

/// A draw for one call of one rule.
struct Draw {
    seed: u64,
    place: u64,
    call: u64,
}

impl Draw {
    /// A number below `bound`; with another `purpose` another one.
    fn below(&self, purpose: u64, bound: u64) -> u64 {
        let words = [self.place, self.call, purpose];
        let number = words.iter().fold(mix(self.seed), |drawn, word| {
            // The step of splitmix64 between two numbers.
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
        FaultRule { method: None, route: None, when, latency, jitter, end, calls: 0, acted: 0 }
    }

    fn failing(code: Code) -> Outcome {
        Outcome::Answered { code, retry_after: None }
    }

    fn ends(faults: &PlannedFaults, calls: usize) -> Vec<Option<Outcome>> {
        (0..calls).map(|_| faults.next(&Method::GET, "/pets").map(|injected| injected.end)).collect()
    }

    #[test]
    fn the_first_rule_that_acts_keeps_the_call_from_the_next() {
        let (one, two) = (failing(Code::Unavailable), failing(Code::RateLimitExceeded));
        let faults = PlannedFaults::default();
        let rules = vec![rule(Trigger::First(2), one), rule(Trigger::First(1), two)];
        faults.set(FaultPlan { seed: 0, rules });
        assert_eq!(ends(&faults, 5), [Some(one), Some(one), Some(two), None, None]);
        let counted: Vec<_> = faults.plan().rules.iter().map(|rule| (rule.calls, rule.acted)).collect();
        assert_eq!(counted, [(5, 2), (3, 1)]);
    }

    #[test]
    fn a_rule_is_for_its_method_and_route_alone() {
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
    fn chance_is_the_seeds_and_keeps_its_promise() {
        let drawn = |seed| {
            let faults = PlannedFaults::default();
            faults.set(FaultPlan { seed, rules: vec![rule(Trigger::Percent(30), Outcome::Dropped)] });
            ends(&faults, 1_000)
        };
        assert_eq!(drawn(7), drawn(7));
        assert_ne!(drawn(7), drawn(8));
        let acted = drawn(7).iter().flatten().count();
        assert!((250..350).contains(&acted), "{acted}");
        // What other machines draw.
        let places: Vec<_> = drawn(42)[..20].iter().map(Option::is_some).collect();
        let first: Vec<_> =
            places.iter().enumerate().filter(|(_, acts)| **acts).map(|(n, _)| n + 1).collect();
        assert_eq!(first, [1, 3, 4, 7, 13, 14]);
    }

    #[test]
    fn jitter_stays_within_its_bound_and_differs() {
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
