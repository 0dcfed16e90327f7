//! The installed binary: the crates that it is built of, the Debian package, the image, and its supervisor.
//!
//! A separate binary, because its tests mount file systems, boot a copy of the machine, and let children inherit
//! sockets.

#[path = "../common/mod.rs"]
mod common;

mod dependencies;
mod package;
mod systemd;
