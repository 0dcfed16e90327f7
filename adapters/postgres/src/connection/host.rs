//! The hosts of a configuration. The driver knows sockets of the file system on Unix only.

use std::path::Path;

use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// The name or the address of a host; none for a socket of the file system.
#[cfg_attr(not(unix), expect(clippy::unnecessary_wraps, reason = "as on Unix"))]
pub(super) fn name(host: &Host) -> Option<&str> {
    match host {
        Host::Tcp(name) => Some(name),
        #[cfg(unix)]
        Host::Unix(_) => None,
    }
}

/// The folder of a socket of the file system; none for a host that is reached over TCP.
pub(super) fn folder(host: &Host) -> Option<&Path> {
    match host {
        Host::Tcp(_) => None,
        #[cfg(unix)]
        Host::Unix(folder) => Some(folder),
    }
}

/// Adds a host to a configuration.
pub(super) fn add(config: &mut Config, host: &Host) {
    match host {
        Host::Tcp(name) => drop(config.host(name)),
        #[cfg(unix)]
        Host::Unix(folder) => drop(config.host_path(folder)),
    }
}
