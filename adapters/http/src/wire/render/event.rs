//! Events as JSON on one line. A frame of a stream has a single line for an event, so the JSON has no line breaks.

use std::io::Write as _;

use petstore_domain::{
    CategoryBefore, Event, Happening, ItemBefore, KeyBan, PetBefore, Timestamp, WebhookStop,
};

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
        Happening::OrderUpdated { order, previous_ship_date } => {
            push_order(out, order);
            let mut previous = Previous::begin(out);
            previous.member("shipDate", |out| {
                push_optional(out, previous_ship_date.as_ref(), |out, date| {
                    push_time(out, *date);
                });
            });
            previous.end();
        }
        Happening::PetCreated(pet) | Happening::PetDeleted(pet) => push_pet(out, pet),
        Happening::PetStatusChanged { pet, previous } => {
            push_pet(out, pet);
            let old = previous.as_str();
            let mut previous = Previous::begin(out);
            previous.member("status", |out| push_string(out, old.as_bytes()));
            previous.end();
        }
        Happening::PetUpdated { pet, previous: PetBefore { name, category_id } } => {
            push_pet(out, pet);
            let mut previous = Previous::begin(out);
            if let Some(name) = name {
                previous.member("name", |out| push_string(out, name.as_bytes()));
            }
            if let Some(id) = category_id {
                previous.member("categoryId", |out| push_number(out, id.get()));
            }
            previous.end();
        }
        Happening::CategoryCreated(category) | Happening::CategoryDeleted(category) => {
            push_category(out, category);
        }
        Happening::CategoryUpdated { category, previous } => {
            push_category(out, category);
            let CategoryBefore { name, description } = &**previous;
            let mut previous = Previous::begin(out);
            if let Some(name) = name {
                previous.member("name", |out| push_string(out, name.as_bytes()));
            }
            if let Some(description) = description {
                previous.member("description", |out| {
                    push_optional(out, description.as_ref(), |out, text| push_string(out, text.as_bytes()));
                });
            }
            previous.end();
        }
        Happening::InventoryUpdated { item, previous: ItemBefore { quantity, status } } => {
            push_item(out, item);
            let mut previous = Previous::begin(out);
            if let Some(quantity) = quantity {
                previous.member("quantity", |out| push_number(out, *quantity));
            }
            if let Some(status) = status {
                previous.member("status", |out| push_string(out, status.as_str().as_bytes()));
            }
            previous.end();
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

/// Writes a value, or `null` for a member that was absent.
fn push_optional<T>(out: &mut Vec<u8>, value: Option<&T>, push: impl FnOnce(&mut Vec<u8>, &T)) {
    match value {
        Some(value) => push(out, value),
        None => out.extend_from_slice(b"null"),
    }
}

/// The member `previous` of an event.
struct Previous<'o> {
    out: &'o mut Vec<u8>,
    is_empty: bool,
}

impl<'o> Previous<'o> {
    fn begin(out: &'o mut Vec<u8>) -> Self {
        out.extend_from_slice(b",\"previous\":{");
        Self { out, is_empty: true }
    }

    fn member(&mut self, name: &str, push: impl FnOnce(&mut Vec<u8>)) {
        if !self.is_empty {
            self.out.push(b',');
        }
        self.is_empty = false;
        push_string(self.out, name.as_bytes());
        self.out.push(b':');
        push(self.out);
    }

    fn end(self) {
        self.out.push(b'}');
    }
}
