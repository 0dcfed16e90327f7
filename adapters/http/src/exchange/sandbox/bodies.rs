//! The request bodies of the sandbox.

mod new_key;

use std::time::Duration;

use hyper::Method;
use petstore_ports::api::{ClockChange, NewTime};

use crate::counts::counters::RouteLabel;
use crate::thread::sandbox::fault_plan::{DELAY_MAX, FaultPlan, FaultRule, Outcome, RULES_MAX, Trigger};
use crate::wire::bodies::date;
use crate::wire::error::{ApiError, Code};
use crate::wire::faults::{FieldFault, listed};
use crate::wire::fields::{Fields, boolean, integer, text};
use crate::wire::json::Node;

pub(crate) use new_key::new_key;

/// The maximum number of bytes of a body. A full plan has about 20 KiB, and a webhook at most 20 kB.
pub(super) const BODY_MAX: usize = 64 * 1024;

/// The methods that a rule may name.
const METHODS: [Method; 6] =
    [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];

/// The largest integer that every JSON client represents exactly.
pub(super) const EXACT_MAX: u64 = (1 << 53) - 1;

/// The maximum `retryAfter` in seconds: a day.
const RETRY_AFTER_MAX: u64 = 86_400;

/// `POST /sandbox/clock`.
pub(crate) fn clock_change(body: &[u8]) -> Result<ClockChange, ApiError> {
    let mut fields = Fields::of(body)?;
    let set = fields.optional("set", date);
    let advance = fields.optional("advance", |node| duration(node, Duration::MAX));
    let freeze = fields.optional("freeze", boolean);
    if set.is_some() && advance.is_some() {
        fields.refuse("advance", &FieldFault::new("conflict", "cannot be combined with set"));
    }
    let time = set.map(NewTime::Set).or(advance.map(NewTime::Advance));
    if time.is_none() && freeze.is_none() {
        fields.require_one("The body must have at least one of set, advance and freeze.");
    }
    fields.finish(|| Some(ClockChange { time, freeze }))
}

/// `PUT /sandbox/faults`.
pub(crate) fn fault_plan(body: &[u8]) -> Result<FaultPlan, ApiError> {
    let mut fields = Fields::with_arrays(body)?;
    let seed = fields.optional("seed", |node| number(node, 0, EXACT_MAX));
    let elements = fields.required("faults", elements).unwrap_or_default();
    let mut rules = Vec::with_capacity(elements.len());
    for (place, element) in elements.into_iter().enumerate() {
        match rule(element, format!("faults[{place}]")) {
            Ok(rule) => rules.push(rule),
            Err(error) => fields.take_in(error),
        }
    }
    fields.finish(|| Some(FaultPlan { seed: seed.unwrap_or(0), rules }))
}

fn elements<'a>(node: &Node<'a>) -> Result<Vec<Node<'a>>, FieldFault> {
    match node {
        Node::Array(elements) if elements.len() <= RULES_MAX => Ok(elements.clone()),
        Node::Array(_) => Err(FieldFault::new("too_long", format!("must have at most {RULES_MAX} elements"))),
        _ => Err(FieldFault::new("invalid_type", "must be an array")),
    }
}

