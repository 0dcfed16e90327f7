//! Planned faults: the requests that get a fault, and the faults that they get.
//!
//! A plan is a list of rules. Each rule counts the calls that reach it. The first rule that acts on a call ends the
//! search. Random decisions are a function of the plan's seed, the rule's place among the rules of its scope, and the call's
//! number, so that the same calls in the same order get the same faults on every machine, and the rules of another test
//! change nothing about them.

use std::time::Duration;

use hyper::Method;
use hyper::header::HeaderName;
use parking_lot::Mutex;
use petstore_domain::WindowKind;

use super::retry_after::RetryAfter;
use super::rule_scope::Scope;
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
    /// The number by which the rule is removed. The plan gives it.
    pub(crate) id: u64,
    /// The place among the rules of the same scope. The plan gives it.
    pub(super) place: u64,
    pub(crate) scope: Scope,
    /// The number of calls that pass before the rule counts the first one.
    pub(crate) skip: u64,
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The call is served normally, after the delay.
    Served,
    /// The call is answered with this error.
    Answered { code: Code, retry_after: RetryAfter },
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
pub(crate) struct PlannedFaults(Mutex<Planned>);

/// The plan, and the number of rules that any plan has had.
#[derive(Default)]
struct Planned {
    plan: FaultPlan,
    last_id: u64,
}

impl Planned {
    /// Adds a rule at the end, with an id and its place.
    fn add(&mut self, mut rule: FaultRule) -> u64 {
        let places =
            self.plan.rules.iter().filter(|other| other.scope == rule.scope).map(|other| other.place + 1);
        rule.place = places.max().unwrap_or(0);
        self.last_id += 1;
        rule.id = self.last_id;
        self.plan.rules.push(rule);
        self.last_id
    }
}

/// The rules that are removed from a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RuleFilter {
    /// The rule with this id.
    Id(u64),
    /// The rules that name this key.
    Key(Box<str>),
    /// The rules that name this header with this value.
    Header(HeaderName, Box<str>),
}

impl RuleFilter {
    fn matches(&self, rule: &FaultRule) -> bool {
        match self {
            Self::Id(id) => rule.id == *id,
            Self::Key(key) => rule.scope.key.as_ref() == Some(key),
            Self::Header(name, value) => {
                rule.scope.header.as_ref().is_some_and(|(own, text)| own == name && text == value)
            }
        }
    }
}

impl PlannedFaults {
    /// Replaces the plan.
    pub(crate) fn set(&self, plan: FaultPlan) {
        let planned = &mut *self.0.lock();
        let FaultPlan { seed, rules } = plan;
        planned.plan = FaultPlan { seed, rules: Vec::with_capacity(rules.len()) };
        for rule in rules {
            planned.add(rule);
        }
    }

    /// Adds rules at the end of the plan. Returns the rules with their ids; none if there would be more than
    /// [`RULES_MAX`].
    pub(crate) fn append(&self, rules: Vec<FaultRule>) -> Option<FaultPlan> {
        let planned = &mut *self.0.lock();
        let before = planned.plan.rules.len();
        if before + rules.len() > RULES_MAX {
            return None;
        }
        for rule in rules {
            planned.add(rule);
        }
        Some(FaultPlan { seed: planned.plan.seed, rules: planned.plan.rules[before..].to_vec() })
    }

    /// Removes rules, and returns how many.
    pub(crate) fn remove(&self, filter: &RuleFilter) -> usize {
        let rules = &mut self.0.lock().plan.rules;
        let before = rules.len();
        rules.retain(|rule| !filter.matches(rule));
        before - rules.len()
    }

    /// The plan with its counts.
    pub(crate) fn plan(&self) -> FaultPlan {
        self.0.lock().plan.clone()
    }

    /// Counts a call, and returns the fault that it gets. `is_in` tells whether the call is in the scope of a rule.
    pub(crate) fn next(
        &self,
        method: &Method,
        route: &str,
        is_in: impl Fn(&Scope) -> bool,
    ) -> Option<InjectedFault> {
        let plan = &mut self.0.lock().plan;
        let seed = plan.seed;
        for rule in plan.rules.iter_mut().filter(|rule| rule.is_for(method, route) && is_in(&rule.scope)) {
            rule.calls += 1;
            let Some(call) = rule.calls.checked_sub(rule.skip).filter(|call| *call > 0) else { continue };
            let draw = Draw { seed, place: rule.place, call };
            if rule.acts(&draw) {
                rule.acted += 1;
                let delay = rule.latency + draw.jitter(rule.jitter);
                let (moment, end, draw) = (rule.moment, rule.end.clone(), draw.below(2, u64::MAX));
                return Some(InjectedFault { delay, moment, end, draw });
            }
        }
        None
    }
}

impl FaultRule {
    /// A rule that acts on every call of every client, and does nothing. The plan gives its id.
    pub(crate) fn idle() -> Self {
        Self {
            id: 0,
            place: 0,
            scope: Scope::default(),
            skip: 0,
            method: None,
            route: None,
            when: Trigger::Always,
            latency: Duration::ZERO,
            jitter: Duration::ZERO,
            moment: Moment::Before,
            end: Outcome::Served,
            calls: 0,
            acted: 0,
        }
    }

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
mod tests;
