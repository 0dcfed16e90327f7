//! Parsing of requests and rendering of responses: bodies, queries, conditional headers, JSON.
//!
//! All functions are pure functions of bytes and text: they use no connection, no store and no clock. Parsers return
//! types of the domain, so that nothing is validated twice. No input makes a parser panic: it returns a value or an
//! [`ApiError`](crate::wire::error::ApiError).

mod accept;
pub(crate) mod bodies;
pub(crate) mod builtin_routes;
mod checksum;
mod conditional;
mod cursor;
mod entity_tag;
pub(crate) mod error;
pub(crate) mod exposition;
pub(crate) mod faults;
pub(crate) mod fields;
mod hex;
pub(crate) mod json;
pub(crate) mod links;
pub(crate) mod query;
mod render;
pub(crate) mod request_head;
pub(crate) mod route;

pub(crate) use accept::{
    ACCEPT_PATCH, PATCH_TYPES, Unsupported, accepts_event_stream, accepts_gzip, accepts_json,
    asks_for_openmetrics, check_content_type, check_lines_type, prefers_gzip, prefers_html, prefers_problem,
    prefers_text,
};
pub(crate) use bodies::{
    category_patch, category_replacement, inventory_update, new_category, new_order, new_pet, new_webhook,
    order_patch, pet_patch, pet_replacement, replay, rotation, stock_adjustment, webhook_patch, webhook_test,
};
pub(crate) use conditional::{IfNoneMatch, if_match, if_none_match, unless_known};
pub(crate) use entity_tag::{EntityTag, TagPrefix};
pub(crate) use faults::{in_seconds, listed};
pub(crate) use hex::{FULL_LEN as HEX_LEN, full as hex};
pub(crate) use query::{EventListQuery, EventStreamQuery, LAST_EVENT_ID, list_events, stream_events};
pub(crate) use query::{Listing, list_categories, list_inventory, list_orders, list_pets, no_parameters};
pub(crate) use query::{list_deliveries, list_webhooks};
pub(crate) use render::{AccountView, render_accounts, render_new_key};
pub(crate) use render::{
    FinishedPage, Page, event_frames, push_attempt, push_category, push_delivery, push_delivery_detail,
    push_event, push_item, push_number, push_order, push_pet, push_string, push_webhook, render_error,
    render_rate_limit, render_ready,
};

/// Returns an event as the JSON of the API, on one line.
pub fn event_json(event: &petstore_domain::Event) -> String {
    let mut json = Vec::new();
    push_event(&mut json, event);
    String::from_utf8_lossy(&json).into_owned()
}

/// Events in the JSON form of [`event_json`], as receivers of webhooks get them.
#[derive(Debug, Clone, Copy, Default)]
pub struct JsonEvents;

impl petstore_ports::EventText for JsonEvents {
    fn json(&self, event: &petstore_domain::Event, is_test: bool) -> Vec<u8> {
        let mut text = event_json(event).into_bytes();
        if is_test && text.pop() == Some(b'}') {
            text.extend_from_slice(b",\"test\":true}");
        }
        text
    }
}
