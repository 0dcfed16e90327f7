//! `PUT` and `POST /sandbox/faults`: the rules of a plan.

use std::time::Duration;

use hyper::Method;
use hyper::header::{HeaderName, HeaderValue};
use petstore_domain::{Patch, WindowKind};

use super::bodies::{EXACT_MAX, duration, number};
use super::fault_plan::{BodyFault, DELAY_MAX, FaultPlan, FaultRule, Moment, Outcome, RULES_MAX, Trigger};
use super::retry_after::RetryAfter;
use super::rule_scope::{SCOPE_MAX, Scope, Via, scope_key, scope_value};
use crate::counts::route_label::RouteLabel;
use crate::wire::error::{ApiError, Code};
use crate::wire::faults::{FieldFault, listed};
use crate::wire::fields::{Fields, boolean, text};
use crate::wire::json::Node;

/// The methods that a rule may name.
const METHODS: [Method; 6] =
    [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];

/// The maximum distance of a date in `retryAfter`: a year.
const DATE_DISTANCE_MAX: Duration = Duration::from_hours(24 * 365);

/// The maximum speed of a slow body, in bytes a second.
const SPEED_MAX: u64 = 1_000_000;

/// The speed of a slow body if the rule has none.
const SPEED: u32 = 100;

/// The maximum number of characters of a `Retry-After` that is sent as it is.
const RETRY_AFTER_TEXT_MAX: usize = 100;

/// Parses a plan.
pub(crate) fn fault_plan(body: &[u8]) -> Result<FaultPlan, ApiError> {
    let mut fields = Fields::with_arrays(body)?;
    let seed = fields.optional("seed", |node| number(node, 0, EXACT_MAX));
    let rules = rules(&mut fields);
    fields.finish(|| Some(FaultPlan { seed: seed.unwrap_or(0), rules }))
}

/// Parses rules that are added to a plan.
pub(crate) fn further_rules(body: &[u8]) -> Result<Vec<FaultRule>, ApiError> {
    let mut fields = Fields::with_arrays(body)?;
    let rules = rules(&mut fields);
    fields.finish(|| Some(rules))
}

fn rules(fields: &mut Fields<'_>) -> Vec<FaultRule> {
    let elements = fields.required("faults", elements).unwrap_or_default();
    let mut rules = Vec::with_capacity(elements.len());
    for (place, element) in elements.into_iter().enumerate() {
        match rule(element, format!("faults[{place}]")) {
            Ok(rule) => rules.push(rule),
            Err(error) => fields.take_in(error),
        }
    }
    rules
}

fn elements<'a>(node: &Node<'a>) -> Result<Vec<Node<'a>>, FieldFault> {
    match node {
        Node::Array(elements) if elements.len() <= RULES_MAX => Ok(elements.clone()),
        Node::Array(_) => Err(FieldFault::new("too_long", format!("must have at most {RULES_MAX} elements"))),
        _ => Err(FieldFault::new("invalid_type", "must be an array")),
    }
}

/// Parses one rule. The members `id`, `calls` and `acted` are ignored, so that a plan can be sent in the form in which the
/// server renders it.
fn rule(element: Node<'_>, within: String) -> Result<FaultRule, ApiError> {
    let mut fields = Fields::nested(element, within)?;
    let method = fields.optional("method", method);
    let route = fields.optional("route", route);
    let key = fields.optional("key", |node| scope_key(text(node)?));
    let header = fields.optional("header", header);
    let via = fields.optional("via", via);
    let skip = fields.optional("skip", |node| number(node, 0, EXACT_MAX));
    let first = fields.optional("first", |node| number(node, 1, EXACT_MAX));
    let percent = fields.optional("percent", |node| number(node, 1, 100));
    let latency = fields.optional("latency", |node| duration(node, DELAY_MAX));
    let jitter = fields.optional("jitter", |node| duration(node, DELAY_MAX));
    for name in ["id", "calls", "acted"] {
        let _past = fields.optional(name, |node| number(node, 0, EXACT_MAX));
    }
    if first.is_some() && percent.is_some() {
        fields.refuse("percent", &FieldFault::new("conflict", "cannot be combined with first"));
    }
    let end = end(&mut fields);
    let moment = moment(&mut fields, &end);
    if fields.is_sound() && end == Outcome::Served && latency.is_none() && jitter.is_none() {
        let rule = "must have at least one of status, code, latency, jitter, drop, body, grow and exhaust";
        fields.refuse("", &FieldFault::new("required", rule));
    }
    let when = match (first, percent) {
        (Some(calls), _) => Trigger::First(calls),
        (None, Some(percent)) => Trigger::Percent(percent),
        (None, None) => Trigger::Always,
    };
    let (latency, jitter) = (latency.unwrap_or_default(), jitter.unwrap_or_default());
    let (scope, skip) = (Scope { key, header, via }, skip.unwrap_or(0));
    let rule =
        FaultRule { scope, skip, method, route, when, latency, jitter, moment, end, ..FaultRule::idle() };
    fields.finish(|| Some(rule))
}

