//! The courier against receivers over sockets.

mod hostile;
mod names;
mod receiver;
mod requests;
mod reuse;
mod tls;

#[path = "../../../../tests/skips.rs"]
#[allow(dead_code, unreachable_pub, reason = "other tests include the file, too")]
mod skips;
