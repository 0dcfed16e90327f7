//! Plans and rules as JSON, in the form in which they can be sent again.

use std::fmt::{self, Write};

use petstore_domain::WindowKind;

use super::fault_plan::{BodyFault, FaultPlan, FaultRule, Moment, Outcome, Trigger};
use super::retry_after::RetryAfter;
use crate::wire;

/// Renders a plan with its counts.
pub(super) fn render_plan(plan: &FaultPlan) -> String {
    let mut text = format!("{{\"seed\":{},", plan.seed);
    push_rules(&mut text, &plan.rules);
    text
}

/// Renders rules that were added to a plan.
pub(super) fn render_rules(rules: &[FaultRule]) -> String {
    let mut text = "{".to_owned();
    push_rules(&mut text, rules);
    text
}

fn push_rules(text: &mut String, rules: &[FaultRule]) {
    text.push_str("\"faults\":[");
    for (place, rule) in rules.iter().enumerate() {
        text.push_str(if place == 0 { "{" } else { ",{" });
        // Writing to a string does not fail.
        let _ = write_rule(text, rule);
        text.push('}');
    }
    text.push_str("]}");
}

fn write_rule(text: &mut String, rule: &FaultRule) -> fmt::Result {
    write!(text, "\"id\":{},", rule.id)?;
    if let Some(key) = &rule.scope.key {
        write!(text, "\"key\":{},", quoted(key))?;
    }
    if let Some((name, value)) = &rule.scope.header {
        write!(text, "\"header\":{{\"name\":\"{name}\",\"value\":{}}},", quoted(value))?;
    }
    if let Some(via) = rule.scope.via {
        write!(text, "\"via\":\"{}\",", via.as_str())?;
    }
    if let Some(method) = &rule.method {
        write!(text, "\"method\":\"{method}\",")?;
    }
    if let Some(route) = rule.route {
        write!(text, "\"route\":\"{route}\",")?;
    }
    if rule.skip > 0 {
        write!(text, "\"skip\":{},", rule.skip)?;
    }
    match rule.when {
        Trigger::Always => {}
        Trigger::First(calls) => write!(text, "\"first\":{calls},")?,
        Trigger::Percent(percent) => write!(text, "\"percent\":{percent},")?,
    }
    for (name, time) in [("latency", rule.latency), ("jitter", rule.jitter)] {
        if !time.is_zero() {
            write!(text, "\"{name}\":\"{}\",", humantime::format_duration(time))?;
        }
    }
    if rule.moment == Moment::After {
        text.push_str("\"when\":\"after\",");
    }
    write_end(text, rule)?;
    write!(text, "\"calls\":{},\"acted\":{}", rule.calls, rule.acted)
}

fn write_end(text: &mut String, rule: &FaultRule) -> fmt::Result {
    match &rule.end {
        // The rule itself has no effect, but a call on which it acts does not reach later rules.
        Outcome::Served if rule.latency.is_zero() && rule.jitter.is_zero() => {
            text.write_str("\"latency\":\"0s\",")
        }
        Outcome::Served => Ok(()),
        Outcome::Answered { code, retry_after } => {
            write!(text, "\"status\":{},\"code\":\"{}\",", code.status().as_u16(), code.as_str())?;
            match retry_after {
                RetryAfter::None if code.has_retry_after() => text.write_str("\"retryAfter\":null,"),
                RetryAfter::None => Ok(()),
                RetryAfter::Seconds(secs) => write!(text, "\"retryAfter\":{secs},"),
                RetryAfter::Text(value) => write!(text, "\"retryAfter\":{},", quoted(value)),
                RetryAfter::Date(secs) => write!(text, "\"retryAfter\":{{\"date\":\"{secs:+}s\"}},"),
            }
        }
        Outcome::Dropped => text.write_str("\"drop\":true,"),
        Outcome::Changed(BodyFault::Truncated) => text.write_str("\"body\":\"truncate\","),
        Outcome::Changed(BodyFault::Malformed) => text.write_str("\"body\":\"malformed\","),
        Outcome::Changed(BodyFault::Slow { bytes_per_second }) => {
            write!(text, "\"body\":\"slow\",\"bytesPerSecond\":{bytes_per_second},")
        }
        Outcome::Changed(BodyFault::Grown) => text.write_str("\"grow\":true,"),
        Outcome::Exhausted(WindowKind::Minute) => text.write_str("\"exhaust\":\"minute\","),
        Outcome::Exhausted(WindowKind::Day) => text.write_str("\"exhaust\":\"day\","),
    }
}

/// Returns a text as a JSON string.
pub(super) fn quoted(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    wire::push_string(&mut out, text.as_bytes());
    String::from_utf8_lossy(&out).into_owned()
}
