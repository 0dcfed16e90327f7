//! Webhooks, their deliveries and attempts as JSON.

use petstore_domain::{Attempt, Delivery, Event, ReceiverAnswer, Timestamp};
use petstore_ports::api::{DeliveryDetail, WebhookListing, WebhookStatus};

use super::event::push_time;
use super::{push_event, push_number, push_string};

/// Writes a webhook as a client sees it at this time. `secret` is shown only where it is new.
pub(crate) fn push_webhook(
    out: &mut Vec<u8>,
    listing: &WebhookListing,
    secret: Option<&str>,
    now: Timestamp,
) {
    let webhook = &listing.webhook;
    out.extend_from_slice(b"{\"id\":\"");
    out.extend_from_slice(&webhook.id.to_ascii());
    out.extend_from_slice(b"\",\"url\":");
    push_string(out, webhook.url.as_str().as_bytes());
    out.extend_from_slice(b",\"types\":[");
    for (index, pattern) in webhook.types.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        push_string(out, pattern.as_bytes());
    }
    out.push(b']');
    if let Some(description) = &webhook.description {
        out.extend_from_slice(b",\"description\":");
        push_string(out, description.as_bytes());
    }
    let is_enabled: &[u8] = if webhook.is_enabled() { b"true" } else { b"false" };
    out.extend_from_slice(b",\"enabled\":");
    out.extend_from_slice(is_enabled);
    push_word(out, "ordering", webhook.ordering.as_str());
    match listing.status {
        WebhookStatus::Active => push_word(out, "status", "active"),
        WebhookStatus::Failing => {
            push_word(out, "status", "failing");
            push_word(out, "failingReason", listing.failing_reason().as_str());
        }
        WebhookStatus::Disabled(reason) => {
            push_word(out, "status", "disabled");
            push_word(out, "disabledReason", reason.as_str());
        }
    }
    push_date(out, "failingSince", listing.failing_since);
    push_date(out, "pausedUntil", listing.paused_until.filter(|until| *until > now));
    push_date(out, "lastSuccessAt", listing.last_success_at);
    out.extend_from_slice(b",\"cursor\":\"");
    out.extend_from_slice(&listing.cursor.to_ascii());
    out.extend_from_slice(b"\",\"lag\":");
    push_number(out, listing.lag);
    push_date(out, "secretExpiresAt", webhook.secret.previous_until.filter(|until| *until > now));
    push_date(out, "createdAt", Some(webhook.created_at));
    if let Some(secret) = secret {
        push_word(out, "secret", secret);
    }
    out.push(b'}');
}

/// Writes a delivery as it is in a list: with its last attempt.
pub(crate) fn push_delivery(out: &mut Vec<u8>, delivery: &Delivery) {
    push_delivery_up_to_attempts(out, delivery);
    out.push(b'}');
}

/// Writes a delivery with all kept attempts, and with its event while that is kept.
pub(crate) fn push_delivery_detail(out: &mut Vec<u8>, detail: &DeliveryDetail) {
    push_delivery_up_to_attempts(out, &detail.delivery);
    out.extend_from_slice(b",\"attemptLog\":[");
    for (index, attempt) in detail.delivery.log.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        push_attempt(out, attempt);
    }
    out.push(b']');
    push_optional_event(out, detail.event.as_ref());
    out.push(b'}');
}

fn push_optional_event(out: &mut Vec<u8>, event: Option<&Event>) {
    if let Some(event) = event {
        out.extend_from_slice(b",\"event\":");
        push_event(out, event);
    }
}

fn push_delivery_up_to_attempts(out: &mut Vec<u8>, delivery: &Delivery) {
    out.extend_from_slice(b"{\"eventId\":\"");
    out.extend_from_slice(&delivery.event.to_ascii());
    out.extend_from_slice(b"\",\"sequence\":");
    push_number(out, delivery.event.position.get());
    push_word(out, "type", delivery.kind.as_str());
    push_word(out, "status", delivery.status.as_str());
    out.extend_from_slice(b",\"attempts\":");
    push_number(out, delivery.attempts);
    push_date(out, "nextAttemptAt", delivery.next_attempt_at);
    if let Some(last) = delivery.log.last() {
        out.extend_from_slice(b",\"lastAttempt\":");
        push_attempt(out, last);
    }
}

/// Writes an attempt.
pub(crate) fn push_attempt(out: &mut Vec<u8>, attempt: &Attempt) {
    out.extend_from_slice(b"{\"at\":");
    push_time(out, attempt.at);
    out.extend_from_slice(b",\"number\":");
    push_number(out, attempt.number);
    push_word(out, "trigger", attempt.trigger.as_str());
    out.extend_from_slice(b",\"durationMs\":");
    push_number(out, u64::try_from(attempt.outcome.duration.as_millis()).unwrap_or(u64::MAX));
    if let Some(answer) = &attempt.outcome.answer {
        out.extend_from_slice(b",\"statusCode\":");
        push_number(out, answer.status);
    }
    if let Some(error) = attempt.outcome.error {
        push_word(out, "error", error.as_str());
    }
    if let Some(answer) = &attempt.outcome.answer {
        push_answer(out, answer);
    }
    out.push(b'}');
}

fn push_answer(out: &mut Vec<u8>, answer: &ReceiverAnswer) {
    if let Some(cut) = answer.cut {
        push_word(out, "responseCut", cut.as_str());
    }
    if let Some(body) = &answer.body {
        out.extend_from_slice(b",\"responseBody\":");
        push_string(out, body.as_bytes());
    }
    let headers = [
        ("contentType", &answer.content_type),
        ("location", &answer.location),
        ("retryAfter", &answer.retry_after),
    ];
    let mut opening: &[u8] = b",\"responseHeaders\":{\"";
    let mut closing: &[u8] = b"";
    for (name, value) in headers {
        let Some(value) = value else { continue };
        out.extend_from_slice(opening);
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"\":");
        push_string(out, value.as_bytes());
        (opening, closing) = (b",\"", b"}");
    }
    out.extend_from_slice(closing);
}

/// Writes a member whose value needs no escape.
fn push_word(out: &mut Vec<u8>, name: &str, value: &str) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":\"");
    out.extend_from_slice(value.as_bytes());
    out.push(b'"');
}

fn push_date(out: &mut Vec<u8>, name: &str, time: Option<Timestamp>) {
    if let Some(time) = time {
        out.extend_from_slice(b",\"");
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"\":");
        push_time(out, time);
    }
}
