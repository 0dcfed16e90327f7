//! Answers as JSON, written by hand into a buffer: the hot path, without format machinery.

use std::io::Write as _;

use petstore_domain::{Category, InventoryItem, Order, Pet, Plan, Usage, WindowUsage};

use super::faults::{DETAILS_MAX, FIELD_MAX, printable};
use crate::error::ApiError;

mod page;

pub(crate) use page::{FinishedPage, Page};

/// Characters of a message that an answer shows.
const MESSAGE_MAX: usize = 1_000;

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Bytes set aside for one resource or error: nearly all fit, and growing would copy.
const RESOURCE_ROOM: usize = 256;

/// A pet.
pub(crate) fn push_pet(out: &mut Vec<u8>, pet: &Pet) {
    out.extend_from_slice(b"{\"name\":");
    push_string(out, pet.name.as_bytes());
    out.extend_from_slice(b",\"categoryId\":");
    push_number(out, pet.category_id.get());
    // The words of a status need no escape.
    out.extend_from_slice(b",\"status\":\"");
    out.extend_from_slice(pet.status.as_str().as_bytes());
    out.extend_from_slice(b"\",\"id\":");
    push_number(out, pet.id.get());
    out.push(b'}');
}

/// A category.
pub(crate) fn push_category(out: &mut Vec<u8>, category: &Category) {
    out.extend_from_slice(b"{\"name\":");
    push_string(out, category.name.as_bytes());
    if let Some(description) = &category.description {
        out.extend_from_slice(b",\"description\":");
        push_string(out, description.as_bytes());
    }
    out.extend_from_slice(b",\"id\":");
    push_number(out, category.id.get());
    out.push(b'}');
}

/// An order.
pub(crate) fn push_order(out: &mut Vec<u8>, order: &Order) {
    out.extend_from_slice(b"{\"id\":");
    push_number(out, order.id.get());
    out.extend_from_slice(b",\"petId\":");
    push_number(out, order.pet_id.get());
    out.extend_from_slice(b",\"quantity\":");
    push_number(out, order.quantity.get());
    if let Some(date) = order.ship_date {
        // Writing to a vector cannot fail, and a date needs no escape.
        let _ = write!(out, ",\"shipDate\":\"{date}\"");
    }
    out.extend_from_slice(if order.complete { b",\"complete\":true}" } else { b",\"complete\":false}" });
}

/// An inventory item.
pub(crate) fn push_item(out: &mut Vec<u8>, item: &InventoryItem) {
    out.extend_from_slice(b"{\"petId\":");
    push_number(out, item.pet_id.get());
    out.extend_from_slice(b",\"quantity\":");
    push_number(out, item.quantity);
    out.extend_from_slice(b",\"status\":\"");
    out.extend_from_slice(item.status.as_str().as_bytes());
    out.extend_from_slice(b"\"}");
}

/// The state of both windows.
pub(crate) fn render_rate_limit(plan: &Plan, usage: &Usage) -> Vec<u8> {
    let mut out = Vec::with_capacity(RESOURCE_ROOM);
    out.extend_from_slice(b"{\"plan\":\"");
    out.extend_from_slice(plan.as_str().as_bytes());
    out.extend_from_slice(b"\",\"minute\":");
    push_window(&mut out, &usage.minute);
    out.extend_from_slice(b",\"day\":");
    push_window(&mut out, &usage.day);
    out.push(b'}');
    out
}

fn push_window(out: &mut Vec<u8>, window: &WindowUsage) {
    out.extend_from_slice(b"{\"limit\":");
    push_number(out, window.limit);
    out.extend_from_slice(b",\"remaining\":");
    push_number(out, window.remaining);
    out.extend_from_slice(b",\"reset\":");
    push_number(out, window.reset_secs);
    out.push(b'}');
}

/// An error, within the bounds that the published schema gives its texts.
pub(crate) fn render_error(error: &ApiError) -> Vec<u8> {
    let mut out = Vec::with_capacity(RESOURCE_ROOM);
    out.extend_from_slice(b"{\"code\":\"");
    out.extend_from_slice(error.code.as_str().as_bytes());
    out.extend_from_slice(b"\",\"message\":");
    push_string(&mut out, printable(&error.message, MESSAGE_MAX).as_bytes());
    out.extend_from_slice(b",\"status\":");
    push_number(&mut out, error.code.status().as_u16());
    let mut opening: &[u8] = b",\"details\":[";
    for detail in error.details.iter().take(DETAILS_MAX) {
        out.extend_from_slice(opening);
        opening = b",";
        out.extend_from_slice(b"{\"field\":");
        push_string(&mut out, printable(&detail.field, FIELD_MAX).as_bytes());
        out.extend_from_slice(b",\"code\":\"");
        out.extend_from_slice(detail.code.as_bytes());
        out.extend_from_slice(b"\",\"message\":");
        push_string(&mut out, printable(&detail.message, MESSAGE_MAX).as_bytes());
        out.push(b'}');
    }
    out.extend_from_slice(if error.details.is_empty() { b"}" } else { b"]}" });
    out
}

/// A number.
pub(crate) fn push_number(out: &mut Vec<u8>, number: impl itoa::Integer) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// A string of UTF-8 bytes. Most need no escape and are copied in one piece.
fn push_string(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    // Without an early end, so that the compiler may look at many bytes at once.
    let plain = text.iter().fold(true, |plain, byte| plain & !needs_escape(*byte));
    if plain {
        out.extend_from_slice(text);
    } else {
        for byte in text {
            push_escaped(out, *byte);
        }
    }
    out.push(b'"');
}

const fn needs_escape(byte: u8) -> bool {
    matches!(byte, 0..0x20 | b'"' | b'\\')
}

fn push_escaped(out: &mut Vec<u8>, byte: u8) {
    let letter = match byte {
        b'"' | b'\\' => byte,
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        _ if needs_escape(byte) => {
            out.extend_from_slice(b"\\u00");
            out.extend([HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
            return;
        }
        _ => {
            out.push(byte);
            return;
        }
    };
    out.extend([b'\\', letter]);
}

#[cfg(test)]
mod tests;