/// Parses one rule. The members `calls` and `acted` are ignored, so that a plan can be sent in the form in which the
/// server renders it.
fn rule(element: Node<'_>, within: String) -> Result<FaultRule, ApiError> {
    let mut fields = Fields::nested(element, within)?;
    let method = fields.optional("method", method);
    let route = fields.optional("route", route);
    let first = fields.optional("first", |node| number(node, 1, EXACT_MAX));
    let percent = fields.optional("percent", |node| number(node, 1, 100));
    let latency = fields.optional("latency", |node| duration(node, DELAY_MAX));
    let jitter = fields.optional("jitter", |node| duration(node, DELAY_MAX));
    let status = fields.optional("status", |node| number(node, 400, 599));
    let word = fields.optional("code", code);
    let retry_after = fields.optional("retryAfter", |node| number(node, 1, RETRY_AFTER_MAX));
    let drop = fields.optional("drop", boolean).unwrap_or(false);
    for name in ["calls", "acted"] {
        let _past = fields.optional(name, |node| number(node, 0, EXACT_MAX));
    }
    if first.is_some() && percent.is_some() {
        fields.refuse("percent", &FieldFault::new("conflict", "cannot be combined with first"));
    }
    if drop && (status.is_some() || word.is_some()) {
        fields.refuse("drop", &FieldFault::new("conflict", "cannot be combined with status or code"));
    }
    let code = error_code(&mut fields, status, word);
    let may_wait =
        code.is_some_and(|code| code == Code::KeyBanned || matches!(code.status().as_u16(), 429 | 503));
    if retry_after.is_some() && !may_wait {
        let rule = "is allowed only with status 429 or 503 or code key_banned";
        fields.refuse("retryAfter", &FieldFault::new("conflict", rule));
    }
    if fields.is_sound() && code.is_none() && !drop && latency.is_none() && jitter.is_none() {
        fields.refuse(
            "",
            &FieldFault::new("required", "must have at least one of status, code, latency, jitter and drop"),
        );
    }
    let end = match code {
        // The contract requires Retry-After with each of these codes.
        Some(code) => Outcome::Answered { code, retry_after: may_wait.then_some(retry_after.unwrap_or(1)) },
        None if drop => Outcome::Dropped,
        None => Outcome::Served,
    };
    let when = match (first, percent) {
        (Some(calls), _) => Trigger::First(calls),
        (None, Some(percent)) => Trigger::Percent(percent),
        (None, None) => Trigger::Always,
    };
    let (latency, jitter) = (latency.unwrap_or_default(), jitter.unwrap_or_default());
    fields.finish(|| Some(FaultRule { method, route, when, latency, jitter, end, calls: 0, acted: 0 }))
}

/// Returns the code of a rule: the code that the rule states, or the first code with the status that it states.
fn error_code(fields: &mut Fields<'_>, status: Option<u64>, word: Option<Code>) -> Option<Code> {
    let of_status = |code: Code| status.is_none_or(|status| u64::from(code.status().as_u16()) == status);
    match (status, word) {
        (None, None) => None,
        (_, Some(code)) if of_status(code) => Some(code),
        (_, Some(code)) => {
            let rule = format!("belongs to status {}", code.status().as_u16());
            fields.refuse("code", &FieldFault::new("conflict", rule));
            None
        }
        (Some(_), None) => {
            let code = Code::ALL.iter().copied().find(|code| of_status(*code));
            if code.is_none() {
                fields.refuse(
                    "status",
                    &FieldFault::new("unknown_value", "must be the status of an API error"),
                );
            }
            code
        }
    }
}

fn method(node: &Node<'_>) -> Result<Method, FieldFault> {
    let word = text(node)?;
    let found = METHODS.into_iter().find(|method| method.as_str() == word);
    found.ok_or_else(|| FieldFault::new("unknown_value", format!("must be one of {}", listed(METHODS))))
}

