//! The courier against receivers over sockets.

mod hostile;
mod libraries;
mod names;
mod receiver;
mod requests;
mod reuse;
mod tls;
mod urls;

#[path = "../../../../tests/skips.rs"]
#[allow(dead_code, unreachable_pub, reason = "other tests include the file, too")]
mod skips;
