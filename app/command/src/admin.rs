//! Administration over a channel of this machine: each request and each answer is one line of JSON.
//!
//! The public listener offers no administration. Only the server's user and root may use the socket.

mod channel;
mod client;
mod handler;
mod protocol;
mod server;
mod transfers;
mod webhooks;

#[cfg(test)]
pub(crate) use channel::pair;
pub(crate) use channel::{Stream, connect, cut_off};
pub(crate) use client::{ServerAddress, ask, ask_within, begin, begun};
pub(crate) use handler::AdminHandler;
pub(crate) use protocol::{
    AccountView, AdminAnswer, AdminRequest, KeyRef, KeyView, PlanChoice, PlanName, Replaced, account_name,
    key_label,
};
pub(crate) use server::AdminSocket;
pub(crate) use transfers::BulkTransfers;
pub(crate) use webhooks::{WebhookView, WebhooksRequest};

/// The maximum length of a line, in bytes.
const LINE_MAX: usize = 1024 * 1024;

/// The time limit for a line.
pub(crate) const LINE_TIME: std::time::Duration = std::time::Duration::from_secs(10);

/// The answer to an unknown request.
pub(crate) const NOT_UNDERSTOOD: &str = "the request cannot be parsed: the client may be of another version";

/// The number of records on a page of a listing.
pub(crate) const PAGE: usize = 500;