fn route(node: &Node<'_>) -> Result<&'static str, FieldFault> {
    let word = text(node)?;
    let found = RouteLabel::OF_CONTRACT.iter().copied().find(|template| *template == word);
    found.ok_or_else(|| {
        FieldFault::new("unknown_value", format!("must be one of {}", listed(RouteLabel::OF_CONTRACT)))
    })
}

fn code(node: &Node<'_>) -> Result<Code, FieldFault> {
    let word = text(node)?;
    let found = Code::ALL.iter().copied().find(|code| code.as_str() == word);
    found.ok_or_else(|| FieldFault::new("unknown_value", "must be the code of an API error"))
}

pub(super) fn number(node: &Node<'_>, from: u64, to: u64) -> Result<u64, FieldFault> {
    let number = u64::try_from(integer(node)?).ok().filter(|number| (from..=to).contains(number));
    number.ok_or_else(|| FieldFault::new("out_of_range", format!("must be between {from} and {to}")))
}

pub(super) fn duration(node: &Node<'_>, most: Duration) -> Result<Duration, FieldFault> {
    let time = humantime::parse_duration(text(node)?)
        .map_err(|_| FieldFault::new("invalid_format", "must be a duration such as 250ms, 90s or 36h"))?;
    if time > most {
        let most = humantime::format_duration(most);
        return Err(FieldFault::new("out_of_range", format!("must be at most {most}")));
    }
    Ok(time)
}

#[cfg(test)]
mod fuzz;

#[cfg(test)]
mod tests {
    use super::*;

    fn faults<T>(parsed: Result<T, ApiError>) -> Vec<(String, &'static str)> {
        let Err(error) = parsed else { return vec![] };
        assert_eq!(error.code, Code::ValidationFailed);
        error.details.into_iter().map(|detail| (detail.field, detail.code)).collect()
    }

    #[test]
    fn a_clock_turn_sets_or_advances_or_freezes() {
        let time = petstore_domain::Timestamp::parse("2030-12-05T00:00:01Z").unwrap();
        let taken = [
            (r#"{"set":"2030-12-05T00:00:01Z"}"#, Some(NewTime::Set(time)), None),
            (r#"{"advance":"36h"}"#, Some(NewTime::Advance(Duration::from_hours(36))), None),
            (r#"{"freeze":true}"#, None, Some(true)),
            (r#"{"set":"2030-12-05T00:00:01Z","freeze":false}"#, Some(NewTime::Set(time)), Some(false)),
        ];
        for (body, time, freeze) in taken {
            assert_eq!(clock_change(body.as_bytes()), Ok(ClockChange { time, freeze }), "{body}");
        }
        let refused = [
            ("{}", "", "required"),
            ("[]", "", "invalid_type"),
            (r#"{"set":"tomorrow"}"#, "set", "invalid_format"),
            (r#"{"advance":36}"#, "advance", "invalid_type"),
            (r#"{"advance":"-1h"}"#, "advance", "invalid_format"),
            (r#"{"set":"2030-12-05T00:00:01Z","advance":"1s"}"#, "advance", "conflict"),
            (r#"{"freeze":"yes"}"#, "freeze", "invalid_type"),
            (r#"{"freeze":true,"speed":2}"#, "speed", "unknown_member"),
        ];
        for (body, field, code) in refused {
            assert!(
                faults(clock_change(body.as_bytes())).contains(&(field.to_owned(), code)),
                "{body}: {:?}",
                faults(clock_change(body.as_bytes()))
            );
        }
    }

    #[test]
    fn a_rule_without_effect_is_rendered_so_that_it_can_be_sent_again() {
        let plan = fault_plan(br#"{"faults":[{"first":3,"jitter":"0s"},{"status":503}]}"#).unwrap();
        let shown = crate::exchange::sandbox::routes::render_plan(&plan);
        assert!(shown.contains(r#"{"first":3,"latency":"0s","calls":0,"acted":0}"#), "{shown}");
        assert_eq!(fault_plan(shown.as_bytes()), Ok(plan));
    }

    #[test]
    fn a_plan_is_accepted_as_a_whole_or_every_fault_of_it_is_named() {
        let plan = fault_plan(
            br#"{"seed":7,"faults":[{"method":"GET","route":"/pets/{petId}","first":2,"status":503,"retryAfter":3},
                {"percent":10,"latency":"200ms","jitter":"1s","calls":4,"acted":1},{"drop":true},{"code":"quota_exceeded"},
                {"code":"key_banned","retryAfter":9}]}"#,
        )
        .unwrap();
        let ends: Vec<_> = plan.rules.iter().map(|rule| (rule.when, rule.end)).collect();
        let answered = |code, secs| Outcome::Answered { code, retry_after: Some(secs) };
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
        let many = format!(r#"{{"faults":[{}]}}"#, vec![r#"{"drop":true}"#; RULES_MAX + 1].join(","));
        assert_eq!(faults(fault_plan(many.as_bytes())), [("faults".to_owned(), "too_long")]);
    }
}
