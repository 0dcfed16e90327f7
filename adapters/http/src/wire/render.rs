//! Answers as JSON, written by hand into a buffer: the hot path, without format machinery.

use std::io::Write as _;

use petstore_domain::{Category, InventoryItem, Order, Pet, PetStatus, Plan, Usage, WindowUsage};

use super::faults::{DETAILS_MAX, FIELD_MAX, printable};
use crate::wire::error::ApiError;

mod event;
mod ids;
mod page;

pub(crate) use event::push_event;
pub(crate) use page::{FinishedPage, Page};

/// Characters of a message that an answer shows.
const MESSAGE_MAX: usize = 1_000;

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Bytes set aside for one resource or error: nearly all fit, and growing would copy.
const RESOURCE_ROOM: usize = 256;

/// A pet.
pub(crate) fn push_pet(out: &mut Vec<u8>, pet: &Pet) {
    push_pet_up_to_id(out, pet);
    push_number(out, pet.id.get());
    out.push(b'}');
}

/// A pet but for its id and its end. Inlined with the texts in it, so that the length of `out` can stay in a register from
/// piece to piece: a page of a hundred takes 2% less.
#[expect(clippy::inline_always, reason = "the compiler does not follow a mere hint here")]
#[inline(always)]
fn push_pet_up_to_id(out: &mut Vec<u8>, pet: &Pet) {
    out.extend_from_slice(b"{\"name\":\"");
    push_text(out, pet.name.as_bytes());
    out.extend_from_slice(b"\",\"categoryId\":");
    push_number(out, pet.category_id.get());
    // Whole, so that their lengths are known when this is compiled: a copy is then a few moves, and no call.
    match pet.status {
        PetStatus::Available => out.extend_from_slice(b",\"status\":\"available\",\"id\":"),
        PetStatus::Pending => out.extend_from_slice(b",\"status\":\"pending\",\"id\":"),
        PetStatus::Sold => out.extend_from_slice(b",\"status\":\"sold\",\"id\":"),
    }
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
pub(crate) fn push_number(out: &mut Vec<u8>, number: impl Into<u64>) {
    match number.into() {
        // Most categories, most quantities.
        #[expect(clippy::cast_possible_truncation, reason = "it is a digit")]
        digit @ 0..10 => out.push(b'0' + digit as u8),
        number => out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes()),
    }
}

/// A string of UTF-8 bytes.
fn push_string(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    push_text(out, text);
    out.push(b'"');
}

/// What is between the quotes of a string. Most need no escape.
///
/// Most names have 4 to 16 bytes. They are copied as their two ends, which may overlap: a few moves, where a copy of any
/// length is a call. A hundred pets take 1.1 us so, and 1.45 otherwise.
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

/// Text of any length, with or without escapes.
#[inline(never)]
fn push_any_text(out: &mut Vec<u8>, text: &[u8]) {
    if is_plain(text) {
        out.extend_from_slice(text);
    } else {
        push_escaped(out, text);
    }
}

/// A text of N to 2 N bytes that begins and ends with these.
fn push_ends<const N: usize>(out: &mut Vec<u8>, first: &[u8; N], last: &[u8; N], len: usize) {
    out.extend_from_slice(first);
    out.truncate(out.len() + len - 2 * N);
    out.extend_from_slice(last);
}

/// Whether no byte needs an escape. Eight at a time: byte by byte, names were a quarter of what a page costs.
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
    // Has its high bit set somewhere if a byte is below the bound, and nowhere if none is.
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
