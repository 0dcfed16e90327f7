//! Sockets: reading, sending, and the activity of a connection.

pub(crate) mod activity;
pub(crate) mod offered_stream;
pub(crate) mod raw_headers;
pub(crate) mod request_body;
pub(crate) mod send_batch;
pub(crate) mod socket;
pub(crate) mod tcp;
