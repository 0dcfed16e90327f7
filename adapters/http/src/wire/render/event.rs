//! Events as JSON on one line. A frame of a stream has a single line for an event, so the JSON has no line breaks.

use std::io::Write as _;

use petstore_domain::{Event, Happening, KeyBan, Members, Previous, Timestamp, Value, WebhookStop};

use super::{push_category, push_item, push_number, push_order, push_pet, push_string};

/// Writes an event. `data` is the resource in the form in which a GET returns it. `previous` has the old values of the
/// members that changed.
pub(crate) fn push_event(out: &mut Vec<u8>, event: &Event) {
    out.extend_from_slice(b"{\"id\":\"");
    out.extend_from_slice(&event.id.to_ascii());
    out.extend_from_slice(b"\",\"sequence\":");
    push_number(out, event.id.position.get());
    out.extend_from_slice(b",\"type\":\"");
    out.extend_from_slice(event.happening.kind().as_str().as_bytes());
    out.extend_from_slice(b"\",\"timestamp\":");
    push_time(out, event.at);
    out.extend_from_slice(b",\"data\":");
    push_data(out, &event.happening);
    out.push(b'}');
}

fn push_data(out: &mut Vec<u8>, happening: &Happening) {
    match happening {
        Happening::OrderPlaced(order)
        | Happening::OrderCompleted(order)
        | Happening::OrderCancelled(order) => {
            push_order(out, order);
        }
        Happening::OrderUpdated { order, previous } => {
            push_order(out, order);
            push_previous(out, previous);
        }
        Happening::PetCreated(pet) | Happening::PetDeleted(pet) => push_pet(out, pet),
        Happening::PetStatusChanged { pet, previous } => {
            push_pet(out, pet);
            let old = previous.as_str();
            push_opening(out);
            push_member(out, true, "status", Value::Word(old));
            out.push(b'}');
        }
        Happening::PetUpdated { pet, previous } => {
            push_pet(out, pet);
            push_previous(out, previous);
        }
        Happening::CategoryCreated(category) | Happening::CategoryDeleted(category) => {
            push_category(out, category);
        }
        Happening::CategoryUpdated { category, previous } => {
            push_category(out, category);
            push_previous(out, previous);
        }
        Happening::InventoryUpdated { item, previous } => {
            push_item(out, item);
            push_previous(out, previous);
        }
        Happening::KeyBanned(ban) | Happening::KeyUnbanned(ban) => push_ban(out, ban),
        Happening::WebhookDisabled(stop) => push_stop(out, stop),
    }
}

fn push_ban(out: &mut Vec<u8>, ban: &KeyBan) {
    out.extend_from_slice(b"{\"keyId\":");
    push_number(out, ban.key.get());
    out.extend_from_slice(b",\"label\":");
    push_string(out, ban.label.as_str().as_bytes());
    out.extend_from_slice(b",\"until\":");
    push_time(out, ban.until);
    out.push(b'}');
}

fn push_stop(out: &mut Vec<u8>, stop: &WebhookStop) {
    out.extend_from_slice(b"{\"webhookId\":\"");
    out.extend_from_slice(&stop.webhook.to_ascii());
    out.extend_from_slice(b"\",\"reason\":\"");
    out.extend_from_slice(stop.reason.as_str().as_bytes());
    out.extend_from_slice(b"\"}");
}

pub(super) fn push_time(out: &mut Vec<u8>, time: Timestamp) {
    // Writing to a vector cannot fail, and a date needs no escape.
    let _ = write!(out, "\"{time}\"");
}

/// Writes the member `previous` of an event: the old values of the members that changed.
fn push_previous<R: Members + Clone>(out: &mut Vec<u8>, previous: &Previous<R>) {
    push_opening(out);
    for (place, (member, old)) in previous.changed().enumerate() {
        push_member(out, place == 0, member.json, old);
    }
    out.push(b'}');
}

fn push_opening(out: &mut Vec<u8>) {
    out.extend_from_slice(b",\"previous\":{");
}

/// Writes a member, with `null` for one that was absent.
fn push_member(out: &mut Vec<u8>, is_first: bool, name: &str, value: Value<'_>) {
    if !is_first {
        out.push(b',');
    }
    push_string(out, name.as_bytes());
    out.push(b':');
    push_value(out, value);
}

fn push_value(out: &mut Vec<u8>, value: Value<'_>) {
    match value {
        Value::Absent => out.extend_from_slice(b"null"),
        Value::Number(number) => push_number(out, number),
        Value::Text(text) | Value::Word(text) => push_string(out, text.as_bytes()),
        Value::Time(time) => push_time(out, time),
        Value::Flag(flag) => out.extend_from_slice(if flag { b"true" } else { b"false" }),
    }
}