/// Takes the members that say how a call ends.
fn end(fields: &mut Fields<'_>) -> Outcome {
    let status = fields.optional("status", |node| number(node, 400, 599));
    let word = fields.optional("code", code);
    let retry_after = match fields.deletable("retryAfter", retry_after) {
        Patch::Keep => None,
        Patch::Clear => Some(RetryAfter::None),
        Patch::Set(value) => Some(value),
    };
    let drop = fields.optional("drop", boolean).unwrap_or(false);
    let body = fields.optional("body", body);
    let speed = fields.optional("bytesPerSecond", |node| number(node, 1, SPEED_MAX));
    let grow = fields.optional("grow", boolean).unwrap_or(false);
    let window = fields.optional("exhaust", window);
    let has_error = status.is_some() || word.is_some();
    if drop && has_error {
        fields.refuse("drop", &FieldFault::new("conflict", "cannot be combined with status or code"));
    }
    let mut has_end = drop || has_error;
    for (name, is_set) in [("body", body.is_some()), ("grow", grow), ("exhaust", window.is_some())] {
        if has_end && is_set {
            fields.refuse(name, &FieldFault::new("conflict", "cannot be combined with another end"));
        }
        has_end |= is_set;
    }
    let is_slow = matches!(body, Some(BodyFault::Slow { .. }));
    if speed.is_some() && !is_slow {
        fields.refuse("bytesPerSecond", &FieldFault::new("conflict", "is allowed only with body slow"));
    }
    let code = error_code(fields, status, word);
    let may_wait = code.is_some_and(Code::has_retry_after);
    if retry_after.is_some() && !may_wait {
        let rule = "is allowed only with status 429 or 503 or code key_banned";
        fields.refuse("retryAfter", &FieldFault::new("conflict", rule));
    }
    match (code, body, window) {
        (Some(code), ..) => {
            let usual = if may_wait { RetryAfter::Seconds(1) } else { RetryAfter::None };
            Outcome::Answered { code, retry_after: retry_after.unwrap_or(usual) }
        }
        (None, Some(BodyFault::Slow { .. }), _) => {
            let speed = speed.and_then(|speed| u32::try_from(speed).ok()).unwrap_or(SPEED);
            Outcome::Changed(BodyFault::Slow { bytes_per_second: speed })
        }
        (None, Some(body), _) => Outcome::Changed(body),
        (None, None, Some(window)) => Outcome::Exhausted(window),
        (None, None, None) if drop => Outcome::Dropped,
        (None, None, None) if grow => Outcome::Changed(BodyFault::Grown),
        (None, None, None) => Outcome::Served,
    }
}

