//! The JSON of responses. It is written without Rust's formatting machinery, because every request needs it.

use std::io::Write as _;

use petstore_domain::{Category, InventoryItem, Order, Pet, PetStatus, Plan, Usage, WindowUsage};

use super::faults::{DETAILS_MAX, FIELD_MAX, printable};
use crate::wire::error::{ApiError, Detail};

mod accounts;
mod event;
pub(crate) mod event_frames;
mod ids;
mod page;
mod webhook;

pub(crate) use accounts::{AccountView, render_accounts, render_new_key};
pub(crate) use event::push_event;
pub(crate) use page::{FinishedPage, Page};
pub(crate) use webhook::{push_attempt, push_delivery, push_delivery_detail, push_webhook};

/// The maximum number of characters of a message in a response.
const MESSAGE_MAX: usize = 1_000;

const HEX: &[u8; 16] = b"0123456789abcdef";

/// The initial capacity for one resource or error. It is enough for nearly all of them, so the buffer seldom grows,
/// which would copy its content.
const RESOURCE_ROOM: usize = 256;

/// Writes a pet.
pub(crate) fn push_pet(out: &mut Vec<u8>, pet: &Pet) {
    push_pet_up_to_id(out, pet);
    push_number(out, pet.id.get());
    out.push(b'}');
}

/// Writes a pet up to its id. Inlined, so that the length of `out` stays in a register while the parts of a page are
/// written.
#[expect(clippy::inline_always, reason = "the compiler does not follow a mere hint here")]
#[inline(always)]
fn push_pet_up_to_id(out: &mut Vec<u8>, pet: &Pet) {
    out.extend_from_slice(b"{\"name\":\"");
    push_text(out, pet.name.as_bytes());
    #[cfg(petstore_planted_member)]
    if let Some(name) = &pet.former_name {
        out.extend_from_slice(b"\",\"formerName\":\"");
        push_text(out, name.as_bytes());
    }
    out.extend_from_slice(b"\",\"categoryId\":");
    push_number(out, pet.category_id.get());
    // The texts are constants, so their lengths are known at compile time, and copying one takes a few move
    // instructions.
    match pet.status {
        PetStatus::Available => out.extend_from_slice(b",\"status\":\"available\",\"id\":"),
        PetStatus::Pending => out.extend_from_slice(b",\"status\":\"pending\",\"id\":"),
        PetStatus::Sold => out.extend_from_slice(b",\"status\":\"sold\",\"id\":"),
    }
}

/// Writes a category.
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

/// Writes an order.
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

/// Writes an inventory item.
pub(crate) fn push_item(out: &mut Vec<u8>, item: &InventoryItem) {
    out.extend_from_slice(b"{\"petId\":");
    push_number(out, item.pet_id.get());
    out.extend_from_slice(b",\"quantity\":");
    push_number(out, item.quantity);
    out.extend_from_slice(b",\"status\":\"");
    out.extend_from_slice(item.status.as_str().as_bytes());
    out.extend_from_slice(b"\"}");
}

/// Renders the state of both windows.
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

/// Renders an error within the bounds that the published schema sets for its texts.
pub(crate) fn render_error(error: &ApiError, retry_after_secs: Option<u64>) -> Vec<u8> {
    let mut out = Vec::with_capacity(RESOURCE_ROOM);
    out.extend_from_slice(b"{\"code\":\"");
    out.extend_from_slice(error.code.as_str().as_bytes());
    out.extend_from_slice(b"\",\"message\":");
    push_string(&mut out, printable(&error.message, MESSAGE_MAX).as_bytes());
    out.extend_from_slice(b",\"status\":");
    push_number(&mut out, error.code.status().as_u16());
    if let Some(secs) = retry_after_secs {
        out.extend_from_slice(b",\"retryAfterSeconds\":");
        push_number(&mut out, secs);
    }
    push_details(&mut out, &error.details);
    out
}

/// Renders the readiness of a server with faults that do not keep it from serving.
pub(crate) fn render_ready(details: &[Detail]) -> Vec<u8> {
    let mut out = Vec::with_capacity(RESOURCE_ROOM);
    out.extend_from_slice(b"{\"status\":\"ready\"");
    push_details(&mut out, details);
    out
}

