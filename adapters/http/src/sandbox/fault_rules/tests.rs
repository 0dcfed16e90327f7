//! Plans that are taken, and plans that are refused.

use super::*;
use crate::sandbox::fault_json::render_plan;

fn faults<T>(parsed: Result<T, ApiError>) -> Vec<(String, &'static str)> {
    let Err(error) = parsed else { return vec![] };
    assert_eq!(error.code, Code::ValidationFailed);
    error.details.into_iter().map(|detail| (detail.field, detail.code)).collect()
}

#[test]
fn a_rule_without_effect_is_rendered_so_that_it_can_be_sent_again() {
    let plan = fault_plan(br#"{"faults":[{"first":3,"jitter":"0s"},{"status":503}]}"#).unwrap();
    let shown = render_plan(&plan);
    assert!(shown.contains(r#"{"id":0,"first":3,"latency":"0s","calls":0,"acted":0}"#), "{shown}");
    assert_eq!(fault_plan(shown.as_bytes()), Ok(plan));
}

#[test]
fn each_end_is_rendered_so_that_it_can_be_sent_again() {
    let ends = r#"{"faults":[{"drop":true,"when":"after"},{"status":500,"when":"after","latency":"10ms"},{"body":"truncate"},
        {"body":"malformed"},{"body":"slow"},{"body":"slow","bytesPerSecond":7},{"grow":true},{"exhaust":"minute"},
        {"exhaust":"day","first":1},{"drop":true,"key":"pet_4f","skip":2},{"drop":true,"header":{"name":"x-test-id","value":"a\"b"}},
        {"status":503,"retryAfter":null},{"status":429,"retryAfter":"soon"},{"status":503,"retryAfter":{"date":"-90s"}}]}"#;
    let plan = fault_plan(ends.as_bytes()).unwrap();
    assert_eq!((plan.rules[0].moment, &plan.rules[0].end), (Moment::After, &Outcome::Dropped));
    assert_eq!(plan.rules[4].end, Outcome::Changed(BodyFault::Slow { bytes_per_second: SPEED }));
    assert_eq!(plan.rules[8].end, Outcome::Exhausted(WindowKind::Day));
    let shown = render_plan(&plan);
    assert_eq!(fault_plan(shown.as_bytes()), Ok(plan), "{shown}");
}

#[test]
fn a_plan_is_accepted_as_a_whole_or_every_fault_of_it_is_named() {
    let plan = fault_plan(
        br#"{"seed":7,"faults":[{"method":"GET","route":"/pets/{petId}","first":2,"status":503,"retryAfter":3},
            {"percent":10,"latency":"200ms","jitter":"1s","calls":4,"acted":1},{"drop":true},{"code":"quota_exceeded"},
            {"code":"key_banned","retryAfter":9}]}"#,
    )
    .unwrap();
    let ends: Vec<_> = plan.rules.iter().map(|rule| (rule.when, rule.end.clone())).collect();
    let answered = |code, secs| Outcome::Answered { code, retry_after: RetryAfter::Seconds(secs) };
    let expected = [
        (Trigger::First(2), answered(Code::Unavailable, 3)),
        (Trigger::Percent(10), Outcome::Served),
        (Trigger::Always, Outcome::Dropped),
        (Trigger::Always, answered(Code::QuotaExceeded, 1)),
        (Trigger::Always, answered(Code::KeyBanned, 9)),
    ];
    assert_eq!(ends, expected);
    assert_eq!((plan.seed, plan.rules[1].calls), (7, 0));
    assert!(fault_plan(br#"{"faults":[]}"#).unwrap().rules.is_empty());

    let found = faults(fault_plan(
        br#"{"seed":-1,"faults":[{"route":"/pet","method":"get","status":200},{},{"drop":true,"status":500},
            {"status":500,"retryAfter":1},{"first":0,"percent":101,"latency":"2h"},{"status":502},
            {"status":500,"code":"overloaded"},[],{"chance":1,"drop":true}]}"#,
    ));
    let expected = [
        ("seed", "out_of_range"),
        ("faults[0].method", "unknown_value"),
        ("faults[0].route", "unknown_value"),
        ("faults[0].status", "out_of_range"),
        ("faults[1]", "required"),
        ("faults[2].drop", "conflict"),
        ("faults[3].retryAfter", "conflict"),
        ("faults[4].first", "out_of_range"),
        ("faults[4].percent", "out_of_range"),
        ("faults[4].latency", "out_of_range"),
        ("faults[5].status", "unknown_value"),
        ("faults[6].code", "conflict"),
        ("faults[7]", "invalid_type"),
        ("faults[8].chance", "unknown_member"),
    ];
    assert_eq!(found, expected.map(|(field, code)| (field.to_owned(), code)));
    let found = faults(fault_plan(
        br#"{"faults":[{"body":"slow","grow":true},{"exhaust":"minute","status":429},{"body":"half","exhaust":"hour"},
            {"drop":true,"when":"later"},{"status":429,"when":"after"},{"exhaust":"day","when":"after"},
            {"body":"truncate","bytesPerSecond":9},{"body":"slow","bytesPerSecond":0}]}"#,
    ));
    let expected = [
        ("faults[0].grow", "conflict"),
        ("faults[1].exhaust", "conflict"),
        ("faults[2].body", "unknown_value"),
        ("faults[2].exhaust", "unknown_value"),
        ("faults[3].when", "unknown_value"),
        ("faults[4].when", "conflict"),
        ("faults[5].when", "conflict"),
        ("faults[6].bytesPerSecond", "conflict"),
        ("faults[7].bytesPerSecond", "out_of_range"),
    ];
    assert_eq!(found, expected.map(|(field, code)| (field.to_owned(), code)));
    let many = format!(r#"{{"faults":[{}]}}"#, vec![r#"{"drop":true}"#; RULES_MAX + 1].join(","));
    assert_eq!(faults(fault_plan(many.as_bytes())), [("faults".to_owned(), "too_long")]);
}
