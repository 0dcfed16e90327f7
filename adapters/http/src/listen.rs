//! Listeners: accepting connections, and the orderly end.

pub(crate) mod connections;
pub(crate) mod listener_close;
pub(crate) mod local;
pub(crate) mod server;
