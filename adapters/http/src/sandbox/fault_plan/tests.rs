use super::*;

fn rule(when: Trigger, end: Outcome) -> FaultRule {
    FaultRule { when, end, ..FaultRule::idle() }
}

fn failing(code: Code) -> Outcome {
    Outcome::Answered { code, retry_after: RetryAfter::None }
}

/// The fault of a call of a client that is in the scope of every rule.
fn next(faults: &PlannedFaults) -> Option<InjectedFault> {
    faults.next(&Method::GET, "/pets", |_| true)
}

fn ends(faults: &PlannedFaults, calls: usize) -> Vec<Option<Outcome>> {
    (0..calls).map(|_| next(faults).map(|injected| injected.end)).collect()
}

#[test]
fn only_the_first_rule_that_acts_counts_the_call() {
    let (one, two) = (failing(Code::Unavailable), failing(Code::RateLimitExceeded));
    let faults = PlannedFaults::default();
    let rules = vec![rule(Trigger::First(2), one.clone()), rule(Trigger::First(1), two.clone())];
    faults.set(FaultPlan { seed: 0, rules });
    assert_eq!(ends(&faults, 5), [Some(one.clone()), Some(one), Some(two), None, None]);
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
    let next = |method, route| faults.next(&method, route, |_| true).map(|injected| injected.end);
    assert_eq!(next(Method::GET, "/pets"), None);
    assert_eq!(next(Method::POST, "/categories"), None);
    assert_eq!(next(Method::POST, "/pets"), Some(Outcome::Dropped));
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
    let first: Vec<_> = places.iter().enumerate().filter(|(_, acts)| **acts).map(|(n, _)| n + 1).collect();
    assert_eq!(first, [1, 3, 4, 7, 13, 14]);
}

#[test]
fn jitter_varies_within_its_bound() {
    let faults = PlannedFaults::default();
    let (latency, jitter) = (Duration::from_millis(100), Duration::from_millis(50));
    let rules = vec![FaultRule { latency, jitter, ..rule(Trigger::Always, Outcome::Served) }];
    faults.set(FaultPlan { seed: 1, rules });
    let delays: Vec<_> = (0..500).filter_map(|_| next(&faults)).map(|injected| injected.delay).collect();
    assert!(delays.iter().all(|delay| (latency..=latency + jitter).contains(delay)));
    assert!(delays.contains(&latency) && delays.contains(&(latency + jitter)));
}

#[test]
fn calls_that_are_skipped_are_neither_acted_on_nor_counted_as_the_first() {
    let faults = PlannedFaults::default();
    let one = FaultRule { skip: 2, ..rule(Trigger::First(1), Outcome::Dropped) };
    faults.set(FaultPlan { seed: 0, rules: vec![one] });
    assert_eq!(ends(&faults, 4), [None, None, Some(Outcome::Dropped), None]);
    assert_eq!((faults.plan().rules[0].calls, faults.plan().rules[0].acted), (4, 1));
}

#[test]
fn the_random_decisions_of_a_scope_do_not_depend_on_other_scopes() {
    let of = |name: &str| Scope {
        header: Some((HeaderName::from_static("x-test-id"), name.into())),
        ..Scope::default()
    };
    let one = |name: &str| FaultRule { scope: of(name), ..rule(Trigger::Percent(30), Outcome::Dropped) };
    let drawn = |faults: &PlannedFaults| -> Vec<bool> {
        let next = |_| faults.next(&Method::GET, "/pets", |scope| *scope == of("a")).is_some();
        (0..200).map(next).collect()
    };
    let alone = PlannedFaults::default();
    alone.append(vec![one("a")]).unwrap();
    let beside = PlannedFaults::default();
    beside.append(vec![one("b"), one("b")]).unwrap();
    let added = beside.append(vec![one("a")]).unwrap();
    assert_eq!(added.rules[0].id, 3);
    assert_eq!(drawn(&alone), drawn(&beside));
    let filter = RuleFilter::Header(HeaderName::from_static("x-test-id"), "b".into());
    assert_eq!(
        (beside.remove(&filter), beside.remove(&filter), beside.remove(&RuleFilter::Id(3))),
        (2, 0, 1)
    );
    assert_eq!(beside.plan().rules, []);
}