/// Writes the details as the last member of an object, if there are any, and the end of the object.
fn push_details(out: &mut Vec<u8>, details: &[Detail]) {
    let mut opening: &[u8] = b",\"details\":[";
    for detail in details.iter().take(DETAILS_MAX) {
        out.extend_from_slice(opening);
        opening = b",";
        out.extend_from_slice(b"{\"field\":");
        push_string(out, printable(&detail.field, FIELD_MAX).as_bytes());
        out.extend_from_slice(b",\"code\":\"");
        out.extend_from_slice(detail.code.as_bytes());
        out.extend_from_slice(b"\",\"message\":");
        push_string(out, printable(&detail.message, MESSAGE_MAX).as_bytes());
        out.push(b'}');
    }
    out.extend_from_slice(if details.is_empty() { b"}" } else { b"]}" });
}

/// Writes a number.
pub(crate) fn push_number(out: &mut Vec<u8>, number: impl Into<u64>) {
    match number.into() {
        // Most quantities and ids of categories have one digit.
        #[expect(clippy::cast_possible_truncation, reason = "it is a digit")]
        digit @ 0..10 => out.push(b'0' + digit as u8),
        number => out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes()),
    }
}

/// Writes a string of UTF-8 bytes with its quotes.
pub(crate) fn push_string(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    push_text(out, text);
    out.push(b'"');
}

/// Writes the content of a string without its quotes. Most strings need no escape.
///
/// Most names have 4 to 16 bytes. Such a name is copied as a first and a last part of fixed length, and these parts may
/// overlap. This takes a few move instructions, while a copy of arbitrary length is a function call.
#[expect(clippy::inline_always, reason = "a pet is written in one piece of code, see `push_pet_up_to_id`")]
#[inline(always)]
fn push_text(out: &mut Vec<u8>, text: &[u8]) {
    if let (8..=16, Some(first), Some(last)) = (text.len(), text.first_chunk(), text.last_chunk()) {
        if is_plain_word(*first) & is_plain_word(*last) {
            return push_ends::<8>(out, first, last, text.len());
        }
    } else if let (4..8, Some(first), Some(last)) = (text.len(), text.first_chunk(), text.last_chunk()) {
        let mut word = [0; 8];
        word[..4].copy_from_slice(first);
        word[4..].copy_from_slice(last);
        if is_plain_word(word) {
            return push_ends::<4>(out, first, last, text.len());
        }
    }
    push_any_text(out, text);
}

/// Writes text of any length, with escapes if it needs them.
#[inline(never)]
fn push_any_text(out: &mut Vec<u8>, text: &[u8]) {
    if is_plain(text) {
        out.extend_from_slice(text);
    } else {
        push_escaped(out, text);
    }
}

/// Writes a text of N to 2 N bytes that begins with `first` and ends with `last`.
fn push_ends<const N: usize>(out: &mut Vec<u8>, first: &[u8; N], last: &[u8; N], len: usize) {
    out.extend_from_slice(first);
    out.truncate(out.len() + len - 2 * N);
    out.extend_from_slice(last);
}

/// Returns whether no byte needs an escape. It checks eight bytes at a time.
fn is_plain(text: &[u8]) -> bool {
    let Some(last) = text.last_chunk() else {
        let mut word = [b' '; 8];
        word[..text.len()].copy_from_slice(text);
        return is_plain_word(word);
    };
    let (words, _) = text.as_chunks();
    is_plain_word(*last) && words.iter().all(|word| is_plain_word(*word))
}

fn is_plain_word(word: [u8; 8]) -> bool {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
    let word = u64::from_ne_bytes(word);
    // The result has a high bit set if and only if some byte is below the bound.
    let below = |word: u64, bound: u64| word.wrapping_sub(ONES * bound) & !word;
    let equals = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    (below(word, 0x20) | equals(b'"') | equals(b'\\')) & HIGH == 0
}

const fn needs_escape(byte: u8) -> bool {
    matches!(byte, 0..0x20 | b'"' | b'\\')
}

#[cold]
fn push_escaped(out: &mut Vec<u8>, text: &[u8]) {
    for byte in text {
        let letter = match byte {
            b'"' | b'\\' => *byte,
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            _ if needs_escape(*byte) => {
                out.extend_from_slice(b"\\u00");
                out.extend([HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
                continue;
            }
            _ => {
                out.push(*byte);
                continue;
            }
        };
        out.extend([b'\\', letter]);
    }
}

#[cfg(test)]
mod tests;
