//! Listeners: accepting connections, and graceful shutdown.

pub(crate) mod connections;
pub(crate) mod listener_close;
pub(crate) mod local;
pub(crate) mod server;
