//! The installed binary: the crates that it is built of, the Debian package, the image, and its supervisor.
//!
//! The tests are a separate binary, because they mount file systems, boot a copy of the machine, and let child
//! processes inherit sockets.

#[path = "../common/mod.rs"]
mod common;

mod dependencies;
mod nodes;
mod package;
mod systemd;
mod workflows;
