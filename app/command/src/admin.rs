//! Administration over a Unix socket: one JSON line asks, one JSON line answers.
//!
//! It never crosses the public listener. The socket belongs to the server's user and opens for nobody else.

mod client;
mod protocol;
mod server;
mod socket_staging;
mod transfers;

pub(crate) use client::{ServerAddress, ask, ask_within, begin, begun, connect, cut_off};
pub(crate) use protocol::{
    AccountView, AdminAnswer, AdminRequest, KeyRef, KeyView, PlanChoice, PlanName, Replaced, account_name,
    key_label,
};
pub(crate) use server::{AdminHandler, AdminSocket};
pub(crate) use transfers::BulkTransfers;

/// Bytes of one line.
const LINE_MAX: usize = 1024 * 1024;

/// How long a client or server waits for the other's line.
pub(crate) const LINE_TIME: std::time::Duration = std::time::Duration::from_secs(10);

/// What a server says to a request that it does not know.
pub(crate) const NOT_UNDERSTOOD: &str = "the request cannot be read: is the client of another version?";

/// Records on one page of a listing.
const PAGE: usize = 500;
