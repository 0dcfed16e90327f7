//! The supervisor of a server: systemd on Linux.

#[cfg(all(target_os = "linux", not(petstore_portable)))]
#[path = "systemd/linux.rs"]
mod system;
#[cfg(not(all(target_os = "linux", not(petstore_portable))))]
#[path = "systemd/elsewhere.rs"]
mod system;

pub(crate) use self::system::{Supervisor, inherited};