/// Takes the moment at which the rule acts.
fn moment(fields: &mut Fields<'_>, end: &Outcome) -> Moment {
    let moment = fields.optional("when", |node| match text(node)? {
        "before" => Ok(Moment::Before),
        "after" => Ok(Moment::After),
        _ => Err(FieldFault::new("unknown_value", "must be before or after")),
    });
    let moment = moment.unwrap_or(Moment::Before);
    let may_follow = match end {
        Outcome::Served | Outcome::Dropped | Outcome::Changed(_) => true,
        Outcome::Answered { code, .. } => code.status().is_server_error(),
        Outcome::Exhausted(_) => false,
    };
    if moment == Moment::After && !may_follow {
        let rule = "cannot be after with this end: the call was served, so it is not refused";
        fields.refuse("when", &FieldFault::new("conflict", rule));
    }
    moment
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

/// Parses the header of a scope: an object of `name` and `value`.
fn header(node: &Node<'_>) -> Result<(HeaderName, Box<str>), FieldFault> {
    let Node::Object(members) = node else {
        return Err(FieldFault::new("invalid_type", "must be an object with name and value"));
    };
    let member = |name: &str| members.iter().find(|(own, _)| own == name).map(|(_, value)| value);
    let (Some(name), Some(value), 2) = (member("name"), member("value"), members.len()) else {
        return Err(FieldFault::new("required", "must have name and value, and no other member"));
    };
    Ok((header_name(text(name)?)?, scope_value(text(value)?)?))
}

/// Parses the name of a header.
pub(super) fn header_name(name: &str) -> Result<HeaderName, FieldFault> {
    let parsed = HeaderName::from_bytes(name.as_bytes()).ok().filter(|name| name.as_str().len() <= SCOPE_MAX);
    parsed.ok_or_else(|| FieldFault::new("invalid_format", "must name a header, such as x-test-id"))
}

/// Parses `retryAfter`, unless it is null: a number of seconds, a text that is sent as it is, or an object with the distance of a
/// date.
fn retry_after(node: &Node<'_>) -> Result<RetryAfter, FieldFault> {
    match node {
        Node::Integer(_) => number(node, 0, EXACT_MAX).map(RetryAfter::Seconds),
        Node::Text(value) => {
            let is_sent = (1..=RETRY_AFTER_TEXT_MAX).contains(&value.len())
                && value.is_ascii()
                && HeaderValue::from_str(value).is_ok();
            let rule =
                format!("must have 1 to {RETRY_AFTER_TEXT_MAX} ASCII characters that a header may have");
            is_sent
                .then(|| RetryAfter::Text(value.as_ref().into()))
                .ok_or_else(|| FieldFault::new("invalid_format", rule))
        }
        Node::Object(members) => match &members[..] {
            [(name, Node::Text(value))] if name == "date" => date_distance(value).map(RetryAfter::Date),
            _ => Err(FieldFault::new(
                "invalid_format",
                "must be an object with date, such as {\"date\":\"+3s\"}",
            )),
        },
        _ => {
            Err(FieldFault::new("invalid_type", "must be an integer, a string, null or an object with date"))
        }
    }
}

/// Parses the distance of a date: a sign and a duration of whole seconds.
fn date_distance(value: &str) -> Result<i64, FieldFault> {
    let rule = "must have a sign and a duration of whole seconds, at most a year, such as +3s or -1h";
    let fault = || FieldFault::new("invalid_format", rule);
    let (sign, length) = match value.split_at_checked(1).ok_or_else(fault)? {
        ("+", length) => (1, length),
        ("-", length) => (-1, length),
        _ => return Err(fault()),
    };
    let length = humantime::parse_duration(length).map_err(|_| fault())?;
    if length > DATE_DISTANCE_MAX || length.subsec_nanos() != 0 {
        return Err(fault());
    }
    Ok(sign * i64::try_from(length.as_secs()).unwrap_or(i64::MAX))
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

fn via(node: &Node<'_>) -> Result<Via, FieldFault> {
    let word = text(node)?;
    let found = [Via::Http, Via::Mcp].into_iter().find(|via| via.as_str() == word);
    found.ok_or_else(|| FieldFault::new("unknown_value", "must be http or mcp"))
}

fn code(node: &Node<'_>) -> Result<Code, FieldFault> {
    let word = text(node)?;
    let found = Code::ALL.iter().copied().find(|code| code.as_str() == word);
    found.ok_or_else(|| FieldFault::new("unknown_value", "must be the code of an API error"))
}

fn body(node: &Node<'_>) -> Result<BodyFault, FieldFault> {
    match text(node)? {
        "truncate" => Ok(BodyFault::Truncated),
        "malformed" => Ok(BodyFault::Malformed),
        "slow" => Ok(BodyFault::Slow { bytes_per_second: SPEED }),
        _ => Err(FieldFault::new("unknown_value", "must be truncate, malformed or slow")),
    }
}

fn window(node: &Node<'_>) -> Result<WindowKind, FieldFault> {
    match text(node)? {
        "minute" => Ok(WindowKind::Minute),
        "day" => Ok(WindowKind::Day),
        _ => Err(FieldFault::new("unknown_value", "must be minute or day")),
    }
}

#[cfg(test)]
mod fuzz;

#[cfg(test)]
mod tests;
